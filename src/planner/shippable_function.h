/*-------------------------------------------------------------------------
 *
 * shippable_function.h
 *	  Which functions mean the same on every node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_SHIPPABLE_FUNCTION_H
#define CITUS_PLANNER_SHIPPABLE_FUNCTION_H

#include "postgres.h"

/*
 * Why a function, or an aggregate, must be called by the initiator; NULL if a
 * task may call it.
 */
extern const char *shippable_function(Oid function);

/* Whether other nodes have a type. */
extern bool shippable_type(Oid type);

extern void shippable_function_init(void);

#endif							/* CITUS_PLANNER_SHIPPABLE_FUNCTION_H */
