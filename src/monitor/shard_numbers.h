/*-------------------------------------------------------------------------
 *
 * shard_numbers.h
 *	  Sizes and statistics of the shards on a node, by logical relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_MONITOR_SHARD_NUMBERS_H
#define CITUS_MONITOR_SHARD_NUMBERS_H

#include "postgres.h"

#include "common/relpath.h"

#include "compat/foreach.h"

/* What is known of a relation: bytes of each fork. */
#define NUMBERS_MAX (MAX_FORKNUM + 1)

/* Which relation of a table numbers are about. */
#define PART_TABLE "table"
#define PART_TOAST "toast"
#define PART_TOAST_INDEX "toast index"
#define PART_INDEX_PREFIX "index "	/* followed by its name */

/* Oids of a relation's indexes, without a lock. */
extern List *relation_indexes(Oid relid);

/* Its TOAST table, or InvalidOid. */
extern Oid	relation_toast(Oid relid);

/* The first index of its TOAST table, or InvalidOid. */
extern Oid	relation_toast_index(Oid relid);

#endif							/* CITUS_MONITOR_SHARD_NUMBERS_H */
