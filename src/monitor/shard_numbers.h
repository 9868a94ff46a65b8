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
#include "fmgr.h"

#include "compat/foreach.h"

/* What is asked of a relation. */
typedef enum NumbersKind
{
	NUMBERS_SIZES,				/* bytes of each fork */
	NUMBERS_STATISTICS,			/* what table_statistics has */
} NumbersKind;

/* How the statistics of shards are that of their table. */
typedef enum ShardStatistics
{
	STATISTIC_SUM,				/* of int8 */
	STATISTIC_LARGEST,			/* int8 or timestamptz */
	STATISTIC_FLOAT_SUM,		/* of float8, a number being its bits */
} ShardStatistics;

/* A statistic of a relation. */
typedef struct TableStatistic
{
	const char *function;		/* of the server */
	ShardStatistics shards;
} TableStatistic;

#define STATISTICS_MAX 27

/*
 * Those of all versions of the server; functions that it lacks aren't called.
 */
extern const TableStatistic table_statistics[STATISTICS_MAX];

#define NUMBERS_MAX STATISTICS_MAX
StaticAssertDecl(NUMBERS_MAX > MAX_FORKNUM, "numbers have room for the sizes of all forks");

/* NULL, as a number. */
#define NO_NUMBER PG_INT64_MIN

/* Numbers of no relation, and with those of one more. */
extern void numbers_clear(NumbersKind kind, int64 *numbers);
extern void numbers_add(NumbersKind kind, int64 *numbers, const int64 *more);

/* The number that a function of the server returns of a relation. */
extern int64 number_of_relation(FmgrInfo *function, Oid relid);

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
