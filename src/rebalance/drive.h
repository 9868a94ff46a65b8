/*-------------------------------------------------------------------------
 *
 * drive.h
 *	  What a session needs that drives an operation on shards from outside.
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
 * How often the driver looks how far the others are; for how long it leaves
 * the shards alone after its first attempt to switch.
 */
#define DRIVE_POLL_MS 50
#define DRIVE_BETWEEN_MS 300

/*
 * How long writers may be kept waiting by one attempt to switch, and how long
 * attempts go on; in ms.
 */
extern int	drive_pause_limit;
extern int	drive_switch_timeout;

/* How many bytes a second a copy may send, in kB; 0: any. */
extern int	drive_rate_limit;

extern void drive_init(void);

extern void drive_pause(long ms);

/*
 * Leaves the shards alone after a failed attempt to switch, the first of which
 * is number 0: the longer the more have failed, so that a transaction that
 * goes on for long doesn't keep other writers waiting for most of its time.
 */
extern void drive_back_off(int attempt);

/*
 * Keeps a copy of rows within citus.move_rate_limit: begin, and after each
 * part of it the other, which sleeps as long as that was too fast.
 */
extern void drive_pace_begin(void);
extern void drive_pace(size_t bytes);

/*
 * A session whose statements commit by themselves; one for commands of the
 * replication protocol.  Both are superusers', so the caller has checked what
 * its user may do.
 */
extern RemoteConn *drive_open(const ClusterNode *node);
extern RemoteConn *drive_open_replication(const ClusterNode *node);

/* The only value that a statement returns; NULL if that is null. */
extern char *drive_ask(RemoteConn *conn, const char *sql);
extern bool drive_is_true(RemoteConn *conn, const char *sql);

/* A shard of a table; NULL if it isn't one. */
extern const ShardInfo *drive_find_shard(const DistTable *table, int64 shardid);

/*
 * The same, but errors if it isn't one, and says why.  A shard that was split
 * or merged is in pg_dist_shard for as long as older snapshots may need it.
 */
extern const ShardInfo *drive_require_shard(const DistTable *table, int64 shardid);

/*
 * Waits until nobody reads what the shard was before its last move, split or
 * merge.
 */
extern void drive_await_former(Oid relid, int64 shardid);

/*
 * Has the node of shard groups, those within a range of hash values, remove
 * what an operation on them has left that died; as far as that is possible
 * now.
 */
extern void drive_clear_remains(RemoteConn *conn, const DistTable *table, HashRange range);

/*
 * Calls a function that switches until it says that it could; false if it
 * couldn't within citus.move_switch_timeout.
 */
extern bool drive_switch(RemoteConn *conn, const char *call);

/* The node, if it can have shards; what is "move shards to", say. */
extern const ClusterNode *drive_require_node(const ClusterNode *node, const char *what);

/*
 * The lock that a session has, until its transaction ends, that drives
 * operations: what they replace doesn't stay for its snapshots.
 */
extern void drive_locktag(LOCKTAG *tag);

/*
 * Errors in a transaction block, in which nobody can do what.  Takes that
 * lock.
 */
extern void drive_check_caller(const char *what);

/* Errors unless the user owns all tables whose shards go along. */
extern void drive_check_owner(const DistTable *table);

#endif							/* CITUS_REBALANCE_DRIVE_H */
