/*-------------------------------------------------------------------------
 *
 * dist_query.h
 *	  A query that the nodes run on a DistRel (dist_rel.h): columns, whole or
 *	  partial aggregates, the first rows in an order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_DIST_QUERY_H
#define CITUS_PLANNER_DIST_QUERY_H

#include "nodes/pathnodes.h"

#include "planner/dist_plan.h"
#include "planner/dist_rel.h"

typedef struct DistQuery
{
	uint32		magic;			/* as in DistRel */
	const DistRel *rel;
	bool		grouped;		/* aggregates of its groups */
	bool		partial;		/* their transition states: groups may have
								 * rows on several nodes */
	List	   *columns;		/* Exprs that it returns, Aggrefs not marked as
								 * partial; NIL, unless grouped: the Vars that
								 * the plan needs */
	List	   *tlist;			/* TargetEntries that the next two mean */
	List	   *group_clause;	/* SortGroupClauses */
	List	   *grouping_sets;	/* as in a Query that is not planned yet */
	List	   *sort_clause;	/* SortGroupClauses; NIL: no order */
	List	   *having;			/* implicitly ANDed */
	List	   *window_clause;	/* WindowClauses */
	Node	   *limit;			/* how many rows, int8; NULL: all */
} DistQuery;

/*
 * A path by which the nodes run the query, and the initiator computes the
 * target's expressions from its columns.  rows: the total that it returns;
 * work: added to the relation's.
 */
extern Path *dist_query_path(PlannerInfo *root, RelOptInfo *parent, DistQuery *query, PathTarget *target, double rows,
							 double work);

/*
 * Notes a path's query as the whole query of a subquery, whose last planner
 * step is final_rel.
 */
extern void dist_query_set_whole(RelOptInfo *final_rel, DistQuery *query);

/* That whole query, if the nodes can compute it independently; else NULL. */
extern DistQuery *dist_query_whole(PlannerInfo *subroot);

/*
 * That query, as a subquery of another one that knows its columns by these
 * names (String).
 */
extern Query *dist_query_build_subquery(PlannerInfo *subroot, const DistQuery *query, List *names);

/* The columns that determine the shard group of its rows, as Vars of varno. */
extern List *dist_query_dist_columns(PlannerInfo *subroot, const DistQuery *query, Index varno);

/*
 * SELECT .. FROM .. WHERE with the range table of a relation, without columns.
 */
extern Query *dist_query_make(PlannerInfo *root, const DistRel *rel, List *fromlist, List *quals);

/*
 * Adds columns (Exprs) to the result description of a plan; returns their Vars
 * on the initiator.
 */
extern List *dist_query_describe(DistPlan *plan, List *columns);

/*
 * Completes a plan with the text of a query or write on the relation, which is
 * changed in place.  Returns the plan's expressions.
 */
extern List *dist_query_finish(DistPlan *plan, Query *task, const DistRel *rel);

/*
 * upper_path.c: the scan or join that a query starts from, if the nodes can
 * compute it; else NULL.
 */
extern const DistRel *dist_query_input(PlannerInfo *root);

/*
 * upper_path.c: whether a type is that of an anonymous row, or of an array of
 * these.  Only the values know what they consist of.
 */
extern bool is_anonymous_row(Oid type);

/* upper_path.c: whether all rows of a group are in one shard group. */
extern bool dist_query_groups_are_whole(PlannerInfo *root, const DistRel *rel, List *clause);

/*
 * upper_path.c: the Vars in expressions that are neither in an aggregate nor
 * in one of the items of GROUP BY.
 */
extern List *dist_query_bare_columns(List *exprs, List *items);

/*
 * upper_path.c: groups of a relation, to be aggregated to columns, to their
 * transition states if partial; NULL if the nodes can't.
 */
extern DistQuery *dist_query_group(PlannerInfo *root, const DistRel *rel, List *clause, List *columns, bool partial);

/*
 * upper_path.c: what a partial aggregation returns: GROUP BY items, and the
 * columns and aggregates that the final one and what is above it need; partial
 * holds the same with the aggregates marked.  As make_partial_grouping_target
 * in the server's planner.
 */
extern List *dist_query_partial_columns(PlannerInfo *root, const PathTarget *target, PathTarget *partial);

/* grouping_sets.c: paths of aggregates with GROUPING SETS. */
extern void grouping_sets_paths_add(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel,
									const DistRel *rel, double ngroups);

/*
 * upper_path.c: the query up to its windows, and up to its order and limit, if
 * the nodes can compute it independently; a copy, or NULL.
 */
extern DistQuery *dist_query_before_windows(PlannerInfo *root);
extern DistQuery *dist_query_before_limit(PlannerInfo *root);

/*
 * distinct_path.c: paths of SELECT DISTINCT, of aggregates to which duplicates
 * make no difference, and of windows.
 */
extern void distinct_paths_add(PlannerInfo *root, RelOptInfo *distinct_rel);
extern void distinct_aggregate_paths_add(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel,
										 const DistRel *rel, double ngroups);
extern void window_paths_add(PlannerInfo *root, RelOptInfo *window_rel);

/*
 * distinct_path.c: GROUP BY all of some expressions, as entries of *tlist; NIL
 * if a type has no equality, or nodes can't return its values.
 */
extern List *dist_query_group_by_all(List *exprs, List **tlist);

/*
 * set_op_path.c: paths of a set operation, or of one of its leaves, whose
 * paths are known.
 */
extern void set_op_paths_add(PlannerInfo *root, RelOptInfo *rel);

/*
 * set_op_path.c: the result of all of a query's set operations, a DistRel if
 * the nodes can compute it.
 */
extern RelOptInfo *set_op_result(PlannerInfo *root);

/* set_op_path.c: as dist_query_path, of such a result. */
extern Path *set_op_query_path(PlannerInfo *root, RelOptInfo *rel, DistQuery *query, double rows);

/*
 * pushed_write.c: notes (PlanningContext.write_source) that a write's rows
 * stay in the shard groups they come from.
 */
extern void pushed_write_note(PlannerInfo *root, RelOptInfo *final_rel);

/*
 * pushed_join.c: a path of an UPDATE or DELETE of such rows, which are found
 * with the help of rows from here.
 */
extern void pushed_join_path_add(PlannerInfo *root, RelOptInfo *final_rel, const DistTable *target,
								 const DistRel *rel);

/*
 * upper_path.c: aggregates and limits; called by the hook for upper relations.
 */
extern void upper_paths_add(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
							void *extra);

#endif							/* CITUS_PLANNER_DIST_QUERY_H */
