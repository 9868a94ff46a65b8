/*-------------------------------------------------------------------------
 *
 * wait_reach.h
 *	  Which nodes a search for deadlocks has to ask.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_WAIT_REACH_H
#define CITUS_TXN_WAIT_REACH_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/* The states of a process that are relevant to processes that wait for it. */
#define WAIT_STATE_READS 'r'	/* waits for its client's next message */
#define WAIT_STATE_WRITES 'w'	/* waits for its client to take what it sent */
#define WAIT_STATE_LOCK 'l'		/* waits for a lock */
#define WAIT_STATE_BUSY 'b'		/* anything else */

#define WAIT_COLUMNS 11

/* A row of local_wait_graph, with the node's group. */
typedef struct WaitRow
{
	int32		groupid;
	int64		values[WAIT_COLUMNS];
	char	   *what;
	char	   *gid;			/* of a prepared transaction that is waited
								 * for */
} WaitRow;

/*
 * The groups of the nodes with the processes that those of this node which
 * wait for locks wait for, as far as the rows tell, in CurrentMemoryContext.
 * asked: the groups whose rows are there.
 */
extern Bitmapset *wait_reach(List *rows, const Bitmapset *asked);

#endif							/* CITUS_TXN_WAIT_REACH_H */
