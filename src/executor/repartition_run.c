/*-------------------------------------------------------------------------
 *
 * repartition_run.c
 *	  Repartitioning: nodes send rows to each other before the tasks of a scan
 *	  start.
 *
 * The moved side of a join (planner/repartition.c) is a child of the scan,
 * itself a scan, whose tasks send their rows to an exchange, and return the
 * names of the sources and the rows of those that have few.  After the tasks
 * of the scan are made, an exchange is opened on each of their nodes, over a
 * connection that is kept for those of all children.  The child gets the map
 * from hash values to nodes, and runs to its end.
 *
 * A node's task reads all rows that were sent to the node, so a node must have
 * one task, which can't follow its shards elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "exchange/exchange_relay.h"
#include "exchange/exchange_store.h"
#include "executor/repartition_run.h"
#include "executor/task_follow.h"
#include "remote/connection.h"
#include "remote/node_call.h"

/*
 * Where any nodes can get the rows: how many nodes at least, and for how many
 * rows there is one.
 */
#define MIN_TARGETS 2
#define ROWS_PER_TARGET 50000

/* Never asked to yield while it waits for an answer. */
static void
exchange_owner_yield(RemoteOwner *owner, RemoteConn *conn)
{
	remote_finish(conn);
}

static RemoteOwner exchange_owner = {exchange_owner_yield};

DistScanState *
repartition_child(PlanState *child)
{
	DistScanState *state = (DistScanState *) child;

	return is_dist_scan(child->plan) && state->plan.sends ? state : NULL;
}

void
repartition_announce(DistScanState *child, ParamExternData *params)
{
	static const Oid types[EXCHANGE_READ_PARAMS] = {TEXTOID, TEXTARRAYOID, INT8OID};
	char	   *id = palloc(EXCHANGE_ID_SIZE);

	exchange_name(id);
	child->exchange.name = id;
	child->exchange.params = params;
	for (int i = 0; i < EXCHANGE_READ_PARAMS; i++)
		params[i] = (ParamExternData) {.isnull = true,.pflags = PARAM_FLAG_CONST,.ptype = types[i]};
	params[0].value = CStringGetTextDatum(id);
	params[0].isnull = false;
}

void
repartition_set_params(const DistScanState *state, ParamExternData *params)
{
	params[0] = (ParamExternData) {.value = CStringGetTextDatum(state->exchange.name),.pflags = PARAM_FLAG_CONST,.ptype = TEXTOID};
	params[1] = (ParamExternData) {.value = PointerGetDatum(state->exchange.map),.pflags = PARAM_FLAG_CONST,.ptype = INT4ARRAYOID};
}

/* The nodes of the tasks; errors if one has several. */
static Bitmapset *
task_groups(const DistScanState *state)
{
	Bitmapset  *groups = NULL;

	foreach_ptr(const Task, task, state->spec.tasks)
	{
		if (bms_is_member(task->groupid, groups))
			task_report_moved(NULL);
		groups = bms_add_member(groups, task->groupid);
	}
	return groups;
}

/*
 * Called when the memory of the scan's run is released, after an error if
 * repartition_end wasn't called before.  The end of the transaction closes
 * remaining exchanges; the end of a subtransaction doesn't, and there may be
 * many.
 */
static void
lose_exchanges(void *arg)
{
	DistScanState *state = arg;
	ListCell   *cell;

	if (GetCurrentTransactionNestLevel() < 2)
		return;
	foreach(cell, state->holders)
		remote_close_own(lfirst(cell));
	foreach(cell, state->exchanges)
		exchange_store_drop(lfirst(cell));
}

/*
 * Takes a connection to each of the nodes but this one, for exchanges, in the
 * context of the scan's run.
 */
static void
take_holders(DistScanState *state, const Bitmapset *groups)
{
	int			group = -1;

	state->exchanges_end.func = lose_exchanges;
	state->exchanges_end.arg = state;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &state->exchanges_end);
	while ((group = bms_next_member(groups, group)) >= 0)
		if (group != metadata_local_group())
			state->holders = lappend(state->holders, remote_acquire_own(group, &exchange_owner));
}

/* Has all holders run a command about an exchange, those that can. */
static void
tell_holders(const DistScanState *state, const char *command)
{
	foreach_ptr(RemoteConn, conn, state->holders)
		if (conn->state == REMOTE_IDLE)
			remote_send(conn, command, NULL, SEND_LONE);
	foreach_ptr(RemoteConn, conn, state->holders)
		if (conn->state == REMOTE_BUSY)
			remote_finish(conn);
}

/* Opens a child's exchange on all of the nodes. */
static void
open_exchange(DistScanState *state, const char *name, const Bitmapset *groups)
{
	char	   *command = node_call(NODE_exchange_create, node_text(name));

	state->exchanges = lappend(state->exchanges, unconstify(char *, name));
	if (bms_is_member(metadata_local_group(), groups))
		exchange_store_create(name, false);
	tell_holders(state, command);
	pfree(command);
}

/*
 * The tasks that remain of a scan's: if all that it reads was sent to it, few
 * nodes get few rows, since each source has a connection to each of them.
 * Sessions that run at the same time choose different ones, if possible: they
 * have different places in ProcGlobal->allProcs, most often small ones.
 */
static List *
choose_targets(const DistScanState *state, const List *tasks)
{
	int			n = list_length(tasks);
	int			ntargets = (int) Min(n, Max(MIN_TARGETS, state->plan.moved_rows / ROWS_PER_TARGET));
	int			first = (int) (MyProc - ProcGlobal->allProcs) * ntargets;
	List	   *chosen = NIL;

	if (state->plan.moved_rows <= 0)
		ntargets = n;
	for (int i = 0; i < ntargets; i++)
		chosen = lappend(chosen, list_nth(tasks, (first + i) % n));
	return chosen;
}

/*
 * The target node for the rows of each shard; -1: none, since none of the
 * tasks is for it.
 */
static int *
shard_groups(const DistScanState *state, const List *tasks, const DistTable *table)
{
	int		   *groups = palloc(sizeof(int) * table->nshards);
	const List *chosen = state->spec.tasks;

	for (int i = 0; i < table->nshards; i++)
		groups[i] = -1;
	foreach_ptr(const Task, task, tasks)
	{
		int			number = foreach_current_index(task);
		int			group = list_length(chosen) == list_length(tasks) ? task->groupid :
			((const Task *) list_nth(chosen, number % list_length(chosen)))->groupid;
		int			shard = -1;

		groups[task->shard_index] = group;
		while ((shard = bms_next_member(task->shards, shard)) >= 0)
			groups[shard] = group;
	}
	return groups;
}

/* Pairs of a hash value and the node that gets the rows from this value on. */
static ArrayType *
make_exchange_map(const DistScanState *state, const List *tasks)
{
	const DistTable *table = state->spec.table;
	int		   *groups = shard_groups(state, tasks, table);
	Datum	   *pairs = palloc(sizeof(Datum) * 2 * table->nshards);
	int			npairs = 0;

	for (int i = 0; i < table->nshards; i++)
	{
		if (i > 0 && groups[i] == groups[i - 1])
			continue;
		pairs[2 * npairs] = Int32GetDatum(table->shards[i].range.min);
		pairs[2 * npairs + 1] = Int32GetDatum(groups[i]);
		npairs++;
	}
	return construct_array(pairs, 2 * npairs, INT4OID, sizeof(int32), true, TYPALIGN_INT);
}

/*
 * Runs a child; sets the names of its sources, and how many rows each node
 * gets.
 */
static void
run_sending_child(const DistScanState *state, DistScanState *child, int ntargets)
{
	MemoryContext context = CurrentMemoryContext;
	ExchangeRelay *relay = exchange_relay_create(child->exchange.name, state->holders);
	int64		nrows = 0;

	for (;;)
	{
		TupleTableSlot *slot;
		bool		isnull;
		Datum		answer;

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(child->css.ss.ps.state->es_query_cxt);
		slot = ExecProcNode(&child->css.ss.ps);
		MemoryContextSwitchTo(context);
		if (TupIsNull(slot))
			break;
		answer = slot_getattr(slot, 1, &isnull);
		if (!isnull)
			nrows += exchange_relay_take(relay, DatumGetByteaPP(answer));
	}
	child->exchange.params[1].value = PointerGetDatum(exchange_relay_end(relay));
	child->exchange.params[1].isnull = false;
	child->exchange.params[2].value = Int64GetDatum(nrows / ntargets + 1);
	child->exchange.params[2].isnull = false;
}

void
repartition_run(DistScanState *state)
{
	List	   *tasks = state->spec.tasks;
	Bitmapset  *groups = NULL;
	ListCell   *cell;

	foreach(cell, state->css.custom_ps)
	{
		DistScanState *child = repartition_child(lfirst(cell));

		if (child == NULL || tasks == NIL)
			continue;
		if (groups == NULL)
		{
			state->spec.tasks = choose_targets(state, tasks);
			groups = task_groups(state);
			take_holders(state, groups);
		}
		child->exchange.map = make_exchange_map(state, tasks);
		open_exchange(state, child->exchange.name, groups);
		if (child->phase != SCAN_NEW)
			ExecReScan(&child->css.ss.ps);
		run_sending_child(state, child, bms_num_members(groups));
	}
}

void
repartition_end(DistScanState *state)
{
	foreach_ptr(const char, name, state->exchanges)
	{
		char	   *command = node_call(NODE_exchange_drop, node_text(name));

		exchange_store_drop(name);
		tell_holders(state, command);
		pfree(command);
	}
	foreach_ptr(RemoteConn, conn, state->holders)
		remote_end_own(conn, &exchange_owner);
	state->exchanges = NIL;
	state->holders = NIL;
}
