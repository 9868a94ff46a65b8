/*-------------------------------------------------------------------------
 *
 * drive.h
 *	  Functions for a session that drives an operation on shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_DRIVE_H
#define CITUS_REBALANCE_DRIVE_H

#include "postgres.h"

#include "storage/lock.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "remote/connection.h"

/*
 * How often the driver checks the progress; how long it waits after its first
 * attempt to switch.
 */
#define DRIVE_POLL_MS 50
#define DRIVE_BETWEEN_MS 300

/*
 * How long one attempt to switch may block writers, and how long attempts are
 * repeated; in ms.
 */
extern int	drive_pause_limit;
extern int	drive_switch_timeout;

/* How many bytes a second a copy may send, in kB; 0: any. */
extern int	drive_rate_limit;

extern void drive_init(void);

/* Waits; interruptible. */
extern void drive_pause(long ms);

/*
 * Waits after a failed attempt to switch, the first of which is number 0: the
 * more have failed, the longer, so that attempts during a long transaction
 * don't block other writers most of the time.
 */
extern void drive_back_off(int attempt);

/*
 * Limits the rate of a copy of rows to citus.move_rate_limit: drive_pace_begin
 * is called at the beginning, the other after each part; it sleeps if the copy
 * was too fast.
 */
extern void drive_pace_begin(void);
extern void drive_pace(size_t bytes);

/*
 * A session whose statements commit by themselves; a session for commands of
 * the replication protocol.  Both are superusers' sessions, so the caller must
 * have checked the rights of its user.
 */
extern RemoteConn *drive_open(const ClusterNode *node);
extern RemoteConn *drive_open_replication(const ClusterNode *node);

/* The only value that a statement returns; NULL if that is null. */
extern char *drive_ask(RemoteConn *conn, const char *sql);
extern bool drive_is_true(RemoteConn *conn, const char *sql);

/* A shard of a table; NULL if it isn't one. */
extern const ShardInfo *drive_find_shard(const DistTable *table, int64 shardid);

/*
 * The same, but errors, with the reason, if it isn't one.  A shard that was
 * split or merged stays in pg_dist_shard as long as older snapshots may need
 * it.
 */
extern const ShardInfo *drive_require_shard(const DistTable *table, int64 shardid);

/*
 * Waits until no transaction can read the relations that the shard had before
 * its last move, split or merge.
 */
extern void drive_await_former(Oid relid, int64 shardid);

/*
 * Has the node of the shard groups within a range of hash values remove what a
 * dead operation on them has left, as far as that is possible now.
 */
extern void drive_clear_remains(RemoteConn *conn, const DistTable *table, HashRange range);

/*
 * Calls a function that switches until it succeeds; false if it doesn't within
 * citus.move_switch_timeout.  citus.move_pause_limit is the session's.
 */
extern bool drive_switch(RemoteConn *conn, const char *call);

/*
 * The node; errors if it can't have shards.  what: the action for the message,
 * such as "move shards to".
 */
extern const ClusterNode *drive_require_node(const ClusterNode *node, const char *what);

/*
 * The lock that a session that drives operations holds until its transaction
 * ends: former placements aren't kept for its snapshots.
 */
extern void drive_locktag(LOCKTAG *tag);

/*
 * Errors in a transaction block, where the operation ("what") can't run.
 * Takes that lock.
 */
extern void drive_check_caller(const char *what);

/*
 * Errors if one of the tables was dropped, so that waiting for its lock is of
 * no use.
 */
extern void drive_check_tables(List *relids);

/*
 * The metadata of a table whose shards are moved or split; errors like that if
 * it was dropped.
 */
extern const DistTable *drive_require_table(Oid relid);

/* Errors unless the user owns all tables that are colocated with this one. */
extern void drive_check_owner(const DistTable *table);

#endif							/* CITUS_REBALANCE_DRIVE_H */
