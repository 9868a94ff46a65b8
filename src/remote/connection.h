/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  Connections to other nodes: the pool of a backend, and owners.
 *
 * A connection leads to a node, as the client's login role.  Each backend
 * keeps a pool; a connection that is idle at the end of a transaction stays
 * cached (one per node by default, citus.max_cached_conns_per_worker), the
 * rest are closed.  Shared memory counts the connections of all backends per
 * node; backends wait if there are too many (citus.max_shared_pool_size).
 *
 * Within a transaction block a node has one *primary* connection: all its
 * writes, and all reads after a write, use it.  "Extra" connections serve
 * reads only, and only while this transaction has not written on the node.
 *
 * A connection serves one *owner* at a time (a scan, a COPY, a command).  Code
 * that needs a connection that another owner holds calls that owner's yield
 * function, which must leave the connection idle: read the rest of its result
 * into a tuplestore, or end its COPY.
 *
 * libpq's types and functions are for src/remote only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_CONNECTION_H
#define CITUS_REMOTE_CONNECTION_H

#include "postgres.h"

#include "compat/foreach.h"
#include "remote/result.h"

struct RemoteOwner;
typedef struct RemoteConn RemoteConn;

typedef struct RemoteOwner
{
	/*
	 * Leave conn idle (state REMOTE_IDLE); called when another owner needs it.
	 */
	void		(*yield) (struct RemoteOwner *owner, RemoteConn *conn);

	/*
	 * The owner repeats a read if its connection is broken, so the connection
	 * need not be tested.
	 */
	bool		resends;
} RemoteOwner;

typedef enum RemoteState
{
	REMOTE_CONNECTING,			/* asynchronous connect in progress */
	REMOTE_IDLE,				/* nothing sent that is not answered */
	REMOTE_BUSY,				/* a command's results are outstanding */
	REMOTE_COPY_IN,				/* COPY FROM STDIN in progress */
	REMOTE_DEAD,				/* unusable; closed when the transaction
								 * ends */
} RemoteState;

/*
 * The transaction on the node.  REMOTE_XACT_LONE is one for a read outside a
 * transaction block: nothing is lost if it fails.
 */
typedef enum RemoteXact
{
	REMOTE_XACT_NONE,
	REMOTE_XACT_LONE,
	REMOTE_XACT_OPEN,
} RemoteXact;

struct RemoteConn
{
	RemoteRow	row;			/* after REMOTE_ROW, until the next call */
	uint64		processed;		/* rows that the last statement has processed,
								 * as its command tag says */
	int32		groupid;
	char		nodename[256];	/* for messages */
	int32		nodeport;
	Oid			login_role;
	RemoteState state;
	RemoteOwner *owner;			/* NULL if there is none */
	bool		primary;		/* this transaction's one for writes */
	bool		standby;		/* to a secondary node */

	RemoteXact	xact;
	bool		xact_fresh;		/* no statement of the remote transaction has
								 * succeeded yet */
	bool		xact_wrote;		/* wrote (or locked) in this transaction */
	struct TxnParticipant *participant; /* of src/txn; NULL before the first
										 * remote transaction */

	/* private to src/remote follows */
	struct RemoteConnPrivate *priv;
};

extern void remote_init(void);

/* Functions that src/txn, a later folder, sets. */
typedef struct RemoteTxnHooks
{
	/*
	 * Queues (remote_queue_command) the commands that open the remote
	 * transaction, and the missing savepoints.
	 */
	void		(*begin) (RemoteConn *conn);
	/* Whether reads must use the primary connection and its transaction. */
	bool		(*reads_in_xact) (void);
	/* This transaction is about to use a connection, for the first time. */
	void		(*first_use) (void);
	/*
	 * Whether a session of this server waits for a lock that this one holds.
	 */
	bool		(*awaited) (void);
} RemoteTxnHooks;

/* Called once, when the library is loaded. */
extern void remote_set_txn_hooks(const RemoteTxnHooks *hooks);

/*
 * The connection for the caller's use of a node, claimed for owner and
 * connected (waits, interruptibly, up to citus.node_connection_timeout).
 * write: the caller writes, or takes row locks.  In a transaction block, or
 * after a write, this is the node's primary connection, whose present owner
 * yields; otherwise any idle connection, or a new one, or, where the node or
 * the shared limit has no room for that, one whose present owner yields.
 * Errors when the node can't be reached (ERRCODE_CONNECTION_FAILURE).
 */
extern RemoteConn *remote_acquire(int32 groupid, RemoteOwner *owner, bool write);

/*
 * The node's primary connection also for reading: what its session keeps is
 * asked for afterwards.
 */
extern RemoteConn *remote_acquire_primary(int32 groupid, RemoteOwner *owner);

/*
 * One more connection to a node for reading in parallel, or NULL when that is
 * not allowed now (written in this transaction, REPEATABLE READ block, pool or
 * shared limit reached).  May be REMOTE_CONNECTING: remote_poll continues, and
 * returns REMOTE_DONE once the connection is REMOTE_IDLE, or REMOTE_DEAD if it
 * has failed, which is no error for an extra connection: release it. open: how
 * many the caller has to this node already.
 */
extern RemoteConn *remote_acquire_extra(int32 groupid, RemoteOwner *owner, int open);

/*
 * Closes an extra connection after its task, if other sessions wait for one
 * and this transaction doesn't need it; returns whether it did.
 */
extern bool remote_give_up_extra(RemoteConn *conn);

/*
 * The owner no longer needs the connection; outstanding answers are read and
 * discarded, or cancelled.  An error among these is raised only if it has
 * aborted the distributed transaction.
 */
extern void remote_release(RemoteConn *conn, RemoteOwner *owner);

/*
 * All owners leave their connections idle, and lose them: no command may be
 * outstanding when a savepoint starts.
 */
extern void remote_yield_all(void);

/*
 * How a statement is sent, bits.  SEND_IN_XACT: in the remote transaction;
 * without it, a lone read outside a transaction block.  SEND_WRITE marks the
 * connection as having written.  SEND_BINARY: rows in binary form.
 *
 * SEND_WRITE alone is for a write that commits by itself on the node.
 * Interrupts are held from then until the local transaction ends: a request to
 * cancel goes to the node, whose answer decides.  If there is none, the error
 * is ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN.  SEND_APART: it may end
 * transactions itself, which the server allows only if nothing precedes it in
 * its segment, from version 18 on; remote_send_task waits until settings that
 * differ have arrived.  A pooler forgets them, so they precede it there.
 * SEND_PREPARED: it takes long to plan, so the node is to keep it from its
 * first time on, where other statements are kept from the second time on.
 * SEND_AS_SESSION: it runs as the session's role, not as the current user (of
 * a SECURITY DEFINER function), so that no snapshot precedes it.
 */
typedef enum RemoteSendMode
{
	SEND_LONE = 0,
	SEND_IN_XACT = 1,
	SEND_WRITE = 2,
	SEND_BINARY = 4,
	SEND_APART = 8,
	SEND_PREPARED = 16,
	SEND_AS_SESSION = 32,
} RemoteSendMode;

/*
 * Sends one statement (extended protocol, pipelined) without waiting: with the
 * commands that must precede it (BEGIN with the transaction's characteristics,
 * savepoints, settings that differ) in the same flush.  The connection must be
 * claimed and idle.  Rows come one at a time (single-row mode).
 */
extern void remote_send(RemoteConn *conn, const char *sql, const RemoteParams *params, int mode);

/*
 * Queues a command that is sent before the next statement, in the same flush;
 * its result is ignored, its error raised as that statement's.
 */
extern void remote_queue_command(RemoteConn *conn, const char *sql);

/*
 * A request to cancel the next statement must not hit the commands queued so
 * far: it waits for their answers.
 */
extern void remote_queue_barrier(RemoteConn *conn);

/*
 * As remote_send, for a text (in two parts) that is likely to be repeated: the
 * node prepares it then.  If the node has lost the statement, it raises
 * ERRCODE_UNDEFINED_PSTATEMENT before any effect. analyst, if valid, is the
 * role with whose rights names in the text are looked up.
 */
extern void remote_send_task(RemoteConn *conn, const char *tag, const char *text, const RemoteParams *params,
							 Oid analyst, int mode);

/*
 * Whether an error means that the node has lost a prepared statement; if so,
 * forgets the connection's prepared statements.
 */
extern bool remote_prepared_lost(RemoteConn *conn, const ErrorData *error);

/*
 * Reads more of the answer to the statement, without blocking.  After
 * REMOTE_ROW, conn->row is its next row; after REMOTE_DONE the connection is
 * idle, conn->processed is set, and conn->row.ncolumns says how many columns
 * the rows have (-1: the statement returns none).  The node's errors are
 * raised here as local ones.
 */
extern RemotePoll remote_poll(RemoteConn *conn);

/*
 * Waits until one of the connections is readable (or, when output is pending,
 * writable), or timeout_ms (-1 is forever) passes.  Interruptible.  Returns
 * how many are ready.
 */
extern int	remote_wait(RemoteConn **conns, int nconns, long timeout_ms);

/* remote_poll that waits: whether there is one more row, in conn->row. */
extern bool remote_next(RemoteConn *conn);

/* Waits for the end of the statement, and discards its rows. */
extern void remote_finish(RemoteConn *conn);

/*
 * Whether the node is in a transaction, according to its answers so far;
 * whether that has failed.
 */
extern bool remote_in_xact(const RemoteConn *conn);
extern bool remote_xact_failed(const RemoteConn *conn);

/* The setting citus.worker_min_messages. */
extern int	worker_min_messages;

/*
 * Raises a remote error at elevel, keeping SQLSTATE, message, detail, hint and
 * context, adding the node; shard names in it are rewritten to the logical
 * names.  Frees the error first.
 */
extern void remote_raise(int elevel, RemoteConn *conn, RemoteError *error);

/*
 * The error's primary message, as it came; valid as long as the error, and
 * until the connection is used.
 */
extern const char *remote_error_message(RemoteConn *conn, const RemoteError *error);

/*
 * Synchronous helpers for metadata, DDL and the like, all on the primary
 * connection, in the distributed transaction (so undone if it aborts).  Other
 * owners' results from the nodes concerned are read first (yield), so that no
 * lock of a read in parallel is in the way.  Each command is one statement.
 */
extern void remote_exec(int32 groupid, const char *sql);	/* result thrown away */
extern RemoteResult *remote_query(int32 groupid, const char *sql, const RemoteParams *params);

/*
 * The same for what only reads, so that the node doesn't commit as a writer.
 */
extern RemoteResult *remote_read_primary(int32 groupid, const char *sql, const RemoteParams *params);

/* As remote_query, for reads: the node needn't take part in the commit. */
extern RemoteResult *remote_read(int32 groupid, const char *sql);

/*
 * The same with a time limit for each answer, after which the node counts as
 * lost (ERRCODE_CONNECTION_FAILURE), unless this transaction has written
 * there.
 */
extern RemoteResult *remote_read_within(int32 groupid, const char *sql, const RemoteParams *params,
										long timeout_ms);
extern void remote_exec_on_all(const char *sql);	/* every other active
													 * primary with metadata,
													 * in parallel */

/* The same; this node does its part while the others do theirs. */
extern void remote_exec_on_all_while(const char *sql, void (*own_part) (void *arg), void *arg);
extern void remote_exec_list(int32 groupid, List *commands);	/* List of char *, in order */

/*
 * One statement that can't run in a transaction block (VACUUM, CREATE INDEX
 * CONCURRENTLY), committed by itself, with the session's settings.
 */
extern void remote_exec_alone(int32 groupid, const char *sql);
extern void remote_exec_alone_on_all(const char *sql);	/* every other active primary, in parallel */

/*
 * A connection in no remote transaction and with this session's role: for
 * COMMIT PREPARED and ROLLBACK PREPARED by remote_broadcast (owner is NULL; it
 * is released with the local transaction), or for statements that commit by
 * themselves.
 */
extern RemoteConn *remote_acquire_alone(int32 groupid, RemoteOwner *owner);

/*
 * The same, and no other owner gets the connection until remote_end_own; if an
 * error comes first, it is closed with the transaction.  So everything that
 * its session on the node holds is released then.
 */
extern RemoteConn *remote_acquire_own(int32 groupid, RemoteOwner *owner);

/* Whether remote_acquire_alone would use a connection that there is. */
extern bool remote_has_idle(int32 groupid);

/*
 * Releases a connection of remote_acquire_alone, and closes it if its node has
 * few connections left.
 */
extern void remote_release_to_node(RemoteConn *conn, RemoteOwner *owner);
extern void remote_end_own(RemoteConn *conn, RemoteOwner *owner);

/* Closes such a connection, also when a subtransaction aborts. */
extern void remote_close_own(RemoteConn *conn);

/*
 * A connection outside the distributed transaction, by host and port (adding
 * a node, run_command_on_*): autocommit, never cached.  remote_plain_open
 * returns NULL and sets *error (palloc'd) on failure instead of raising when
 * error is not NULL.
 */
extern RemoteConn *remote_plain_open(const char *host, int port, char **error);

/*
 * The same within limit_ms, and also if this server isn't its node
 * (own_address.h).
 */
extern RemoteConn *remote_plain_open_unchecked(const char *host, int port, int limit_ms, char **error);

/*
 * Why this node can't log in at an address as a role: palloc'd, NULL if it
 * can.  *reached: whether a server has answered.  The caller must be a
 * superuser, or that role.
 */
extern char *remote_login_problem(const char *host, int port, Oid role, bool *reached);

/*
 * The same, always raising, for commands of the replication protocol; such a
 * connection is to a walsender.
 */
extern RemoteConn *remote_replication_open(const char *host, int port);

/*
 * Runs a command (or several, of which the last counts) and waits.  NULL if it
 * fails, which is raised at elevel.
 */
extern RemoteResult *remote_plain_exec(RemoteConn *conn, const char *sql, int elevel);

/*
 * The connection string with which a client program reaches a node as this
 * session's user; *password is left out of it.
 */
extern char *remote_conninfo(const char *host, int port, char **password);

/*
 * Sets the time limit of later commands; after it, the connection is unusable,
 * and the result an error.
 */
extern void remote_plain_limit(RemoteConn *conn, int timeout_ms);

/*
 * The same in two steps, for work on several nodes at once: the second one
 * waits.  NULL with the message in *error (palloc'd) if the command fails.
 */
extern void remote_plain_send(RemoteConn *conn, const char *sql);
extern RemoteResult *remote_plain_result(RemoteConn *conn, char **error);
extern void remote_plain_close(RemoteConn *conn);

/*
 * Asks the node to cancel the connection's command; the connection is unusable
 * then.
 */
extern void remote_plain_stop(RemoteConn *conn, long timeout_ms);

/*
 * COPY .. FROM STDIN.  Put buffers and waits (interruptibly) when the socket
 * is full: bounded memory.
 */
extern void remote_copy_begin(RemoteConn *conn, const char *sql);
extern void remote_copy_put(RemoteConn *conn, const char *data, int len);
extern uint64 remote_copy_end(RemoteConn *conn);	/* rows processed, as the
													 * node reports */

/*
 * For src/txn.
 */

/*
 * All pooled connections of the backend: the first one after conn, or the
 * first of all for NULL.
 */
extern RemoteConn *remote_following(RemoteConn *conn);

/*
 * Sends commands and waits for their answers, on several connections in
 * parallel, raising no remote error.
 */
typedef struct RemoteAnswer
{
	RemoteConn *conn;
	const char *sql;			/* valid during the call */
	char		tag[32];		/* the command's tag if it succeeded, else
								 * "" */
	RemoteError *error;			/* to be freed by the caller, or NULL; with
								 * neither tag nor error the node didn't
								 * answer */
} RemoteAnswer;

/*
 * timeout_ms -1 is forever; interruptible if interrupts aren't held.
 * Connections that don't answer in time become REMOTE_DEAD.  between: a debug
 * point after each sent command but the last, or NULL.
 */
extern void remote_broadcast(RemoteAnswer *answers, int n, long timeout_ms, const char *between);

/*
 * After an error in remote_broadcast, such as an interrupt: asks the nodes to
 * stop, and reads the outstanding answers.  Connections that don't answer in
 * time become REMOTE_DEAD.
 */
extern void remote_stop_broadcast(RemoteAnswer *answers, int n, long timeout_ms);

/*
 * Stops the connection's command: cancels it, ends its COPY, reads outstanding
 * answers.  It is then REMOTE_IDLE, or REMOTE_DEAD if that took more than
 * timeout_ms.  Raises no remote error.
 */
extern void remote_settle(RemoteConn *conn, long timeout_ms);
extern void remote_settle_all(long timeout_ms); /* all connections, in
												 * parallel */

/*
 * Queues a command without waiting; its errors and those of outstanding
 * commands are ignored.
 */
extern void remote_send_silent(RemoteConn *conn, const char *sql);

/*
 * Queues ROLLBACK without waiting.  The settings that were sent in the
 * transaction count as undone at once.
 */
extern void remote_send_rollback(RemoteConn *conn);

/*
 * Ends a REMOTE_XACT_LONE, if the connection has no owner; the
 * answer is read with its next use.
 */
extern void remote_end_lone(RemoteConn *conn);

/*
 * Forgets the node's settings (a transaction that changed them was rolled
 * back).
 */
extern void remote_settings_rolled_back(RemoteConn *conn);

/*
 * Whether the node has this session's settings, and those with which a plain
 * BEGIN means READ COMMITTED, READ WRITE.
 */
extern bool remote_settings_known(const RemoteConn *conn);

/*
 * Whether a connection has the same session of the node in each transaction.
 * If not, the settings that were sent with the first statement, including the
 * role, end with the transaction.
 */
extern bool remote_is_direct(const RemoteConn *conn);

/*
 * Queues the settings of this session that differ, and the proof that we are a
 * node, if they haven't been sent.
 */
extern void remote_queue_settings(RemoteConn *conn);

/*
 * The same in a segment of their own, before the transaction: sends them if
 * there are any, and waits.  A pooler forgets them.
 */
extern void remote_send_settings(RemoteConn *conn);

/*
 * Queues the proof that we are a node again, if a savepoint may have undone
 * it: with a pooler in between, or if no statement was sent since.
 */
extern void remote_prove_again(RemoteConn *conn);

/*
 * The transaction, or subtransaction, is over: frees owners, closes
 * connections that aren't to be cached.
 */
extern void remote_end_transaction(void);

/*
 * A transaction that used no connection is over: closes cached ones that are
 * too old.
 */
extern void remote_end_unused_transaction(void);
extern void remote_end_subtransaction(bool commit, SubTransactionId subid, SubTransactionId parent);

/*
 * A node has committed the transaction: interrupts are held until it is over
 * here, too.
 */
extern void remote_hold_interrupts(void);

/*
 * The transaction, which may have held interrupts for this or for a write that
 * committed by itself, is over.
 */
extern void remote_release_interrupts(bool commit);

/*
 * After an error was caught: if it was the error of such a write, which will
 * be sent again, releases interrupts.
 */
extern void remote_release_failed_write(void);

/* The node's clock when it prepared a transaction; 0 if it wasn't reported. */
extern uint64 remote_reported_clock(RemoteConn *conn);

/*
 * For the launcher: closes connections of this server that are broken, or have
 * waited too long for a session that takes them.
 */
extern void remote_sweep_kept(void);

/*
 * Milliseconds that a node may take to connect, or to answer when a
 * transaction ends; and to stop a statement and undo it.
 */
extern int	remote_connection_timeout(void);
extern int	remote_undo_timeout(void);

/*
 * Milliseconds that a node may send nothing until it is asked whether it still
 * answers; 0: for ever.
 */
extern int	remote_keepalive(void);

#endif							/* CITUS_REMOTE_CONNECTION_H */
