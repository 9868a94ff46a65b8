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
 * Makes the DistRel (dist_rel_of) of a base relation whose filters are known,
 * if the nodes can compute it.  table is NULL if the relation isn't a
 * distributed table.
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

/*
 * The role whose rights are checked for an entry of the range table
 * (InvalidOid: the current user); for a partition, those to the table that the
 * query names.
 */
extern Oid	base_rel_check_as(PlannerInfo *root, Index varno);

#endif							/* CITUS_PLANNER_BASE_REL_H */
