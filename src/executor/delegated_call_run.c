/*-------------------------------------------------------------------------
 *
 * delegated_call_run.c
 *	  Runs calls on the node of a shard group, or here.
 *
 * The call runs in a subtransaction, so that it can be undone if the other
 * node refuses it with SQLSTATE CT002, because its statements need other nodes
 * or state of this session.  Then the call runs here.  If the call is the
 * client's whole transaction, the other node commits it before it answers, and
 * a refusal leaves nothing to undo.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/executor_run.h"
#include "compat/explain.h"
#include "executor/delegated_call_run.h"
#include "executor/nested_run.h"
#include "lib/catch_error.h"
#include "lib/expr_values.h"
#include "lib/subtransaction.h"
#include "planner/delegated_call.h"
#include "planner/dist_plan.h"
#include "sharding/hash.h"
#include "txn/transaction.h"

/* The most calls of a text that are not delegated after a refusal. */
#define MAX_WITHOUT_TRY 1023

/* The text of a call that was refused. */
typedef struct RefusedCall
{
	uint32		hash;			/* of the text; key */
	int			without_try;	/* calls after the last refusal */
	int			left;			/* so many more */
} RefusedCall;

/* A call that runs. */
typedef struct DelegatedRun
{
	PlannedStmt *there;
	ParamListInfo params;
	Tuplestorestate *rows;
	MemoryContext context;		/* of the store */
} DelegatedRun;

typedef struct DelegatedCallState
{
	CustomScanState css;		/* must be first */
	Tuplestorestate *rows;		/* of the other node; NULL: not run yet */
	TupleTableSlot *row;		/* one of them */
	bool		here;			/* the local plan runs */
} DelegatedCallState;

static ExecutorRun_hook_type prev_executor_run = NULL;
static bool runs_are_hooked = false;	/* from the first call that this node
										 * runs for another one */

static HTAB *refused_calls = NULL;	/* of this session */
static bool call_commits = false;

static const CustomScan *
call_scan(const PlannedStmt *there)
{
	return castNode(CustomScan, there->planTree);
}

/* Whether another node has the shard that the call is about. */
static bool
is_elsewhere(const PlannedStmt *there, ParamListInfo params)
{
	const CustomScan *scan = call_scan(there);
	Oid			relid = dist_plan_peek(scan)->relid;
	ExprContext *econtext;
	const DistTable *table;
	Datum		value;
	bool		isnull;
	bool		elsewhere = false;

	LockRelationOid(relid, AccessShareLock);
	table = metadata_lookup(relid);
	if (table == NULL || table->kind != DIST_HASH ||
		getBaseType(exprType(list_nth(scan->custom_exprs, dist_plan_peek(scan)->dist_param))) != getBaseType(table->dist_type))
		return false;
	econtext = CreateStandaloneExprContext();
	econtext->ecxt_param_list_info = params;
	value = expr_value(expr_values_init(scan->custom_exprs, NULL), dist_plan_peek(scan)->dist_param, econtext, &isnull);
	if (!isnull)
		elsewhere = table->shards[shard_index_of_stored(table, value, false)].groupid != metadata_local_group();
	FreeExprContext(econtext, true);
	return elsewhere;
}

/* The entry for a call's refusals. */
static RefusedCall *
refusals_of(const PlannedStmt *there, HASHACTION action)
{
	DistPlan	plan;
	uint32		hash;
	RefusedCall *refused;
	bool		found;

	if (refused_calls == NULL)
	{
		HASHCTL		info = {.keysize = sizeof(uint32), .entrysize = sizeof(RefusedCall), .hcxt = TopMemoryContext};

		refused_calls = hash_create("citus refused calls", 16, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	dist_plan_unpack(call_scan(there), &plan);
	hash = DatumGetUInt32(hash_any((const unsigned char *) plan.text, strlen(plan.text)));
	refused = hash_search(refused_calls, &hash, action, &found);
	if (refused != NULL && !found)
		refused->without_try = refused->left = 0;
	return refused;
}

/*
 * Whether the call has been refused so recently that it should not be
 * delegated.
 */
static bool
is_likely_refused(const PlannedStmt *there)
{
	RefusedCall *refused;

	if (refused_calls == NULL || (refused = refusals_of(there, HASH_FIND)) == NULL || refused->left == 0)
		return false;
	refused->left--;
	return true;
}

static void
note_refusal(const PlannedStmt *there)
{
	RefusedCall *refused = refusals_of(there, HASH_ENTER);

	refused->left = refused->without_try = Min(2 * refused->without_try + 1, MAX_WITHOUT_TRY);
}

static void
note_run_there(const PlannedStmt *there)
{
	RefusedCall *refused = refused_calls == NULL ? NULL : refusals_of(there, HASH_FIND);

	if (refused != NULL)
		refused->without_try = 0;
}

/* For subtransaction_run. */
static bool
run_there(void *arg)
{
	DelegatedRun *run = arg;
	DistPlan	plan;

	/* the client's text would be taken for a node's here */
	dist_plan_unpack(call_scan(run->there), &plan);
	(void) nested_run(run->there, plan.text, run->params, run->rows, run->context);
	return true;
}

bool
delegated_call_commits(void)
{
	return call_commits;
}

bool
delegated_call_run(PlannedStmt *there, const PlannedStmt *statement, ParamListInfo params, TupleDesc columns,
				   Tuplestorestate *rows)
{
	DelegatedRun run = {there, params, rows, CurrentMemoryContext};
	bool		commits;
	ErrorData  *error;
	bool		done;

	if (!citus_enable_delegation || IsInParallelMode() || node_session_runs_call() || is_likely_refused(there) ||
		!is_elsewhere(there, params))
		return false;
	/* arguments may write, and a lone write has no BEGIN READ ONLY */
	commits = dist_plan_peek(call_scan(there))->writes && !XactReadOnly &&
		!contain_volatile_functions((Node *) call_scan(there)->custom_exprs) && txn_is_one_statement(statement, columns);
	PushActiveSnapshot(GetTransactionSnapshot());
	call_commits = commits;
	done = subtransaction_run(run_there, &run, &error);
	call_commits = false;
	if (!done)
		remote_release_interrupts(false);	/* the error has released them */
	PopActiveSnapshot();
	if (done)
	{
		note_run_there(there);
		return true;
	}
	if (error->sqlerrcode != ERRCODE_CALL_NEEDS_NODES)
		catch_rethrow(error);
	note_refusal(there);
	FreeErrorData(error);
	tuplestore_clear(rows);
	return false;
}

static void
delegated_begin(CustomScanState *node, EState *estate, int eflags)
{
	const CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	node->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
	((DelegatedCallState *) node)->row = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor,
																&TTSOpsMinimalTuple);
}

/* Runs the call there, if that can be. */
static void
start_call(DelegatedCallState *state)
{
	const CustomScan *plan = (CustomScan *) state->css.ss.ps.plan;
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old_context = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleDesc	columns = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;

	state->rows = tuplestore_begin_heap(false, false, work_mem);
	state->here = !delegated_call_run(linitial(plan->custom_private), estate->es_plannedstmt, estate->es_param_list_info,
									  columns, state->rows);
	MemoryContextSwitchTo(old_context);
}

/* ExecScan's access method. */
static TupleTableSlot *
delegated_next(ScanState *node)
{
	DelegatedCallState *state = (DelegatedCallState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	TupleTableSlot *row = state->row;

	if (state->rows == NULL)
		start_call(state);
	if (state->here)
		row = ExecProcNode(linitial(state->css.custom_ps));
	else
		(void) tuplestore_gettupleslot(state->rows, true, false, row);
	return TupIsNull(row) ? ExecClearTuple(slot) : ExecCopySlot(slot, row);
}

/* ExecScan's recheck method: no row of a table is read. */
static bool
delegated_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
delegated_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, delegated_next, delegated_recheck);
}

static void
forget_rows(DelegatedCallState *state)
{
	if (state->rows != NULL)
		tuplestore_end(state->rows);
	state->rows = NULL;
}

static void
delegated_end(CustomScanState *node)
{
	forget_rows((DelegatedCallState *) node);
	ExecEndNode(linitial(node->custom_ps));
}

static void
delegated_rescan(CustomScanState *node)
{
	forget_rows((DelegatedCallState *) node);
	ExecReScan(linitial(node->custom_ps));
	ExecScanReScan(&node->ss);
}

static void
explain_delegated(CustomScanState *node, List *ancestors, ExplainState *es)
{
	DistPlan	plan;

	dist_plan_unpack(call_scan(linitial(((CustomScan *) node->ss.ps.plan)->custom_private)), &plan);
	ExplainPropertyText("Task Query", plan.text, es);
}

static const CustomExecMethods delegated_exec_methods = {
	.CustomName = "DelegatedCall",
	.BeginCustomScan = delegated_begin,
	.ExecCustomScan = delegated_exec,
	.EndCustomScan = delegated_end,
	.ReScanCustomScan = delegated_rescan,
	.ExplainCustomScan = explain_delegated,
};

/*
 * ExecutorRun_hook on a node that runs a delegated call: reports errors about
 * missing state, and refusals that users' code has caught, as refusals.
 */
static void
run_call_here(QueryDesc *query_desc, ScanDirection direction, uint64 count EXECUTE_ONCE_PARAMETER)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		if (prev_executor_run)
			prev_executor_run(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
		else
			standard_ExecutorRun(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (is_client_text(query_desc->sourceText) && node_session_runs_call())
			node_session_call_fails(geterrcode());
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (is_client_text(query_desc->sourceText))
		node_session_call_ends();
}

void
delegated_call_starts(void)
{
	if (runs_are_hooked)
		return;
	prev_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = run_call_here;
	runs_are_hooked = true;
}

static Node *
delegated_create(CustomScan *node)
{
	DelegatedCallState *state = (DelegatedCallState *) newNode(sizeof(DelegatedCallState), T_CustomScanState);

	state->css.methods = &delegated_exec_methods;
	return (Node *) state;
}

void
delegated_call_init(void)
{
	delegated_call_methods.CreateCustomScanState = delegated_create;
	RegisterCustomScanMethods(&delegated_call_methods);
}
