/*-------------------------------------------------------------------------
 *
 * object_lock.h
 *	  Locks on names of objects, which statements about them take first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_OBJECTS_OBJECT_LOCK_H
#define CITUS_OBJECTS_OBJECT_LOCK_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Locks names (List of char *) until the end of the transaction, on all nodes,
 * the coordinator first.  The set of nodes must be locked
 * (node_share_set_for_ddl).
 */
extern void object_lock_names(List *names);

#endif							/* CITUS_OBJECTS_OBJECT_LOCK_H */
