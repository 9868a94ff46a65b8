/*-------------------------------------------------------------------------
 *
 * cancel.c
 *	  Cancel requests that can't hang.
 *
 * libpq's PQcancel blocks until the node's postmaster has answered, which may
 * be never if the node is stopped or unreachable; before version 17, libpq has
 * no alternative.  So PQcancel, which uses no state of the connection and is
 * thread-safe, runs in a separate thread, which writes the result into a pipe
 * and ends.  All signals are blocked in the thread, so that the server's
 * handlers run in the main thread only.  The main thread waits for the pipe
 * with a time limit; an abandoned thread ends when its socket does, or with
 * the process.  Requests to several nodes run in parallel.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fcntl.h>

#include "libpq-fe.h"
#include "libpq/pqcomm.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "pgstat.h"
#include "storage/latch.h"

#include "lib/wait_event.h"
#include "remote/cancel.h"
#include "remote/private.h"

/* Belongs to the thread; malloc'ed. */
typedef struct CancelJob
{
	PGcancel   *cancel;			/* NULL: an adopted channel's, as follows */
	struct sockaddr_storage peer;
	socklen_t	peer_size;
	int			packet_size;
	char		packet[12 + CANCEL_KEY_SIZE];
	int			fd;				/* for the result */
} CancelJob;

/*
 * What PQcancel does, for a channel that wasn't opened by libpq and so has no
 * encryption.
 */
static bool
request_cancel(const CancelJob *job)
{
	int			fd = socket(job->peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char		byte;
	bool		done;

	if (fd < 0)
		return false;
	done = connect(fd, (const struct sockaddr *) &job->peer, job->peer_size) == 0 &&
		send(fd, job->packet, job->packet_size, MSG_NOSIGNAL) == job->packet_size;
	if (done)
		(void) !recv(fd, &byte, 1, 0);	/* the server closes it when it has
										 * sent the signal */
	close(fd);
	return done;
}

/* Prepares the request for an adopted channel. */
static void
write_packet(CancelJob *job, const Channel *channel)
{
	uint32		head[3] = {pg_hton32(sizeof(head) + channel->cancel_key_size), pg_hton32(CANCEL_REQUEST_CODE),
		pg_hton32((uint32) channel->pid)};

	job->peer = channel->peer;
	job->peer_size = channel->peer_size;
	memcpy(job->packet, head, sizeof(head));
	memcpy(job->packet + sizeof(head), channel->cancel_key, channel->cancel_key_size);
	job->packet_size = sizeof(head) + channel->cancel_key_size;
}

static void *
cancel_thread(void *arg)
{
	CancelJob  *job = arg;
	char		message[256];
	char		outcome = (job->cancel != NULL ? PQcancel(job->cancel, message, sizeof(message)) : request_cancel(job)) ? 1 : 0;
	ssize_t		written = write(job->fd, &outcome, 1);

	(void) written;
	close(job->fd);
	PQfreeCancel(job->cancel);
	free(job);
	return NULL;
}

/* Runs the job in a detached thread with all signals blocked. */
static bool
start_thread(CancelJob *job)
{
	pthread_t	thread;
	pthread_attr_t attr;
	sigset_t	all;
	sigset_t	old;
	int			rc;

	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, cancel_thread, job);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc == 0;
}

int
cancel_start(const Channel *channel)
{
	CancelJob  *job = malloc(sizeof(CancelJob));
	int			fds[2];

	if (job == NULL)
		return -1;
	if (pipe(fds) != 0)
	{
		free(job);
		return -1;
	}
	fcntl(fds[0], F_SETFD, FD_CLOEXEC);
	fcntl(fds[1], F_SETFD, FD_CLOEXEC);
	job->fd = fds[1];
	job->cancel = NULL;
	if (channel->peer_size > 0)
		write_packet(job, channel);
	else
		job->cancel = PQgetCancel(channel->pg);
	if ((job->cancel != NULL || channel->peer_size > 0) && start_thread(job))
		return fds[0];

	PQfreeCancel(job->cancel);
	free(job);
	close(fds[0]);
	close(fds[1]);
	return -1;
}

bool
cancel_finish(int fd, TimestampTz deadline)
{
	char		outcome = 0;

	for (;;)
	{
		int			occurred = WaitLatchOrSocket(MyLatch, WL_SOCKET_READABLE | WL_LATCH_SET |
												 WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
												 fd, wait_remaining(deadline), wait_event(WAIT_NODE_ANSWER));

		if (occurred & WL_SOCKET_READABLE)
		{
			if (read(fd, &outcome, 1) != 1)
				outcome = 0;
			break;
		}
		if (occurred & WL_LATCH_SET)
			ResetLatch(MyLatch);
		if ((occurred & WL_TIMEOUT) || (InterruptPending && InterruptHoldoffCount == 0))
		{
			SetLatch(MyLatch);	/* the code that handles the interrupt may wait
								 * first */
			break;
		}
	}
	close(fd);
	return outcome == 1;
}
