/*-------------------------------------------------------------------------
 *
 * pipeline.c
 *	  Statements and their results on one connection.
 *
 * A channel is in pipeline mode nearly always.  A statement is sent with all
 * commands that must precede it (BEGIN, savepoints, settings) and one Sync
 * after it, in one flush: a *segment*.  If a command of a segment fails, the
 * node skips the rest of it, so a statement never runs without its settings or
 * outside its transaction.
 *
 * The channel returns answers in order, without the commands that they belong
 * to.  So each command is added to priv->items when it is sent, and removed
 * when it is answered.  The first error is kept in priv->error until the Sync
 * is answered; the connection is then idle again, and usable.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/standby_writes.h"
#include "lib/debug_point.h"
#include "remote/command_log.h"
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

/* Makes room for n more items, before the commands are sent. */
static void
reserve_items(RemoteConnPrivate *priv, int n)
{
	if (priv->items_head == priv->items_tail)
		priv->items_head = priv->items_tail = priv->items_safe = 0;
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

/* Notes what has been sent. */
void
pipeline_sent(RemoteConn *conn, char item)
{
	RemoteConnPrivate *priv = conn->priv;

	reserve_items(priv, 1);
	priv->items[priv->items_tail++] = item;
	priv->quiet_since = 0;
}

/* The connection is lost, for the reason in priv->error or of its channel. */
void
pipeline_lost(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	conn->state = REMOTE_DEAD;
	connect_hide(conn);
	priv->items_head = priv->items_tail = priv->items_safe = 0;
	if (priv->error == NULL)
		priv->error = channel_take_error(&priv->channel);
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

void
pipeline_queue(RemoteConn *conn, const char *sql, const RemoteParams *params)
{
	command_log(conn, sql);
	reserve_items(conn->priv, 2);
	if (!channel_send_text(&conn->priv->channel, sql, params, false))
	{
		pipeline_lost(conn);
		raise_kept(conn);
	}
	pipeline_sent(conn, ITEM_SILENT);
}

void
remote_queue_command(RemoteConn *conn, const char *sql)
{
	pipeline_queue(conn, sql, NULL);
}

void
remote_queue_barrier(RemoteConn *conn)
{
	conn->priv->items_safe = conn->priv->items_tail;
	if (!channel_ask_for_answers(&conn->priv->channel))
	{
		pipeline_lost(conn);
		raise_kept(conn);
	}
}

/* Ends the segment and sends it; false if the connection is lost. */
static bool
send_sync(RemoteConn *conn)
{
	reserve_items(conn->priv, 1);
	if (channel_sync(&conn->priv->channel))
	{
		pipeline_sent(conn, ITEM_SYNC);
		if (channel_flush(&conn->priv->channel))
			return true;
	}
	pipeline_lost(conn);
	return false;
}

void
pipeline_sync(RemoteConn *conn)
{
	if (!send_sync(conn))
		raise_kept(conn);
}

void
pipeline_send_alone(RemoteConn *conn, const char *sql, char item)
{
	command_log(conn, sql);
	reserve_items(conn->priv, 2);
	if (!channel_send_text(&conn->priv->channel, sql, NULL, false))
	{
		pipeline_lost(conn);
		return;
	}
	pipeline_sent(conn, item);
	(void) send_sync(conn);
}

/* Queues the commands that must precede a statement. */
void
pipeline_begin(RemoteConn *conn, bool in_xact)
{
	if ((in_xact || conn->xact != REMOTE_XACT_NONE) && txn_hooks.begin != NULL)
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

/*
 * Sends a prepared statement, or prepares it first; false if the channel is
 * lost.
 */
static bool
send_prepared(RemoteConn *conn, const PreparedUse *use, const RemoteParams *params, bool binary_result)
{
	Channel    *channel = &conn->priv->channel;

	if (use->first)
	{
		if (!channel_send_prepare(channel, use->name, use->sql, params))
			return false;
		pipeline_sent(conn, ITEM_SILENT);
	}
	return channel_send_query_prepared(channel, use->name, params, binary_result);
}

/* Errors if a standby's transaction writes on a second node. */
static void
refuse_second_writer(const RemoteConn *conn)
{
	for (RemoteConn *other = remote_following(NULL); other != NULL; other = remote_following(other))
		if (other->xact_wrote && other->groupid != conn->groupid)
			ereport(ERROR,
					(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
					 errmsg("cannot write on several nodes in a transaction on a standby"),
					 errdetail("Nodes %s:%d and %s:%d would commit together, which this server cannot record during recovery.",
							   other->nodename, other->nodeport, conn->nodename, conn->nodeport),
					 errhint("Write rows of one node in a transaction, or connect to a server that is not a standby.")));
}

void
pipeline_writes(RemoteConn *conn)
{
	if (!conn->xact_wrote && unlikely(standby_writes()))
		refuse_second_writer(conn);
	conn->xact_wrote = true;
}

/* The part of a segment before the statement. */
static void
begin_statement(RemoteConn *conn, int mode)
{
	bool		write = (mode & SEND_WRITE) != 0;
	bool		in_xact = (mode & SEND_IN_XACT) != 0;

	Assert(conn->state == REMOTE_IDLE);

	/* an extra connection only reads, and needs no transaction for that */
	if (!conn->primary && !write)
		in_xact = false;
	if (in_xact && write)
		pipeline_writes(conn);

	pipeline_begin(conn, in_xact);
	reserve_items(conn->priv, 5);
	if (write && !in_xact)
		lone_write_begin(conn);
}

/*
 * The part after the statement; sent: whether the channel has accepted the
 * statement; identity: whether it runs as another user.
 */
static void
end_statement(RemoteConn *conn, bool sent, bool identity)
{
	RemoteConnPrivate *priv = conn->priv;

	if (!sent)
	{
		pipeline_lost(conn);
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
remote_send(RemoteConn *conn, const char *sql, const RemoteParams *params, int mode)
{
	bool		identity;

	begin_statement(conn, mode);
	command_log(conn, sql);
	identity = (mode & SEND_AS_SESSION) == 0 && identity_begin_remote(conn, InvalidOid);
	end_statement(conn, channel_send_text(&conn->priv->channel, sql, params, (mode & SEND_BINARY) != 0), identity);
}

void
remote_send_settings(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;

	pipeline_begin(conn, false);
	if (priv->items_head == priv->items_tail)
		return;
	conn->state = REMOTE_BUSY;
	pipeline_sync(conn);
	remote_finish(conn);
}

void
remote_send_task(RemoteConn *conn, const char *tag, const char *text, const RemoteParams *params,
				 Oid analyst, int mode)
{
	bool		binary_result = (mode & SEND_BINARY) != 0;
	bool		apart = (mode & SEND_APART) != 0;
	PreparedUse use;
	bool		prepared;
	bool		identity;
	bool		sent;

	if (apart)
		remote_send_settings(conn);
	begin_statement(conn, mode);
	command_log(conn, text);
	/* preparing may free another statement, in this segment */
	prepared = !apart && prepared_use(conn, tag, text, params, (mode & SEND_PREPARED) != 0, &use);
	if (prepared)
		send_evicted(conn, &use);
	identity = identity_begin_remote(conn, analyst);
	if (prepared)
		sent = send_prepared(conn, &use, params, binary_result);
	else
		sent = channel_send_text(&conn->priv->channel, psprintf("%s%s", tag, text), params, binary_result);
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
	pipeline_send_alone(conn, sql, ITEM_IGNORED);
	conn->priv->items_safe = conn->priv->items_tail;
}

/* Keeps the first error; a later one only follows from it. */
static void
keep_error(RemoteConn *conn, RemoteError *error)
{
	if (conn->priv->error == NULL)
		conn->priv->error = error;
	else
		remote_error_free(error);
}

/*
 * A segment is answered, also one whose answer isn't needed any more: settings
 * in it are now in effect, or not; with a pooler they have ended.  A statement
 * that was to be prepared belongs to the last segment that was sent.
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

/*
 * Handles one message of the channel.  True if conn->row is now a row for the
 * owner of the connection.
 */
static bool
take_message(RemoteConn *conn, ChannelEvent event)
{
	RemoteConnPrivate *priv = conn->priv;
	Channel    *channel = &priv->channel;
	char		item = priv->items[priv->items_head];

	switch (event)
	{
		case CHANNEL_ROW:
			if (item == ITEM_SETTINGS)
				settings_answered(conn, &channel->row);
			else if (item == ITEM_STATEMENT)
				conn->row = channel->row;
			return item == ITEM_STATEMENT;

		case CHANNEL_COMPLETE:
			if (strcmp(channel->tag, "ROLLBACK") == 0)
				priv->segment_undone = true;	/* also by COMMIT of a failed
												 * transaction */
			if (item == ITEM_STATEMENT)
			{
				conn->row.ncolumns = channel->row.ncolumns;
				conn->processed = channel->processed;
				strlcpy(priv->tag, channel->tag, sizeof(priv->tag));
			}
			break;

		case CHANNEL_FAILED:
			if (item == ITEM_IGNORED)
				priv->segment_failed = true;
			else
				keep_error(conn, channel_take_error(channel));
			break;

		case CHANNEL_SKIPPED:
			break;

		case CHANNEL_SYNCED:
			while (priv->items_head < priv->items_tail && priv->items[priv->items_head] != ITEM_SYNC)
				priv->items_head++;
			end_segment(conn);
			if (!priv->heard)
				pool_hear(conn);
			priv->items_head++;
			return false;

		default:
			/* lost, or in a COPY, which isn't possible in pipeline mode */
			pipeline_lost(conn);
			return false;
	}

	/* an error may come instead of the answer to a Sync, which follows then */
	if (item != ITEM_SYNC)
		priv->items_head++;
	return false;
}

/*
 * As remote_poll, but raises no error of the node: after REMOTE_DONE,
 * priv->error may hold one.  Reads at most once from the socket, so that it
 * returns even if the node sends continuously.
 */
RemotePoll
pipeline_next(RemoteConn *conn)
{
	RemoteConnPrivate *priv = conn->priv;
	bool		has_read = false;

	while (conn->state == REMOTE_BUSY)
	{
		ChannelEvent event;

		if (priv->items_head == priv->items_tail)
		{
			conn->state = REMOTE_IDLE;
			break;
		}
		event = channel_next(&priv->channel);
		if (event != CHANNEL_NOTHING)
		{
			if (take_message(conn, event))
				return REMOTE_ROW;
		}
		else if (has_read)
			return REMOTE_NOT_YET;
		else
		{
			channel_read(&priv->channel);
			has_read = true;
		}
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
		remote_wait(&conn, 1, -1);
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
	return channel_in_xact(&conn->priv->channel);
}

bool
remote_xact_failed(const RemoteConn *conn)
{
	return channel_xact_failed(&conn->priv->channel);
}

void
remote_send_rollback(RemoteConn *conn)
{
	settings_rolled_back(conn);
	remote_send_silent(conn, "ROLLBACK");
}

/* The outstanding answers aren't needed any more. */
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
		remote_error_free(priv->error);
		priv->error = NULL;
	}
}

/*
 * Waits until a request to cancel can hit nothing but the statement, whose
 * rows and errors aren't needed any more; false if the deadline passed first.
 */
bool
pipeline_past_barrier(RemoteConn *conn, TimestampTz deadline)
{
	if (conn->state == REMOTE_BUSY && conn->priv->items_head < conn->priv->items_safe)
		pipeline_ignore_outstanding(conn);
	while (conn->state == REMOTE_BUSY && conn->priv->items_head < conn->priv->items_safe)
		if (pipeline_next(conn) == REMOTE_NOT_YET && !wait_for_conn(conn, deadline))
			return false;
	return true;
}

/*
 * Reads all outstanding answers and discards rows; an error stays in
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
		else if (!wait_for_conn(conn, deadline))
			return false;
	}
}

/*
 * Leaves pipeline mode, for COPY; waits for outstanding answers, and raises
 * their errors.
 */
void
pipeline_leave(RemoteConn *conn)
{
	pipeline_drain(conn, 0);
	raise_kept(conn);
	if (!channel_set_pipeline(&conn->priv->channel, false))
	{
		pipeline_lost(conn);
		raise_kept(conn);
	}
}

/* Enters pipeline mode again; raises no error. */
void
pipeline_enter(RemoteConn *conn)
{
	if (conn->state == REMOTE_DEAD)
		return;
	if (channel_set_pipeline(&conn->priv->channel, true))
		conn->state = REMOTE_IDLE;
	else
		pipeline_lost(conn);
}
