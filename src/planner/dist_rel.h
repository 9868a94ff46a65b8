/*-------------------------------------------------------------------------
 *
 * dist_rel.h
 *	  What the planner knows of a relation whose rows the nodes can compute
 *	  without each other: of a base relation, or of a join.
 *
 * It hangs on RelOptInfo.fdw_private, as in foreign data wrappers.  Its rows
 * are the union, over all shard groups, of the rows that the same query gives
 * on the tables of one group; or, if it reads reference tables only, each
 * node has all of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DIST_REL_H
#define CITUS_PLANNER_DIST_REL_H

#include "nodes/pathnodes.h"

#include "catalog/metadata.h"

typedef struct DistRel
{
	uint32		magic;			/* tells it from what an extension or a wrapper keeps in fdw_private */
	const DistTable *table;		/* one of its distributed tables; NULL: every node has all rows */
	Relids		relids;
	List	   *entries;		/* range table entries that replace the query's: subqueries */
	List	   *entry_numbers;	/* IntList: their places in the range table */
	List	   *hidden;			/* the subqueries (Query) as they were: no part of the plan, but what the plan depends on */
	List	   *dist_exprs;		/* Exprs, each of which alone says to which shard group a row belongs */
	List	   *fromlist;		/* FROM, with the range table indexes of the query */
	List	   *quals;			/* WHERE, implicitly ANDed */
	List	   *disjunctions;	/* what shards can have rows (sharding/prune.h) */
	Oid			check_as;		/* whose rights its tables are read with; InvalidOid: the current user's */
	List	   *broadcasts;		/* of Broadcast: what the nodes get from here */
	double		rows;
	double		work;			/* cost of computing it, summed over all nodes */
	double		preparation;	/* cost of what happens here before */
} DistRel;

/* A relation that is computed here, and whose rows all nodes get. */
typedef struct Broadcast
{
	Relids		relids;
	Index		varno;			/* which of them stands for it in the nodes' query */
	Path	   *path;			/* its columns are Vars */
} Broadcast;

/* Most that a relation to be broadcast may be estimated at, in rows and bytes. */
#define BROADCAST_MAX_ROWS 1000000
#define BROADCAST_MAX_BYTES (64.0 * 1024 * 1024)

/* The cost of computing it, in the server's units. */
extern double dist_rel_cost(const DistRel *dist);

/* The relation as one that nodes get from here; NULL if it is too large for that. */
extern DistRel *dist_rel_broadcast(PlannerInfo *root, const RelOptInfo *rel, const DistTable *table);

/* Whether joins, aggregates and limits run on the nodes (citus.enable_query_pushdown). */
extern bool citus_enable_query_pushdown;

/* Whether a small side of a join may be sent to the nodes (citus.enable_broadcast_joins). */
extern bool citus_enable_broadcast;

/* What is known of a relation; NULL if the nodes can't compute it without each other. */
extern DistRel *dist_rel_of(const RelOptInfo *rel);

/*
 * Notes it for a base relation whose filters are known.  table is NULL for a
 * subquery.  Nothing is noted if the nodes can't read it so.
 */
extern void dist_rel_note_base(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const DistTable *table);

/* Whether an expression says to which shard group a row belongs. */
extern bool dist_rel_is_dist_expr(PlannerInfo *root, const DistRel *dist, Node *expr);

/* Whether other nodes can evaluate expressions (implicitly ANDed filters, say), and once for all rows of the outer query. */
extern bool dist_rel_can_evaluate(PlannerInfo *root, List *exprs);

/* How many nodes have shards of a table. */
extern int	dist_rel_count_nodes(const DistTable *table);

/* join_path.c: set_join_pathlist_hook. */
extern void join_path_init(void);

#endif							/* CITUS_PLANNER_DIST_REL_H */
