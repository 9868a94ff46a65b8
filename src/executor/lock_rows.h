/*-------------------------------------------------------------------------
 *
 * lock_rows.h
 *	  The executor node of a DistributedLock (planner/lock_path.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_LOCK_ROWS_H
#define CITUS_EXECUTOR_LOCK_ROWS_H

extern void lock_rows_init(void);

#endif							/* CITUS_EXECUTOR_LOCK_ROWS_H */
