/*-------------------------------------------------------------------------
 *
 * channel.c
 *	  The channel over libpq.
 *
 * libpq returns results in order, row by row (single-row mode).  That mode
 * must be requested for each command before libpq has read any of its answer:
 * after sending, after the NULL that ends the results of the previous command,
 * and after a Sync.  Sending never blocks: output that the socket doesn't take
 * stays in libpq's buffer, and `unflushed` makes the next wait (wait.c) send
 * it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>
#include <netinet/in.h>
#ifdef __linux__
#include <linux/tcp.h>
#endif

#include "libpq-fe.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "remote/channel.h"

bool
channel_open(Channel *channel, const char *const *keywords, const char *const *values,
			 ChannelNotices notices, void *arg)
{
	channel->pg = PQconnectStartParams(keywords, values, false);
	channel->connecting = true;
	channel->connect_events = WL_SOCKET_WRITEABLE;
	if (!channel_ok(channel))
		return false;
	PQsetNoticeReceiver(channel->pg, notices, arg);
	return true;
}

ChannelEvent
channel_connect(Channel *channel)
{
	ConnStatusType status = PQstatus(channel->pg);

	if (status == CONNECTION_AWAITING_RESPONSE || status == CONNECTION_AUTH_OK || status == CONNECTION_SSL_STARTUP ||
		status == CONNECTION_GSS_STARTUP)
		channel->reached = true;
	switch (PQconnectPoll(channel->pg))
	{
		case PGRES_POLLING_OK:
			channel->connecting = false;
			return PQsetnonblocking(channel->pg, 1) == 0 ? CHANNEL_END : CHANNEL_LOST;
		case PGRES_POLLING_FAILED:
			return CHANNEL_LOST;
		case PGRES_POLLING_READING:
			channel->connect_events = WL_SOCKET_READABLE;
			return CHANNEL_NOTHING;
		default:
			channel->connect_events = WL_SOCKET_WRITEABLE;
			return CHANNEL_NOTHING;
	}
}

/* No more parameters than libpq has. */
#define MAX_PARAMS 100

bool
channel_open_probe(Channel *probe, const Channel *channel)
{
	PQconninfoOption *options = PQconninfo(channel->pg);
	const char *address = PQhostaddr(channel->pg);
	char		adopted_address[NI_MAXHOST];
	char		adopted_port[NI_MAXSERV];
	const char *keywords[MAX_PARAMS + 1];
	const char *values[MAX_PARAMS + 1];
	int			n = 0;

	if (options == NULL)
		return false;
	if (channel->peer_size > 0)
	{
		if (getnameinfo((const struct sockaddr *) &channel->peer, channel->peer_size, adopted_address, NI_MAXHOST,
						adopted_port, NI_MAXSERV, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		{
			PQconninfoFree(options);
			return false;
		}
		address = adopted_address;
		keywords[n] = "port";
		values[n++] = adopted_port;
	}
	for (PQconninfoOption *option = options; option->keyword != NULL && n < MAX_PARAMS; option++)
	{
		if (option->val == NULL || strcmp(option->keyword, "hostaddr") == 0 ||
			(channel->peer_size > 0 && (strcmp(option->keyword, "host") == 0 || strcmp(option->keyword, "port") == 0)) ||
			strcmp(option->keyword, "application_name") == 0)
			continue;
		keywords[n] = option->keyword;
		values[n++] = option->val;
	}
	if (address != NULL && address[0] != '\0')
	{
		keywords[n] = "hostaddr";
		values[n++] = address;
	}
	keywords[n] = values[n] = NULL;
	probe->pg = PQconnectStartParams(keywords, values, false);
	PQconninfoFree(options);
	probe->connecting = true;
	probe->connect_events = WL_SOCKET_WRITEABLE;
	return probe->pg != NULL && channel_ok(probe);
}

/* Goes on beyond the request for encryption, whose end a server would log. */
ChannelEvent
channel_probe(Channel *probe)
{
	ConnStatusType status = PQstatus(probe->pg);

	if (status == CONNECTION_AWAITING_RESPONSE || status == CONNECTION_AUTH_OK)
		return CHANNEL_END;
	return channel_connect(probe);
}

void
channel_shut(Channel *channel)
{
	shutdown(PQsocket(channel->pg), SHUT_RDWR);
}

bool
channel_set_pipeline(Channel *channel, bool pipelined)
{
	if (!(pipelined ? PQenterPipelineMode(channel->pg) : PQexitPipelineMode(channel->pg)))
		return false;
	channel->pipelined = pipelined;
	return true;
}

void
channel_close(Channel *channel)
{
	PQclear(channel->error);
	PQclear(channel->current);
	if (channel->row.values != NULL)
		pfree(channel->row.values);
	PQfinish(channel->pg);
}

bool
channel_ok(const Channel *channel)
{
	return PQstatus(channel->pg) != CONNECTION_BAD;
}

/*
 * A message of the server to an idle client is usually the end of the session.
 */
bool
channel_alive(Channel *channel)
{
	int			tries = 3;

	while (tries-- > 0)
	{
		char		byte;
		ssize_t		received = recv(PQsocket(channel->pg), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

		if (received < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
		if (received == 0 || !PQconsumeInput(channel->pg))
			return false;
		(void) PQisBusy(channel->pg);	/* parses it */
		if (!channel_ok(channel))
			return false;
	}
	return false;
}

const char *
channel_failure(const Channel *channel)
{
	return channel->pg == NULL ? "out of memory" : PQerrorMessage(channel->pg);
}

/*
 * Whether the server has refused a connection since it has too many.  libpq
 * keeps no SQLSTATE of that, so a server with translated messages isn't
 * understood.
 */
static bool
is_server_full(const Channel *channel)
{
	const char *message = PQerrorMessage(channel->pg);

	return strstr(message, "too many clients already") != NULL || strstr(message, "too many connections for") != NULL ||
		strstr(message, "remaining connection slots are reserved") != NULL;
}

ChannelRefusal
channel_refusal(const Channel *channel)
{
	if (!channel->reached || channel->pg == NULL || channel_ok(channel))
		return CHANNEL_NOT_REACHED;
	if (is_server_full(channel))
		return CHANNEL_FULL;
	if (PQconnectionNeedsPassword(channel->pg))
		return CHANNEL_NO_PASSWORD;
	return PQconnectionUsedPassword(channel->pg) ? CHANNEL_PASSWORD_USED : CHANNEL_REFUSED;
}

int
channel_socket(const Channel *channel)
{
	return PQsocket(channel->pg);
}

uint32
channel_events(const Channel *channel)
{
	if (channel->connecting)
		return channel->connect_events;
	return WL_SOCKET_READABLE | (channel->unflushed ? WL_SOCKET_WRITEABLE : 0);
}

/* Handles the result of a libpq function that sends. */
static bool
note_sent(Channel *channel, int ok)
{
	if (ok)
		PQsetSingleRowMode(channel->pg);
	return ok;
}

bool
channel_send_text(Channel *channel, const char *sql, const RemoteParams *params, bool binary_result)
{
	return note_sent(channel, PQsendQueryParams(channel->pg, sql,
										   params ? params->count : 0,
										   params ? params->types : NULL,
										   params ? (const char *const *) params->values : NULL,
										   params ? params->lengths : NULL,
										   params ? params->formats : NULL,
										   binary_result ? 1 : 0));
}

bool
channel_send_prepare(Channel *channel, const char *name, const char *sql, const RemoteParams *params)
{
	return PQsendPrepare(channel->pg, name, sql, params ? params->count : 0, params ? params->types : NULL);
}

bool
channel_send_query_prepared(Channel *channel, const char *name, const RemoteParams *params, bool binary_result)
{
	return note_sent(channel, PQsendQueryPrepared(channel->pg, name,
											 params ? params->count : 0,
											 params ? (const char *const *) params->values : NULL,
											 params ? params->lengths : NULL,
											 params ? params->formats : NULL,
											 binary_result ? 1 : 0));
}

bool
channel_send_script(Channel *channel, const char *sql)
{
	return note_sent(channel, PQsendQuery(channel->pg, sql)) && channel_flush(channel);
}

bool
channel_sync(Channel *channel)
{
	return PQpipelineSync(channel->pg);
}

bool
channel_ask_for_answers(Channel *channel)
{
	return PQsendFlushRequest(channel->pg) == 1;
}

bool
channel_flush(Channel *channel)
{
	int			rc = PQflush(channel->pg);

	channel->unflushed = rc > 0;

	/*
	 * messages that the node sent before it closed the connection can still be
	 * read
	 */
	return rc >= 0 || channel_ok(channel);
}

void
channel_read(Channel *channel)
{
	if (!PQconsumeInput(channel->pg))
		channel->unreadable = true;
	else if (channel->unflushed)
		(void) channel_flush(channel);
}

bool
channel_is_busy(Channel *channel)
{
	return !channel->unreadable && PQisBusy(channel->pg);
}

/* Lets channel->row be a result's only row. */
static void
take_row(Channel *channel, PGresult *res)
{
	RemoteRow  *row = &channel->row;

	channel->current = res;
	row->ncolumns = PQnfields(res);
	if (row->ncolumns > channel->row_size)
	{
		channel->row_size = 0;
		if (row->values != NULL)
			pfree(row->values);
		row->values = NULL;
		row->values = MemoryContextAlloc(TopMemoryContext, sizeof(RemoteValue) * row->ncolumns);
		channel->row_size = row->ncolumns;
	}
	for (int i = 0; i < row->ncolumns; i++)
	{
		row->values[i].len = PQgetlength(res, 0, i);
		row->values[i].data = row->values[i].len == 0 && PQgetisnull(res, 0, i) ? NULL : PQgetvalue(res, 0, i);
	}
}

/* The end of a command. */
static void
take_end(Channel *channel, PGresult *res)
{
	Assert(PQntuples(res) == 0);
	channel->row.ncolumns = PQresultStatus(res) == PGRES_TUPLES_OK ? PQnfields(res) : -1;
	channel->processed = strtou64(PQcmdTuples(res), NULL, 10);
	strlcpy(channel->tag, PQcmdStatus(res), sizeof(channel->tag));
	PQclear(res);
}

static ChannelEvent
take_error(Channel *channel, PGresult *res, ChannelEvent event)
{
	PQclear(channel->error);
	channel->error = res != NULL ? res : PQmakeEmptyPGresult(channel->pg, PGRES_FATAL_ERROR);
	return event;
}

/* A result's row, end or error. */
static ChannelEvent
take_result(Channel *channel, PGresult *res)
{
	switch (PQresultStatus(res))
	{
		case PGRES_SINGLE_TUPLE:
			take_row(channel, res);
			return CHANNEL_ROW;
		case PGRES_TUPLES_OK:
		case PGRES_COMMAND_OK:
		case PGRES_EMPTY_QUERY:
			take_end(channel, res);
			return CHANNEL_COMPLETE;
		case PGRES_PIPELINE_ABORTED:
			PQclear(res);
			return CHANNEL_SKIPPED;
		case PGRES_PIPELINE_SYNC:
			PQclear(res);
			PQsetSingleRowMode(channel->pg);
			return CHANNEL_SYNCED;
		case PGRES_COPY_IN:
			PQclear(res);
			return CHANNEL_COPY_IN;
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			PQclear(res);
			return CHANNEL_COPY_OTHER;
		default:
			return take_error(channel, res, channel_ok(channel) ? CHANNEL_FAILED : CHANNEL_LOST);
	}
}

ChannelEvent
channel_next(Channel *channel)
{
	PQclear(channel->current);
	channel->current = NULL;
	PQclear(channel->error);	/* of an earlier message, which nobody
								 * wanted */
	channel->error = NULL;

	/*
	 * a NULL ends a command's results; a second one means that libpq is out of
	 * sync
	 */
	for (int i = 0; i < 2; i++)
	{
		PGresult   *res;

		if (channel_is_busy(channel))
			return CHANNEL_NOTHING;
		res = PQgetResult(channel->pg);
		if (res != NULL)
			return take_result(channel, res);
		if (!channel_ok(channel))
			break;
		if (!channel->pipelined)
			return CHANNEL_END;
		PQsetSingleRowMode(channel->pg);
	}
	return take_error(channel, NULL, CHANNEL_LOST);
}

RemoteError *
channel_take_error(Channel *channel)
{
	RemoteError *error = channel->error;

	channel->error = NULL;
	return error != NULL ? error : PQmakeEmptyPGresult(channel->pg, PGRES_FATAL_ERROR);
}

int
channel_copy_put(Channel *channel, const char *data, int len)
{
	return PQputCopyData(channel->pg, data, len);
}

bool
channel_copy_end(Channel *channel, const char *reason)
{
	return PQputCopyEnd(channel->pg, reason) >= 0 && channel_flush(channel);
}

uint64
channel_bytes_received(const Channel *channel)
{
#ifdef __linux__
	struct tcp_info info = {0};
	socklen_t	len = sizeof(info);

	if (getsockopt(PQsocket(channel->pg), IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
		len >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received))
		return info.tcpi_bytes_received;
#endif
	return 0;
}

int
channel_peer_pid(const Channel *channel)
{
	return PQbackendPID(channel->pg);
}

bool
channel_in_xact(const Channel *channel)
{
	return PQtransactionStatus(channel->pg) != PQTRANS_IDLE;
}

bool
channel_xact_failed(const Channel *channel)
{
	return PQtransactionStatus(channel->pg) == PQTRANS_INERROR;
}

const char *
channel_parameter(const Channel *channel, const char *name)
{
	return PQparameterStatus(channel->pg, name);
}
