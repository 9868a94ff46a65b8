/*-------------------------------------------------------------------------
 *
 * reference_lock_rows.h
 *	  The executor node of a ReferenceLock (planner/reference_lock_path.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_REFERENCE_LOCK_ROWS_H
#define CITUS_EXECUTOR_REFERENCE_LOCK_ROWS_H

extern void reference_lock_rows_init(void);

#endif							/* CITUS_EXECUTOR_REFERENCE_LOCK_ROWS_H */
