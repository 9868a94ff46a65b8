/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Statements that find their rows by a global index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GLOBAL_INDEX_LOOKUP_H
#define CITUS_GLOBAL_INDEX_LOOKUP_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

#include "catalog/dist_table.h"

/*
 * The contents of a GlobalIndexLookup node, in its custom_private.  Its
 * custom_exprs are the values of the key; its only child is the plan tree of
 * the statement for one shard, or for those of several keys.
 */
typedef struct GlobalLookup
{
	Oid			index;
	Oid			entries;
	bool		several;		/* keys, or rows of a key */
	uint64		array_keys;		/* bits of those values that are lists */
	int			param;			/* the parameter of the statement for one
								 * shard that is the distribution value; for
								 * several, an array of them */
	List	   *params;			/* IntList: the client's parameters that the
								 * statement uses */
	PlannedStmt *one_shard;		/* without its plan tree */
	Query	   *query;			/* what all shards are asked if that one has no
								 * row; not if several */
} GlobalLookup;

/* What a filter gives a column of a key. */
typedef struct KeyValue
{
	Expr	   *expr;			/* known before rows are read */
	bool		is_array;		/* one of its elements */
} KeyValue;

/* citus.enable_global_index_lookups */
extern bool enable_global_lookups;

/* Its CreateCustomScanState is set by lookup_run.c. */
extern CustomScanMethods global_lookup_methods;

extern void global_lookup_init(void);
extern void global_lookup_run_init(void);

/*
 * What a filter on a table gives the columns of an index's key (KeyValue), by
 * operators that mean what the index means by equal: the columns before the
 * first one that gets nothing.  arrays: also "= ANY".
 */
extern List *key_values(Node *filter, Index varno, Relation index, bool arrays);

/*
 * Whether an index is a global one, by which the rows can be found that a
 * filter on the table leaves, which gives it these values.
 */
extern bool global_index_finds(Relation index, const DistTable *table, Node *filter, Index varno, List *values);

/*
 * lookup_cover.c: the plan of a SELECT of one table that reads entries of one
 * of its global indexes; NULL if none has all of its columns.
 */
extern PlannedStmt *global_lookup_cover(Query *query, Index varno, const DistTable *table, const char *query_string,
										int cursor_options, ParamListInfo params);

/* A filter as these functions compare it with expressions of indexes. */
extern Node *global_lookup_filter(Node *quals);

/*
 * lookup_narrow.c: a copy of a SELECT that reads fewer shards, since entries
 * tell which have the rows; NULL if that doesn't cost less than the plan so
 * far.
 */
extern Query *global_lookup_narrow(Query *query, Cost cost);

/*
 * How many rows have the keys that these values of an index stand for, as far
 * as is known.
 */
extern double global_lookup_rows(Relation rel, Relation index, List *values);

/*
 * The condition that a row's distribution value is among those of an array, or
 * null, if that may be.
 */
extern Node *global_lookup_condition(const DistTable *table, Relation rel, Index varno, Node *values);

/* To and from custom_private. */
extern List *global_lookup_pack(const GlobalLookup *lookup);
extern void global_lookup_unpack(const CustomScan *node, GlobalLookup *lookup);

/* Plans a query for all shards, as if there was no global index. */
extern PlannedStmt *global_lookup_plan_all(const Query *query, const char *query_string, ParamListInfo params);

#endif							/* CITUS_GLOBAL_INDEX_LOOKUP_H */
