/*-------------------------------------------------------------------------
 *
 * pipeline.c
 *	  Statements and their results on one connection.
 *
 * A connection is in libpq's pipeline mode nearly always.  A statement leaves
 * with all that must go before it (BEGIN, savepoints, settings) and one Sync
 * behind it, in one flush: a *segment*.  When anything in a segment fails, the
 * node skips the rest of it, so that a statement never runs without its settings
 * or outside its transaction.
 *
 * libpq answers in order, but leaves it to us to know what an answer belongs
 * to.  So each command is noted in priv->items when it is sent, and pipeline_next
 * takes it off when its results end.  The first error is kept in priv->error
 * until the Sync is answered; the connection is then idle again, and usable.
 *
 * Sending never blocks: output that the socket doesn't take stays in libpq's
 * buffer, and priv->unflushed makes the next wait (wait.c) send it on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "lib/debug_point.h"
#include "remote/identity.h"
#include "remote/prepared.h"
#include "remote/private.h"

static RemoteTxnHooks txn_hooks;
static uint64 last_statement = 0;

void
remote_set_txn_hooks(const RemoteTxnHooks *hooks)
{
	txn_hooks = *hooks;
}

const RemoteTxnHooks *
pipeline_txn_hooks(void)
{
	return &txn_hooks;
}

/* A number for a statement, unique in this backend. */
uint64
pipeline_next_statement(void)
{
	return ++last_statement;
}

/* Makes room to note n more items; before anything is sent that could not be noted. */
static void
reserve_items(RemoteConnPrivate *priv, int n)
{
	if (priv->items_head == priv->items_tail)
		priv->items_head = priv->items_tail = 0;
	if (priv->items_tail + n <= priv->items_size)
		return;

	if (priv->items == NULL)
	{
		priv->items = MemoryContextAlloc(TopMemoryContext, 64);
		priv->items_size = 64;
	}
	else
	{
		priv->items = repalloc(priv->items, priv->items_size * 2);
		priv->items_size *= 2;
	}
}

/*
 * Notes what has been sent.  The result of the item at the head must be put
 * into single-row mode before libpq reads any of it.
 */
void
pipeline_sent(RemoteConn *conn, char item)
{
	RemoteConnPrivate *priv = conn->priv;

	reserve_items(priv, 1);
	priv->items[priv->items_tail++] = item;
	if (priv->items_tail == priv->items_head + 1 && item == ITEM_STATEMENT)
		PQsetSingleRowMode(conn->priv->pg);
}

/* Takes the head item off. */
static void
pop_item(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	char		next;

	priv->items_head++;
	if (priv->items_head == priv->items_tail)
		return;
	next = priv->items[priv->items_head];
	if (next == ITEM_STATEMENT || next == ITEM_IGNORED)
		PQsetSingleRowMode(conn->priv->pg);
}

/* The connection is of no use any more; res, or what libpq says, is the reason. */
void
pipeline_lost(RemoteConn *conn, PGresult *res)
{
	RemoteConnPrivate *priv = conn->priv;

	conn->state = REMOTE_DEAD;
	connect_hide(conn);
	priv->items_head = priv->items_tail = 0;
	priv->unflushed = false;
	if (priv->error != NULL)
		PQclear(res);
	else if (res != NULL)
		priv->error = res;
	else
		priv->error = PQmakeEmptyPGresult(conn->priv->pg, PGRES_FATAL_ERROR);
}

/* Raises the error kept for a connection; returns if there is none. */
static void
raise_kept(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	RemoteError *error = priv->error;

	if (error == NULL)
		return;
	priv->error = NULL;
	if (priv->commits)
		lone_write_failed(conn, error);
	remote_raise(ERROR, conn, error);
}

/* Sends what is pending; false if the connection is lost. */
bool
pipeline_flush(RemoteConn *conn)
{
	int			rc = PQflush(conn->priv->pg);

	if (rc < 0)
	{
		/* what the node said before it closed the connection is still to be read */
		conn->priv->unflushed = false;
		return PQstatus(conn->priv->pg) == CONNECTION_OK;
	}
	conn->priv->unflushed = rc > 0;
	return true;
}

/* Sends a statement as text; false if libpq fails. */
static bool
send_text(RemoteConn *conn, const char *sql, const RemoteParams *params, bool binary_result)
{
	return PQsendQueryParams(conn->priv->pg, sql,
							 params ? params->count : 0,
							 params ? params->types : NULL,
							 params ? (const char *const *) params->values : NULL,
							 params ? params->lengths : NULL,
							 params ? params->formats : NULL,
							 binary_result ? 1 : 0);
}

void
pipeline_queue(RemoteConn *conn, const char *sql, const RemoteParams *params)
{
	reserve_items(conn->priv, 2);
	if (!send_text(conn, sql, params, false))
	{
		pipeline_lost(conn, NULL);
		raise_kept(conn);
	}
	pipeline_sent(conn, ITEM_SILENT);
}

void
remote_queue_command(RemoteConn *conn, const char *sql)
{
	pipeline_queue(conn, sql, NULL);
}

/* Ends the segment and sends it off. */
void
pipeline_sync(RemoteConn *conn)
{
	reserve_items(conn->priv, 1);
	if (!PQpipelineSync(conn->priv->pg))
	{
		pipeline_lost(conn, NULL);
		raise_kept(conn);
	}
	pipeline_sent(conn, ITEM_SYNC);
	if (!pipeline_flush(conn))
	{
		pipeline_lost(conn, NULL);
		raise_kept(conn);
	}
}

/* Queues what must go before a statement. */
void
pipeline_begin(RemoteConn *conn, bool in_xact)
{
	if ((in_xact || conn->xact_depth > 0) && txn_hooks.begin != NULL)
		txn_hooks.begin(conn);
	settings_send(conn);
}

/* Frees the name of a prepared statement, if one has to make room. */
static void
send_evicted(RemoteConn *conn, const PreparedUse *use)
{
	char		command[PREPARED_NAME_SIZE + 16];

	if (use->evicted[0] == '\0')
		return;
	snprintf(command, sizeof(command), "DEALLOCATE %s", use->evicted);
	remote_queue_command(conn, command);
}

/* Sends a prepared statement, or prepares it first; false if libpq fails. */
static bool
send_prepared(RemoteConn *conn, const PreparedUse *use, const RemoteParams *params, bool binary_result)
{
	if (use->first)
	{
		if (!PQsendPrepare(conn->priv->pg, use->name, use->sql, params ? params->count : 0,
						   params ? params->types : NULL))
			return false;
		pipeline_sent(conn, ITEM_SILENT);
	}
	return PQsendQueryPrepared(conn->priv->pg, use->name,
							   params ? params->count : 0,
							   params ? (const char *const *) params->values : NULL,
							   params ? params->lengths : NULL,
							   params ? params->formats : NULL,
							   binary_result ? 1 : 0);
}

/* What comes before a statement. */
static void
begin_statement(RemoteConn *conn, bool in_xact, bool write)
{
	Assert(conn->state == REMOTE_IDLE);

	/* an extra connection only reads, and needs no transaction for that */
	if (!conn->primary && !write)
		in_xact = false;
	if (in_xact && write)
		conn->xact_wrote = true;

	pipeline_begin(conn, in_xact);
	reserve_items(conn->priv, 5);
	if (write && !in_xact)
		lone_write_begin(conn);
}

/* What comes behind it; sent is whether libpq has taken it, identity whether it runs as another user. */
static void
end_statement(RemoteConn *conn, bool sent, bool identity)
{
	RemoteConnPrivate *priv = conn->priv;

	if (!sent)
	{
		pipeline_lost(conn, NULL);
		raise_kept(conn);
	}
	pipeline_sent(conn, ITEM_STATEMENT);
	if (identity && !priv->commits)
		identity_end_remote(conn);
	priv->statement = pipeline_next_statement();
	priv->tag[0] = '\0';
	conn->state = REMOTE_BUSY;
	pipeline_sync(conn);
	DEBUG_POINT("remote-after-send");
}

void
remote_send(RemoteConn *conn, const char *sql, const RemoteParams *params, bool binary_result,
			bool in_xact, bool write)
{
	bool		identity;

	begin_statement(conn, in_xact, write);
	identity = identity_begin_remote(conn, InvalidOid);
	end_statement(conn, send_text(conn, sql, params, binary_result), identity);
}

void
remote_send_task(RemoteConn *conn, const char *tag, const char *text, const RemoteParams *params,
				 Oid analyst, bool binary_result, bool in_xact, bool write)
{
	PreparedUse use;
	bool		prepared;
	bool		identity;
	bool		sent;

	begin_statement(conn, in_xact, write);
	prepared = prepared_use(conn, tag, text, params, &use);
	if (prepared)
		send_evicted(conn, &use);
	identity = identity_begin_remote(conn, analyst);
	if (prepared)
		sent = send_prepared(conn, &use, params, binary_result);
	else
		sent = send_text(conn, psprintf("%s%s", tag, text), params, binary_result);
	end_statement(conn, sent, identity);
}

bool
remote_prepared_lost(RemoteConn *conn, const ErrorData *error)
{
	if (error->sqlerrcode != ERRCODE_UNDEFINED_PSTATEMENT &&
		!(error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED && error->message != NULL &&
		  strcmp(error->message, "cached plan must not change result type") == 0))
		return false;
	prepared_forget(conn);
	return true;
}

void
remote_send_silent(RemoteConn *conn, const char *sql)
{
	if (conn->state == REMOTE_DEAD)
		return;
	reserve_items(conn->priv, 2);
	if (!PQsendQueryParams(conn->priv->pg, sql, 0, NULL, NULL, NULL, NULL, 0))
	{
		pipeline_lost(conn, NULL);
		return;
	}
	pipeline_sent(conn, ITEM_IGNORED);
	if (!PQpipelineSync(conn->priv->pg))
	{
		pipeline_lost(conn, NULL);
		return;
	}
	pipeline_sent(conn, ITEM_SYNC);
	if (!pipeline_flush(conn))
		pipeline_lost(conn, NULL);
}

/* Keeps the first error; a later one only follows from it. */
static void
keep_error(RemoteConn *conn, PGresult *res)
{
	if (conn->priv->error == NULL)
		conn->priv->error = res;
	else
		PQclear(res);
}

/*
 * A segment is answered, also one that nobody is interested in any more: settings
 * that went with it are in effect, or not; behind a pooler they are over.  A statement that was to be prepared
 * belongs to the last segment that was sent.
 */
static void
end_segment(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	bool		failed = priv->error != NULL || priv->segment_failed;
	bool		undone = priv->segment_undone;
	bool		last = priv->items_head + 1 >= priv->items_tail;

	priv->segment_failed = priv->segment_undone = false;
	if (!failed)
		conn->xact_fresh = false;
	if (last && failed)
		prepared_failed(conn);
	else if (last)
		prepared_succeeded(conn);
	if (remote_in_xact(conn))
		return;
	if (failed || undone || !priv->direct)
		settings_rolled_back(conn);
	else if (last)
		settings_committed(conn);
}

/* Lets conn->row be a result's only row, which is valid as long as the result. */
void
pipeline_take_row(RemoteConn *conn, PGresult *res)
{
	RemoteConnPrivate *priv = conn->priv;
	RemoteRow  *row = &conn->row;

	PQclear(priv->current);
	priv->current = res;
	row->ncolumns = PQnfields(res);
	if (row->ncolumns > priv->row_size)
	{
		priv->row_size = 0;
		if (row->values != NULL)
			pfree(row->values);
		row->values = NULL;
		row->values = MemoryContextAlloc(TopMemoryContext, sizeof(RemoteValue) * row->ncolumns);
		priv->row_size = row->ncolumns;
	}
	for (int i = 0; i < row->ncolumns; i++)
	{
		row->values[i].len = PQgetlength(res, 0, i);
		row->values[i].data = row->values[i].len == 0 && PQgetisnull(res, 0, i) ? NULL : PQgetvalue(res, 0, i);
	}
}

/* The result of the owner's statement that ends it. */
void
pipeline_take_end(RemoteConn *conn, PGresult *res)
{
	Assert(PQntuples(res) == 0);
	conn->row.ncolumns = PQresultStatus(res) == PGRES_TUPLES_OK ? PQnfields(res) : -1;
	conn->processed = strtou64(PQcmdTuples(res), NULL, 10);
	strlcpy(conn->priv->tag, PQcmdStatus(res), sizeof(conn->priv->tag));
	PQclear(res);
}

/*
 * Takes one result that libpq returned, which is kept or cleared.  True if conn->row is now a row for the
 * owner of the connection.
 */
static bool
take_result(RemoteConn *conn, PGresult *res)
{
	RemoteConnPrivate *priv = conn->priv;
	char		item = priv->items[priv->items_head];

	switch (PQresultStatus(res))
	{
		case PGRES_PIPELINE_SYNC:
			PQclear(res);
			while (priv->items_head < priv->items_tail && priv->items[priv->items_head] != ITEM_SYNC)
				priv->items_head++;
			end_segment(conn);
			pop_item(conn);
			return false;

		case PGRES_SINGLE_TUPLE:
		case PGRES_TUPLES_OK:
		case PGRES_COMMAND_OK:
			if (PQcmdStatus(res)[0] == 'R' && strcmp(PQcmdStatus(res), "ROLLBACK") == 0)
				priv->segment_undone = true;	/* also by COMMIT of a failed transaction */
			if (item == ITEM_STATEMENT && PQresultStatus(res) == PGRES_SINGLE_TUPLE)
				pipeline_take_row(conn, res);
			else if (item == ITEM_STATEMENT)
				pipeline_take_end(conn, res);
			else
			{
				if (item == ITEM_SETTINGS)
					settings_answered(conn, res);
				PQclear(res);
			}
			return priv->current != NULL;

		case PGRES_PIPELINE_ABORTED:
			PQclear(res);
			return false;

		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			/* not possible in pipeline mode, and nothing we could go on with */
			pipeline_lost(conn, res);
			return false;

		default:
			if (PQstatus(conn->priv->pg) != CONNECTION_OK)
				pipeline_lost(conn, res);
			else if (item == ITEM_IGNORED)
			{
				priv->segment_failed = true;
				PQclear(res);
			}
			else
				keep_error(conn, res);
			return false;
	}
}

/*
 * As remote_poll, but raises no error of the node: after REMOTE_DONE, priv->error may hold one.
 */
RemotePoll
pipeline_next(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	bool		consumed = false;
	bool		was_null = false;

	PQclear(priv->current);
	priv->current = NULL;
	while (conn->state == REMOTE_BUSY)
	{
		PGresult   *res;

		if (priv->items_head == priv->items_tail)
		{
			conn->state = REMOTE_IDLE;
			break;
		}

		if (PQisBusy(conn->priv->pg))
		{
			if (consumed)
				return REMOTE_NOT_YET;
			consumed = true;
			if (PQconsumeInput(conn->priv->pg))
			{
				if (priv->unflushed)
					(void) pipeline_flush(conn);
				continue;
			}
			/* PQgetResult tells why */
		}

		res = PQgetResult(conn->priv->pg);
		if (res != NULL)
		{
			was_null = false;
			if (take_result(conn, res))
				return REMOTE_ROW;
		}
		else if (PQstatus(conn->priv->pg) != CONNECTION_OK || was_null)
			pipeline_lost(conn, NULL);
		else if (priv->items[priv->items_head] == ITEM_SYNC)
			was_null = true;	/* an error that came instead of the sync */
		else
			pop_item(conn);
	}

	return REMOTE_DONE;
}

RemotePoll
remote_poll(RemoteConn *conn)
{
	RemotePoll	found;

	if (conn->state == REMOTE_CONNECTING)
		return connect_poll(conn) ? REMOTE_DONE : REMOTE_NOT_YET;
	found = pipeline_next(conn);
	if (found == REMOTE_DONE)
		raise_kept(conn);
	return found;
}

bool
remote_next(RemoteConn *conn)
{
	for (;;)
	{
		RemotePoll	found;

		CHECK_FOR_INTERRUPTS();
		found = remote_poll(conn);
		if (found != REMOTE_NOT_YET)
			return found == REMOTE_ROW;
		remote_wait(&conn, 1, -1, NULL);
	}
}

void
remote_finish(RemoteConn *conn)
{
	while (remote_next(conn))
		;
}

bool
remote_in_xact(const RemoteConn *conn)
{
	return PQtransactionStatus(conn->priv->pg) != PQTRANS_IDLE;
}

bool
remote_xact_failed(const RemoteConn *conn)
{
	return PQtransactionStatus(conn->priv->pg) == PQTRANS_INERROR;
}

void
remote_send_rollback(RemoteConn *conn)
{
	settings_rolled_back(conn);
	remote_send_silent(conn, "ROLLBACK");
}

/* Nobody is interested in what is outstanding any more. */
void
pipeline_ignore_outstanding(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	for (int i = priv->items_head; i < priv->items_tail; i++)
		if (priv->items[i] != ITEM_SYNC)
			priv->items[i] = ITEM_IGNORED;
	if (priv->error != NULL && conn->state != REMOTE_DEAD)
	{
		priv->segment_failed = priv->items_head < priv->items_tail;
		PQclear(priv->error);
		priv->error = NULL;
	}
}

/*
 * Reads all that is outstanding and throws rows away; an error stays in
 * priv->error.  False if the deadline (0: none) passed first.
 */
bool
pipeline_drain(RemoteConn *conn, TimestampTz deadline)
{
	RemoteConnPrivate *priv = conn->priv;

	if (conn->state == REMOTE_IDLE && priv->items_head < priv->items_tail)
		conn->state = REMOTE_BUSY;

	for (;;)
	{
		RemotePoll	found = pipeline_next(conn);

		if (found == REMOTE_DONE)
			return true;
		if (found == REMOTE_ROW)
			CHECK_FOR_INTERRUPTS();
		else if (!wait_for_conn(conn, WL_SOCKET_READABLE | (priv->unflushed ? WL_SOCKET_WRITEABLE : 0), deadline))
			return false;
	}
}

/* Out of pipeline mode, for COPY; waits for what is outstanding, and raises its errors. */
void
pipeline_leave(RemoteConn *conn)
{
	pipeline_drain(conn, 0);
	raise_kept(conn);
	if (!PQexitPipelineMode(conn->priv->pg))
	{
		pipeline_lost(conn, NULL);
		raise_kept(conn);
	}
}

/* Back into pipeline mode; raises nothing. */
void
pipeline_enter(RemoteConn *conn)
{
	if (conn->state == REMOTE_DEAD)
		return;
	if (PQenterPipelineMode(conn->priv->pg))
		conn->state = REMOTE_IDLE;
	else
		pipeline_lost(conn, NULL);
}
