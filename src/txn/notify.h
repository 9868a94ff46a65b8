/*-------------------------------------------------------------------------
 *
 * notify.h
 *	  NOTIFY for listeners on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_NOTIFY_H
#define CITUS_TXN_NOTIFY_H

#include "postgres.h"

/*
 * The transaction has notified this node's listeners, who learn of it when it
 * commits: so will those of other nodes.  payload: NULL is none.
 */
extern void notify_note(const char *channel, const char *payload);

/* Whether there are other nodes, whose listeners are to be told. */
extern bool notify_concerns_others(void);

/* A subtransaction has ended at a nesting level. */
extern void notify_end_level(int level, bool commit);

/*
 * Before the transaction commits: has a connection to each other node ready.
 * Nodes that can't be reached are left out, with a warning.
 */
extern void notify_before_commit(void);

/*
 * The transaction has committed here: releases the lock that orders the
 * server's queue, before anything is awaited.
 */
extern void notify_unlock(void);

/*
 * It has committed on all nodes: notifies the listeners of other nodes, within
 * NOTIFY_PATIENCE.  What fails is a warning.
 */
extern void notify_after_commit(void);

extern void notify_init(void);

#endif							/* CITUS_TXN_NOTIFY_H */
