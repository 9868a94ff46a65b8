/*-------------------------------------------------------------------------
 *
 * deadlock.c
 *	  Deadlocks that span nodes.
 *
 * Every node on which a backend waits long for a lock looks for cycles over
 * all nodes.  All of them would find the same cycle, so the one with the
 * lowest group among those whose locks are in it breaks it: it cancels the
 * youngest of the sessions in the cycle, on whichever node that is.
 *
 * With T the product of citus.distributed_deadlock_detection_factor and
 * deadlock_timeout, a node searches every 0.4 T, and a cycle counts when its
 * youngest wait for a lock is 0.5 T old, so that it is broken within 0.9 T,
 * after PostgreSQL has resolved local deadlocks (deadlock_timeout).  Cycles
 * without an edge over the network are left to PostgreSQL.
 *
 * If a session waits for itself, by a command that it has sent outside of its
 * transaction, only that command is cancelled (choose_own_command).
 *
 * It takes a moment until a cancelled session no longer waits.  So the daemon
 * stores the waits that it has broken, and doesn't cancel a session again for
 * the same one.  A node that can't be asked is left out for a while, so that
 * deadlocks between the others are found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/backends.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "txn/deadlock.h"
#include "txn/deadlock_victim.h"
#include "txn/wait_cycle.h"
#include "txn/wait_graph.h"
#include "txn/wait_reach.h"

SQL_FUNCTION(check_distributed_deadlocks);
SQL_FUNCTION(citus_internal_cancel_deadlock_victim);

#define INTERVAL_SHARE 0.4
#define AGE_SHARE 0.5

/* For how long a node that could not be asked is left out. */
#define SKIP_MS 10000

/* A node has T, and at least this time, to answer. */
#define MIN_TIMEOUT_MS 1000

/* How many broken waits are stored, and for how long. */
#define MAX_BROKEN 64
#define BROKEN_MS 10000

/* Edges that a message lists. */
#define MAX_LISTED 20

static double detection_factor = 2.0;
static bool log_detection = false;

void
deadlock_init(void)
{
	DefineCustomRealVariable("citus.distributed_deadlock_detection_factor",
							 "Sets within how many times deadlock_timeout deadlocks across nodes are broken.",
							 "-1 means never.",
							 &detection_factor, 2.0, -1, 1000, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.log_distributed_deadlock_detection",
							 "Logs each search for deadlocks across nodes.",
							 "That is who waits for whom, what deadlocks there are, and who gives way.",
							 &log_detection, false, PGC_SIGHUP, 0, NULL, NULL, NULL);
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

int
deadlock_grace(void)
{
	return share_of_limit(AGE_SHARE);
}

/* The session that a process works for in the end. */
static int
root_of(const WaitGraph *graph, int proc)
{
	for (int i = 0; i < graph->nprocs && graph->procs[proc].parent >= 0; i++)
		proc = graph->procs[proc].parent;
	return proc;
}

/* Whether a is a better victim than b; workers come last. */
static bool
is_better_victim(const WaitProc *a, const WaitProc *b)
{
	if (a->victim != b->victim)
		return a->victim == WAIT_VICTIM_SESSION;
	if (a->started != b->started)
		return a->started > b->started;
	if (a->groupid != b->groupid)
		return a->groupid > b->groupid;
	return a->pid > b->pid;
}

/*
 * Whether a cancel request to a session has an effect: it has none while the
 * session waits for its client.
 */
static bool
can_be_cancelled(const WaitProc *proc)
{
	return proc->victim != WAIT_VICTIM_NONE && proc->state != WAIT_STATE_READS && proc->state != WAIT_STATE_WRITES;
}

/*
 * If all processes of a cycle work for one session, that which waits for a
 * lock, else -1.  The session has sent a command of its own transaction,
 * outside of the transaction: run_command_on_workers, or SQL of a function
 * that a task has called.  Only this command fails, and the session gets the
 * error as its answer.
 */
static int
choose_own_command(const WaitGraph *graph, const int *cycle, int length)
{
	int			session = root_of(graph, graph->edges[cycle[0]].from);
	int			victim = -1;

	for (int i = 0; i < length; i++)
	{
		const WaitEdge *edge = &graph->edges[cycle[i]];

		if (root_of(graph, edge->from) != session)
			return -1;
		if (!edge->remote && edge->from != session)
			victim = edge->from;
	}
	return victim;
}

/*
 * The youngest session of a cycle, else worker; -1 if none can be cancelled.
 */
static int
choose_victim(const WaitGraph *graph, const int *cycle, int length)
{
	int			victim = choose_own_command(graph, cycle, length);

	if (victim >= 0)
		return victim;
	for (int i = 0; i < length; i++)
	{
		int			root = root_of(graph, graph->edges[cycle[i]].from);

		if (can_be_cancelled(&graph->procs[root]) &&
			(victim < 0 || is_better_victim(&graph->procs[root], &graph->procs[victim])))
			victim = root;
	}
	return victim;
}

static int32
nodeid_of(int32 groupid)
{
	foreach_ptr(ClusterNode, node, node_active_primaries())
		if (node->groupid == groupid)
			return node->nodeid;
	return 0;
}

/* Global process id of the session that a process works for. */
static uint64
gpid_of(const WaitGraph *graph, int proc)
{
	const WaitProc *root = &graph->procs[root_of(graph, proc)];

	return (uint64) nodeid_of(root->groupid) * GPID_NODE_FACTOR + root->pid;
}

/*
 * Adds a line: which process waits for which lock, as PostgreSQL words it, or
 * for the other end of a connection.
 */
static void
describe_edge(const WaitGraph *graph, const WaitEdge *edge, StringInfo text)
{
	const WaitProc *from = &graph->procs[edge->from];
	const WaitProc *to = &graph->procs[edge->to];

	if (text->len > 0)
		appendStringInfoChar(text, '\n');
	if (edge->remote)
		appendStringInfo(text, "Process %d of node %d waits for process %d of node %d.",
						 from->pid, nodeid_of(from->groupid), to->pid, nodeid_of(to->groupid));
	else
		appendStringInfo(text, "Process " UINT64_FORMAT " waits for %s on node %d; blocked by process " UINT64_FORMAT ".",
						 gpid_of(graph, edge->from), edge->what, nodeid_of(from->groupid), gpid_of(graph, edge->to));
}

/* The waits for locks of a cycle. */
static char *
describe_cycle(const WaitGraph *graph, const int *cycle, int length)
{
	StringInfoData text;
	int			listed = 0;

	initStringInfo(&text);
	for (int i = 0; i < length; i++)
	{
		const WaitEdge *edge = &graph->edges[cycle[i]];

		if (!edge->remote && ++listed <= MAX_LISTED)
			describe_edge(graph, edge, &text);
	}
	return text.data;
}

/* Logs the wait graph of a search, if that is enabled. */
static void
log_graph(const WaitGraph *graph)
{
	StringInfoData text;

	if (!log_detection)
		return;
	initStringInfo(&text);
	for (int i = 0; i < Min(graph->nedges, MAX_LISTED); i++)
		describe_edge(graph, &graph->edges[i], &text);
	ereport(LOG,
			(errmsg("searched for deadlocks over all nodes, among %d waits", graph->nedges),
			 graph->nedges > 0 ? errdetail_internal("%s", text.data) : 0));
}

/* Logs a deadlock, if that is enabled. */
static void
log_cycle(const WaitGraph *graph, const int *cycle, int length, int victim, int32 breaker)
{
	if (!log_detection)
		return;
	ereport(LOG,
			(errmsg("found a deadlock, which process " UINT64_FORMAT " is to break", gpid_of(graph, victim)),
			 errdetail_internal("%s\nNode %d is to cancel it.", describe_cycle(graph, cycle, length),
								nodeid_of(breaker))));
}

static bool
spans_nodes(const WaitGraph *graph, const int *cycle, int length)
{
	for (int i = 0; i < length; i++)
		if (graph->edges[cycle[i]].remote)
			return true;
	return false;
}

/* Whether a process is the victim, or works for it. */
static bool
belongs_to_victim(const WaitGraph *graph, int proc, int victim)
{
	return proc == victim || root_of(graph, proc) == victim;
}

/* Removes a victim, and all processes that work for it, from the graph. */
static void
remove_victim(const WaitGraph *graph, int victim, bool *removed)
{
	for (int i = 0; i < graph->nprocs; i++)
		if (belongs_to_victim(graph, i, victim))
			removed[i] = true;
}

/* The group of the node that breaks a cycle. */
static int32
breaker_of(const WaitGraph *graph, const int *cycle, int length)
{
	int32		lowest = -1;

	for (int i = 0; i < length; i++)
	{
		const WaitEdge *edge = &graph->edges[cycle[i]];
		int32		groupid = graph->procs[edge->from].groupid;

		if (!edge->remote && (lowest < 0 || groupid < lowest))
			lowest = groupid;
	}
	return lowest;
}

/* A wait of a session that was cancelled. */
typedef struct BrokenWait
{
	int32		groupid;
	int32		pid;
	int64		wait_start;
	TimestampTz broken;
} BrokenWait;

static BrokenWait broken_waits[MAX_BROKEN];
static int	next_broken = 0;

/* Whether a wait was broken lately. */
static bool
is_broken(const WaitProc *proc, const WaitEdge *edge)
{
	for (int i = 0; i < MAX_BROKEN; i++)
	{
		BrokenWait *wait = &broken_waits[i];

		if (wait->groupid == proc->groupid && wait->pid == proc->pid && wait->wait_start == edge->wait_start)
			return !TimestampDifferenceExceeds(wait->broken, GetCurrentTimestamp(), BROKEN_MS);
	}
	return false;
}

/*
 * Stores the waits for locks by which a session is in a cycle; false if one
 * was broken recently.
 */
static bool
note_broken(const WaitGraph *graph, const int *cycle, int length, int session)
{
	for (int i = 0; i < length; i++)
	{
		const WaitEdge *edge = &graph->edges[cycle[i]];
		const WaitProc *proc = &graph->procs[edge->from];
		BrokenWait	wait = {proc->groupid, proc->pid, edge->wait_start, GetCurrentTimestamp()};

		if (edge->remote || !belongs_to_victim(graph, edge->from, session))
			continue;
		if (is_broken(proc, edge))
			return false;
		broken_waits[next_broken] = wait;
		next_broken = (next_broken + 1) % MAX_BROKEN;
	}
	return true;
}

/* Cancels a session on whichever node; false if its transaction is over. */
static bool
cancel_session(const WaitProc *proc, const char *detail)
{
	if (proc->groupid == metadata_local_group())
		return deadlock_victim_cancel(proc->pid, proc->lxid, detail);
	return remote_is_true(remote_read(proc->groupid,
									  node_call(NODE_cancel_deadlock_victim, node_int(proc->pid), node_bigint(proc->lxid),
												node_text(detail))));
}

/* Breaks a cycle by cancelling a session. */
static bool
break_cycle(const WaitGraph *graph, const int *cycle, int length, int session)
{
	char	   *detail = describe_cycle(graph, cycle, length);

	if (!note_broken(graph, cycle, length, session) || !cancel_session(&graph->procs[session], detail))
		return false;
	ereport(LOG,
			(errmsg("canceled process " UINT64_FORMAT " to break a deadlock", gpid_of(graph, session)),
			 errdetail_internal("%s", detail)));
	return true;
}

/*
 * Breaks all cycles that this node is responsible for; returns whether there
 * were any.
 */
static bool
break_cycles(const WaitGraph *graph, int64 min_age_ms)
{
	bool	   *removed = palloc0(Max(graph->nprocs, 1));
	bool		broken = false;
	int		   *cycle;
	int			length;

	while ((cycle = wait_cycle_find(graph, min_age_ms, removed, &length)) != NULL)
	{
		int			victim = choose_victim(graph, cycle, length);
		int32		breaker = breaker_of(graph, cycle, length);

		if (victim < 0 || !spans_nodes(graph, cycle, length))
		{
			removed[graph->edges[cycle[0]].from] = true;
			continue;
		}
		remove_victim(graph, victim, removed);
		log_cycle(graph, cycle, length, victim, breaker);
		if (breaker == metadata_local_group() && break_cycle(graph, cycle, length, victim))
			broken = true;
	}
	return broken;
}

/* Whether a cycle may be there. */
static bool
has_cycle(const WaitGraph *graph, int64 min_age_ms)
{
	bool	   *removed = palloc0(Max(graph->nprocs, 1));
	int			length;

	return wait_cycle_find(graph, min_age_ms, removed, &length) != NULL;
}

/*
 * Searches for deadlocks, and breaks them.  Nodes have a short time limit for
 * their answers.
 */
static bool
search_deadlocks(List *skipped_groups, int32 *failed_group)
{
	int64		min_age_ms = deadlock_grace();
	long		timeout = Max(share_of_limit(1.0), MIN_TIMEOUT_MS);
	int			level = NewGUCNestLevel();
	bool		broken = false;
	WaitGraph  *first;

	(void) set_config_option("citus.node_connection_timeout", psprintf("%ldms", timeout), PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	first = wait_graph_collect(skipped_groups, timeout, failed_group);
	log_graph(first);
	if (has_cycle(first, min_age_ms))
	{
		WaitGraph  *second = wait_graph_collect(skipped_groups, timeout, failed_group);

		wait_graph_confirm(second, first);
		broken = break_cycles(second, min_age_ms);
	}
	AtEOXact_GUC(true, level);
	return broken;
}

/* Groups that could not be asked lately. */
static List *skipped_by_search = NIL;
static TimestampTz skipped_since = 0;

static void
skip_group(int32 groupid)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopMemoryContext);

	skipped_by_search = lappend_int(skipped_by_search, groupid);
	skipped_since = GetCurrentTimestamp();
	MemoryContextSwitchTo(old_context);
}

bool
deadlock_nobody_waits(void)
{
	return !wait_graph_wanted(deadlock_grace());
}

void
deadlock_job(void)
{
	volatile int32 failed_group = -1;

	if (skipped_by_search != NIL && TimestampDifferenceExceeds(skipped_since, GetCurrentTimestamp(), SKIP_MS))
	{
		list_free(skipped_by_search);
		skipped_by_search = NIL;
	}
	PG_TRY();
	{
		(void) search_deadlocks(skipped_by_search, (int32 *) &failed_group);
	}
	PG_CATCH();
	{
		if (failed_group >= 0)
			skip_group(failed_group);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * check_distributed_deadlocks(): looks now; whether there was anything for
 * this node to break.
 */
Datum
check_distributed_deadlocks(PG_FUNCTION_ARGS)
{
	int32		failed_group;

	PG_RETURN_BOOL(search_deadlocks(NIL, &failed_group));
}

/*
 * citus_internal.cancel_deadlock_victim(pid, lxid, detail): for a node that
 * has found a cycle.
 */
Datum
citus_internal_cancel_deadlock_victim(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(deadlock_victim_cancel(PG_GETARG_INT32(0), (uint32) PG_GETARG_INT64(1),
										  text_to_cstring(PG_GETARG_TEXT_PP(2))));
}
