/*-------------------------------------------------------------------------
 *
 * private.h
 *	  Declarations shared by the files of src/remote: the private part of a
 *	  connection.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_PRIVATE_H
#define CITUS_REMOTE_PRIVATE_H

#include "postgres.h"

#include "access/xact.h"
#include "common/sha2.h"
#include "datatype/timestamp.h"
#include "lib/ilist.h"
#include "storage/latch.h"

#include "compat/noreturn.h"
#include "lib/trace.h"
#include "remote/channel.h"
#include "remote/connection.h"

/*
 * The commands that were sent and not answered yet, in order, one character
 * each.
 */
#define ITEM_STATEMENT	't'		/* the statement whose results the owner
								 * gets */
#define ITEM_SILENT		'p'		/* goes with it; errors are raised */
#define ITEM_SETTINGS	's'		/* as before; settings.c reads the result */
#define ITEM_IGNORED	'd'		/* results and errors are discarded */
#define ITEM_SYNC		'S'		/* end of a pipeline segment */

/*
 * A cancel request that comes before the statement has no effect, so it is
 * repeated.
 */
#define CANCEL_REPEAT_MS 500

struct RemoteSettings;

typedef struct PreparedCache PreparedCache;

typedef enum ConnectKind
{
	CONNECT_POOLED,
	CONNECT_PLAIN,				/* outside the pool */
	CONNECT_REPLICATION,		/* the same; the server also takes commands of
								 * the replication protocol */
	CONNECT_UNCHECKED,			/* the same as CONNECT_PLAIN, also if this
								 * server is a copy (own_address.h) */
} ConnectKind;

/*
 * What all connections have in common that can be used for each other
 * (kept_conn.c).
 */
typedef struct KeptKey
{
	uint8		bytes[PG_SHA256_DIGEST_LENGTH];
} KeptKey;

typedef struct RemoteConnPrivate
{
	dlist_node	link;			/* in remote_conns */
	RemoteConn	conn;			/* the public part */
	Channel		channel;
	uint64		serial;			/* never used again */

	bool		plain;			/* remote_plain_open's */
	int			plain_timeout;	/* milliseconds that its commands may take; 0:
								 * any time */
	bool		passes_pooler;	/* leads to the node itself, although the node
								 * has a pooler */
	bool		own;			/* its owner's alone (remote_acquire_own) */
	bool		direct;			/* the node's session is the same in each
								 * transaction; false until the node has said
								 * so, as behind a pooler */
	bool		fresh;			/* not used in any transaction before */
	bool		keepable;		/* may be left to another session, under
								 * kept_key */
	KeptKey		kept_key;
	bool		used;			/* used in this transaction */
	bool		pooled;			/* counts in the shared pool */
	bool		heard;			/* pool_hear was called */
	bool		extra;			/* not as the session's first one to its
								 * node */
	int32		peer_group;		/* group of the node; -1 if it isn't one of
								 * ours */
	int			peer_pid;		/* as shown in this backend's list of peers; 0:
								 * not */
	SubTransactionId owner_subid;	/* in which owner claimed it */

	/* connecting */
	ConnectKind kind;
	bool		pass_pooler;
	int			logins;			/* how often it was tried again */
	bool		timed_out;
	TimestampTz started;
	TimestampTz established;
	TimestampTz last_used;		/* start of the last statement that used it */

	/* waiting */
	WaitEventSet *wait_set;		/* latch, postmaster, socket */
	uint32		wait_events;	/* what it waits for on the socket */
	TimestampTz quiet_since;	/* when a wait for it began, or its node was
								 * last checked; 0: it has sent or was sent
								 * something since */
	int			checks;			/* of its node in this silence */
	bool		silent;			/* given up by keepalive.c */
	bool		identity_open;	/* a COPY runs as another user (identity.c) */

	int			cancel_fd;		/* of a cancel request under way; -1: none */

	/* pipeline */
	char	   *items;
	int			items_head;
	int			items_tail;
	int			items_size;
	int			items_safe;		/* no request to cancel may be sent before
								 * those in front of this one are answered */
	bool		commits;		/* the statement outstanding commits by
								 * itself */
	bool		ending;			/* the end of its transaction is outstanding,
								 * and nothing else */
	RemoteError *error;			/* first error of what is outstanding */
	bool		segment_undone; /* the segment being answered has ended its
								 * transaction with a rollback */
	bool		segment_failed; /* an error in the segment being answered was
								 * thrown away */
	uint64		statement;		/* number of the last statement, over all
								 * connections; for notices */
	char		tag[32];		/* command tag of its last result */

	/* COPY */
	uint64		copy_received;	/* bytes that had arrived when last looked */
	Size		copy_unchecked; /* bytes put since then */
	TraceSpan	copy_span;		/* of the COPY, if it is traced */

	struct RemoteSettings *settings;
	struct PreparedCache *prepared; /* prepared.c; NULL before the first use */
} RemoteConnPrivate;

extern dlist_head remote_conns;

/* connect.c: settings */
extern void connect_init(void);
extern int	node_connection_timeout;

/*
 * connect.c.  connect_start makes a connection that is REMOTE_CONNECTING and
 * in remote_conns, to the node's pooler if it has one, or with pass_pooler to
 * the node itself; connect_poll goes on and returns whether it has an end
 * (REMOTE_IDLE, or REMOTE_DEAD); connect_finish waits for that,
 * connect_finish_within for limit_ms at most; connect_finish_queued waits and
 * tries again, as long as connecting may take, while the node has no free
 * connection, and gives up this session's idle ones meanwhile.
 * connect_failure is the reason, and connect_advice what to do about it if it
 * is a missing or wrong password, else NULL; palloc'd.
 */
extern RemoteConn *connect_start(const char *host, int port, Oid login_role, bool pass_pooler, ConnectKind kind);
extern bool connect_poll(RemoteConn *conn);
extern void connect_finish(RemoteConn *conn);
extern void connect_finish_queued(RemoteConn *conn);
extern void connect_finish_within(RemoteConn *conn, int limit_ms);
extern char *connect_failure(RemoteConn *conn);
extern char *connect_advice(const RemoteConn *conn);
pg_noreturn extern void connect_report(RemoteConn *conn);

/*
 * Takes a connection off this backend's list of peers: this backend doesn't
 * wait for the other end any more, which may wait for a lock for a while yet.
 */
extern void connect_hide(RemoteConn *conn);

/* Closes a connection and frees it. */
extern void connect_close(RemoteConn *conn);

/* The same, but leaves it to other sessions if it is idle and as new. */
extern void connect_leave(RemoteConn *conn);

/* lone_write.c: writes that commit by themselves */
extern void lone_write_begin(RemoteConn *conn);
extern bool lone_write_unwanted(RemoteConn *conn);
extern bool lone_write_given_up(void);
extern void lone_write_failed(RemoteConn *conn, RemoteError *error);

/* pipeline.c */
extern RemotePoll pipeline_next(RemoteConn *conn);
extern void pipeline_sent(RemoteConn *conn, char item);
extern void pipeline_sync(RemoteConn *conn);
extern void pipeline_lost(RemoteConn *conn);
/* Sends a command in a segment of its own; raises nothing. */
extern void pipeline_send_alone(RemoteConn *conn, const char *sql, char item);
extern void pipeline_ignore_outstanding(RemoteConn *conn);
extern bool pipeline_drain(RemoteConn *conn, TimestampTz deadline);
extern bool pipeline_past_barrier(RemoteConn *conn, TimestampTz deadline);
extern void pipeline_leave(RemoteConn *conn);
extern void pipeline_enter(RemoteConn *conn);
extern void pipeline_begin(RemoteConn *conn, bool in_xact);
/* The connection's transaction writes; a standby's may on one node only. */
extern void pipeline_writes(RemoteConn *conn);
/* As remote_queue_command, with parameters. */
extern void pipeline_queue(RemoteConn *conn, const char *sql, const RemoteParams *params);
extern uint64 pipeline_next_statement(void);
extern const RemoteTxnHooks *pipeline_txn_hooks(void);

/*
 * wait.c: waits for what a connection's channel waits for; false if the
 * deadline (0: none) passed.
 */
extern bool wait_for_conn(RemoteConn *conn, TimestampTz deadline);
extern void wait_forget(RemoteConn *conn);
extern long wait_remaining(TimestampTz deadline);

/*
 * keepalive.c.  keepalive_due: when a connection that is waited for is to be
 * checked (0: never).  keepalive_check does so, and shuts it down if its node
 * doesn't answer; handles interrupts.  keepalive_failure: what errors say of
 * that, palloc'd; NULL if it wasn't shut down.
 */
extern void keepalive_init(void);
extern TimestampTz keepalive_due(RemoteConn *conn);
extern void keepalive_check(RemoteConn *conn);
extern char *keepalive_failure(const RemoteConn *conn);

/* finish.c */
/*
 * A node that hasn't taken a request to cancel by then is given up.
 */
#define CANCEL_TIMEOUT_MS 3000

/*
 * Asks the node to stop what runs on the connection; if it was asked before,
 * once more.
 */
extern void finish_ask_again(RemoteConn *conn);
extern void finish_at_exit(void);

/* error.c */
extern void error_init(void);
extern void notice_receiver(void *arg, const RemoteError *notice);

/* settings.c */
extern struct RemoteSettings *settings_create(void);
extern void settings_free(struct RemoteSettings *settings);
/* Sends a command that sets what differs, if anything does. */
extern void settings_send(RemoteConn *conn);
/* The row that is its answer. */
extern void settings_answered(RemoteConn *conn, const RemoteRow *row);
/* What was sent last took effect for good; or did not. */
extern void settings_committed(RemoteConn *conn);
extern void settings_rolled_back(RemoteConn *conn);

/* pool.c */
extern RemoteConn *pool_acquire_primary(int32 groupid, RemoteOwner *owner);
extern void pool_yield_group(int32 groupid);
extern RemoteConn *pool_acquire_alone(int32 groupid, RemoteOwner *owner);
extern RemoteConn *pool_open_plain(const char *host, int port, ConnectKind kind, Oid login_role, RemoteOwner *owner);

/*
 * Has the shared pool hear what the node of a connection has told of its room.
 */
extern void pool_hear(RemoteConn *conn);

/*
 * A connection that counted has been closed: gives the shared slot back if it
 * was the last one.
 */
extern void pool_slot_unused(void);

/*
 * expiry.c.  expiry_set has this session look after its cached connections at
 * a time, also if it is idle then, unless it is to do so earlier already.
 * expiry_due: whether it is time, or no time has been set.  expiry_look_again:
 * times have changed.
 */
extern void expiry_set(TimestampTz when);
extern bool expiry_due(void);
extern void expiry_look_again(void);

/* copy_in.c */
extern bool copy_drain(RemoteConn *conn, TimestampTz deadline);
extern void copy_note_notice(RemoteConn *conn);

/*
 * shared_pool.c.  shared_pool_join has this session take a slot, good for one
 * connection to each node; waits for it, and errors if that takes too long.
 * shared_pool_leave: it has no connection any more.
 */
extern void shared_pool_init(void);
extern void shared_pool_join(const char *host, int port);
extern void shared_pool_leave(void);

/*
 * A node has room for more sessions of this server, or has told how many it
 * should have there (0: it doesn't know, but no more).
 */
extern void shared_pool_has_room(void);
extern void shared_pool_has_share(int share);

/*
 * Counts a connection beyond the first one to its node; false (not counted) if
 * optional and there is no room.
 */
extern bool shared_pool_add_extra(const char *host, int port, bool optional);
extern void shared_pool_remove_extra(const char *host, int port);

/*
 * Whether the number is limited by other than max_connections.
 */
extern bool shared_pool_is_limited(void);

/*
 * Whether sessions wait for a slot, for which extra connections are to be
 * closed; shared_pool_due: or all, at the end of a transaction, after
 * shared_pool_note_idle.
 */
extern bool shared_pool_crowded(void);
extern bool shared_pool_due(void);

/* This session uses connections from now on, or has cached ones only. */
extern void shared_pool_note_use(void);
extern void shared_pool_note_idle(void);

/*
 * pool.c: closes the idle connections that nothing needs, and that other
 * sessions of all nodes can use; leaves them to those of this one.
 */
extern void pool_close_idle(void);
extern void pool_keep_idle(void);

/* The setting citus.max_cached_connection_lifetime. */
extern int	pool_cached_lifetime(void);

/*
 * kept_conn.c
 */
extern void kept_init(void);

/*
 * The key of connections with these parameters; whom their session serves, and
 * the proof of the login, don't count.
 */
extern void kept_key_make(KeptKey *key, const char *const *keywords, const char *const *values, Oid role);

/*
 * Leaves an idle connection to other sessions, if it can be: then the channel
 * is to be closed all the same, and true is returned.  Raises no error, waits
 * for nothing.
 */
extern bool kept_leave(const KeptKey *key, Channel *channel, TimestampTz established);

/*
 * Opens a channel with a connection that was left, of a login role; false if
 * there is none, and nothing is allocated.
 */
extern bool kept_take(const KeptKey *key, Channel *channel, Oid role, ChannelNotices notices, void *arg,
					  TimestampTz *established);

#endif							/* CITUS_REMOTE_PRIVATE_H */
