/*-------------------------------------------------------------------------
 *
 * shared_rows_run.h
 *	  The executor node of SharedRows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_SHARED_ROWS_RUN_H
#define CITUS_EXECUTOR_SHARED_ROWS_RUN_H

extern void shared_rows_init(void);

#endif							/* CITUS_EXECUTOR_SHARED_ROWS_RUN_H */
