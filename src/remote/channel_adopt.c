/*-------------------------------------------------------------------------
 *
 * channel_adopt.c
 *	  A channel over a socket that another process has opened.
 *
 * libpq can't be given a socket.  So it logs in on a Unix-domain socket of
 * this process, which answers as a server would that has nothing to ask, with
 * the process id and cancel key of the session that the real socket leads to;
 * everything is written before libpq looks.  Then the real socket takes the
 * place of libpq's, under its number (dup2).  libpq keeps no state but its
 * buffers, which are empty then.
 *
 * The reverse is simpler: an unconnected socket takes the number, so that
 * libpq's goodbye reaches nobody.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libpq-fe.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"

#include "remote/channel.h"
#include "remote/free_slots.h"

/* More steps than a login takes. */
#define MAX_STEPS 20

/*
 * The name of this process's own address, in the abstract namespace, without
 * the part that libpq adds; "" while there is none.
 */
static char own_host[64] = "";
static int	own_listener = -1;
static int	own_pid = 0;

#define OWN_PORT "1"

static bool
listen_to_self(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64		number;
	int			len;

	if (own_listener >= 0 && own_pid == MyProcPid)
		return true;
	if (!pg_strong_random(&number, sizeof(number)))
		return false;
	snprintf(own_host, sizeof(own_host), "@citus-%d-" UINT64_FORMAT, MyProcPid, number);
	len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s/.s.PGSQL." OWN_PORT, own_host + 1);
	own_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	own_pid = MyProcPid;
	if (own_listener < 0)
		return false;
	if (bind(own_listener, (struct sockaddr *) &address, offsetof(struct sockaddr_un, sun_path) + 1 + len) == 0 &&
		listen(own_listener, 1) == 0)
		return true;
	close(own_listener);
	own_listener = -1;
	return false;
}

/* The other end of a connection that this process has just made; or -1. */
static int
accept_self(void)
{
	int			fd = accept4(own_listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t	len = sizeof(peer);

	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == MyProcPid)
		return fd;
	close(fd);
	return -1;
}

/* Ends a message of which the type and room for the length were appended. */
static void
end_message(StringInfo out, int start)
{
	uint32		len = pg_hton32(out->len - start - 1);

	memcpy(out->data + start + 1, &len, sizeof(len));
}

static int
begin_message(StringInfo out, char type)
{
	int			start = out->len;

	appendStringInfoChar(out, type);
	appendStringInfoSpaces(out, 4);
	return start;
}

static void
append_parameter(StringInfo out, const char *name, const char *value)
{
	int			start = begin_message(out, 'S');

	appendBinaryStringInfo(out, name, strlen(name) + 1);
	appendBinaryStringInfo(out, value, strlen(value) + 1);
	end_message(out, start);
}

/* What a server answers to a login that succeeds. */
static void
append_welcome(StringInfo out, const ChannelLogin *login)
{
	uint32		number = 0;
	int			start = begin_message(out, 'R');

	appendBinaryStringInfo(out, (char *) &number, sizeof(number));
	end_message(out, start);
	append_parameter(out, "server_version", login->version);
	append_parameter(out, "client_encoding", login->encoding);
	append_parameter(out, "standard_conforming_strings", "on");
	append_parameter(out, FREE_SLOTS_PARAMETER, login->free_slots);
	start = begin_message(out, 'K');
	number = pg_hton32((uint32) login->pid);
	appendBinaryStringInfo(out, (char *) &number, sizeof(number));
	appendBinaryStringInfo(out, (const char *) login->cancel_key, login->cancel_key_size);
	end_message(out, start);
	start = begin_message(out, 'Z');
	appendStringInfoChar(out, 'I');
	end_message(out, start);
}

/* Has libpq log in on our own address. */
static bool
log_in_here(struct pg_conn *pg, const ChannelLogin *login)
{
	StringInfoData welcome;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	int			fd = accept_self();
	bool		ok;

	if (fd < 0)
		return false;
	initStringInfo(&welcome);
	append_welcome(&welcome, login);
	ok = send(fd, welcome.data, welcome.len, MSG_NOSIGNAL) == welcome.len;
	for (int i = 0; ok && i < MAX_STEPS && status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED; i++)
		status = PQconnectPoll(pg);
	pfree(welcome.data);
	close(fd);
	return ok && status == PGRES_POLLING_OK;
}

bool
channel_adopt(Channel *channel, int fd, const ChannelLogin *login, ChannelNotices notices, void *arg)
{
	const char *keywords[] = {"host", "port", "user", "password", "dbname", "sslmode", "gssencmode", "target_session_attrs", NULL};
	const char *values[] = {own_host, OWN_PORT, login->user, "-", login->database, "disable", "disable", "any", NULL};
	socklen_t	len = sizeof(channel->peer);

	if (getpeername(fd, (struct sockaddr *) &channel->peer, &len) != 0 || !listen_to_self())
		return false;
	channel->peer_size = len;
	channel->pg = PQconnectStartParams(keywords, values, false);
	if (channel->pg == NULL)
		return false;
	if (!channel_ok(channel) || !log_in_here(channel->pg, login) || PQsetnonblocking(channel->pg, 1) != 0 ||
		dup3(fd, PQsocket(channel->pg), O_CLOEXEC) < 0)
	{
		PQfinish(channel->pg);
		channel->pg = NULL;
		return false;
	}
	channel->pid = login->pid;
	memcpy(channel->cancel_key, login->cancel_key, login->cancel_key_size);
	channel->cancel_key_size = login->cancel_key_size;
	channel->reached = true;
	PQsetNoticeReceiver(channel->pg, notices, arg);
	return true;
}

int
channel_detach(Channel *channel)
{
	int			fd;
	int			nowhere;

	if (channel->pg == NULL || PQsslInUse(channel->pg) || PQgssEncInUse(channel->pg) || channel->unflushed ||
		channel->unreadable || PQflush(channel->pg) != 0)
		return -1;
	nowhere = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (nowhere < 0)
		return -1;
	fd = fcntl(PQsocket(channel->pg), F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && dup3(nowhere, PQsocket(channel->pg), O_CLOEXEC) < 0)
	{
		close(fd);
		fd = -1;
	}
	close(nowhere);
	return fd;
}
