/*-------------------------------------------------------------------------
 *
 * metadata.h
 *	  The per-backend cache of pg_dist_* rows: which relations are
 *	  distributed, and where their shards are.
 *
 * A lookup costs one hash probe; a relation that is not distributed has a
 * negative entry.  Entries are invalidated by relcache invalidation of the
 * table's relid, which everything that changes its pg_dist_* rows must send
 * (metadata_invalidate).  An invalidated entry is replaced at the next
 * lookup, and its memory freed at the end of the transaction: pointers are
 * valid until then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_METADATA_H
#define CITUS_CATALOG_METADATA_H

#include "postgres.h"

#include "utils/snapshot.h"

#include "catalog/dist_table.h"

extern void metadata_init(void);

/*
 * Whether the extension is created (and not being created or dropped) in this
 * database; cheap.
 */
extern bool metadata_available(void);

/*
 * The entry of a relation, or NULL if it is not distributed.  Cheap; needs a
 * transaction.  Errors with ERRCODE_DATA_CORRUPTED if its rows are invalid.
 */
extern const DistTable *metadata_lookup(Oid relid);

/*
 * As above, but also with invalid rows (damage): for code that repairs or
 * drops the table.
 */
extern const DistTable *metadata_find(Oid relid);

/*
 * As above, but errors with ERRCODE_WRONG_OBJECT_TYPE when it is not
 * distributed.
 */
extern const DistTable *metadata_require(Oid relid);

/* Any hash or single-shard table of the colocation group, or InvalidOid. */
extern Oid	metadata_colocated_table(int colocation_id);

/*
 * Oids (List) of all tables of a colocation group; of all distributed tables
 * if colocation_id is 0.
 */
extern List *metadata_tables(int colocation_id);

/*
 * Sends relcache invalidation for a table whose pg_dist_* rows changed, or
 * that got triggers of global indexes or keys; also for those that it is a
 * partition of, whose entries say what its triggers have to hear of.
 */
extern void metadata_invalidate(Oid relid);

/*
 * Changes whenever a distributed or reference table, or its metadata, may have
 * changed.
 */
extern uint64 metadata_generation(void);

/*
 * Name of a shard's relation or of its indexes, constraints: <name>_<shardid>,
 * shortened with a hash past 63 bytes, never splitting a multibyte character.
 * palloc'd.
 */
extern char *shard_relation_name(const char *name, int64 shardid);

/*
 * Whether a shard has a placement on this node that tasks may use; a former
 * one may still exist.
 */
extern bool shard_is_here(const ShardInfo *shard);

/*
 * Whether a shard's rows as of a snapshot are in former_group, because the
 * shard was moved, or made from others, later.  NULL: now.
 */
extern bool shard_is_former_as_of(const ShardInfo *shard, Snapshot snapshot);

/*
 * Oid of the local relation of a shard, or InvalidOid if it is not on this
 * node.
 */
extern Oid	shard_local_relid(Oid relid, int64 shardid);

/* This node's group id, from pg_dist_local_group (0 is the coordinator). */
extern int32 metadata_local_group(void);

/*
 * Whether this node was a worker when this session last looked; may be called
 * outside of a transaction.
 */
extern bool metadata_was_worker(void);

#endif							/* CITUS_CATALOG_METADATA_H */
