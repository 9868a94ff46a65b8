/*-------------------------------------------------------------------------
 *
 * dist_table.h
 *	  DistTable: the cached metadata of a distributed or reference table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_DIST_TABLE_H
#define CITUS_CATALOG_DIST_TABLE_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/bitmapset.h"
#include "nodes/primnodes.h"

#include "compat/foreach.h"

#define MAX_SHARD_COUNT 64000	/* of a table */
#define SHARD_SCHEMA "citus_data"	/* where shards live */
#define COORDINATOR_GROUP 0

/* How the names of the triggers begin that maintain global indexes. */
#define GLOBAL_INDEX_TRIGGER "global_index_"

/* What the name of their constraint ends with, behind that of the table. */
#define GLOBAL_INDEX_KEY "_key"

/* The same for foreign keys between rows of different nodes. */
#define GLOBAL_KEY_TRIGGER "global_key_"

typedef enum DistTableKind
{
	DIST_HASH,					/* hash-distributed on one column */
	DIST_SINGLE,				/* one shard, no distribution column */
	DIST_REFERENCE,				/* the table itself, on every node */
} DistTableKind;

/*
 * The hash values of a shard's rows, both bounds included; 0 and 0 unless
 * DIST_HASH.  Between nodes, colocation group and range name a shard group: a
 * shard's position in its table changes when an earlier one is split, but a
 * range never means other rows.
 */
typedef struct HashRange
{
	int32		min;
	int32		max;
} HashRange;

typedef struct ShardInfo
{
	int64		shardid;
	HashRange	range;
	int64		placementid;	/* of the placement in groupid; 0: none */
	List	   *others;			/* IntList: groups with further active
								 * placements */
	int64		former_placementid; /* of its own placement in former_group; 0:
									 * none */
	int32		groupid;		/* node group that tasks go to; -1 for a
								 * reference table (every node) */
	int32		former_group;	/* the group that had it before it was moved,
								 * and has not dropped it yet; -1: none */
	TransactionId moved;		/* this node's transaction that set groupid */
	bool		leaving;		/* it is being moved, or was and its former
								 * placement is still there */
	bool		reshaped;		/* it was made from others (DistTable.idle),
								 * which former_group still has */
} ShardInfo;

/*
 * The hash function of another type of the operator family: that of the last
 * value that was looked for.
 */
typedef struct OtherHash
{
	Oid			type;
	FmgrInfo	fn;
} OtherHash;

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
	OtherHash  *other_hash;
	int			nshards;
	ShardInfo  *shards;			/* ascending by range */
	int			nidle;
	ShardInfo  *idle;			/* shards without an active placement: those
								 * that a split or merge is making, or has
								 * replaced (former_group >= 0) */
	int			triggers;		/* COMMAND_BITs of the commands that fire
								 * triggers of users */
	int			row_triggers;	/* of these, those with row triggers or
								 * transition tables */
	Bitmapset  *global_columns; /* those whose change concerns a global index
								 * or a global foreign key; NULL if it has
								 * none */
	List	   *global_keys;	/* Oids of the latter, which triggers on both
								 * tables enforce */
	const char *damage;			/* what is wrong with its metadata; NULL if
								 * nothing */
} DistTable;

/* A member of DistTable.triggers: CMD_INSERT, CMD_UPDATE or CMD_DELETE. */
#define COMMAND_BIT(command) (1 << (command))

/*
 * Whether an internal trigger maintains a global index, and so fires as those
 * of users do; the server's own are those of foreign keys.
 */
static inline bool
trigger_is_of_global_index(bool internal, const char *name)
{
	return internal && strncmp(name, GLOBAL_INDEX_TRIGGER, strlen(GLOBAL_INDEX_TRIGGER)) == 0;
}

/* The same for foreign keys between rows of different nodes. */
static inline bool
trigger_is_of_global_key(bool internal, const char *name)
{
	return internal && strncmp(name, GLOBAL_KEY_TRIGGER, strlen(GLOBAL_KEY_TRIGGER)) == 0;
}

#endif							/* CITUS_CATALOG_DIST_TABLE_H */
