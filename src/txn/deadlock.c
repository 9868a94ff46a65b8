/*-------------------------------------------------------------------------
 *
 * deadlock.c
 *	  Deadlocks that span nodes.
 *
 * Every node looks for cycles over all nodes, but cancels its own sessions only: of the
 * transactions in a cycle the youngest one, which all nodes agree
 * about.  A node none of whose sessions waits for long needn't look.
 *
 * With T the product of citus.distributed_deadlock_detection_factor and
 * deadlock_timeout, a node looks every 0.4 T, and a cycle counts when its youngest wait
 * for a lock is 0.5 T old, so that it is broken within 0.9 T, and whatever
 * PostgreSQL itself finds after deadlock_timeout is over by then.  Cycles without
 * the network in them are left to PostgreSQL.
 *
 * A node that can't be asked is left out for a while: the others' deadlocks are found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "remote/backends.h"
#include "txn/deadlock.h"
#include "txn/deadlock_victim.h"
#include "txn/wait_cycle.h"
#include "txn/wait_graph.h"

SQL_FUNCTION(check_distributed_deadlocks);

#define INTERVAL_SHARE 0.4
#define AGE_SHARE 0.5

/* For how long a node that could not be asked is left out. */
#define SKIP_MS 10000

/* Edges of a cycle that a message lists. */
#define MAX_LISTED 20

static double detection_factor = 2.0;

void
deadlock_init(void)
{
	DefineCustomRealVariable("citus.distributed_deadlock_detection_factor",
							 "Sets within how many times deadlock_timeout deadlocks across nodes are broken.",
							 "-1 means never.",
							 &detection_factor, 2.0, -1, 1000, PGC_SIGHUP, 0, NULL, NULL, NULL);
	deadlock_victim_init();
}

static int
share_of_limit(double share)
{
	return detection_factor <= 0 ? 0 : Max(1, (int) (detection_factor * DeadlockTimeout * share));
}

int
deadlock_interval(void)
{
	return share_of_limit(INTERVAL_SHARE);
}

/* The session that a process works for in the end. */
static int
root_of(const WaitGraph *graph, int proc)
{
	for (int i = 0; i < graph->nprocs && graph->procs[proc].parent >= 0; i++)
		proc = graph->procs[proc].parent;
	return proc;
}

/* Whether a is to be cancelled rather than b. */
static bool
is_younger(const WaitProc *a, const WaitProc *b)
{
	if (a->started != b->started)
		return a->started > b->started;
	if (a->groupid != b->groupid)
		return a->groupid > b->groupid;
	return a->pid > b->pid;
}

/* The youngest session of a cycle; -1 if none may be cancelled. */
static int
choose_victim(const WaitGraph *graph, const int *cycle, int length)
{
	int			victim = -1;

	for (int i = 0; i < length; i++)
	{
		int			root = root_of(graph, graph->edges[cycle[i]].from);

		if (graph->procs[root].victim &&
			(victim < 0 || is_younger(&graph->procs[root], &graph->procs[victim])))
			victim = root;
	}
	return victim;
}

static int32
nodeid_of(int32 groupid)
{
	ListCell   *lc;

	foreach(lc, node_active_primaries())
	{
		ClusterNode *node = lfirst(lc);

		if (node->groupid == groupid)
			return node->nodeid;
	}
	return 0;
}

/* Global process id of the session that a process works for. */
static uint64
gpid_of(const WaitGraph *graph, int proc)
{
	const WaitProc *root = &graph->procs[root_of(graph, proc)];

	return (uint64) nodeid_of(root->groupid) * GPID_NODE_FACTOR + root->pid;
}

/* Who waits for whom, a line for each lock, as PostgreSQL words it. */
static char *
describe_cycle(const WaitGraph *graph, const int *cycle, int length)
{
	StringInfoData text;
	int			listed = 0;

	initStringInfo(&text);
	for (int i = 0; i < length; i++)
	{
		const WaitEdge *edge = &graph->edges[cycle[i]];

		if (edge->remote || ++listed > MAX_LISTED)
			continue;
		appendStringInfo(&text, "%sProcess " UINT64_FORMAT " waits for %s on node %d; blocked by process " UINT64_FORMAT ".",
						 text.len == 0 ? "" : "\n", gpid_of(graph, edge->from), edge->what,
						 nodeid_of(graph->procs[edge->from].groupid), gpid_of(graph, edge->to));
	}
	return text.data;
}

static bool
spans_nodes(const WaitGraph *graph, const int *cycle, int length)
{
	for (int i = 0; i < length; i++)
		if (graph->edges[cycle[i]].remote)
			return true;
	return false;
}

/* Takes a session, and all that works for it, out of the graph. */
static void
remove_session(const WaitGraph *graph, int session, bool *removed)
{
	for (int i = 0; i < graph->nprocs; i++)
		if (root_of(graph, i) == session)
			removed[i] = true;
}

/* Breaks all cycles that this node has the victim of; returns whether it cancelled anything. */
static bool
break_cycles(const WaitGraph *graph, int64 min_age_ms)
{
	bool	   *removed = palloc0(Max(graph->nprocs, 1));
	bool		cancelled = false;
	int		   *cycle;
	int			length;

	while ((cycle = wait_cycle_find(graph, min_age_ms, removed, &length)) != NULL)
	{
		int			victim = choose_victim(graph, cycle, length);
		const WaitProc *proc;
		char	   *detail;

		if (victim < 0 || !spans_nodes(graph, cycle, length))
		{
			removed[graph->edges[cycle[0]].from] = true;
			continue;
		}
		proc = &graph->procs[victim];
		remove_session(graph, victim, removed);
		if (proc->groupid != metadata_local_group())
			continue;
		detail = describe_cycle(graph, cycle, length);
		if (deadlock_victim_cancel(proc->pid, proc->lxid, detail))
		{
			cancelled = true;
			ereport(LOG,
					(errmsg("canceling process " UINT64_FORMAT " to break a deadlock", gpid_of(graph, victim)),
					 errdetail_internal("%s", detail)));
		}
	}
	return cancelled;
}

/* Whether a cycle may be there. */
static bool
has_cycle(const WaitGraph *graph, int64 min_age_ms)
{
	bool	   *removed = palloc0(Max(graph->nprocs, 1));
	int			length;

	return wait_cycle_find(graph, min_age_ms, removed, &length) != NULL;
}

static bool
search(List *skipped_groups, int32 *failed_group)
{
	int64		min_age_ms = share_of_limit(AGE_SHARE);
	WaitGraph  *first = wait_graph_collect(skipped_groups, failed_group);
	WaitGraph  *second;

	if (!has_cycle(first, min_age_ms))
		return false;
	second = wait_graph_collect(skipped_groups, failed_group);
	wait_graph_confirm(second, first);
	return break_cycles(second, min_age_ms);
}

/* Groups that could not be asked lately. */
static List *skipped = NIL;
static TimestampTz skipped_since = 0;

static void
skip_group(int32 groupid)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);

	skipped = lappend_int(skipped, groupid);
	skipped_since = GetCurrentTimestamp();
	MemoryContextSwitchTo(old_context);
}

void
deadlock_job(void)
{
	volatile int32 failed_group = -1;

	if (!wait_graph_wanted())
		return;
	if (skipped != NIL && TimestampDifferenceExceeds(skipped_since, GetCurrentTimestamp(), SKIP_MS))
	{
		list_free(skipped);
		skipped = NIL;
	}
	PG_TRY();
	{
		(void) search(skipped, (int32 *) &failed_group);
	}
	PG_CATCH();
	{
		if (failed_group >= 0)
			skip_group(failed_group);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* check_distributed_deadlocks(): looks now; whether a session of this node was cancelled. */
Datum
check_distributed_deadlocks(PG_FUNCTION_ARGS)
{
	int32		failed_group;

	PG_RETURN_BOOL(search(NIL, &failed_group));
}
