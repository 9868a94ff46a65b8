/*-------------------------------------------------------------------------
 *
 * join_filter.h
 *	  Columnar scans below a hash join, which leave out rows without a match.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_JOIN_FILTER_H
#define CITUS_COLUMNAR_JOIN_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "columnar/key_filter.h"

/* A filter of a columnar scan, packed in its custom_private. */
typedef struct JoinFilterUse
{
	int			param;			/* the executor's parameter that is the
								 * filter */
	int			column;			/* from 0 */
} JoinFilterUse;

/* A filter of the node ColumnarJoinKeys, packed in its custom_private. */
typedef struct JoinFilterSource
{
	int			param;
	Oid			operator;
	Oid			collation;
	Oid			outer_type;
} JoinFilterSource;

/*
 * Changes a hash join of a finished plan: where it has no use for rows of a
 * columnar scan on its outer side without a match, the scan gets filters, and
 * the inner side a node that makes them.
 */
extern void join_filter_plan(PlannedStmt *statement, HashJoin *join);

/*
 * Adds a hash join to the paths of a joined relation, if its outer side is a
 * columnar scan that gets filters.  For set_join_pathlist_hook.
 */
extern void join_filter_add_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
								  JoinType type, JoinPathExtraData *extra);

/* What makes that node's state. */
extern const CustomScanMethods join_filter_methods;

/* A filter, or NULL as long as not all keys are known. */
extern KeyFilter *join_filter_get(const JoinFilterUse *use, EState *estate);

extern void join_filter_init(void);

#endif							/* CITUS_COLUMNAR_JOIN_FILTER_H */
