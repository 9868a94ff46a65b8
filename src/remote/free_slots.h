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

/* The parameter that a node reports, and its value if there are few. */
#define FREE_SLOTS_PARAMETER "citus.free_connections"
#define FREE_SLOTS_FEW "few"

/*
 * At the end of a transaction: reports it to the node that has opened this
 * session, if it has changed.
 */
extern void free_slots_report(void);

#endif							/* CITUS_REMOTE_FREE_SLOTS_H */
