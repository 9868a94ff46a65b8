/*-------------------------------------------------------------------------
 *
 * manual_change.h
 *	  Clients' own statements that change a shard by its name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_RESOLVE_MANUAL_CHANGE_H
#define CITUS_RESOLVE_MANUAL_CHANGE_H

#include "nodes/parsenodes.h"

extern void manual_change_init(void);

/*
 * For statements that are neither a node's tasks nor this library's own:
 * errors with 42501 if one changes a shard that it names, unless the user is a
 * superuser or citus.enable_manual_changes_to_shards is on.
 */
extern void manual_change_check_query(Query *query);
extern void manual_change_check_utility(Node *stmt);

/*
 * Sets whether statements are this library's own although they run as a
 * user's; returns what was set, to be set again, also after an error.
 */
extern bool manual_change_exempt(bool exempt);

/*
 * The same for links between a shard and another relation, by any statement: a
 * relation begins or ceases to inherit from another one (as a partition does,
 * whose rows can be written by its parent's name), or gets a constraint.  The
 * constraint need not be visible yet.
 */
extern void manual_change_check_inheritance(Oid child, Oid parent);
extern void manual_change_check_constraint(Oid constraint);

#endif							/* CITUS_RESOLVE_MANUAL_CHANGE_H */
