/*-------------------------------------------------------------------------
 *
 * named_objects.h
 *	  Objects whose names stand in the texts of a plan's tasks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_NAMED_OBJECTS_H
#define CITUS_PLANNER_NAMED_OBJECTS_H

#include "nodes/plannodes.h"

extern void named_objects_init(void);

/*
 * Has a plan of the query made anew when a type that the query uses is
 * changed.
 */
extern void named_objects_note(PlannedStmt *plan, Query *query);

#endif							/* CITUS_PLANNER_NAMED_OBJECTS_H */
