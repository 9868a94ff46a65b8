/*-------------------------------------------------------------------------
 *
 * lock_everywhere.h
 *	  Locks a table on all nodes before DDL changes it there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_LOCK_EVERYWHERE_H
#define CITUS_TABLE_LOCK_EVERYWHERE_H

#include "postgres.h"

#include "storage/lockdefs.h"

#include "compat/foreach.h"

/*
 * Before DDL, first on the coordinator, then here: keeps the set of nodes as
 * it is until the transaction ends.  Errors unless this node is an active one.
 */
extern void node_share_set_for_ddl(void);

/*
 * Called before a table joins a colocation group: keeps its shards from being
 * moved, split or merged until the transaction ends.  Metadata that were read
 * before may be out of date.  Code that changes shards calls
 * citus_internal.lock_group_placements on all nodes.
 */
extern void lock_group_placements(int32 colocation_id);

/*
 * Locks tables (Oids) until the transaction ends: distributed and reference
 * tables on all nodes, without deadlocking with sessions that hold a lock on
 * one node and wait for ours on another; local ones here.  In modes that let
 * others write, tables are locked on the coordinator and here only.
 *
 * False, and nothing is locked, if another session has meanwhile dropped,
 * renamed, distributed or undistributed one of them: the caller must look up
 * the name again.
 */
extern bool lock_everywhere(List *relids, LOCKMODE mode);

/*
 * Locks other tables (Oids) that a statement will lock on each node, if the
 * user may lock them: otherwise sessions of two nodes could deadlock.
 */
extern void lock_others_everywhere(List *relids, LOCKMODE mode);

/*
 * LOCK TABLE for other nodes, of those tables (Oids) that they have; NULL if
 * there are none.
 */
extern char *lock_table_text(List *relids, LOCKMODE mode);

/* A mode as LOCK TABLE names it. */
extern const char *lock_mode_name(LOCKMODE mode);

#endif							/* CITUS_TABLE_LOCK_EVERYWHERE_H */
