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

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

/*
 * Locks tables (Oids) until the transaction ends: distributed and reference
 * tables on all nodes, giving way to sessions that hold a lock on one node and
 * wait for ours on another; local ones here.  In modes that let others write,
 * tables are locked on the coordinator and here only.
 *
 * False, and nothing is locked, if another session has meanwhile dropped, renamed, distributed
 * or undistributed one of them: the caller looks up again what it was asked for.
 */
extern bool lock_everywhere(List *relids, LOCKMODE mode);

/* A mode as LOCK TABLE names it. */
extern const char *lock_mode_name(LOCKMODE mode);

#endif							/* CITUS_TABLE_LOCK_EVERYWHERE_H */
