/*-------------------------------------------------------------------------
 *
 * free_slots.h
 *	  Telling the nodes that connect to this server whether it has free
 *	  connections.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_FREE_SLOTS_H
#define CITUS_REMOTE_FREE_SLOTS_H

#include "postgres.h"

/*
 * The parameter that a node reports: empty, or how many sessions each of the
 * nodes that connect to it should have here, behind FREE_SLOTS_FEW if few
 * connections are left.  0: there is only one such node.
 */
#define FREE_SLOTS_PARAMETER "citus.free_connections"
#define FREE_SLOTS_FEW "few "

/*
 * With a session's first statement, and at the end of a transaction: reports
 * it to the node that has opened this session, if it has changed; if there are
 * not many, ends sessions that rest.
 */
extern void free_slots_report(void);

/* The opener is another one, which has been told nothing. */
extern void free_slots_forget(void);

/* Whether so many connections are free that sessions may rest. */
extern bool free_slots_for_rest(void);

#endif							/* CITUS_REMOTE_FREE_SLOTS_H */
