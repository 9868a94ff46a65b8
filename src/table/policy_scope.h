/*-------------------------------------------------------------------------
 *
 * policy_scope.h
 *	  Policies that only one node could check.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_POLICY_SCOPE_H
#define CITUS_TABLE_POLICY_SCOPE_H

#include "postgres.h"

/*
 * Errors if a policy of a distributed or reference table, whose metadata has
 * been written, reads a local table, or depends on one otherwise: other nodes
 * couldn't check it.  What a function's body uses isn't known.
 */
extern void policies_check_scope(Oid relid);

#endif							/* CITUS_TABLE_POLICY_SCOPE_H */
