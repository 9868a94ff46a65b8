/*-------------------------------------------------------------------------
 *
 * executor_start.h
 *	  Decisions when the executor starts a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXECUTOR_START_H
#define CITUS_EXECUTOR_EXECUTOR_START_H

extern void executor_start_init(void);

#endif							/* CITUS_EXECUTOR_EXECUTOR_START_H */
