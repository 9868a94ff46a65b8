/*-------------------------------------------------------------------------
 *
 * shard_append_run.c
 *	  The executor node of a ShardAppend: runs the child whose range a hash
 *	  value is in.
 *
 * Each rescan computes the hash value again (planner/shard_append.c).
 * Children that aren't chosen aren't rescanned: a child gets all changed
 * parameters when it is chosen next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "executor/shard_append_run.h"
#include "planner/shard_append.h"

typedef struct ShardChild
{
	int32		min;
	int32		max;
	PlanState  *node;
} ShardChild;

typedef struct ShardAppendState
{
	CustomScanState css;		/* must be first */
	ExprState  *hash;
	int			nchildren;
	ShardChild *children;
	bool		has_chosen;		/* of this scan: */
	PlanState  *chosen;			/* NULL: no child has the value's rows */
} ShardAppendState;

static void
shard_append_begin(CustomScanState *node, EState *estate, int eflags)
{
	ShardAppendState *state = (ShardAppendState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	ShardAppendPlan plan;
	ListCell   *cell;

	if (node->ss.ps.ps_ProjInfo != NULL)
		elog(ERROR, "a ShardAppend can't project");
	/* rows are the children's slots, of any kind */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	shard_append_unpack(scan, &plan);
	state->hash = ExecInitExpr(linitial(scan->custom_exprs), &node->ss.ps);
	state->nchildren = list_length(scan->custom_plans);
	state->children = palloc(sizeof(ShardChild) * state->nchildren);
	foreach(cell, scan->custom_plans)
	{
		int			i = foreach_current_index(cell);
		PlanState  *child = ExecInitNode(lfirst(cell), estate, eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));

		state->children[i] = (ShardChild) {list_nth_int(plan.mins, i), list_nth_int(plan.maxs, i), child};
		node->custom_ps = lappend(node->custom_ps, child);
	}
}

/* The child that has the rows of this scan's value. */
static PlanState *
choose_child(ShardAppendState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	bool		isnull;
	int32		hash;

	ResetExprContext(econtext);
	hash = DatumGetInt32(ExecEvalExprSwitchContext(state->hash, econtext, &isnull));
	for (int i = 0; !isnull && i < state->nchildren; i++)
	{
		const ShardChild *child = &state->children[i];

		if (child->min <= hash && hash <= child->max)
			return child->node;
	}
	return NULL;
}

/* Rescans a child, with the current parameters. */
static void
restart_child(ShardAppendState *state, PlanState *child)
{
	UpdateChangedParamSet(child, state->css.ss.ps.plan->allParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static TupleTableSlot *
shard_append_exec(CustomScanState *node)
{
	ShardAppendState *state = (ShardAppendState *) node;

	if (!state->has_chosen)
	{
		state->chosen = choose_child(state);
		state->has_chosen = true;
		if (state->chosen != NULL)
			restart_child(state, state->chosen);
	}
	return state->chosen != NULL ? ExecProcNode(state->chosen) : NULL;
}

static void
shard_append_end(CustomScanState *node)
{
	ListCell   *cell;

	foreach(cell, node->custom_ps)
		ExecEndNode(lfirst(cell));
	node->custom_ps = NIL;
}

static void
shard_append_rescan(CustomScanState *node)
{
	((ShardAppendState *) node)->has_chosen = false;
}

static const CustomExecMethods shard_append_exec_methods = {
	.CustomName = "ShardAppend",
	.BeginCustomScan = shard_append_begin,
	.ExecCustomScan = shard_append_exec,
	.EndCustomScan = shard_append_end,
	.ReScanCustomScan = shard_append_rescan,
};

static Node *
shard_append_create(CustomScan *node)
{
	ShardAppendState *state = (ShardAppendState *) newNode(sizeof(ShardAppendState), T_CustomScanState);

	state->css.methods = &shard_append_exec_methods;
	return (Node *) state;
}

void
shard_append_init(void)
{
	shard_append_methods.CreateCustomScanState = shard_append_create;
	RegisterCustomScanMethods(&shard_append_methods);
}
