/*-------------------------------------------------------------------------
 *
 * look_ahead_run.h
 *	  The executor node of LookAhead.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_LOOK_AHEAD_RUN_H
#define CITUS_EXECUTOR_LOOK_AHEAD_RUN_H

#include "nodes/execnodes.h"

/*
 * For each of the rows that follow the present one of a loop, at most so many,
 * sets the loop's parameters to its values and calls a function; afterwards
 * they are as before.  The values are valid in the call only.  Reads the rows
 * from the plan below if need be, so it may run any code that a plan does.
 * number: that of the LookAhead (DistPlan.look_ahead).
 */
extern void look_ahead(EState *estate, int number, int most, void (*each) (void *arg), void *arg);

extern void look_ahead_init(void);

#endif							/* CITUS_EXECUTOR_LOOK_AHEAD_RUN_H */
