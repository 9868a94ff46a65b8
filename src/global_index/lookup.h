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

/*
 * The contents of a GlobalIndexLookup node, in its custom_private.  Its
 * custom_exprs are the values of the key; its only child is the plan tree of
 * the statement for one shard.
 */
typedef struct GlobalLookup
{
	Oid			index;
	Oid			entries;
	int			param;			/* the parameter of the statement for one
								 * shard that is the distribution value */
	List	   *params;			/* IntList: the client's parameters that the
								 * statement uses */
	PlannedStmt *one_shard;		/* without its plan tree */
	Query	   *query;			/* what all shards are asked if that one has no
								 * row */
} GlobalLookup;

/* Its CreateCustomScanState is set by lookup_run.c. */
extern CustomScanMethods global_lookup_methods;

extern void global_lookup_init(void);
extern void global_lookup_run_init(void);

/* The look-up as a list that a plan can have, and back. */
extern List *global_lookup_pack(const GlobalLookup *lookup);
extern void global_lookup_unpack(const CustomScan *node, GlobalLookup *lookup);

/* Plans a query for all shards, as if there was no global index. */
extern PlannedStmt *global_lookup_plan_all(const Query *query, const char *query_string, ParamListInfo params);

#endif							/* CITUS_GLOBAL_INDEX_LOOKUP_H */
