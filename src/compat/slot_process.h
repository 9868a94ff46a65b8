/*-------------------------------------------------------------------------
 *
 * slot_process.h
 *	  The process that uses a replication slot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_SLOT_PROCESS_H
#define CITUS_COMPAT_SLOT_PROCESS_H

#include "postgres.h"

#include "replication/slot.h"
#include "storage/proc.h"

/* Its id; 0 if there is none. */
static inline int
compat_slot_process(const ReplicationSlot *slot)
{
#if PG_VERSION_NUM >= 190000
	return slot->active_proc == INVALID_PROC_NUMBER ? 0 : GetPGProcByNumber(slot->active_proc)->pid;
#else
	return slot->active_pid;
#endif
}

#endif							/* CITUS_COMPAT_SLOT_PROCESS_H */
