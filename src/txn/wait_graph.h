/*-------------------------------------------------------------------------
 *
 * wait_graph.h
 *	  The wait graph: processes of all nodes, and edges between them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_WAIT_GRAPH_H
#define CITUS_TXN_WAIT_GRAPH_H

#include "postgres.h"

#include "compat/foreach.h"

/* The kinds of processes that may be cancelled. */
#define WAIT_VICTIM_SESSION 's' /* a client's session */
#define WAIT_VICTIM_WORKER 'w'	/* a background worker that other nodes work
								 * for, such as that of a background task */
#define WAIT_VICTIM_NONE '-'

/* A process within a transaction. */
typedef struct WaitProc
{
	int32		groupid;
	int32		pid;
	uint32		lxid;			/* its transaction, unique in the process */
	char		state;
	char		victim;
	int64		started;		/* when the transaction began, in microseconds;
								 * 0: not known */
	uint64		committing;		/* number of its commit in two phases under
								 * way; 0: none */
	int			parent;			/* the process at the other end that opened
								 * this session; -1: a client */
} WaitProc;

/* One process waits for another; indexes into the graph's processes. */
typedef struct WaitEdge
{
	int			from;
	int			to;
	bool		remote;			/* over the network, not for a lock */
	int64		wait_start;		/* of a lock: tells this wait from others of
								 * the process */
	int64		age_ms;			/* of a lock: how long it has been waited
								 * for */
	const char *what;			/* of a lock: "ShareLock on transaction 735" */
} WaitEdge;

typedef struct WaitGraph
{
	int			nprocs;
	WaitProc   *procs;			/* ascending by group and process */
	int			nedges;
	WaitEdge   *edges;			/* ascending by from and to */
} WaitGraph;

/* Whether a process of this node has waited that long for a lock. */
extern bool wait_graph_wanted(int64 min_age_ms);

/*
 * The graph over this node and those that its waiting processes may wait for,
 * but those in skipped_groups, as seen at some moment of the call by each
 * node, in CurrentMemoryContext.  If a node can't
 * be asked, or doesn't answer within timeout_ms, an error is raised, and
 * *failed_group says which.
 */
extern WaitGraph *wait_graph_collect(List *skipped_groups, long timeout_ms, int32 *failed_group);

/*
 * The edges of later that were in earlier too: the same waits of the same
 * transactions.
 */
extern void wait_graph_confirm(WaitGraph *later, const WaitGraph *earlier);

#endif							/* CITUS_TXN_WAIT_GRAPH_H */
