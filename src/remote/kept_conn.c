/*-------------------------------------------------------------------------
 *
 * kept_conn.c
 *	  Connections that outlive the session that has opened them.
 *
 * When a session doesn't need a connection any more, it has the node's session
 * discard all state and rest (kept_session.c), without waiting for the answer,
 * and leaves the socket to the other sessions of this server.  One that needs
 * a connection for the same purpose (the same parameters and login role) takes
 * it, reads that answer, and tells the node's session whom it serves now.
 * Only after the node has confirmed that, the connection is used, as a new one
 * is: all settings are sent, nothing is prepared.  If anything is unusual, it
 * is closed instead, and another one is opened.
 *
 * No process keeps the sockets but the kernel: they wait as messages in pairs
 * of sockets that all processes have inherited from the postmaster
 * (SCM_RIGHTS).  A pair has the connections of some keys, and the lightweight
 * lock is held while messages are moved.  The launcher closes connections that
 * nobody has taken for citus.kept_connection_lifetime (remote_sweep_kept).
 *
 * Connections with TLS or GSSAPI encryption aren't kept, as their state is in
 * the process, nor are those that lead through a pooler or a tunnel.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands/dbcommands.h"
#include "common/cryptohash.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "lib/shared_area.h"
#include "lib/wait_event.h"
#include "remote/free_slots.h"
#include "remote/private.h"

/* Pairs of sockets. */
#define NQUEUES 32

/* No more connections are in one. */
#define QUEUE_SIZE 64

/* How long the node's session may take to answer before it is given up. */
#define WAKE_MS 1000

/* An answer is longer than this only if something is wrong. */
#define MAX_ANSWER 8192

/* What is sent with a socket. */
typedef struct KeptConn
{
	KeptKey		key;
	TimestampTz established;	/* when it was opened */
	TimestampTz left;			/* since when it has waited here */
} KeptConn;

typedef struct KeptShared
{
	SharedHeader header;
	int			count[NQUEUES]; /* of connections in each queue; read without
								 * the lock to see whether there are any */
} KeptShared;

static int	kept_queues[NQUEUES][2];
static KeptShared *kept_shared = NULL;
static int	kept_connection_lifetime = 60 * 1000;

/* Adds a connection to a queue; closes it if that isn't possible. */
static void
kept_push(int queue, const KeptConn *conn, int fd)
{
	union
	{
		struct cmsghdr align;
		char		data[CMSG_SPACE(sizeof(int))];
	}			control = {0};
	struct iovec part = {.iov_base = unconstify(KeptConn *, conn),.iov_len = sizeof(KeptConn)};
	struct msghdr message = {.msg_iov = &part,.msg_iovlen = 1,.msg_control = control.data,
	.msg_controllen = sizeof(control.data)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	if (kept_shared->count[queue] < QUEUE_SIZE &&
		sendmsg(kept_queues[queue][0], &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(KeptConn))
		kept_shared->count[queue]++;
	close(fd);
}

/* Takes the first connection of a queue; -1: there is none. */
static int
kept_pop(int queue, KeptConn *conn)
{
	union
	{
		struct cmsghdr align;
		char		data[CMSG_SPACE(sizeof(int))];
	}			control = {0};
	struct iovec part = {.iov_base = conn,.iov_len = sizeof(KeptConn)};
	struct msghdr message = {.msg_iov = &part,.msg_iovlen = 1,.msg_control = control.data,
	.msg_controllen = sizeof(control.data)};
	struct cmsghdr *header;
	int			fd = -1;

	if (recvmsg(kept_queues[queue][1], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(KeptConn))
	{
		kept_shared->count[queue] = 0;
		return -1;
	}
	kept_shared->count[queue]--;
	header = CMSG_FIRSTHDR(&message);
	if (header != NULL && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

/* Whether the node has closed a connection. */
static bool
is_closed(int fd)
{
	struct pollfd poll_fd = {.fd = fd,.events = POLLRDHUP};

	return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Whether nobody may take a connection any more. */
static bool
is_too_old(const KeptConn *conn, TimestampTz now)
{
	return TimestampDifferenceExceeds(conn->left, now, kept_connection_lifetime) ||
		(pool_cached_lifetime() >= 0 && TimestampDifferenceExceeds(conn->established, now, pool_cached_lifetime()));
}

static int
queue_of(const KeptKey *key)
{
	return key->bytes[0] % NQUEUES;
}

/*
 * Goes through a queue once: closes what is broken or too old, and returns the
 * socket of a connection with that key (NULL: of none), or -1.
 */
static int
kept_search(int queue, const KeptKey *key, KeptConn *found)
{
	TimestampTz now = GetCurrentTimestamp();
	int			fd = -1;
	int			n;

	LWLockAcquire(kept_shared->header.lock, LW_EXCLUSIVE);
	n = kept_shared->count[queue];
	for (int i = 0; i < n && fd < 0; i++)
	{
		KeptConn	conn;
		int			popped = kept_pop(queue, &conn);

		if (popped < 0)
			continue;
		if (is_too_old(&conn, now) || is_closed(popped))
			close(popped);
		else if (key != NULL && memcmp(key, &conn.key, sizeof(KeptKey)) == 0)
		{
			fd = popped;
			*found = conn;
		}
		else
			kept_push(queue, &conn, popped);
	}
	LWLockRelease(kept_shared->header.lock);
	return fd;
}

void
remote_sweep_kept(void)
{
	for (int i = 0; i < NQUEUES; i++)
		if (kept_shared->count[i] > 0)
			(void) kept_search(i, NULL, NULL);
}

void
kept_key_make(KeptKey *key, const char *const *keywords, const char *const *values, Oid role)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);
	Oid			ids[] = {MyDatabaseId, role};
	bool		ok = context != NULL && pg_cryptohash_init(context) >= 0 &&
		pg_cryptohash_update(context, (const uint8 *) ids, sizeof(ids)) >= 0;

	for (int i = 0; ok && keywords[i] != NULL; i++)
		if (strcmp(keywords[i], "application_name") != 0 && strcmp(keywords[i], "options") != 0)
			ok = pg_cryptohash_update(context, (const uint8 *) keywords[i], strlen(keywords[i]) + 1) >= 0 &&
				pg_cryptohash_update(context, (const uint8 *) values[i], strlen(values[i]) + 1) >= 0;
	if (!ok || pg_cryptohash_final(context, key->bytes, sizeof(key->bytes)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute the key of a connection")));
	pg_cryptohash_free(context);
}

/*
 * Sends a query of the simple protocol; false if the socket doesn't take it.
 */
static bool
send_query(int fd, const char *sql)
{
	char		message[256];
	uint32		len = strlen(sql) + 1;
	uint32		size = pg_hton32(len + sizeof(uint32));

	Assert(len + 5 <= sizeof(message));
	message[0] = 'Q';
	memcpy(message + 1, &size, sizeof(size));
	memcpy(message + 5, sql, len);
	return send(fd, message, len + 5, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t) (len + 5);
}

bool
kept_leave(const KeptKey *key, Channel *channel, TimestampTz established)
{
	KeptConn	conn = {.key = *key,.established = established,.left = GetCurrentTimestamp()};
	int			fd;

	if (kept_connection_lifetime == 0 || is_too_old(&conn, conn.left) ||
		kept_shared->count[queue_of(key)] >= QUEUE_SIZE ||
		shared_pool_is_limited())
		return false;
	fd = channel_detach(channel);
	if (fd < 0)
		return false;
	if (!send_query(fd, "DISCARD ALL") || !send_query(fd, "SELECT citus_internal.session_rest()"))
	{
		close(fd);
		return true;
	}
	LWLockAcquire(kept_shared->header.lock, LW_EXCLUSIVE);
	kept_push(queue_of(key), &conn, fd);
	LWLockRelease(kept_shared->header.lock);
	return true;
}

/* The answers to what a connection's session was asked. */
typedef struct Answers
{
	StringInfoData data;
	int			parsed;			/* bytes */
	int			awaited;		/* the end of how many queries */
	char	   *value;			/* the only column of the last row */
	char	   *free_slots;		/* what the node has told of its connections */
} Answers;

/* Takes one message; false if it isn't as expected. */
static bool
take_reply(Answers *answers, char type, char *body, int len)
{
	switch (type)
	{
		case 'Z':
			answers->awaited--;
			return len == 1 && body[0] == 'I';
		case 'D':
			if (len < 6)
				return false;
			answers->value = pnstrdup(body + 6, len - 6);
			return true;
		case 'S':
			if (len > (int) sizeof(FREE_SLOTS_PARAMETER) && strncmp(body, FREE_SLOTS_PARAMETER, sizeof(FREE_SLOTS_PARAMETER)) == 0)
				answers->free_slots = pnstrdup(body + sizeof(FREE_SLOTS_PARAMETER), len - sizeof(FREE_SLOTS_PARAMETER));
			return true;
		case 'T':
		case 'C':
		case 'N':
			return true;
		default:
			return false;
	}
}

/* Takes the whole messages that are there; false if one isn't as expected. */
static bool
take_replies(Answers *answers)
{
	while (answers->data.len - answers->parsed >= 5)
	{
		char	   *start = answers->data.data + answers->parsed;
		uint32		len;

		memcpy(&len, start + 1, sizeof(len));
		len = pg_ntoh32(len);
		if (len < 4 || len > MAX_ANSWER)
			return false;
		if (answers->data.len - answers->parsed < (int) len + 1)
			break;
		if (!take_reply(answers, start[0], start + 5, len - 4))
			return false;
		answers->parsed += len + 1;
	}
	return answers->data.len <= MAX_ANSWER && answers->awaited >= 0;
}

/* Reads what there is; false if the connection is lost. */
static bool
read_some(int fd, StringInfo data)
{
	ssize_t		n;

	enlargeStringInfo(data, 1024);
	n = recv(fd, data->data + data->len, 1024, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	data->len += n;
	return n > 0;
}

/*
 * Reads the answers to the queries of kept_leave and one more: returns the
 * value of the last one, or NULL.  An interrupt ends it; whoever opens a
 * connection instead handles that.
 */
static char *
read_answers(int fd, const char **free_slots)
{
	Answers		answers = {.awaited = 3,.free_slots = ""};
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), WAKE_MS);

	initStringInfo(&answers.data);
	while (answers.awaited > 0)
	{
		long		remaining = wait_remaining(deadline);
		int			occurred;

		if (!read_some(fd, &answers.data) || !take_replies(&answers))
			return NULL;
		if (answers.awaited == 0)
			break;
		if (remaining <= 0 || InterruptPending)
			return NULL;
		occurred = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_SOCKET_READABLE | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
									 fd, remaining, wait_event(WAIT_NODE_ANSWER));
		if (occurred & WL_LATCH_SET)
			ResetLatch(MyLatch);
	}
	*free_slots = answers.free_slots;
	return answers.parsed == answers.data.len ? answers.value : NULL;
}

/* Parses the value of session_serve. */
static bool
parse_login(char *value, ChannelLogin *login)
{
	char	   *key = strchr(value, ' ');
	char	   *version = key == NULL ? NULL : strchr(key + 1, ' ');

	if (version == NULL || version - key - 1 > 2 * CANCEL_KEY_SIZE)
		return false;
	login->pid = atoi(value);
	login->cancel_key_size = hex_decode(key + 1, version - key - 1, (char *) login->cancel_key);
	login->version = version + 1;
	return true;
}

bool
kept_take(const KeptKey *key, Channel *channel, Oid role, ChannelNotices notices, void *arg, TimestampTz *established)
{
	ChannelLogin login = {.encoding = GetDatabaseEncodingName()};
	char		command[100];
	int			fd;

	if (kept_shared->count[queue_of(key)] <= 0 || kept_connection_lifetime == 0)
		return false;
	login.user = GetUserNameFromId(role, false);
	login.database = get_database_name(MyDatabaseId);
	snprintf(command, sizeof(command), "SELECT citus_internal.session_serve(" UINT64_FORMAT ")", backend_gpid());
	for (;;)
	{
		KeptConn	conn;
		char	   *value;
		bool		adopted;

		fd = kept_search(queue_of(key), key, &conn);
		if (fd < 0)
			return false;
		value = send_query(fd, command) ? read_answers(fd, &login.free_slots) : NULL;
		adopted = value != NULL && parse_login(value, &login) && channel_adopt(channel, fd, &login, notices, arg);
		close(fd);
		if (adopted)
		{
			*established = conn.established;
			return true;
		}
		if (InterruptPending)
			return false;
	}
}

/* Closes what the last postmaster's life, before a crash, has left. */
static void
empty_queues(void)
{
	for (int i = 0; i < NQUEUES; i++)
	{
		KeptConn	conn;
		int			fd;

		while ((fd = kept_pop(i, &conn)) >= 0)
			close(fd);
	}
}

void
kept_init(void)
{
	static SharedArea area = {
		.name = "citus_kept_connections",
		.fixed = sizeof(KeptShared),
		.memory = (SharedHeader **) &kept_shared,
		.fill = empty_queues,
	};

	DefineCustomIntVariable("citus.kept_connection_lifetime",
							"Sets how long a connection to a node that no session uses is kept for another session.",
							"0 means that sessions close their connections, as they do if "
							"citus.max_shared_pool_size is set.",
							&kept_connection_lifetime, 60 * 1000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	shared_area_add(&area);
	for (int i = 0; i < NQUEUES; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, kept_queues[i]) != 0)
			ereport(ERROR,
					(errcode_for_socket_access(),
					 errmsg("could not create a pair of sockets: %m")));
}
