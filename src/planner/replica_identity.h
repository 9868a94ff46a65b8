/*-------------------------------------------------------------------------
 *
 * replica_identity.h
 *	  Refuses UPDATE and DELETE of published tables without a replica identity.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_REPLICA_IDENTITY_H
#define CITUS_PLANNER_REPLICA_IDENTITY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Errors if a query, before it is planned, may update or delete rows
 * of a distributed table that is published without a replica identity.
 */
extern void replica_identity_check(Query *query);

#endif							/* CITUS_PLANNER_REPLICA_IDENTITY_H */
