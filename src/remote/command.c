/*-------------------------------------------------------------------------
 *
 * command.c
 *	  Commands that are waited for: on the primary connections, in the
 *	  distributed transaction, or on a plain connection outside it.
 *
 * A plain connection is made for its caller alone, is not in pipeline mode, and
 * commits each command by itself.  One that an error leaves open is closed
 * with the transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "catalog/node.h"
#include "remote/private.h"

/* Never asked to yield: its connections are released before anyone else runs. */
static void
command_yield(RemoteOwner *owner, RemoteConn *conn)
{
	elog(ERROR, "connection to node %s:%d is in use by a command", conn->nodename, conn->nodeport);
}

static RemoteOwner command_owner = {command_yield};

static RemoteConn *
acquire_for_command(int32 groupid)
{
	node_lock_write(groupid);
	pool_yield_group(groupid);
	return pool_acquire_primary(groupid, &command_owner);
}

/* Reads a statement's results to their end and throws them away. */
static void
finish_command(RemoteConn *conn)
{
	bool		done = false;

	while (!done)
	{
		PGresult   *res = remote_next(conn, &done);

		if (res != NULL)
			PQclear(res);
	}
}

/*
 * Runs list[i] on conns[i], all in parallel, and the next of each list when the one
 * before is done there.
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
			bool		done = true;

			for (;;)
			{
				PGresult   *res = NULL;

				if (conns[i]->state == REMOTE_IDLE)
				{
					if (position[i] == list_length(commands))
						break;
					remote_send(conns[i], list_nth(commands, position[i]++), NULL, false, true, true);
				}
				res = remote_poll(conns[i], &done);
				if (res != NULL)
					PQclear(res);
				else if (!done)
					break;
			}
			if (!done)
				waiting[nwaiting++] = conns[i];
		}
		if (nwaiting == 0)
			break;
		remote_wait(waiting, nwaiting, -1, NULL);
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
	RemoteConn *conn = acquire_for_command(groupid);

	run_lists(&conn, 1, commands);
	remote_release(conn, &command_owner);
}

void
remote_exec(int32 groupid, const char *sql)
{
	RemoteConn *conn = acquire_for_command(groupid);

	remote_send(conn, sql, NULL, false, true, true);
	finish_command(conn);
	remote_release(conn, &command_owner);
}

/* Connections to all other nodes with metadata, palloc'd. */
static RemoteConn **
acquire_all_for_command(int *nconns)
{
	List	   *nodes = node_active_primaries_remote();
	RemoteConn **conns = palloc(sizeof(RemoteConn *) * Max(list_length(nodes), 1));
	ListCell   *lc;

	*nconns = 0;
	foreach(lc, nodes)
	{
		const ClusterNode *node = lfirst(lc);

		if (node->has_metadata)
			conns[(*nconns)++] = acquire_for_command(node->groupid);
	}
	return conns;
}

void
remote_exec_list_on_all(List *commands)
{
	int			nconns;
	RemoteConn **conns = acquire_all_for_command(&nconns);

	run_lists(conns, nconns, commands);
	release_all(conns, nconns);
	pfree(conns);
}

void
remote_exec_on_all(const char *sql)
{
	List	   *commands = list_make1(unconstify(char *, sql));

	remote_exec_list_on_all(commands);
	list_free(commands);
}

void
remote_exec_on_all_while(const char *sql, void (*own_part) (void *arg), void *arg)
{
	int			nconns;
	RemoteConn **conns = acquire_all_for_command(&nconns);

	for (int i = 0; i < nconns; i++)
		remote_send(conns[i], sql, NULL, false, true, true);
	own_part(arg);
	run_lists(conns, nconns, NIL);
	release_all(conns, nconns);
	pfree(conns);
}

/*
 * Rows arrive one by one; they are put together again, since callers like
 * them in one piece.
 */
static PGresult *
append_row(PGresult *all, PGresult *row)
{
	int			at;

	if (all == NULL)
		all = PQcopyResult(row, PG_COPYRES_ATTRS);
	if (all == NULL || PQresultStatus(row) != PGRES_SINGLE_TUPLE)
		return all;
	at = PQntuples(all);
	for (int i = 0; i < PQnfields(row); i++)
	{
		bool		isnull = PQgetisnull(row, 0, i);

		if (!PQsetvalue(all, at, i, isnull ? NULL : PQgetvalue(row, 0, i),
						isnull ? -1 : PQgetlength(row, 0, i)))
		{
			PQclear(all);
			return NULL;
		}
	}
	return all;
}

/* As remote_next; a node that says nothing until the deadline (0: none) is taken for lost. */
static PGresult *
next_until(RemoteConn *conn, bool *done, TimestampTz deadline)
{
	if (deadline == 0)
		return remote_next(conn, done);
	for (;;)
	{
		PGresult   *res = remote_poll(conn, done);
		long		remaining;

		if (res != NULL || *done)
			return res;
		remaining = wait_remaining(deadline);
		if (remaining <= 0)
		{
			conn->state = REMOTE_DEAD;
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("node %s:%d did not answer in time", conn->nodename, conn->nodeport)));
		}
		remote_wait(&conn, 1, remaining, NULL);
	}
}

/* All rows of the statement that was sent, in one result; deadline as for next_until. */
static PGresult *
collect_rows(RemoteConn *conn, TimestampTz deadline)
{
	PGresult   *volatile all = NULL;

	PG_TRY();
	{
		bool		done = false;

		while (!done)
		{
			PGresult   *res = next_until(conn, &done, deadline);

			if (res == NULL)
				continue;
			if (PQresultStatus(res) == PGRES_SINGLE_TUPLE || PQresultStatus(res) == PGRES_TUPLES_OK)
			{
				all = append_row(all, res);
				PQclear(res);
			}
			else
			{
				if (all != NULL)
					PQclear(all);
				all = res;
			}
			if (all == NULL)
				ereport(ERROR,
						(errcode(ERRCODE_OUT_OF_MEMORY),
						 errmsg("out of memory")));
		}
	}
	PG_CATCH();
	{
		if (all != NULL)
			PQclear(all);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return all;
}

PGresult *
remote_query(int32 groupid, const char *sql, const RemoteParams *params)
{
	RemoteConn *conn = acquire_for_command(groupid);
	PGresult   *rows;

	remote_send(conn, sql, params, false, true, true);
	rows = collect_rows(conn, 0);
	remote_release(conn, &command_owner);
	return rows;
}

PGresult *
remote_read(int32 groupid, const char *sql, const RemoteParams *params)
{
	return remote_read_within(groupid, sql, params, -1);
}

PGresult *
remote_read_within(int32 groupid, const char *sql, const RemoteParams *params, long timeout_ms)
{
	RemoteConn *conn = remote_acquire(groupid, &command_owner, false);
	PGresult   *rows;
	bool		in_xact = pipeline_txn_hooks()->reads_in_xact != NULL && pipeline_txn_hooks()->reads_in_xact();

	TimestampTz deadline = timeout_ms < 0 || conn->xact_wrote ? 0 :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	remote_send(conn, sql, params, false, in_xact, false);
	rows = collect_rows(conn, deadline);
	remote_release(conn, &command_owner);
	return rows;
}

/*
 * Settings go first, in a segment of their own, as a command of this kind must be alone in
 * its segment.
 */
RemoteConn *
remote_acquire_alone(int32 groupid)
{
	RemoteConn *conn = pool_acquire_alone(groupid, &command_owner);

	settings_send(conn);
	conn->state = REMOTE_BUSY;
	pipeline_sync(conn);
	finish_command(conn);
	if (!conn->priv->direct)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot run a command outside a transaction on node %s:%d through a connection pooler",
						conn->nodename, conn->nodeport),
				 errhint("Register the address of the node itself, and that of the pooler in pg_dist_poolinfo.")));
	return conn;
}

void
remote_exec_alone(int32 groupid, const char *sql)
{
	RemoteConn *conn = remote_acquire_alone(groupid);

	if (!PQsendQueryParams(conn->pg, sql, 0, NULL, NULL, NULL, NULL, 0))
		pipeline_lost(conn, NULL);
	else
	{
		pipeline_sent(conn, ITEM_STATEMENT);
		conn->priv->statement = pipeline_next_statement();
		conn->state = REMOTE_BUSY;
		pipeline_sync(conn);
	}
	finish_command(conn);
	remote_release(conn, &command_owner);
}

RemoteConn *
remote_plain_open(const char *host, int port, char **error)
{
	RemoteConn *conn = pool_open_plain(host, port, &command_owner);

	connect_finish(conn);
	if (conn->state != REMOTE_DEAD)
		return conn;
	if (error == NULL)
		connect_report(conn);
	*error = connect_failure(conn);
	connect_close(conn);
	return NULL;
}

/* Whether libpq has something to return, without blocking; reads what is here. */
static bool
plain_ready(RemoteConn *conn)
{
	if (!PQisBusy(conn->pg))
		return true;
	if (!PQconsumeInput(conn->pg))
		return true;
	conn->priv->unflushed = PQflush(conn->pg) > 0;
	return !PQisBusy(conn->pg);
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
	if (!PQsendQuery(conn->pg, sql))
	{
		conn->state = REMOTE_DEAD;
		return;
	}
	conn->state = REMOTE_BUSY;
	conn->priv->statement = pipeline_next_statement();
	conn->priv->unflushed = PQflush(conn->pg) > 0;
}

/*
 * The result is that of the last of the commands sent, or the first error.
 */
PGresult *
remote_plain_result(RemoteConn *conn)
{
	int			timeout = conn->priv->plain_timeout;
	TimestampTz deadline = timeout == 0 ? 0 : TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout);
	PGresult   *last = NULL;

	if (conn->state == REMOTE_DEAD)
		return PQmakeEmptyPGresult(conn->pg, PGRES_FATAL_ERROR);

	for (;;)
	{
		PGresult   *res;

		while (!plain_ready(conn))
		{
			if (wait_for_conn(conn, WL_SOCKET_READABLE |
							  (conn->priv->unflushed ? WL_SOCKET_WRITEABLE : 0), deadline))
				continue;
			conn->state = REMOTE_DEAD;
			return last != NULL ? last : PQmakeEmptyPGresult(conn->pg, PGRES_FATAL_ERROR);
		}
		res = PQgetResult(conn->pg);
		if (res == NULL)
			break;
		if (last != NULL)
			PQclear(last);
		last = res;
		if (PQresultStatus(res) == PGRES_COPY_IN || PQresultStatus(res) == PGRES_COPY_OUT ||
			PQresultStatus(res) == PGRES_COPY_BOTH)
		{
			conn->state = REMOTE_DEAD;
			PQclear(last);
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot run COPY with the client as a command on node %s:%d",
							conn->nodename, conn->nodeport)));
		}
	}
	conn->state = PQstatus(conn->pg) == CONNECTION_OK ? REMOTE_IDLE : REMOTE_DEAD;
	return last != NULL ? last : PQmakeEmptyPGresult(conn->pg, PGRES_FATAL_ERROR);
}

PGresult *
remote_plain_exec(RemoteConn *conn, const char *sql)
{
	remote_plain_send(conn, sql);
	return remote_plain_result(conn);
}

void
remote_plain_close(RemoteConn *conn)
{
	connect_close(conn);
}
