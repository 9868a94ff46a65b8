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
 * If the memory for groups is full, rows of others are kept in temporary files
 * (vector_spill.c), each of which is aggregated when the groups in memory were
 * returned.  So all rows of a group are still advanced in their order.
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

#include "columnar/row_filter.h"
#include "columnar/scan_node.h"
#include "compat/explain.h"
#include "compat/foreach.h"
#include "vector/vector_distinct.h"
#include "vector/vector_expression.h"
#include "vector/vector_groups.h"
#include "vector/vector_node.h"
#include "vector/vector_plan.h"
#include "vector/vector_spill.h"
#include "vector/vector_top.h"
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
	SpilledColumns *spilled;	/* the same, of rows whose groups have no
								 * memory yet */
	VectorSpill *spill;			/* where they go, or NULL */
	SpilledRows *from;			/* where rows come from; NULL: from the
								 * scans */
	List	   *waiting;		/* SpilledRows whose turn comes */
	VectorTop  *top;			/* which groups the plan above needs; NULL:
								 * all */
	int64	   *top_values;
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
	if (transition_needs_order(transition))
		input->advance = NULL;
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
make_input(VectorAggregateState *state, List *exprs, ScanState *scan, int child)
{
	AggregateInput *input = &state->inputs[child];

	vector_spill_prepare(&state->spilled[child], child, scan->ss_ScanTupleSlot->tts_tupleDescriptor,
						 vector_batch_columns((Node *) exprs, scan));
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
	state->groups = vector_groups_make(&state->plan, css->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
	state->transitions = palloc(Max(list_length(aggrefs), 1) * sizeof(Transition *));
	state->distincts = palloc0(Max(list_length(aggrefs), 1) * sizeof(VectorDistinct *));
	make_aggregates(state, aggrefs);
	state->inputs = palloc0(list_length(plan->custom_plans) * sizeof(AggregateInput));
	state->spilled = palloc0(list_length(plan->custom_plans) * sizeof(SpilledColumns));
	foreach_ptr(ScanState, scan, css->custom_ps)
	{
		make_input(state, list_nth(plan->custom_exprs, child), scan, child);
		child++;
	}
	vector_groups_set_transitions(state->groups, state->transitions, state->ntransitions);
	if (state->plan.top_columns != NIL)
	{
		state->top = vector_top_make(state->plan.top_limit, state->plan.top_columns, state->plan.top_descending);
		state->top_values = palloc(list_length(state->plan.top_columns) * sizeof(int64));
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
		transition_advance(transition, transition_state_of(transition, states));
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

/* Where rows go whose groups have no memory yet. */
static VectorSpill *
require_spill(VectorAggregateState *state)
{
	if (state->spill == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state->inputs));

		state->spill = vector_spill_begin(state->from);
		MemoryContextSwitchTo(old);
	}
	return state->spill;
}

/* Takes the rows without a group out of a batch. */
static void
keep_batch_for_later(VectorAggregateState *state, int child, VectorBatch *batch, const uint64 *hashes,
					 TransitionState **states)
{
	uint32	   *rows = unconstify(uint32 *, batch->rows);
	uint32		count = 0;

	for (uint32 i = 0; i < batch->count; i++)
	{
		if (states[i] == NULL)
		{
			vector_spill_put(require_spill(state), &state->spilled[child], hashes[i], batch->reader, rows[i]);
			continue;
		}
		rows[count] = rows[i];
		states[count++] = states[i];
	}
	batch->count = count;
	/* What keys have gathered is of all rows. */
	memset(batch->gathered, 0, batch->reader->tupdesc->natts * sizeof(Vector));
}

/* Aggregates the rows of a chunk group that a batch has selected. */
static void
aggregate_batch(VectorAggregateState *state, int child, VectorBatch *batch)
{
	AggregateInput *input = &state->inputs[child];
	MemoryContext old = MemoryContextSwitchTo(state->batch_context);
	TransitionState **states = arena_alloc(batch->arena, batch->count * sizeof(TransitionState *));
	const uint64 *hashes;

	batch->gathered = vector_batch_alloc_zeroed(batch, batch->reader->tupdesc->natts * sizeof(Vector));
	hashes = vector_groups_find(state->groups, input->columns, batch, states);
	if (vector_groups_are_full(state->groups))
		keep_batch_for_later(state, child, batch, hashes, states);
	for (int i = 0; i < state->ntransitions; i++)
		advance_by_batch(state->transitions[i], &input->transitions[i], batch, states);
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->batch_context);
	arena_reset(state->arena);
}

/* Aggregates the row that is a scan's tuple. */
static void
aggregate_row(VectorAggregateState *state, int child, ScanState *scan)
{
	AggregateInput *input = &state->inputs[child];
	ExprContext *econtext = scan->ps.ps_ExprContext;
	uint64		hash;
	TransitionState *states = vector_groups_find_row(state->groups, input->columns, scan, &hash);

	if (states == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

		vector_spill_put_slot(require_spill(state), &state->spilled[child], hash, econtext->ecxt_scantuple);
		MemoryContextSwitchTo(old);
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
aggregate_scan(VectorAggregateState *state, int child, CustomScanState *scan)
{
	for (;;)
	{
		StripeScan *stripes;
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
		aggregate_batch(state, child, &batch);
	}
	for (;;)
	{
		bool		found;

		start_counting(&scan->ss);
		found = columnar_scan_fetch(scan);
		count_rows(&scan->ss, found ? 1 : 0);
		if (!found)
			break;
		aggregate_row(state, child, &scan->ss);
	}
}

/*
 * Ends a pass over rows: advances states by what aggregates with DISTINCT have
 * kept, and makes the rows that had no group wait for their turn.
 */
static void
finish_pass(VectorAggregateState *state)
{
	for (int i = 0; i < state->ntransitions; i++)
	{
		if (state->distincts[i] != NULL)
			vector_distinct_finish(state->distincts[i]);
	}
	if (state->spill != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(state->inputs));

		state->waiting = list_concat(vector_spill_finish(state->spill), state->waiting);
		MemoryContextSwitchTo(old);
	}
	state->spill = NULL;
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

/* Forgets the rows that wait. */
static void
forget_waiting(VectorAggregateState *state)
{
	foreach_ptr(SpilledRows, rows, state->waiting)
		vector_spill_remove(rows);
	state->waiting = NIL;
	if (state->from != NULL)
		vector_spill_remove(state->from);
	state->from = NULL;
}

static void
aggregate_all(VectorAggregateState *state)
{
	int			child = 0;

	foreach_ptr(CustomScanState, scan, state->css.custom_ps)
	{
		AggregateInput *input = &state->inputs[child];

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
		aggregate_scan(state, child++, scan);
	}
	finish_pass(state);
	state->filled = true;
}

/*
 * Aggregates rows that wait, after the groups that had memory were returned;
 * false if there are none.
 */
static bool
aggregate_waiting(VectorAggregateState *state)
{
	int			child;

	if (state->waiting == NIL)
		return false;
	forget_groups(state);
	state->from = linitial(state->waiting);
	state->waiting = list_delete_first(state->waiting);
	while ((child = vector_spill_read(state->from, state->spilled)) >= 0)
	{
		VectorBatch batch = {.scan = list_nth(state->css.custom_ps, child), .arena = state->arena};
		uint32	   *rows;

		CHECK_FOR_INTERRUPTS();
		batch.reader = state->spilled[child].reader;
		batch.count = batch.reader->group_rows;
		rows = arena_alloc(batch.arena, batch.count * sizeof(uint32));
		for (uint32 i = 0; i < batch.count; i++)
			rows[i] = i;
		batch.rows = rows;
		aggregate_batch(state, child, &batch);
	}
	finish_pass(state);
	vector_spill_remove(state->from);
	state->from = NULL;
	return true;
}

/* The result of an aggregate of a group. */
static Datum
aggregate_result(VectorAggregateState *state, int number, TransitionState *states, bool *isnull)
{
	VectorAggregate *aggregate = &state->aggregates[number];

	return vector_aggregate_result(aggregate, transition_state_of(aggregate->transition, states), isnull);
}

/*
 * Puts the columns that say whether the plan above may need a group into
 * top_values; false: one is NULL, so nothing is known of it.
 */
static bool
load_top_values(VectorAggregateState *state, const Datum *values, const bool *nulls, TransitionState *states)
{
	TupleDesc	tupdesc = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	int			count = 0;

	foreach_int(column, (List *) vector_top_columns(state->top))
	{
		int			number = column - state->plan.ncarried;
		bool		isnull;
		Datum		value;

		if (number >= 0)
			value = aggregate_result(state, number, states, &isnull);
		else
		{
			value = values[column];
			isnull = nulls[column];
		}
		if (isnull)
			return false;
		state->top_values[count++] = integer_of_datum(value, TupleDescAttr(tupdesc, column)->atttypid);
	}
	return true;
}

/*
 * The next group that the plan above may need as the scan tuple; *ranked: its
 * place among others is known by top_values.
 */
static bool
next_output(VectorAggregateState *state, TupleTableSlot *slot, bool *ranked)
{
	const Datum *values;
	const bool *nulls;
	MemoryContext old;
	TransitionState *states;

	ExecClearTuple(slot);
	do
	{
		do
			states = vector_groups_next(state->groups, &values, &nulls);
		while (states == NULL && aggregate_waiting(state));
		if (states == NULL)
			return false;
		*ranked = state->top != NULL && load_top_values(state, values, nulls, states);
	}
	while (*ranked && !vector_top_wants(state->top, state->top_values));
	memcpy(slot->tts_values, values, state->plan.ncarried * sizeof(Datum));
	memcpy(slot->tts_isnull, nulls, state->plan.ncarried * sizeof(bool));
	old = MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	for (int i = 0; i < state->naggregates; i++)
	{
		int			column = state->plan.ncarried + i;

		slot->tts_values[column] = aggregate_result(state, i, states, &slot->tts_isnull[column]);
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
	bool		ranked;

	if (!state->filled)
		aggregate_all(state);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		if (!next_output(state, css->ss.ss_ScanTupleSlot, &ranked))
			return ps->ps_ProjInfo != NULL ? ExecClearTuple(ps->ps_ProjInfo->pi_state.resultslot) : NULL;
		econtext->ecxt_scantuple = css->ss.ss_ScanTupleSlot;
		if (ExecQual(ps->qual, econtext))
		{
			if (ranked)
				vector_top_add(state->top, state->top_values);
			return ps->ps_ProjInfo != NULL ? ExecProject(ps->ps_ProjInfo) : css->ss.ss_ScanTupleSlot;
		}
		InstrCountFiltered1(css, 1);
	}
}

static void
vector_aggregate_end(CustomScanState *css)
{
	forget_waiting((VectorAggregateState *) css);
	forget_groups((VectorAggregateState *) css);
	foreach_ptr(PlanState, child, css->custom_ps)
		ExecEndNode(child);
}

static void
vector_aggregate_rescan(CustomScanState *css)
{
	VectorAggregateState *state = (VectorAggregateState *) css;

	forget_waiting(state);
	forget_groups(state);
	if (state->top != NULL)
		vector_top_reset(state->top);
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
