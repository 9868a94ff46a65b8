/*-------------------------------------------------------------------------
 *
 * lock_path.h
 *	  Rows that are locked one by one, as a Limit requests them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_LOCK_PATH_H
#define CITUS_PLANNER_LOCK_PATH_H

#include "nodes/extensible.h"
#include "nodes/lockoptions.h"
#include "nodes/pathnodes.h"

/*
 * The contents of a DistributedLock plan node; its custom_exprs are LIMIT and
 * OFFSET, if their sum bounds the rows.
 */
typedef struct LockPlan
{
	Oid			relid;
	Oid			check_as_user;	/* whose rights the table needs; InvalidOid:
								 * the current user's */
	int			ctid_resno;		/* columns of the child's rows that identify a
								 * row, from 1 */
	int			xmin_resno;
	int			dist_resno;		/* 0: the table has one shard */
	const char *text;			/* locks the rows of an array of ctids; returns
								 * ctid and xmin of the locked ones */
} LockPlan;

/* Its CreateCustomScanState is set by the executor. */
extern CustomScanMethods dist_lock_methods;

/* Reads what the planner packed into the plan node. */
extern void lock_plan_unpack(const CustomScan *node, LockPlan *plan);

/* Adds columns that identify the rows to such a query; in place. */
extern void lock_path_prepare(Query *query);

/*
 * Whether the rows of a table are locked by a path on top of the query, and
 * not by its scan: SELECT .. LIMIT .. FOR UPDATE SKIP LOCKED of one table.
 */
extern bool lock_path_is_due(PlannerInfo *root, Index varno);

/* The path that locks the rows of subpath, for the query's one row mark. */
extern Path *lock_path_make(PlannerInfo *root, Path *subpath);

/* "UPDATE" for FOR UPDATE, and so on. */
extern const char *lock_strength_name(LockClauseStrength strength);

#endif							/* CITUS_PLANNER_LOCK_PATH_H */
