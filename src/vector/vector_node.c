/*-------------------------------------------------------------------------
 *
 * vector_node.c
 *	  The node ColumnarAggregate.
 *
 * Its children are ColumnarScans, which it doesn't ask for rows, but for chunk
 * groups with selected rows.  For each, it finds the groups of all rows, and
 * then each aggregate's arguments and transition in turn.  An argument without
 * a vector form is evaluated, and a transition without one advanced, row by
 * row.  So are all for the rows of the row-wise part, and those of a scan
 * whose conditions can't be evaluated in vectors.
 *
 * If the memory for groups is full, rows of others are kept in a tuplestore,
 * and aggregated when the groups in memory were returned.  So all rows of a
 * group are still advanced in their order.
 *
 * The node's scan tuple is what a group carries and the results of the
 * aggregates; the executor evaluates HAVING and the target list on it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"

#include "columnar/row_filter.h"
#include "columnar/scan_node.h"
#include "compat/explain.h"
#include "compat/foreach.h"
#include "vector/vector_distinct.h"
#include "vector/vector_expression.h"
#include "vector/vector_groups.h"
#include "vector/vector_node.h"
#include "vector/vector_plan.h"
#include "vector/vector_transition.h"

/* A WHEN, or the ELSE, of an argument that is a CASE. */
typedef struct CaseBranch
{
	RowFilter  *filter;			/* NULL: ELSE */
	VectorExpression *vector;	/* NULL: its result is NULL */
} CaseBranch;

/* The arguments of a transition, over the columns of a child's table. */
typedef struct TransitionInput
{
	VectorAdvance advance;		/* NULL: by rows only */
	VectorExpression *vector;	/* its argument; NULL: it has none */
	List	   *branches;		/* of CaseBranches: if that is a CASE */
	Bitmapset  *columns;		/* that rows need */
	ExprState **args;
	VectorDistinct *distinct;	/* DISTINCT, or NULL */
	RowFilter  *filter;			/* FILTER; NULL: not in vectors */
	ExprState  *condition;		/* the same by row; NULL: there is none */
} TransitionInput;

/* What is computed on a child's rows. */
typedef struct AggregateInput
{
	GroupColumn *columns;
	TransitionInput *transitions;
	Bitmapset  *needed;			/* all columns of the scan */
	Tuplestorestate *later;		/* rows of groups that had no memory, or
								 * NULL */
} AggregateInput;

typedef struct VectorAggregateState
{
	CustomScanState css;		/* must be first */
	VectorAggregatePlan plan;
	Transition **transitions;
	VectorDistinct **distincts; /* of transitions with DISTINCT, or NULL */
	int			ntransitions;
	VectorAggregate *aggregates;
	int			naggregates;
	VectorGroups *groups;
	AggregateInput *inputs;		/* by child */
	MemoryContext batch_context;	/* reset after each batch */
	Arena	   *arena;			/* the same, of arrays */
	bool		filled;			/* all rows were aggregated, or are kept for
								 * later */
} VectorAggregateState;

static Node *vector_aggregate_create(CustomScan *plan);

static const CustomScanMethods vector_aggregate_methods = {
	.CustomName = "ColumnarAggregate",
	.CreateCustomScanState = vector_aggregate_create,
};

/* The aggregates of the node, of expressions over a child's columns. */
static List *
aggregates_of(const VectorAggregateState *state, List *exprs)
{
	return list_copy_tail(exprs, state->plan.ncarried);
}

/* The transition that an aggregate shares with others, if it was made. */
static Transition *
find_transition(const VectorAggregateState *state, const Aggref *aggref)
{
	for (int i = 0; i < state->ntransitions; i++)
	{
		if (state->transitions[i]->aggref->aggtransno == aggref->aggtransno)
			return state->transitions[i];
	}
	return NULL;
}

static void
make_aggregates(VectorAggregateState *state, List *aggrefs)
{
	int			count = list_length(aggrefs);
	Node	   *context = transition_context_make(vector_groups_context(state->groups));

	state->aggregates = palloc0(Max(count, 1) * sizeof(VectorAggregate));
	foreach_ptr(Aggref, aggref, aggrefs)
	{
		Transition *transition = find_transition(state, aggref);

		if (transition == NULL)
		{
			transition = transition_make(aggref, state->ntransitions, context, vector_groups_context(state->groups));
			transition->one_group = !state->plan.grouped;
			if (aggref->aggdistinct != NIL)
				state->distincts[state->ntransitions] = vector_distinct_make(transition);
			state->transitions[state->ntransitions++] = transition;
		}
		vector_aggregate_make(aggref, transition, &state->aggregates[state->naggregates++]);
	}
	vector_groups_set_transitions(state->groups, state->transitions, state->ntransitions);
}

/* A filter that has a vector form, or NULL. */
static RowFilter *
make_complete_filter(List *conditions, ScanState *scan)
{
	RowFilter  *filter = row_filter_make(conditions, ((Scan *) scan->ps.plan)->scanrelid, scan);

	if (filter == NULL || !row_filter_is_complete(filter))
		return NULL;
	row_filter_counts_nothing(filter);
	return filter;
}

/*
 * A branch, whose condition is NULL if it is ELSE; NULL if it has no vector
 * form.  *kind: that of its result, if it isn't NULL.
 */
static CaseBranch *
make_case_branch(Expr *condition, Expr *value, ScanState *scan, VectorKind *kind)
{
	CaseBranch *branch = palloc0(sizeof(CaseBranch));

	if (condition != NULL && (branch->filter = make_complete_filter(make_ands_implicit(condition), scan)) == NULL)
		return NULL;
	if (value == NULL || (IsA(value, Const) && ((Const *) value)->constisnull))
		return branch;
	branch->vector = vector_expression_make((Node *) value, scan);
	if (branch->vector == NULL)
		return NULL;
	*kind = vector_expression_kind(branch->vector);
	return branch;
}

/*
 * An argument that is a CASE, if all of it has a vector form.  The rows of
 * each branch are advanced together, so it isn't for sums of floating-point
 * numbers, which depend on the order of rows.
 */
static void
make_case_branches(Transition *transition, Expr *expr, ScanState *scan, TransitionInput *input)
{
	CaseExpr   *cases = (CaseExpr *) expr;
	VectorKind	kind = VECTOR_NONE;
	List	   *branches = NIL;
	CaseBranch *branch;

	if (!IsA(expr, CaseExpr) || cases->arg != NULL)
		return;
	foreach_node(CaseWhen, when, cases->args)
	{
		branch = make_case_branch(when->expr, when->result, scan, &kind);
		if (branch == NULL)
			return;
		branches = lappend(branches, branch);
	}
	branch = make_case_branch(NULL, cases->defresult, scan, &kind);
	if (branch == NULL || kind == VECTOR_NONE || kind == VECTOR_FLOAT || kind == VECTOR_DATUM)
		return;
	input->advance = transition_vector_form(transition, kind);
	if (input->advance != NULL)
		input->branches = lappend(branches, branch);
}

/* How the rows of a child advance a transition. */
static void
make_transition_input(Transition *transition, Aggref *aggref, ScanState *scan, TransitionInput *input)
{
	int			nargs = 0;
	List	   *conditions;

	input->args = palloc(Max(list_length(aggref->args), 1) * sizeof(ExprState *));
	foreach_ptr(TargetEntry, arg, aggref->args)
		input->args[nargs++] = ExecInitExpr(arg->expr, &scan->ps);
	input->columns = vector_batch_columns((Node *) aggref->args, scan);
	if (nargs == 1)
		input->vector = vector_expression_make((Node *) linitial_node(TargetEntry, aggref->args)->expr, scan);
	if (nargs == 0 || input->vector != NULL)
		input->advance = transition_vector_form(transition, nargs == 0 ? VECTOR_NONE :
												vector_expression_kind(input->vector));
	else if (nargs == 1)
		make_case_branches(transition, linitial_node(TargetEntry, aggref->args)->expr, scan, input);
	if (aggref->aggfilter == NULL)
		return;
	conditions = make_ands_implicit(aggref->aggfilter);
	input->condition = ExecInitQual(conditions, &scan->ps);
	input->filter = make_complete_filter(conditions, scan);
	if (input->filter == NULL)
		input->columns = bms_add_members(input->columns, vector_batch_columns((Node *) aggref->aggfilter, scan));
}

static void
make_input(VectorAggregateState *state, List *exprs, ScanState *scan, AggregateInput *input)
{
	input->needed = vector_batch_columns((Node *) exprs, scan);
	input->columns = vector_groups_columns(list_copy_head(exprs, state->plan.ncarried), scan);
	input->transitions = palloc0(Max(state->ntransitions, 1) * sizeof(TransitionInput));
	foreach_ptr(Aggref, aggref, aggregates_of(state, exprs))
	{
		Transition *transition = find_transition(state, aggref);
		TransitionInput *made = &input->transitions[transition->number];

		if (made->args == NULL)
			make_transition_input(transition, aggref, scan, made);
		made->distinct = state->distincts[transition->number];
	}
}

static void
vector_aggregate_begin(CustomScanState *css, EState *estate, int eflags)
{
	VectorAggregateState *state = (VectorAggregateState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	List	   *aggrefs;
	int			child = 0;

	vector_plan_unpack(plan, &state->plan);
	foreach_ptr(Plan, scan, plan->custom_plans)
		css->custom_ps = lappend(css->custom_ps, ExecInitNode(scan, estate, eflags));
	aggrefs = aggregates_of(state, linitial(plan->custom_exprs));
	state->groups = vector_groups_make(&css->ss.ps, &state->plan, css->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
	state->transitions = palloc(Max(list_length(aggrefs), 1) * sizeof(Transition *));
	state->distincts = palloc0(Max(list_length(aggrefs), 1) * sizeof(VectorDistinct *));
	make_aggregates(state, aggrefs);
	state->inputs = palloc0(list_length(plan->custom_plans) * sizeof(AggregateInput));
	foreach_ptr(ScanState, scan, css->custom_ps)
	{
		make_input(state, list_nth(plan->custom_exprs, child), scan, &state->inputs[child]);
		child++;
	}
	state->batch_context = AllocSetContextCreate(CurrentMemoryContext, "columnar batch", ALLOCSET_DEFAULT_SIZES);
	state->arena = arena_make();
}

/* Advances a transition by a row, which is the scan's tuple. */
static void
advance_by_row(Transition *transition, const TransitionInput *input, ExprContext *econtext, TransitionState *states)
{
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	for (int i = 0; i < transition->nargs; i++)
		transition->call->args[i + 1].value = ExecEvalExpr(input->args[i], econtext,
														   &transition->call->args[i + 1].isnull);
	if (input->distinct == NULL || (!transition->call->args[1].isnull &&
									vector_distinct_add(input->distinct, states, transition->call->args[1].value)))
		transition_advance(transition, &states[transition->number]);
	MemoryContextSwitchTo(old);
}

/* Rows of a batch, and the states of their groups. */
typedef struct BatchPart
{
	VectorBatch batch;
	TransitionState **states;
} BatchPart;

/* A part without rows, with room for those of another one. */
static void
make_empty_part(const BatchPart *of, BatchPart *part)
{
	const VectorBatch *batch = &of->batch;

	part->batch = *batch;
	part->batch.rows = arena_alloc(batch->arena, batch->count * sizeof(uint32));
	part->batch.gathered = vector_batch_alloc_zeroed(batch, batch->reader->tupdesc->natts * sizeof(Vector));
	part->batch.count = 0;
	part->states = arena_alloc(batch->arena, batch->count * sizeof(TransitionState *));
}

/*
 * The rows that a filter leaves, all if there is none; the others too, if
 * these are asked for.
 */
static BatchPart
filter_part(RowFilter *filter, const BatchPart *all, BatchPart *others)
{
	const VectorBatch *batch = &all->batch;
	BatchPart	kept;
	uint32		at = 0;

	if (others != NULL)
		make_empty_part(all, others);
	if (filter == NULL)
		return *all;
	make_empty_part(all, &kept);
	memcpy(unconstify(uint32 *, kept.batch.rows), batch->rows, batch->count * sizeof(uint32));
	kept.batch.count = row_filter_apply(filter, batch->reader, batch->store, unconstify(uint32 *, kept.batch.rows),
										batch->count);
	for (uint32 i = 0; i < batch->count; i++)
	{
		if (at < kept.batch.count && kept.batch.rows[at] == batch->rows[i])
			kept.states[at++] = all->states[i];
		else if (others != NULL)
		{
			unconstify(uint32 *, others->batch.rows)[others->batch.count] = batch->rows[i];
			others->states[others->batch.count++] = all->states[i];
		}
	}
	return kept;
}

/* Advances a transition by rows, one by one. */
static void
advance_by_rows(Transition *transition, const TransitionInput *input, const BatchPart *part)
{
	const VectorBatch *batch = &part->batch;
	ExprContext *econtext = batch->scan->ps.ps_ExprContext;
	bool		filtered = input->condition == NULL || input->filter != NULL;

	for (uint32 i = 0; i < batch->count; i++)
	{
		ResetExprContext(econtext);
		vector_batch_load_row(batch, input->columns, batch->rows[i]);
		if (filtered || ExecQual(input->condition, econtext))
			advance_by_row(transition, input, econtext, part->states[i]);
	}
}

/*
 * Advances it by a vector; with DISTINCT, by its values that are new, which
 * move to the front of arrays of their own.
 */
static void
advance_by_vector(Transition *transition, const TransitionInput *input, const BatchPart *part, const Vector *vector)
{
	const VectorBatch *batch = &part->batch;
	Vector		different = *vector;
	Datum	   *values;
	TransitionState **states;
	uint32		count = 0;

	if (input->distinct == NULL)
	{
		input->advance(transition, part->states, vector, batch->count);
		return;
	}
	values = arena_alloc(batch->arena, batch->count * sizeof(Datum));
	states = arena_alloc(batch->arena, batch->count * sizeof(TransitionState *));
	for (uint32 i = 0; i < batch->count; i++)
	{
		if ((vector->nulls != NULL && vector->nulls[i]) ||
			!vector_distinct_add(input->distinct, part->states[i], vector->values[i]))
			continue;
		values[count] = vector->values[i];
		states[count++] = part->states[i];
	}
	different.values = values;
	different.nulls = NULL;
	different.exact = false;
	input->advance(transition, states, &different, count);
}

/* Advances it by the results of the branches of a CASE, for their rows. */
static void
advance_by_branches(Transition *transition, const TransitionInput *input, BatchPart part)
{
	foreach_ptr(CaseBranch, branch, input->branches)
	{
		BatchPart	others;
		BatchPart	taken = filter_part(branch->filter, &part, &others);
		Vector		vector;

		if (taken.batch.count > 0 && branch->vector != NULL)
		{
			if (vector_expression_evaluate(branch->vector, &taken.batch, &vector))
				advance_by_vector(transition, input, &taken, &vector);
			else
				advance_by_rows(transition, input, &taken);
		}
		part = others;
		if (part.batch.count == 0)
			break;
	}
}

/* Advances a transition by the rows of a batch. */
static void
advance_by_batch(Transition *transition, const TransitionInput *input, const VectorBatch *all,
				 TransitionState **states)
{
	BatchPart	whole = {*all, states};
	BatchPart	part = filter_part(input->filter, &whole, NULL);
	bool		filtered = input->condition == NULL || input->filter != NULL;
	Vector		vector;

	if (part.batch.count == 0)
		return;
	if (!filtered || input->advance == NULL)
		advance_by_rows(transition, input, &part);
	else if (input->branches != NIL)
		advance_by_branches(transition, input, part);
	else if (input->vector == NULL)
		input->advance(transition, part.states, NULL, part.batch.count);
	else if (vector_expression_evaluate(input->vector, &part.batch, &vector))
		advance_by_vector(transition, input, &part, &vector);
	else
		advance_by_rows(transition, input, &part);
}

/* Keeps the row that is the scan's tuple, whose group has no memory yet. */
static void
keep_for_later(VectorAggregateState *state, AggregateInput *input, ScanState *scan)
{
	if (input->later == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state->inputs));

		input->later = tuplestore_begin_heap(false, false, work_mem);
		MemoryContextSwitchTo(old);
	}
	tuplestore_puttupleslot(input->later, scan->ps.ps_ExprContext->ecxt_scantuple);
}

/* Takes the rows without a group out of a batch. */
static void
keep_batch_for_later(VectorAggregateState *state, AggregateInput *input, VectorBatch *batch, TransitionState **states)
{
	uint32	   *rows = unconstify(uint32 *, batch->rows);
	uint32		count = 0;

	for (uint32 i = 0; i < batch->count; i++)
	{
		if (states[i] == NULL)
		{
			vector_batch_load_row(batch, input->needed, rows[i]);
			keep_for_later(state, input, batch->scan);
			continue;
		}
		rows[count] = rows[i];
		states[count++] = states[i];
	}
	batch->count = count;
	/* What keys have gathered is of all rows. */
	memset(batch->gathered, 0, batch->reader->tupdesc->natts * sizeof(Vector));
}

/* Aggregates the selected rows of a chunk group. */
static void
aggregate_batch(VectorAggregateState *state, AggregateInput *input, VectorBatch *batch)
{
	TransitionState **states = arena_alloc(batch->arena, batch->count * sizeof(TransitionState *));

	vector_groups_find(state->groups, input->columns, batch, states);
	if (vector_groups_are_full(state->groups))
		keep_batch_for_later(state, input, batch, states);
	for (int i = 0; i < state->ntransitions; i++)
		advance_by_batch(state->transitions[i], &input->transitions[i], batch, states);
}

/* Aggregates the row that is a scan's tuple. */
static void
aggregate_row(VectorAggregateState *state, AggregateInput *input, ScanState *scan)
{
	ExprContext *econtext = scan->ps.ps_ExprContext;
	TransitionState *states = vector_groups_find_row(state->groups, input->columns, scan);

	if (states == NULL)
	{
		keep_for_later(state, input, scan);
		return;
	}

	for (int i = 0; i < state->ntransitions; i++)
	{
		const TransitionInput *transition = &input->transitions[i];

		if (transition->condition == NULL || ExecQual(transition->condition, econtext))
			advance_by_row(state->transitions[i], transition, econtext, states);
	}
}

/* Counts rows that weren't asked for one by one, for EXPLAIN. */
static void
count_rows(ScanState *scan, uint32 count)
{
	if (scan->ps.instrument != NULL)
		InstrStopNode(scan->ps.instrument, count);
}

static void
start_counting(ScanState *scan)
{
	if (scan->ps.instrument != NULL)
		InstrStartNode(scan->ps.instrument);
}

static void
aggregate_scan(VectorAggregateState *state, AggregateInput *input, CustomScanState *scan)
{
	for (;;)
	{
		StripeScan *stripes;
		MemoryContext old;
		VectorBatch batch = {.scan = &scan->ss, .arena = state->arena};

		start_counting(&scan->ss);
		stripes = columnar_scan_fetch_group(scan);
		count_rows(&scan->ss, stripes != NULL ? stripes->nselected : 0);
		if (stripes == NULL)
			break;
		batch.reader = stripes->reader;
		batch.store = &stripes->store;
		batch.rows = stripes->selected;
		batch.count = stripes->nselected;
		batch.gathered = vector_batch_alloc_zeroed(&batch, batch.reader->tupdesc->natts * sizeof(Vector));
		old = MemoryContextSwitchTo(state->batch_context);
		aggregate_batch(state, input, &batch);
		MemoryContextSwitchTo(old);
		MemoryContextReset(state->batch_context);
		arena_reset(state->arena);
	}
	for (;;)
	{
		bool		found;

		start_counting(&scan->ss);
		found = columnar_scan_fetch(scan);
		count_rows(&scan->ss, found ? 1 : 0);
		if (!found)
			break;
		aggregate_row(state, input, &scan->ss);
	}
}

/* Advances states by what aggregates with DISTINCT have kept. */
static void
finish_distincts(VectorAggregateState *state)
{
	for (int i = 0; i < state->ntransitions; i++)
	{
		if (state->distincts[i] != NULL)
			vector_distinct_finish(state->distincts[i]);
	}
}

/* Forgets all groups, and what is kept of them. */
static void
forget_groups(VectorAggregateState *state)
{
	vector_groups_reset(state->groups);
	for (int i = 0; i < state->ntransitions; i++)
	{
		if (state->distincts[i] != NULL)
			vector_distinct_reset(state->distincts[i]);
	}
}

static void
aggregate_all(VectorAggregateState *state)
{
	int			child = 0;

	foreach_ptr(CustomScanState, scan, state->css.custom_ps)
	{
		AggregateInput *input = &state->inputs[child++];

		/* Parameters may have other values than in the last run. */
		if (scan->ss.ps.chgParam != NULL)
			ExecReScan(&scan->ss.ps);
		for (int i = 0; i < state->ntransitions; i++)
		{
			if (input->transitions[i].filter != NULL)
				row_filter_reset(input->transitions[i].filter);
			foreach_ptr(CaseBranch, branch, input->transitions[i].branches)
			{
				if (branch->filter != NULL)
					row_filter_reset(branch->filter);
			}
		}
		aggregate_scan(state, input, scan);
	}
	finish_distincts(state);
	state->filled = true;
}

/*
 * Aggregates the rows that were kept, after the groups that had memory were
 * returned; rows without a group are kept again.  False if there were none.
 */
static bool
aggregate_kept(VectorAggregateState *state)
{
	bool		found = false;
	int			child = 0;

	foreach_ptr(ScanState, scan, state->css.custom_ps)
	{
		AggregateInput *input = &state->inputs[child++];
		Tuplestorestate *kept = input->later;
		TupleTableSlot *slot;

		if (kept == NULL)
			continue;
		if (!found)
			forget_groups(state);
		found = true;
		input->later = NULL;
		slot = MakeSingleTupleTableSlot(scan->ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
		while (tuplestore_gettupleslot(kept, true, false, slot))
		{
			CHECK_FOR_INTERRUPTS();
			ResetExprContext(scan->ps.ps_ExprContext);
			scan->ps.ps_ExprContext->ecxt_scantuple = slot;
			aggregate_row(state, input, scan);
		}
		ExecDropSingleTupleTableSlot(slot);
		tuplestore_end(kept);
	}
	finish_distincts(state);
	return found;
}

static void
forget_kept(VectorAggregateState *state)
{
	for (int child = 0; child < list_length(state->css.custom_ps); child++)
	{
		if (state->inputs[child].later != NULL)
			tuplestore_end(state->inputs[child].later);
		state->inputs[child].later = NULL;
	}
}

/* The next group as the scan tuple. */
static bool
next_output(VectorAggregateState *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	TransitionState *states;

	ExecClearTuple(slot);
	do
		states = vector_groups_next(state->groups, slot);
	while (states == NULL && aggregate_kept(state));
	if (states == NULL)
		return false;
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	for (int i = 0; i < state->naggregates; i++)
	{
		VectorAggregate *aggregate = &state->aggregates[i];
		int			column = state->plan.ncarried + i;

		slot->tts_values[column] = vector_aggregate_result(aggregate, &states[aggregate->transition->number],
														   &slot->tts_isnull[column]);
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
	return true;
}

static TupleTableSlot *
vector_aggregate_exec(CustomScanState *css)
{
	VectorAggregateState *state = (VectorAggregateState *) css;
	PlanState  *ps = &css->ss.ps;
	ExprContext *econtext = ps->ps_ExprContext;

	if (!state->filled)
		aggregate_all(state);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		if (!next_output(state, css->ss.ss_ScanTupleSlot))
			return ps->ps_ProjInfo != NULL ? ExecClearTuple(ps->ps_ProjInfo->pi_state.resultslot) : NULL;
		econtext->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (ExecQual(ps->qual, econtext))
			return ps->ps_ProjInfo != NULL ? ExecProject(ps->ps_ProjInfo) : css->ss.ss_ScanTupleSlot;
		InstrCountFiltered1(css, 1);
	}
}

static void
vector_aggregate_end(CustomScanState *css)
{
	forget_groups((VectorAggregateState *) css);
	forget_kept((VectorAggregateState *) css);
	foreach_ptr(PlanState, child, css->custom_ps)
		ExecEndNode(child);
}

static void
vector_aggregate_rescan(CustomScanState *css)
{
	VectorAggregateState *state = (VectorAggregateState *) css;

	forget_groups(state);
	forget_kept(state);
	state->filled = false;
	foreach_ptr(PlanState, child, css->custom_ps)
	{
		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, css->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

static void
vector_aggregate_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	VectorAggregateState *state = (VectorAggregateState *) css;
	CustomScan *plan = (CustomScan *) css->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, css->ss.ps.plan, ancestors);
	List	   *keys = NIL;

	for (int i = 0; i < state->plan.nkeys; i++)
		keys = lappend(keys, deparse_expression((Node *) list_nth_node(TargetEntry, plan->custom_scan_tlist, i)->expr,
												context, es->verbose || list_length(es->rtable) > 1, true));
	if (keys != NIL)
		ExplainPropertyList("Group Key", keys, es);
}

static const CustomExecMethods vector_exec_methods = {
	.CustomName = "ColumnarAggregate",
	.BeginCustomScan = vector_aggregate_begin,
	.ExecCustomScan = vector_aggregate_exec,
	.EndCustomScan = vector_aggregate_end,
	.ReScanCustomScan = vector_aggregate_rescan,
	.ExplainCustomScan = vector_aggregate_explain,
};

static Node *
vector_aggregate_create(CustomScan *plan)
{
	VectorAggregateState *state = (VectorAggregateState *) newNode(sizeof(VectorAggregateState), T_CustomScanState);

	state->css.methods = &vector_exec_methods;
	return (Node *) state;
}

void
vector_node_init(void)
{
	RegisterCustomScanMethods(&vector_aggregate_methods);
}
