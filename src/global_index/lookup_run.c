/*-------------------------------------------------------------------------
 *
 * lookup_run.c
 *	  Runs statements that find their rows by a global index.
 *
 * The node asks the entries for the row's distribution value, and runs the
 * statement on that shard.  Neither reads as of one point in time with the
 * other, so the row may have gone to another shard meanwhile, and a commit may
 * be seen by one of them only.  If the shard has the row, the answer is right:
 * no other row has its key.  If not, all shards are asked, as of one point in
 * time.  A write of several keys runs once, on the shards that their entries
 * name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/spi.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/explain.h"
#include "compat/foreach.h"
#include "executor/nested_run.h"
#include "global_index/entry_plan.h"
#include "global_index/lookup.h"
#include "lib/expr_values.h"
#include "lib/run_as.h"
#include "planner/dist_plan.h"

typedef struct GlobalLookupState
{
	CustomScanState css;		/* must be first */
	GlobalLookup lookup;
	ExprValues *values;			/* of the key */
	Tuplestorestate *rows;		/* NULL: not run yet */
	TupleTableSlot *row;		/* one of them */
} GlobalLookupState;

/*
 * Asks the entries for the distribution value of the row with the key, or an
 * array of those of several; false if there is none.  The value is in
 * CurrentMemoryContext.
 */
static bool
ask_entries(GlobalLookupState *state, NullableDatum *value)
{
	int			nkeys = list_length(state->values->exprs);
	EntryStatement statement = {.kind = state->lookup.several ? ENTRIES_FIND : ENTRY_FIND, .entries = state->lookup.entries,
								.nkeys = nkeys, .array_keys = state->lookup.array_keys};
	Datum		keys[INDEX_MAX_KEYS];

	for (int i = 0; i < nkeys; i++)
	{
		bool		isnull;

		statement.types[i] = exprType(list_nth(state->values->exprs, i));
		keys[i] = expr_value(state->values, i, state->css.ss.ps.ps_ExprContext, &isnull);
		if (isnull)
			return false;
	}
	return entry_find(&statement, keys, NULL, false, value);
}

/* The client's parameters, and the distribution value. */
static ParamListInfo
shard_params(const GlobalLookup *lookup, ParamListInfo params, Datum value, Oid type)
{
	ParamListInfo all = makeParamList(lookup->param);

	memset(all->params, 0, sizeof(ParamExternData) * lookup->param);
	foreach_int(number, lookup->params)
	{
		ParamExternData workspace;

		all->params[number - 1] = params->paramFetch != NULL ? *params->paramFetch(params, number, false, &workspace) :
			params->params[number - 1];
	}
	all->params[lookup->param - 1] = (ParamExternData) {.value = value, .pflags = PARAM_FLAG_CONST, .ptype = type};
	return all;
}

/* The type of distribution values in entries. */
static Oid
distribution_type(const GlobalLookup *lookup)
{
	return get_atttype(lookup->entries, get_attnum(lookup->entries, "row's distribution value"));
}

/*
 * Runs the statement on the shards of several keys.  It writes nothing if
 * there are none, but fires the triggers that it would then.
 */
static uint64
run_several(GlobalLookupState *state, const PlannedStmt *statement)
{
	EState	   *estate = state->css.ss.ps.state;
	Oid			type = distribution_type(&state->lookup);
	NullableDatum values;

	if (!ask_entries(state, &values) || values.isnull)
		values.value = PointerGetDatum(construct_empty_array(type));
	return nested_run((PlannedStmt *) statement, estate->es_sourceText,
					  shard_params(&state->lookup, estate->es_param_list_info, values.value, get_array_type(type)), state->rows,
					  CurrentMemoryContext);
}

/* Runs the statement, on one shard and, if that finds nothing, on all. */
static void
run_lookup(GlobalLookupState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	CustomScan *plan = (CustomScan *) state->css.ss.ps.plan;
	GlobalLookup *lookup = &state->lookup;
	PlannedStmt *one_shard = makeNode(PlannedStmt);
	uint64		processed = 0;
	NullableDatum value;

	state->rows = tuplestore_begin_heap(false, false, work_mem);
	*one_shard = *lookup->one_shard;
	one_shard->planTree = linitial(plan->custom_plans);
	if (lookup->several)
		processed = run_several(state, one_shard);
	else if (!ask_entries(state, &value))
		return;
	else if (!value.isnull)		/* else the filter has no shard for it */
		processed = nested_run(one_shard, estate->es_sourceText,
							   shard_params(lookup, estate->es_param_list_info, value.value, distribution_type(lookup)),
							   state->rows, CurrentMemoryContext);
	if (processed == 0 && !lookup->several)
		processed = nested_run(global_lookup_plan_all(lookup->query, estate->es_sourceText, estate->es_param_list_info),
							   estate->es_sourceText, estate->es_param_list_info, state->rows, CurrentMemoryContext);
	if (one_shard->commandType != CMD_SELECT && one_shard->canSetTag)
		estate->es_processed += processed;
}

static void
lookup_begin(CustomScanState *node, EState *estate, int eflags)
{
	GlobalLookupState *state = (GlobalLookupState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	global_lookup_unpack(plan, &state->lookup);
	state->values = expr_values_init(plan->custom_exprs, &node->ss.ps);
	state->row = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
}

/* ExecScan's access method. */
static TupleTableSlot *
lookup_next(ScanState *node)
{
	GlobalLookupState *state = (GlobalLookupState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (state->rows == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(node->ps.state->es_query_cxt);

		run_lookup(state);
		MemoryContextSwitchTo(old_context);
	}
	(void) tuplestore_gettupleslot(state->rows, true, false, state->row);
	return TupIsNull(state->row) ? ExecClearTuple(slot) : ExecCopySlot(slot, state->row);
}

/* ExecScan's recheck method: the nodes have checked the row. */
static bool
lookup_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
lookup_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, lookup_next, lookup_recheck);
}

static void
lookup_end(CustomScanState *node)
{
	GlobalLookupState *state = (GlobalLookupState *) node;

	if (state->rows != NULL)
		tuplestore_end(state->rows);
	state->rows = NULL;
}

static void
lookup_rescan(CustomScanState *node)
{
	lookup_end(node);
	ExecScanReScan(&node->ss);
}

static void
explain_lookup(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const GlobalLookup *lookup = &((GlobalLookupState *) node)->lookup;
	const Plan *child = linitial(((CustomScan *) node->ss.ps.plan)->custom_plans);
	List	   *columns = NIL;
	DistPlan	plan;

	for (int i = 1; i <= list_length(((GlobalLookupState *) node)->values->exprs); i++)
		columns = lappend(columns, get_attname(lookup->entries, i, false));
	ExplainPropertyText("Global Index", get_rel_name(lookup->index), es);
	ExplainPropertyList("Key", columns, es);
	if (!is_dist_scan(child))
		return;
	dist_plan_unpack((const CustomScan *) child, &plan);
	ExplainPropertyText("Task Query", plan.text, es);
}

static const CustomExecMethods lookup_exec_methods = {
	.CustomName = "GlobalIndexLookup",
	.BeginCustomScan = lookup_begin,
	.ExecCustomScan = lookup_exec,
	.EndCustomScan = lookup_end,
	.ReScanCustomScan = lookup_rescan,
	.ExplainCustomScan = explain_lookup,
};

static Node *
lookup_create(CustomScan *node)
{
	GlobalLookupState *state = (GlobalLookupState *) newNode(sizeof(GlobalLookupState), T_CustomScanState);

	state->css.methods = &lookup_exec_methods;
	return (Node *) state;
}

void
global_lookup_run_init(void)
{
	global_lookup_methods.CreateCustomScanState = lookup_create;
	RegisterCustomScanMethods(&global_lookup_methods);
}
