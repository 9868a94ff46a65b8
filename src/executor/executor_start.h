/*-------------------------------------------------------------------------
 *
 * executor_start.h
 *	  What is decided when the executor starts a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXECUTOR_START_H
#define CITUS_EXECUTOR_EXECUTOR_START_H

#include "executor/execdesc.h"

extern void executor_start_init(void);

/* The next hook in the chain, or the server's own function. */
extern void executor_start_next(QueryDesc *query_desc, int eflags);

#endif							/* CITUS_EXECUTOR_EXECUTOR_START_H */
