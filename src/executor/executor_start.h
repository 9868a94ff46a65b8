/*-------------------------------------------------------------------------
 *
 * executor_start.h
 *	  Decisions when the executor starts a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXECUTOR_START_H
#define CITUS_EXECUTOR_EXECUTOR_START_H

#include "postgres.h"

/* How many statements the executor has started in this session. */
extern uint64 executor_statements;

extern void executor_start_init(void);

#endif							/* CITUS_EXECUTOR_EXECUTOR_START_H */
