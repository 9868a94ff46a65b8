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

#include "fmgr.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#define MAX_SHARD_COUNT 64000	/* of a table */
#define SHARD_SCHEMA "citus_data"	/* where shards live */
#define COORDINATOR_GROUP 0

typedef enum DistTableKind
{
	DIST_HASH,					/* hash-distributed on one column */
	DIST_SINGLE,				/* one shard, no distribution column */
	DIST_REFERENCE,				/* the table itself, on every node */
} DistTableKind;

/*
 * The hash values of a shard's rows, both bounds included; 0 and 0 unless DIST_HASH.  With the colocation group it is
 * the name of a shard group between nodes: a shard's position in its table changes when one before it is split, but a range
 * never means other rows.
 */
typedef struct HashRange
{
	int32		min;
	int32		max;
} HashRange;

typedef struct ShardInfo
{
	int64		shardid;
	int			index;			/* position in the table, from 0; in this
								 * DistTable only, and the same in those of
								 * its colocation group */
	HashRange	range;
	int32		groupid;		/* node group that tasks go to; -1 for a
								 * reference table (every node) */
	List	   *others;			/* IntList: groups with further active
								 * placements (while it is moved) */
} ShardInfo;

typedef struct DistTable
{
	Oid			relid;
	DistTableKind kind;
	int			colocation_id;	/* 0 is none */
	AttrNumber	dist_attno;		/* 0 unless DIST_HASH */
	Oid			dist_type;
	int32		dist_typmod;
	Oid			dist_collation;
	Oid			hash_opfamily;	/* default hash operator family of dist_type */
	Oid			hash_opcintype; /* its declared input type */
	FmgrInfo	hash_fn;		/* standard (32-bit) hash support function */
	int			nshards;
	ShardInfo  *shards;			/* ascending by range */
	int			triggers;		/* COMMAND_BITs of the commands that fire triggers of users */
	int			row_triggers;	/* of these, those whose triggers are given rows */
	const char *damage;			/* what is wrong with its metadata; NULL if nothing */
} DistTable;

/* A member of DistTable.triggers: CMD_INSERT, CMD_UPDATE or CMD_DELETE. */
#define COMMAND_BIT(command) (1 << (command))

extern void metadata_init(void);

/* Whether the extension is created (and not being created or dropped) in this database; cheap. */
extern bool metadata_available(void);

/*
 * The entry of a relation, or NULL if it is not distributed.  Cheap; needs a
 * transaction.  Errors with ERRCODE_DATA_CORRUPTED if its rows can't be right.
 */
extern const DistTable *metadata_lookup(Oid relid);

/* As above, but also with rows that can't be right (damage): for what repairs or drops the table. */
extern const DistTable *metadata_find(Oid relid);

/* As above, but errors with ERRCODE_WRONG_OBJECT_TYPE when it is not distributed. */
extern const DistTable *metadata_require(Oid relid);

/* Any hash or single-shard table of the colocation group, or InvalidOid. */
extern Oid	metadata_colocated_table(int colocation_id);

/* Oids (List) of all tables of a colocation group; of all distributed tables if colocation_id is 0. */
extern List *metadata_tables(int colocation_id);

/* Sends relcache invalidation for a table whose pg_dist_* rows changed. */
extern void metadata_invalidate(Oid relid);

/* Changes whenever a distributed or reference table, or what we know of it, may have changed. */
extern uint64 metadata_generation(void);

/* Name of a shard's relation or of its indexes, constraints: <name>_<shardid>, shortened with a hash past
 * 63 bytes, never splitting a multibyte character.  palloc'd. */
extern char *shard_relation_name(const char *name, int64 shardid);

/* Whether a shard has a placement on this node that tasks may use; one that it had may wait to be dropped. */
extern bool shard_is_here(const ShardInfo *shard);

/* Oid of the local relation of a shard, or InvalidOid if it is not on this node. */
extern Oid	shard_local_relid(Oid relid, int64 shardid);

/* This node's group id, from pg_dist_local_group (0 is the coordinator). */
extern int32 metadata_local_group(void);

#endif							/* CITUS_CATALOG_METADATA_H */
