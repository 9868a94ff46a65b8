/*-------------------------------------------------------------------------
 *
 * distribute_function.h
 *	  Functions that are recorded as distributed in pg_dist_object.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_DISTRIBUTE_FUNCTION_H
#define CITUS_CONVERSION_DISTRIBUTE_FUNCTION_H

#include "postgres.h"

#include "compat/foreach.h"

/* A function is being dropped: its record goes with it. */
extern void distributed_function_forget(Oid function);

/* Commands (List of char *) that record all such functions on another node. */
extern List *distributed_function_commands(void);

#endif							/* CITUS_CONVERSION_DISTRIBUTE_FUNCTION_H */
