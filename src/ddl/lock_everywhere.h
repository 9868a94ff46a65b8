/*-------------------------------------------------------------------------
 *
 * lock_everywhere.h
 *	  Locks a table on all nodes before DDL changes it there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_LOCK_EVERYWHERE_H
#define CITUS_DDL_LOCK_EVERYWHERE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "storage/lockdefs.h"

/*
 * Locks distributed or reference tables (Oids) on this node and all others
 * until the transaction ends, giving way to sessions that hold a lock on one
 * node and wait for ours on another.  Nothing is done in modes that let others write.
 * Errors (42P01) if a table is dropped or renamed by another session meanwhile.
 */
extern void lock_everywhere(List *relids, LOCKMODE mode);

#endif							/* CITUS_DDL_LOCK_EVERYWHERE_H */
