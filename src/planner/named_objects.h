/*-------------------------------------------------------------------------
 *
 * named_objects.h
 *	  Objects whose names are in the texts of a plan's tasks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_NAMED_OBJECTS_H
#define CITUS_PLANNER_NAMED_OBJECTS_H

#include "nodes/plannodes.h"

extern void named_objects_init(void);

/* Makes a plan depend on the types that its query uses. */
extern void named_objects_note(PlannedStmt *plan, Query *query);

#endif							/* CITUS_PLANNER_NAMED_OBJECTS_H */
