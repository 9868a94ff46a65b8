/*-------------------------------------------------------------------------
 *
 * move.h
 *	  Declarations shared by the files about moving shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_MOVE_H
#define CITUS_REBALANCE_MOVE_H

#include "postgres.h"

#include "storage/lock.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/foreach.h"

/* The maximal length of names of replication objects. */
#define MOVE_NAME_SIZE NAMEDATALEN

/* What slots' names begin with. */
#define MOVE_SLOT_PREFIX "citus_shard_move_slot_"
#define MOVE_SUBSCRIPTION_PREFIX "citus_shard_move_subscription_"

/*
 * The objects that replicate the shards of one owner, with the same names on
 * all servers.
 */
typedef struct MoveChannel
{
	Oid			owner;
	List	   *relids;			/* tables whose shards have rows of their
								 * own */
	char		publication[MOVE_NAME_SIZE];
	char		slot[MOVE_NAME_SIZE];
	char		subscription[MOVE_NAME_SIZE];
	char		role[MOVE_NAME_SIZE];	/* that owns the subscription */
} MoveChannel;

extern void move_init(void);

/*
 * Moves the group of a shard by means of other sessions; mode is a label of
 * citus.shard_transfer_mode.
 */
extern void move_run(int64 shardid, const ClusterNode *source, const ClusterNode *target, const char *mode);

/* cleanup.c: kinds of objects and policies of pg_dist_cleanup. */
typedef enum CleanupKind
{
	CLEANUP_SHARD = 1,
	CLEANUP_SUBSCRIPTION = 2,
	CLEANUP_SLOT = 3,			/* is not recorded; its name ends with its
								 * operation */
	CLEANUP_PUBLICATION = 4,
	CLEANUP_ROLE = 5,
	CLEANUP_IDENTITY = 7,		/* a shard's REPLICA IDENTITY FULL */
	CLEANUP_ARRIVAL = 8,		/* is not recorded: the mark of a recorded,
								 * arriving shard */
} CleanupKind;

typedef enum CleanupPolicy
{
	CLEANUP_ALWAYS = 0,
	CLEANUP_ON_FAILURE = 1,
	CLEANUP_LATER = 2,			/* when no transaction can need it any more */
} CleanupPolicy;

/*
 * Begins a new operation, whose objects are kept as long as this session
 * lives; see cleanup_end.
 */
extern int64 cleanup_begin(void);

/* The operation is over: its recorded objects may be cleaned up. */
extern void cleanup_end(int64 operation);

/*
 * Records an object in this transaction, which must commit before the object
 * is created.
 */
extern void cleanup_note(int64 operation, CleanupKind kind, const char *name, int32 groupid, CleanupPolicy policy);

/* Whether an operation has recorded an object that it may have created. */
extern bool cleanup_is_noted(CleanupKind kind, const char *name, int32 groupid);

/*
 * On the node that gets shards, before an object is created for them: blocks
 * clean-up of the operation until the end of the transaction; errors if
 * clean-up has already run.
 */
extern void cleanup_lock_arrivals(List *shardids, int64 operation);

/* Deletes the records with a policy. */
extern void cleanup_forget(int64 operation, CleanupPolicy policy);

/*
 * The daemon's job on each node: cleans up the recorded objects of this node.
 */
extern void cleanup_job(void);

/*
 * citus.defer_shard_delete_interval, in ms; the daemon's job runs this often.
 */
extern int	cleanup_interval;

/*
 * source.c: the moved tables of a colocation group, partitioned tables before
 * their partitions (Oids).
 */
extern List *move_tables(int colocation_id);

/*
 * The same, locked against DROP (ACCESS SHARE); errors if one of them, or all,
 * have been dropped.
 */
extern List *move_present_tables(int colocation_id);

/*
 * Before an operation on shards (their ids, as "1, 2, 3") begins: errors if a
 * dead move has left marks that they arrive at a node.
 */
extern void move_check_remains(const char *shardids);

/*
 * The definitions of all tables of a colocation group, as a text for
 * comparison; errors if they differ from a given text.
 */
extern char *move_definition(int colocation_id);
extern void move_check_definition(int colocation_id, const char *definition);

/*
 * Called before the shards of a group change: locks that keep all nodes from
 * creating tables in the group, and clean-up from changing its placements,
 * until the transaction ends, also where it is prepared.
 */
extern void move_lock_placements(int colocation_id);

/* The qualified name of a table's shard. */
extern char *move_shard_name(Oid relid, int64 shardid);

/* The lock on a shard group, by which it has one operation at a time. */
extern void move_group_locktag(LOCKTAG *tag, int colocation_id, HashRange range);

/*
 * Calls a function that switches in a subtransaction, which is rolled back if
 * the function returns false, or if a lock isn't granted in time.  Returns
 * whether it has switched.
 */
extern bool move_attempt(bool (*try_it) (void *arg));

#endif							/* CITUS_REBALANCE_MOVE_H */
