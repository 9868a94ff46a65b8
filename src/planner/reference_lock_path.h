/*-------------------------------------------------------------------------
 *
 * reference_lock_path.h
 *	  Row locks of reference tables, on other nodes too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_REFERENCE_LOCK_PATH_H
#define CITUS_PLANNER_REFERENCE_LOCK_PATH_H

#include "nodes/extensible.h"
#include "nodes/lockoptions.h"
#include "nodes/pathnodes.h"

/* The contents of a ReferenceLock plan node. */
typedef struct ReferenceLockPlan
{
	Oid			relid;
	Oid			check_as_user;	/* whose rights the table needs; InvalidOid:
								 * the current user's */
	int			ctid_resno;		/* column of the child's rows, from 1 */
	LockClauseStrength strength;
	LockWaitPolicy wait_policy;
	List	   *key_attnos;		/* columns that identify a row; NIL: the table
								 * has no key */
	const char *text;			/* locks the row with the key $1, ..; NULL
								 * without key */
} ReferenceLockPlan;

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods reference_lock_methods;

/* Reads what the planner packed into the plan node. */
extern void reference_lock_plan_unpack(const CustomScan *node, ReferenceLockPlan *plan);

/*
 * The path below LockRows that locks the rows of subpath which a mark of a
 * reference table names, on the nodes that decide.
 */
extern Path *reference_lock_path_make(PlannerInfo *root, Path *subpath, PlanRowMark *mark);

/* Whether a query, or a part of it, locks rows of a reference table. */
extern bool reference_rows_are_locked(Query *query);

#endif							/* CITUS_PLANNER_REFERENCE_LOCK_PATH_H */
