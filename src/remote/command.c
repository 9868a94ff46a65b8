/*-------------------------------------------------------------------------
 *
 * command.c
 *	  Synchronous commands: on the primary connections, in the distributed
 *	  transaction, or on a plain connection outside it.
 *
 * A plain connection serves only its caller, is not in pipeline mode, and
 * commits each command separately.  One that an error leaves open is closed at
 * the end of the transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "catalog/follower.h"
#include "catalog/node.h"
#include "lib/trace.h"
#include "remote/command_log.h"
#include "remote/private.h"

/*
 * Never asked to yield: its connections are released before anyone else runs.
 */
static void
command_yield(RemoteOwner *owner, RemoteConn *conn)
{
	elog(ERROR, "connection to node %s:%d is in use by a command", conn->nodename, conn->nodeport);
}

static RemoteOwner command_owner = {command_yield};

static RemoteConn *
acquire_for_command(int32 groupid)
{
	node_share_address_local(groupid);
	pool_yield_group(groupid);
	return pool_acquire_primary(groupid, &command_owner);
}

/*
 * Runs the commands of list[i] one after another on conns[i], all connections
 * in parallel.
 */
static void
run_lists(RemoteConn **conns, int nconns, List *commands)
{
	int		   *position = palloc0(sizeof(int) * Max(nconns, 1));
	RemoteConn **waiting = palloc(sizeof(RemoteConn *) * Max(nconns, 1));

	for (;;)
	{
		int			nwaiting = 0;

		for (int i = 0; i < nconns; i++)
		{
			RemotePoll	found = REMOTE_DONE;

			while (found != REMOTE_NOT_YET)
			{
				if (conns[i]->state == REMOTE_IDLE)
				{
					if (position[i] == list_length(commands))
						break;
					remote_send(conns[i], list_nth(commands, position[i]++), NULL, SEND_IN_XACT | SEND_WRITE);
				}
				found = remote_poll(conns[i]);
			}
			if (found == REMOTE_NOT_YET)
				waiting[nwaiting++] = conns[i];
		}
		if (nwaiting == 0)
			break;
		remote_wait(waiting, nwaiting, -1);
	}
	pfree(position);
	pfree(waiting);
}

static void
release_all(RemoteConn **conns, int nconns)
{
	for (int i = 0; i < nconns; i++)
		remote_release(conns[i], &command_owner);
}

void
remote_exec_list(int32 groupid, List *commands)
{
	TraceSpan	span;
	RemoteConn *conn;

	follower_refuse_write();
	span = trace_begin();
	conn = acquire_for_command(groupid);
	run_lists(&conn, 1, commands);
	remote_release(conn, &command_owner);
	trace_end(&span, TRACE_COMMAND, groupid, -1, commands == NIL ? NULL : linitial(commands));
}

void
remote_exec(int32 groupid, const char *sql)
{
	TraceSpan	span = trace_begin();
	RemoteConn *conn;

	follower_refuse_write();
	conn = acquire_for_command(groupid);
	remote_send(conn, sql, NULL, SEND_IN_XACT | SEND_WRITE);
	remote_finish(conn);
	trace_end(&span, TRACE_COMMAND, groupid, -1, sql);
	remote_release(conn, &command_owner);
}

/* Connections to all other nodes with metadata, palloc'd. */
static RemoteConn **
acquire_all_for_command(int *nconns)
{
	List	   *nodes = node_active_primaries_remote();
	RemoteConn **conns = palloc(sizeof(RemoteConn *) * Max(list_length(nodes), 1));

	follower_refuse_write();
	*nconns = 0;
	foreach_ptr(const ClusterNode, node, nodes)
	{
		if (node->has_metadata)
			conns[(*nconns)++] = acquire_for_command(node->groupid);
	}
	return conns;
}

void
remote_exec_on_all(const char *sql)
{
	TraceSpan	span = trace_begin();
	int			nconns;
	RemoteConn **conns = acquire_all_for_command(&nconns);
	List	   *commands = list_make1(unconstify(char *, sql));

	run_lists(conns, nconns, commands);
	trace_end(&span, TRACE_COMMAND, TRACE_NO_NODE, nconns, sql);
	list_free(commands);
	release_all(conns, nconns);
	pfree(conns);
}

void
remote_exec_on_all_while(const char *sql, void (*own_part) (void *arg), void *arg)
{
	TraceSpan	span = trace_begin();
	int			nconns;
	RemoteConn **conns = acquire_all_for_command(&nconns);

	for (int i = 0; i < nconns; i++)
		remote_send(conns[i], sql, NULL, SEND_IN_XACT | SEND_WRITE);
	own_part(arg);
	run_lists(conns, nconns, NIL);
	trace_end(&span, TRACE_COMMAND, TRACE_NO_NODE, nconns, sql);
	release_all(conns, nconns);
	pfree(conns);
}

/* Adds a copy of a row to a result. */
static void
add_row(RemoteResult *result, const RemoteRow *row)
{
	Size		row_size = sizeof(char *) * Max(row->ncolumns, 1);
	char	  **values;

	if (result->nrows == result->room)
	{
		result->room = Max(result->room * 2, 1);
		result->values = result->values == NULL ? palloc(row_size) :
			repalloc_huge(result->values, row_size * result->room);
	}
	values = &result->values[(Size) result->nrows * row->ncolumns];
	for (int i = 0; i < row->ncolumns; i++)
		values[i] = row->values[i].data == NULL ? NULL : pnstrdup(row->values[i].data, row->values[i].len);
	result->nrows++;
}

/*
 * As remote_next; a node that doesn't answer until the deadline (0: none)
 * counts as lost.
 */
static bool
next_until(RemoteConn *conn, TimestampTz deadline)
{
	if (deadline == 0)
		return remote_next(conn);
	for (;;)
	{
		RemotePoll	found = remote_poll(conn);
		long		remaining;

		if (found != REMOTE_NOT_YET)
			return found == REMOTE_ROW;
		remaining = wait_remaining(deadline);
		if (remaining <= 0)
		{
			conn->state = REMOTE_DEAD;
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("node %s:%d did not answer in time", conn->nodename, conn->nodeport)));
		}
		remote_wait(&conn, 1, remaining);
	}
}

/* The answer to the statement that was sent; deadline as for next_until. */
static RemoteResult *
collect_rows(RemoteConn *conn, TimestampTz deadline)
{
	RemoteResult *result = palloc0(sizeof(RemoteResult));

	while (next_until(conn, deadline))
		add_row(result, &conn->row);
	result->ncolumns = conn->row.ncolumns;
	result->tag = pstrdup(conn->priv->tag);
	return result;
}

static RemoteResult *
query_in_xact(int32 groupid, const char *sql, const RemoteParams *params, int mode)
{
	RemoteConn *conn = acquire_for_command(groupid);
	RemoteResult *result;

	remote_send(conn, sql, params, SEND_IN_XACT | mode);
	result = collect_rows(conn, 0);
	remote_release(conn, &command_owner);
	return result;
}

RemoteResult *
remote_query(int32 groupid, const char *sql, const RemoteParams *params)
{
	return query_in_xact(groupid, sql, params, SEND_WRITE);
}

RemoteResult *
remote_read_primary(int32 groupid, const char *sql, const RemoteParams *params)
{
	return query_in_xact(groupid, sql, params, 0);
}

RemoteResult *
remote_read(int32 groupid, const char *sql)
{
	return remote_read_within(groupid, sql, NULL, -1);
}

RemoteResult *
remote_read_within(int32 groupid, const char *sql, const RemoteParams *params, long timeout_ms)
{
	RemoteConn *conn = remote_acquire(groupid, &command_owner, false);
	RemoteResult *result;
	bool		in_xact = pipeline_txn_hooks()->reads_in_xact != NULL && pipeline_txn_hooks()->reads_in_xact();

	TimestampTz deadline = timeout_ms < 0 || conn->xact_wrote ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	remote_send(conn, sql, params, in_xact ? SEND_IN_XACT : SEND_LONE);
	result = collect_rows(conn, deadline);
	remote_release(conn, &command_owner);
	return result;
}

/*
 * Settings are sent first, in a separate segment, since such a command must be
 * alone in its segment.
 */
RemoteConn *
remote_acquire_alone(int32 groupid, RemoteOwner *owner)
{
	RemoteConn *conn = pool_acquire_alone(groupid, owner != NULL ? owner : &command_owner);

	settings_send(conn);
	conn->state = REMOTE_BUSY;
	pipeline_sync(conn);
	remote_finish(conn);
	if (!conn->priv->direct)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot run a command outside a transaction on node %s:%d through a connection pooler",
						conn->nodename, conn->nodeport),
				 errhint("Register the address of the node itself, and that of the pooler in pg_dist_poolinfo.")));
	return conn;
}

RemoteConn *
remote_acquire_own(int32 groupid, RemoteOwner *owner)
{
	RemoteConn *conn = remote_acquire_alone(groupid, owner);

	conn->priv->own = true;
	return conn;
}

void
remote_end_own(RemoteConn *conn, RemoteOwner *owner)
{
	conn->priv->own = false;
	remote_release(conn, owner);
}

void
remote_close_own(RemoteConn *conn)
{
	connect_close(conn);
}

/* Sends a statement that runs alone on a node; its answer is to be awaited. */
static RemoteConn *
send_alone(int32 groupid, const char *sql)
{
	RemoteConn *conn = remote_acquire_alone(groupid, NULL);

	conn->priv->statement = pipeline_next_statement();
	conn->state = REMOTE_BUSY;
	pipeline_send_alone(conn, sql, ITEM_STATEMENT);
	return conn;
}

void
remote_exec_alone(int32 groupid, const char *sql)
{
	RemoteConn *conn = send_alone(groupid, sql);

	remote_finish(conn);
	remote_release(conn, &command_owner);
}

void
remote_exec_alone_on_all(const char *sql)
{
	List	   *conns = NIL;
	ListCell   *cell;

	foreach(cell, node_active_primaries_remote())
		conns = lappend(conns, send_alone(((const ClusterNode *) lfirst(cell))->groupid, sql));
	foreach(cell, conns)
	{
		remote_finish(lfirst(cell));
		remote_release(lfirst(cell), &command_owner);
	}
}

/* Why a connection was not made, and what to do about it; closes it. */
static char *
explain_failure(RemoteConn *conn)
{
	char	   *failure = connect_failure(conn);
	char	   *advice = connect_advice(conn);

	connect_close(conn);
	return advice == NULL ? failure : psprintf("%s\n%s", failure, advice);
}

/* The connection, if it was made; else closes it, and *error is why. */
static RemoteConn *
plain_opened(RemoteConn *conn, char **error)
{
	if (conn->state == REMOTE_IDLE)
		return conn;
	if (error == NULL)
		connect_report(conn);
	*error = explain_failure(conn);
	return NULL;
}

RemoteConn *
remote_plain_open(const char *host, int port, char **error)
{
	RemoteConn *conn = pool_open_plain(host, port, CONNECT_PLAIN, GetUserId(), &command_owner);

	connect_finish_queued(conn);
	return plain_opened(conn, error);
}

RemoteConn *
remote_plain_open_unchecked(const char *host, int port, int limit_ms, char **error)
{
	RemoteConn *conn = pool_open_plain(host, port, CONNECT_UNCHECKED, GetUserId(), &command_owner);

	connect_finish_within(conn, limit_ms);
	return plain_opened(conn, error);
}

char *
remote_login_problem(const char *host, int port, Oid role, bool *reached)
{
	RemoteConn *conn = pool_open_plain(host, port, CONNECT_PLAIN, role, &command_owner);

	connect_finish(conn);
	*reached = conn->state == REMOTE_IDLE || channel_refusal(&conn->priv->channel) != CHANNEL_NOT_REACHED;
	if (conn->state != REMOTE_IDLE)
		return explain_failure(conn);
	connect_close(conn);
	return NULL;
}

RemoteConn *
remote_replication_open(const char *host, int port)
{
	RemoteConn *conn = pool_open_plain(host, port, CONNECT_REPLICATION, GetUserId(), &command_owner);

	connect_finish_queued(conn);
	if (conn->state == REMOTE_DEAD)
		connect_report(conn);
	return conn;
}

void
remote_plain_limit(RemoteConn *conn, int timeout_ms)
{
	conn->priv->plain_timeout = timeout_ms;
}

void
remote_plain_send(RemoteConn *conn, const char *sql)
{
	if (conn->state == REMOTE_DEAD)
		return;
	command_log(conn, sql);
	conn->priv->statement = pipeline_next_statement();
	conn->state = channel_send_script(&conn->priv->channel, sql) ? REMOTE_BUSY : REMOTE_DEAD;
}

/*
 * The next message of a channel that is not in pipeline mode; waits until the
 * deadline (0: none).
 */
static ChannelEvent
next_plain(RemoteConn *conn, TimestampTz deadline)
{
	ChannelEvent event;

	while ((event = channel_next(&conn->priv->channel)) == CHANNEL_NOTHING)
	{
		if (!wait_for_conn(conn, deadline))
			return CHANNEL_LOST;
		channel_read(&conn->priv->channel);
	}
	return event;
}

/* The result of the last of the commands sent; NULL with the first error. */
static RemoteResult *
plain_result(RemoteConn *conn, RemoteError **error)
{
	Channel    *channel = &conn->priv->channel;
	int			timeout = conn->priv->plain_timeout;
	TimestampTz deadline = timeout == 0 ? 0 : TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout);
	RemoteResult *rows = palloc0(sizeof(RemoteResult));
	RemoteResult *result = NULL;

	*error = NULL;
	while (conn->state == REMOTE_BUSY)
	{
		switch (next_plain(conn, deadline))
		{
			case CHANNEL_ROW:
				add_row(rows, &channel->row);
				break;
			case CHANNEL_COMPLETE:
				result = rows;
				result->ncolumns = channel->row.ncolumns;
				result->tag = pstrdup(channel->tag);
				rows = palloc0(sizeof(RemoteResult));
				break;
			case CHANNEL_FAILED:
				remote_error_free(*error);
				*error = channel_take_error(channel);
				break;
			case CHANNEL_END:
				conn->state = REMOTE_IDLE;
				break;
			case CHANNEL_LOST:
				conn->state = REMOTE_DEAD;
				break;
			default:
				conn->state = REMOTE_DEAD;
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot run COPY with the client as a command on node %s:%d",
								conn->nodename, conn->nodeport)));
		}
	}
	if (conn->state == REMOTE_DEAD && *error == NULL)
		*error = channel_take_error(channel);
	return *error == NULL ? result : NULL;
}

RemoteResult *
remote_plain_result(RemoteConn *conn, char **error)
{
	RemoteError *reported;
	RemoteResult *result = plain_result(conn, &reported);

	if (reported != NULL)
		*error = pchomp(remote_error_message(conn, reported));
	remote_error_free(reported);
	return result;
}

RemoteResult *
remote_plain_exec(RemoteConn *conn, const char *sql, int elevel)
{
	RemoteError *error;
	RemoteResult *result;

	remote_plain_send(conn, sql);
	result = plain_result(conn, &error);
	if (error != NULL)
		remote_raise(elevel, conn, error);
	return result;
}

void
remote_plain_close(RemoteConn *conn)
{
	connect_close(conn);
}
