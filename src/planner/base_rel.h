/*-------------------------------------------------------------------------
 *
 * base_rel.h
 *	  Base relations whose rows the nodes can compute: tables and subqueries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_BASE_REL_H
#define CITUS_PLANNER_BASE_REL_H

#include "nodes/pathnodes.h"

#include "planner/dist_rel.h"

/*
 * Notes what is known of a base relation (dist_rel_of) whose filters are
 * known.  table is NULL for what is none.  Nothing is noted if the nodes can't
 * read it so.
 */
extern void base_rel_note(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const DistTable *table);

/*
 * Adds a path of a relation whose filters have group_subqueries, which no
 * other path can evaluate.
 */
extern void base_rel_add_path(PlannerInfo *root, RelOptInfo *rel);

/*
 * As base_rel_note, for a UNION ALL in FROM that the planner has flattened,
 * when its members are known.
 */
extern void base_rel_note_union(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

#endif							/* CITUS_PLANNER_BASE_REL_H */
