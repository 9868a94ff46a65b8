/*-------------------------------------------------------------------------
 *
 * dist_rel.h
 *	  A DistRel describes a base relation or join whose rows the nodes can
 *	  compute independently.  RelOptInfo.fdw_private points to it, as in
 *	  foreign data wrappers.  The rows are the union, over all shard groups,
 *	  of the rows that the same query returns on the tables of one group; or,
 *	  if it reads reference tables only, each node has all of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DIST_REL_H
#define CITUS_PLANNER_DIST_REL_H

#include "nodes/pathnodes.h"

#include "catalog/metadata.h"

typedef struct DistRel
{
	uint32		magic;			/* distinguishes it from another extension's
								 * fdw_private */
	const DistTable *table;		/* one of its distributed tables; NULL: every
								 * node has all rows */
	Relids		relids;
	List	   *entries;		/* range table entries that replace the
								 * query's: subqueries */
	List	   *entry_numbers;	/* IntList: their places in the range table */
	List	   *hidden;			/* the original subqueries (Query): not part of
								 * the plan, but the plan depends on them */
	List	   *dist_exprs;		/* Exprs, each of which alone determines the
								 * shard group of a row */
	List	   *fromlist;		/* FROM, with the range table indexes of the
								 * query */
	List	   *quals;			/* WHERE, implicitly ANDed */
	List	   *disjunctions;	/* which shards can have rows
								 * (sharding/prune.h) */
	Oid			check_as;		/* whose rights its tables are read with;
								 * InvalidOid: the current user's */
	List	   *broadcasts;		/* of Broadcast: relations whose rows are moved
								 * to the nodes */
	Relids		lateral;		/* relations on whose rows it depends: it
								 * can only be the inner side of a join with
								 * them */
	bool		reads_nothing;	/* made of functions only: no rights are
								 * checked, check_as is unused */
	List	   *computed;		/* the expressions that rows are computed from,
								 * if no table is read */
	double		rows;
	double		work;			/* cost of computing it, summed over all
								 * nodes; for each row of what it depends on */
	double		preparation;	/* cost of preparation on the initiator */
} DistRel;

/*
 * A relation whose rows are moved to the nodes of another one: computed here,
 * and sent to all of them, or (repartition) sent by the nodes that compute it,
 * each row to the node that has the shard of a hash value.
 */
typedef struct Broadcast
{
	Relids		relids;
	Index		varno;			/* its entry in the nodes' query */
	bool		repartition;
	List	   *columns;		/* Vars */
	Path	   *path;			/* returns them, or of a repartition what
								 * exchange_send does */
} Broadcast;

/* The cost of computing it, in the server's units. */
extern double dist_rel_cost(const DistRel *dist);

/*
 * The relation as a broadcast, whose rows path computes on the initiator; NULL
 * if it is too large.
 */
extern DistRel *dist_rel_broadcast(PlannerInfo *root, RelOptInfo *rel, Path *path, const DistTable *table);

/*
 * Columns of a relation that nodes compute, whose rows are moved to the shard
 * of the table that has the hash value of expr.  operator compares expr with
 * the table's distribution column, or with an expression of the same type.
 * NULL if impossible.
 */
extern DistRel *dist_rel_repartition(PlannerInfo *root, RelOptInfo *rel, List *columns, const DistTable *table,
									 Node *expr, const OpExpr *operator);

/*
 * Whether expressions are columns that can travel.
 */
extern bool dist_rel_can_travel(const List *exprs);

/*
 * Whether a statement's rows can be moved before it runs: see
 * dist_rel_broadcast.
 */
extern bool dist_rel_can_prepare(PlannerInfo *root, const RelOptInfo *rel);

/*
 * Whether joins that are not colocated may move rows between nodes
 * (citus.enable_repartition_joins).
 */
extern bool citus_enable_repartition;

/*
 * Whether joins, aggregates and limits run on the nodes
 * (citus.enable_query_pushdown).
 */
extern bool citus_enable_query_pushdown;

/*
 * Whether a small side of a join may be sent to the nodes
 * (citus.enable_broadcast_joins).
 */
extern bool citus_enable_broadcast;

/*
 * How much of it may be sent, in kB (citus.max_intermediate_result_size); -1:
 * any amount.
 */
extern int	citus_max_broadcast_size;

/* Defines the settings above. */
extern void dist_rel_init(void);

/*
 * The DistRel of a relation; NULL if the nodes can't compute it independently.
 */
extern DistRel *dist_rel_of(const RelOptInfo *rel);

/* A DistRel that has only these fields. */
extern DistRel *dist_rel_make(Relids relids, double rows);

/* Whether an expression determines the shard group of a row. */
extern bool dist_rel_is_dist_expr(PlannerInfo *root, const DistRel *dist, Node *expr);

/*
 * Whether other nodes can evaluate expressions (implicitly ANDed filters,
 * say) of a relation's rows, and once for all rows of the outer query.  dist
 * is NULL if it isn't known: there may be no group_subquery then.
 */
extern bool dist_rel_can_evaluate(PlannerInfo *root, const DistRel *dist, List *exprs);

/* As dist_rel_can_evaluate, but returns NULL, or the reason why not. */
extern const char *dist_rel_keeps_here(PlannerInfo *root, const DistRel *dist, List *exprs);

/*
 * Notes, for EXPLAIN, that nodes don't compute something of these relations,
 * and why.
 */
extern void dist_rel_refuse(PlannerInfo *root, Relids relids, const char *what, const char *reason);

/*
 * What the initiator computes from a relation's rows because the nodes
 * couldn't, and why; else NULL.
 */
extern const char *dist_rel_refusal(PlannerInfo *root, Relids relids);

/*
 * Whether a query is an UPDATE or DELETE.  Its relations get DistRels, to find
 * out whether each shard group can run it, but no paths: these would not lock
 * the target's rows, nor return the row identity of other relations.
 */
extern bool dist_rel_finds_writes(PlannerInfo *root);

/* How many nodes have shards of a table. */
extern int	dist_rel_count_nodes(const DistTable *table);

/*
 * join_path.c: the join of two relations, with the estimated number of rows;
 * NULL if the nodes can't compute it independently.  It may return the columns
 * of joinrel, which may be one of the two.
 */
extern DistRel *dist_rel_join(PlannerInfo *root, const RelOptInfo *joinrel, const DistRel *left, const DistRel *right,
							  JoinType type, List *restrictlist, double rows);

/*
 * join_rows.c: raises the estimated number of rows of a join, if it is far too
 * low.  For set_join_pathlist_hook.
 */
extern void join_rows_correct(PlannerInfo *root, RelOptInfo *joinrel, const RelOptInfo *outer,
							  const RelOptInfo *inner, JoinType type, JoinPathExtraData *extra);

/*
 * reduced_join.c: paths of a join on the initiator, for which the nodes return
 * only inner rows that match outer ones.
 */
extern void reduced_join_paths_add(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
								   JoinType type, JoinPathExtraData *extra);

/*
 * group_subquery.c: NULL if the nodes that compute a relation's rows can run
 * the subqueries that stand in expressions of it; else why not.  dist is NULL
 * if it isn't known.
 */
extern const char *group_subquery_refusal(PlannerInfo *root, const DistRel *dist, List *exprs);

/*
 * group_subquery.c: a copy of expressions, with subqueries replaced by
 * something that other nodes can evaluate if they can evaluate the arguments.
 */
extern List *group_subqueries_hide(List *exprs);

/*
 * group_subquery.c: the cost, on a node and for one row, of the subqueries in
 * expressions.
 */
extern double group_subquery_cost(List *exprs);

/*
 * group_subquery.c: the columns of this query level that expressions of a
 * relation use, each once, and what of them its nodes alone can tell:
 * subqueries that they can run, and how columns are stored.  Of other
 * subqueries, the columns that they use.
 */
extern List *group_subquery_columns(PlannerInfo *root, const DistRel *dist, List *exprs);

/* group_subquery.c: whether there are calls of the latter kind. */
extern bool group_subquery_storage(PlannerInfo *root, const DistRel *dist, List *exprs);

/*
 * group_subquery.c: whether groups' expressions have subqueries that use, of
 * the outer row, more than columns: in a text they don't know the items of
 * GROUP BY.
 */
extern bool group_subqueries_need_items(List *exprs);

/*
 * group_subquery.c: whether expressions have subqueries; sets whose rights one
 * of them reads with (as DistRel.check_as).
 */
extern bool group_subqueries_stand_in(List *exprs, Oid *check_as);

/*
 * group_subquery.c: puts the subqueries back into a query for nodes; returns a
 * copy, or the query.
 */
extern Query *group_subqueries_restore(Query *task);

/* join_path.c: set_join_pathlist_hook. */
extern void join_path_init(void);

#endif							/* CITUS_PLANNER_DIST_REL_H */
