/*-------------------------------------------------------------------------
 *
 * join_filter.c
 *	  The node ColumnarJoinKeys: the keys of a hash join's inner side.
 *
 * It is between the Hash node and its input, whose rows it passes on.  A
 * filter of each of the join's keys is a parameter of the executor, as a
 * working table is one of WITH RECURSIVE: scans on the outer side find it
 * there.  It is NULL, or not ready, as long as the last row hasn't come; a
 * scan that begins earlier returns all rows.
 *
 * Each process of a parallel plan has its own hash table, and filters.  What
 * is put together by all of them (Parallel Hash) gets none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "columnar/join_filter.h"
#include "compat/explain.h"
#include "compat/foreach.h"
#include "lib/plan_fields.h"

typedef struct ColumnarJoinKeysState
{
	CustomScanState css;		/* must be first */
	int			count;
	ExprState **keys;
	KeyFilter **filters;
} ColumnarJoinKeysState;

static void
join_keys_begin(CustomScanState *css, EState *estate, int eflags)
{
	ColumnarJoinKeysState *state = (ColumnarJoinKeysState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	PlanState  *ps = &css->ss.ps;
	int			number = 0;

	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	ps->resultopsset = true;
	ps->resultops = ExecGetResultSlotOps(outerPlanState(css), &ps->resultopsfixed);
	ps->outeropsset = true;
	ps->outerops = ps->resultops;
	ps->outeropsfixed = ps->resultopsfixed;
	state->count = list_length(plan->custom_private);
	state->keys = palloc(state->count * sizeof(ExprState *));
	state->filters = palloc(state->count * sizeof(KeyFilter *));
	foreach_ptr(Node, packed, plan->custom_private)
	{
		const JoinFilterSource *source = plan_struct_peek(packed);
		Node	   *key = list_nth(plan->custom_exprs, number);

		state->keys[number] = ExecInitExpr((Expr *) key, ps);
		state->filters[number] = key_filter_make(source->operator, source->collation, source->outer_type, exprType(key));
		estate->es_param_exec_vals[source->param].value = PointerGetDatum(state->filters[number]);
		number++;
	}
}

static TupleTableSlot *
join_keys_exec(CustomScanState *css)
{
	ColumnarJoinKeysState *state = (ColumnarJoinKeysState *) css;
	ExprContext *econtext = css->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = ExecProcNode(outerPlanState(css));

	if (TupIsNull(slot))
	{
		for (int i = 0; i < state->count; i++)
			key_filter_finish(state->filters[i]);
		return slot;
	}
	ResetExprContext(econtext);
	econtext->ecxt_outertuple = slot;
	for (int i = 0; i < state->count; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		bool		isnull;
		Datum		key = ExecEvalExpr(state->keys[i], econtext, &isnull);

		if (!isnull)
			key_filter_add(state->filters[i], key);
		MemoryContextSwitchTo(old);
	}
	return slot;
}

static void
join_keys_end(CustomScanState *css)
{
	ExecEndNode(outerPlanState(css));
}

static void
join_keys_rescan(CustomScanState *css)
{
	ColumnarJoinKeysState *state = (ColumnarJoinKeysState *) css;

	for (int i = 0; i < state->count; i++)
		key_filter_reset(state->filters[i]);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
join_keys_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	ColumnarJoinKeysState *state = (ColumnarJoinKeysState *) css;

	for (int i = 0; es->analyze && i < state->count; i++)
	{
		if (key_filter_is_ready(state->filters[i]))
			ExplainPropertyUInteger("Keys", NULL, key_filter_count(state->filters[i]), es);
	}
}

static const CustomExecMethods join_keys_exec_methods = {
	.CustomName = "ColumnarJoinKeys",
	.BeginCustomScan = join_keys_begin,
	.ExecCustomScan = join_keys_exec,
	.EndCustomScan = join_keys_end,
	.ReScanCustomScan = join_keys_rescan,
	.ExplainCustomScan = join_keys_explain,
};

static Node *
join_keys_create(CustomScan *plan)
{
	ColumnarJoinKeysState *state = (ColumnarJoinKeysState *) newNode(sizeof(ColumnarJoinKeysState), T_CustomScanState);

	state->css.methods = &join_keys_exec_methods;
	return (Node *) state;
}

const CustomScanMethods join_filter_methods = {
	.CustomName = "ColumnarJoinKeys",
	.CreateCustomScanState = join_keys_create,
};

KeyFilter *
join_filter_get(const JoinFilterUse *use, EState *estate)
{
	KeyFilter  *filter;

	if (estate->es_epq_active != NULL)
		return NULL;
	filter = (KeyFilter *) DatumGetPointer(estate->es_param_exec_vals[use->param].value);
	return filter != NULL && key_filter_is_ready(filter) ? filter : NULL;
}

void
join_filter_init(void)
{
	RegisterCustomScanMethods(&join_filter_methods);
}
