/*-------------------------------------------------------------------------
 *
 * deadlock_victim.h
 *	  Cancelling a transaction as the victim of a deadlock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_DEADLOCK_VICTIM_H
#define CITUS_TXN_DEADLOCK_VICTIM_H

#include "postgres.h"

extern void deadlock_victim_init(void);

/*
 * Cancels the transaction of a process of this node, whose error is then a
 * deadlock's with that detail.  False, without effect, if the process is no
 * longer in that transaction.
 */
extern bool deadlock_victim_cancel(int pid, uint32 lxid, const char *detail);

/*
 * Makes this session report such a cancellation as a deadlock; cheap.  To be
 * called when statements and subtransactions begin.
 */
extern void deadlock_victim_prepare(void);

/* The same when the transaction, which has failed, is cleaned up. */
extern void deadlock_victim_prepare_next(void);

#endif							/* CITUS_TXN_DEADLOCK_VICTIM_H */
