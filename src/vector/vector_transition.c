/*-------------------------------------------------------------------------
 *
 * vector_transition.c
 *	  Transition states of aggregates, advanced by vectors or by rows.
 *
 * Rows advance a state by the server's transition function, as nodeAgg.c does.
 * Vectors do it in a loop, for the functions that have a form here.  Counts,
 * extremes and sums whose state is a number change that number.  Other sums
 * (numeric, bigint, averages) are added up as integers of 128 bits beside the
 * server's state, and combined with it in the end by the aggregate's combine
 * function, as the states of parallel workers are.  So each row may be
 * advanced in either way.
 *
 * An integer of 128 bits can't overflow: no value exceeds 63 bits, and there
 * are less than 2^63 rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "parser/parse_agg.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "columnar/scaled_numeric.h"
#include "compat/acl.h"
#include "compat/sum_state.h"
#include "compat/varlena.h"
#include "vector/vector_transition.h"

/* How the sum and the count of values become a state of the server's. */
typedef enum SumForm
{
	SUM_NONE,
	SUM_ARRAY,					/* int8[]: count, sum */
	SUM_INTEGER_STATE,			/* as int8_avg_serialize() writes it */
	SUM_NUMERIC_STATE,			/* as numeric_avg_serialize() does */
	SUM_EXTREME					/* no sum, but the extreme of the numerics; the
								 * count says that there is one */
} SumForm;

typedef struct VectorForm
{
	Oid			function;		/* the transition function */
	VectorKind	kind;			/* of the argument; VECTOR_NONE: any, or
								 * none */
	VectorAdvance advance;
	SumForm		sum;
} VectorForm;

/* A loop over the values that aren't NULL. */
#define EACH_VALUE(action) \
	do { \
		for (uint32 i = 0; i < count; i++) \
		{ \
			TransitionState *state = transition_state_of(transition, groups[i]); \
\
			if (nulls != NULL && nulls[i]) \
				continue; \
			action; \
		} \
	} while (0)

/* How many values aren't NULL. */
static uint32
count_not_null(const bool *nulls, uint32 count)
{
	uint32		result = count;

	for (uint32 i = 0; i < count && nulls != NULL; i++)
		result -= nulls[i];
	return result;
}

/* Values that are smaller than this add up to an int64, however many. */
#define SMALL_VALUE (INT64CONST(1) << 31)

/* The sum of the values that aren't NULL. */
static int128
sum_values(const Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;
	int64		small = 0;
	int128		sum = 0;

	if (nulls == NULL && vector->least > -SMALL_VALUE && vector->greatest < SMALL_VALUE)
	{
		for (uint32 i = 0; i < count; i++)
			small += values[i];
		return small;
	}
	for (uint32 i = 0; i < count; i++)
		sum += nulls != NULL && nulls[i] ? 0 : values[i];
	return sum;
}

static void
advance_count(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const bool *nulls = vector != NULL ? vector->nulls : NULL;

	if (transition->one_group && count > 0)
	{
		TransitionState *only = transition_state_of(transition, groups[0]);

		only->value = Int64GetDatum(DatumGetInt64(only->value) + count_not_null(nulls, count));
		return;
	}
	EACH_VALUE(state->value = Int64GetDatum(DatumGetInt64(state->value) + 1));
}

/* sum(integer), whose state is bigint. */
static void
advance_small_sum(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;

	if (transition->one_group && count_not_null(nulls, count) > 0)
	{
		TransitionState *only = transition_state_of(transition, groups[0]);

		only->value = Int64GetDatum((only->isnull ? 0 : DatumGetInt64(only->value)) + (int64) sum_values(vector, count));
		only->isnull = false;
		return;
	}
	EACH_VALUE(state->value = Int64GetDatum((state->isnull ? 0 : DatumGetInt64(state->value)) + values[i]);
			   state->isnull = false);
}

static void
advance_sum(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;

	if (transition->one_group && count > 0)
	{
		TransitionState *only = transition_state_of(transition, groups[0]);

		only->sum += sum_values(vector, count);
		only->count += count_not_null(nulls, count);
		return;
	}
	EACH_VALUE(state->sum += values[i]; state->count++);
}

/* The sum of a state has one scale, as all values of a vector have. */
static void
advance_numeric_sum(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;
	int			scale = vector->scale;

	if (transition->one_group && count > 0)
	{
		TransitionState *only = transition_state_of(transition, groups[0]);

		if (only->scale != scale)
		{
			transition_settle(transition, only);
			only->scale = (int16) scale;
		}
		only->sum += sum_values(vector, count);
		only->count += count_not_null(nulls, count);
		return;
	}
	EACH_VALUE(if (unlikely(state->scale != scale))
			   {
			   transition_settle(transition, state); state->scale = (int16) scale;}
			   state->sum += values[i]; state->count++);
}

static void
advance_least(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;

	if (transition->one_group && nulls == NULL && vector->exact && count > 0)
	{
		/* What is known to be the least is the only value. */
		values = &vector->least;
		count = 1;
	}
	EACH_VALUE(if (state->unset || values[i] < (int64) state->value) state->value = (Datum) values[i];
			   state->unset = state->isnull = false);
}

static void
advance_greatest(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;

	if (transition->one_group && nulls == NULL && vector->exact && count > 0)
	{
		values = &vector->greatest;
		count = 1;
	}
	EACH_VALUE(if (state->unset || values[i] > (int64) state->value) state->value = (Datum) values[i];
			   state->unset = state->isnull = false);
}

/* sum(float8), whose state starts with the first value. */
static void
advance_float_sum(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const float8 *values = (const float8 *) vector->values;
	const bool *nulls = vector->nulls;

	EACH_VALUE(state->value = Float8GetDatum(state->unset ? values[i] :
											 float8_pl(DatumGetFloat8(state->value), values[i]));
			   state->unset = state->isnull = false);
}

/* Of values that compare equal (0 and -0), the last one is taken. */
static void
advance_float_least(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const float8 *values = (const float8 *) vector->values;
	const bool *nulls = vector->nulls;

	EACH_VALUE(if (state->unset || !float8_lt(DatumGetFloat8(state->value), values[i]))
			   state->value = Float8GetDatum(values[i]);
			   state->unset = state->isnull = false);
}

static void
advance_float_greatest(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	const float8 *values = (const float8 *) vector->values;
	const bool *nulls = vector->nulls;

	EACH_VALUE(if (state->unset || !float8_gt(DatumGetFloat8(state->value), values[i]))
			   state->value = Float8GetDatum(values[i]);
			   state->unset = state->isnull = false);
}

/* min() and max() of numerics, whose extreme has the scale of its vector. */
static void
advance_numeric_extreme(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count,
						bool greatest)
{
	const int64 *values = (const int64 *) vector->values;
	const bool *nulls = vector->nulls;
	int			scale = vector->scale;

	if (transition->one_group && nulls == NULL && vector->exact && count > 0)
	{
		values = greatest ? &vector->greatest : &vector->least;
		count = 1;
	}
	EACH_VALUE(if (state->scale != scale)
			   {
			   transition_settle(transition, state); state->scale = (int16) scale;}
			   if (state->count == 0 || (greatest ? values[i] > state->sum : values[i] < state->sum))
			   state->sum = values[i]; state->count = 1);
}

static void
advance_numeric_least(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	advance_numeric_extreme(transition, groups, vector, count, false);
}

static void
advance_numeric_greatest(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	advance_numeric_extreme(transition, groups, vector, count, true);
}

/* Most values, of groups, that are known to have advanced a state. */
#define SEEN_VALUES 512

typedef struct SeenValue
{
	TransitionState *state;
	Datum		value;
} SeenValue;

/* Whether a state was advanced by a value before; notes that it is. */
static inline bool
value_was_seen(SeenValue *seen, TransitionState *state, Datum value)
{
	SeenValue  *slot = &seen[(((uintptr_t) state >> 3) * 31 + (value >> 2)) % SEEN_VALUES];

	if (slot->state == state && slot->value == value)
		return true;
	slot->state = state;
	slot->value = value;
	return false;
}

/*
 * min() and max() of text, by the server's function.  A value of a chunk's
 * dictionary advances a group's state once, where values that are equal don't
 * differ.
 */
static void
advance_text_extreme(Transition *transition, TransitionState **groups, const Vector *vector, uint32 count)
{
	bool		once = get_collation_isdeterministic(transition->aggref->inputcollid);
	const bool *nulls = vector->nulls;
	SeenValue	seen[SEEN_VALUES] = {{0}};
	NullableDatum *arg = &transition->call->args[1];

	EACH_VALUE(if (once && value_was_seen(seen, state, vector->values[i])) continue;
			   arg->value = vector->values[i];
			   arg->isnull = false;
			   transition_advance(transition, state));
}

static const VectorForm vector_forms[] = {
	{F_INT8INC, VECTOR_NONE, advance_count},
	{F_INT8INC_ANY, VECTOR_INTEGER, advance_count},
	{F_INT8INC_ANY, VECTOR_NUMERIC, advance_count},
	{F_INT8INC_ANY, VECTOR_FLOAT, advance_count},
	{F_INT8INC_ANY, VECTOR_DATUM, advance_count},
	{F_TEXT_SMALLER, VECTOR_DATUM, advance_text_extreme},
	{F_TEXT_LARGER, VECTOR_DATUM, advance_text_extreme},
	{F_BPCHAR_SMALLER, VECTOR_DATUM, advance_text_extreme},
	{F_BPCHAR_LARGER, VECTOR_DATUM, advance_text_extreme},
	{F_INT2_SUM, VECTOR_INTEGER, advance_small_sum},
	{F_INT4_SUM, VECTOR_INTEGER, advance_small_sum},
	{F_INT2_AVG_ACCUM, VECTOR_INTEGER, advance_sum, SUM_ARRAY},
	{F_INT4_AVG_ACCUM, VECTOR_INTEGER, advance_sum, SUM_ARRAY},
	{F_INT8_AVG_ACCUM, VECTOR_INTEGER, advance_sum, SUM_INTEGER_STATE},
	{F_NUMERIC_AVG_ACCUM, VECTOR_NUMERIC, advance_numeric_sum, SUM_NUMERIC_STATE},
	{F_NUMERIC_SMALLER, VECTOR_NUMERIC, advance_numeric_least, SUM_EXTREME},
	{F_NUMERIC_LARGER, VECTOR_NUMERIC, advance_numeric_greatest, SUM_EXTREME},
	{F_FLOAT8PL, VECTOR_FLOAT, advance_float_sum},
	{F_INT2SMALLER, VECTOR_INTEGER, advance_least},
	{F_INT4SMALLER, VECTOR_INTEGER, advance_least},
	{F_INT8SMALLER, VECTOR_INTEGER, advance_least},
	{F_DATE_SMALLER, VECTOR_INTEGER, advance_least},
	{F_TIME_SMALLER, VECTOR_INTEGER, advance_least},
	{F_TIMESTAMP_SMALLER, VECTOR_INTEGER, advance_least},
	{F_TIMESTAMPTZ_SMALLER, VECTOR_INTEGER, advance_least},
	{F_FLOAT8SMALLER, VECTOR_FLOAT, advance_float_least},
	{F_INT2LARGER, VECTOR_INTEGER, advance_greatest},
	{F_INT4LARGER, VECTOR_INTEGER, advance_greatest},
	{F_INT8LARGER, VECTOR_INTEGER, advance_greatest},
	{F_DATE_LARGER, VECTOR_INTEGER, advance_greatest},
	{F_TIME_LARGER, VECTOR_INTEGER, advance_greatest},
	{F_TIMESTAMP_LARGER, VECTOR_INTEGER, advance_greatest},
	{F_TIMESTAMPTZ_LARGER, VECTOR_INTEGER, advance_greatest},
	{F_FLOAT8LARGER, VECTOR_FLOAT, advance_float_greatest},
};

VectorAdvance
transition_vector_form(Transition *transition, VectorKind kind)
{
	for (int i = 0; i < lengthof(vector_forms); i++)
	{
		const VectorForm *form = &vector_forms[i];

		if (form->function == transition->function.fn_oid && form->kind == kind)
		{
			transition->form = form;
			return form->advance;
		}
	}
	return NULL;
}

static Form_pg_aggregate
find_aggregate(Oid function, HeapTuple *tuple)
{
	*tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(*tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", function);
	return (Form_pg_aggregate) GETSTRUCT(*tuple);
}

bool
transition_order_matters(const Aggref *aggref)
{
	HeapTuple	tuple;
	Oid			function = find_aggregate(aggref->aggfnoid, &tuple)->aggtransfn;

	ReleaseSysCache(tuple);
	for (int i = 0; i < lengthof(vector_forms); i++)
	{
		if (vector_forms[i].function == function && vector_forms[i].kind != VECTOR_FLOAT &&
			vector_forms[i].sum != SUM_EXTREME)
			return false;
	}
	return true;
}

bool
transition_needs_order(const Transition *transition)
{
	return transition->form != NULL && transition->form->sum == SUM_EXTREME;
}

/*
 * A window aggregate's state is what AggCheckCallContext() asks for a memory
 * context, and for nothing else.
 */
Node *
transition_context_make(MemoryContext states)
{
	WindowAggState *context = makeNode(WindowAggState);

	context->curaggcontext = states;
	return (Node *) context;
}

static FunctionCallInfo
make_call_info(FmgrInfo *function, int nargs, Oid collation, Node *context)
{
	FunctionCallInfo call = palloc0(SizeForFunctionCallInfo(nargs));

	InitFunctionCallInfoData(*call, function, nargs, collation, context, NULL);
	return call;
}

/* The initial value of a transition's state. */
static void
find_initial_value(Transition *transition, HeapTuple tuple)
{
	Datum		stored = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &transition->initial_is_null);
	Oid			input;
	Oid			param;
	char	   *string;

	if (transition->initial_is_null)
		return;
	getTypeInputInfo(transition->type, &input, &param);
	string = TextDatumGetCString(stored);
	transition->initial = OidInputFunctionCall(input, string, param, -1);
	pfree(string);
}

/* Tells a transition function its types, as nodeAgg.c does. */
static void
tell_transition_types(Transition *transition, Oid function, Oid *types)
{
	const Aggref *aggref = transition->aggref;
	Expr	   *expr;

	build_aggregate_transfn_expr(types, transition->nargs, 0, aggref->aggvariadic, transition->type,
								 aggref->inputcollid, function, InvalidOid, &expr, NULL);
	fmgr_info_set_expr((Node *) expr, &transition->function);
}

Transition *
transition_make(const Aggref *aggref, int number, Node *context, MemoryContext states)
{
	Transition *transition = palloc0(sizeof(Transition));
	Oid			types[FUNC_MAX_ARGS];
	HeapTuple	tuple;
	Form_pg_aggregate form = find_aggregate(aggref->aggfnoid, &tuple);
	AclResult	allowed = object_aclcheck(ProcedureRelationId, aggref->aggfnoid, GetUserId(), ACL_EXECUTE);

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
	transition->number = number;
	transition->aggref = aggref;
	transition->context = states;
	transition->type = aggref->aggtranstype;
	transition->nargs = get_aggregate_argtypes(unconstify(Aggref *, aggref), types);
	get_typlenbyval(transition->type, &transition->type_len, &transition->type_byval);
	fmgr_info(form->aggtransfn, &transition->function);
	tell_transition_types(transition, form->aggtransfn, types);
	transition->call = make_call_info(&transition->function, transition->nargs + 1, aggref->inputcollid, context);
	if (OidIsValid(form->aggcombinefn))
		fmgr_info(form->aggcombinefn, &transition->combine);
	if (OidIsValid(form->aggdeserialfn))
		fmgr_info(form->aggdeserialfn, &transition->deserialize);
	find_initial_value(transition, tuple);
	ReleaseSysCache(tuple);
	return transition;
}

void
vector_aggregate_make(const Aggref *aggref, Transition *transition, VectorAggregate *aggregate)
{
	Oid			types[FUNC_MAX_ARGS];
	int			nargs = get_aggregate_argtypes(unconstify(Aggref *, aggref), types);
	HeapTuple	tuple;
	Form_pg_aggregate form = find_aggregate(aggref->aggfnoid, &tuple);
	bool		partial = DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit);
	Oid			final = partial ? form->aggserialfn : form->aggfinalfn;

	aggregate->transition = transition;
	if (partial && !DO_AGGSPLIT_SERIALIZE(aggref->aggsplit))
		final = InvalidOid;
	if (OidIsValid(final))
	{
		int			final_args = !partial && form->aggfinalextra ? nargs + 1 : 1;
		Expr	   *expr;

		fmgr_info(final, &aggregate->final);
		if (!partial)
		{
			build_aggregate_finalfn_expr(types, final_args, transition->type, aggref->aggtype, aggref->inputcollid,
										 final, &expr);
			fmgr_info_set_expr((Node *) expr, &aggregate->final);
		}
		aggregate->final_call = make_call_info(&aggregate->final, final_args, aggref->inputcollid,
											   transition->call->context);
		for (int i = 1; i < final_args; i++)
			aggregate->final_call->args[i].isnull = true;
		aggregate->final_is_strict = aggregate->final.fn_strict;
	}
	ReleaseSysCache(tuple);
}

/* The bytes of a state. */
static Size
transition_state_size(const Transition *transition)
{
	return transition->form != NULL && transition->form->sum != SUM_NONE ? sizeof(TransitionState) :
		offsetof(TransitionState, count);
}

Size
transition_states_lay_out(Transition **transitions, int ntransitions)
{
	Size		size = 0;

	for (int i = 0; i < ntransitions; i++)
	{
		transitions[i]->offset = size;
		size += MAXALIGN(transition_state_size(transitions[i]));
	}
	return size;
}

void
transition_state_begin(const Transition *transition, TransitionState *state)
{
	memset(state, 0, transition_state_size(transition));
	state->isnull = transition->initial_is_null;
	state->unset = transition->initial_is_null;
	if (!transition->initial_is_null)
	{
		MemoryContext old = MemoryContextSwitchTo(transition->context);

		state->value = datumCopy(transition->initial, transition->type_byval, transition->type_len);
		MemoryContextSwitchTo(old);
	}
}

/* Replaces the value of a state by one in short-lived memory. */
static void
replace_value(const Transition *transition, TransitionState *state, Datum value, bool isnull)
{
	MemoryContext old;

	if (!transition->type_byval && (isnull || state->isnull || DatumGetPointer(value) != DatumGetPointer(state->value)))
	{
		if (!isnull)
		{
			old = MemoryContextSwitchTo(transition->context);
			value = datumCopy(value, false, transition->type_len);
			MemoryContextSwitchTo(old);
		}
		if (!state->isnull)
			pfree(DatumGetPointer(state->value));
	}
	state->value = value;
	state->isnull = isnull;
}

/* Calls the transition function. */
static void
call_transition(Transition *transition, TransitionState *state)
{
	FunctionCallInfo call = transition->call;
	Datum		value;

	if (transition->function.fn_strict)
	{
		for (int i = 1; i <= transition->nargs; i++)
		{
			if (call->args[i].isnull)
				return;
		}
		if (state->unset)
		{
			state->isnull = true;
			replace_value(transition, state, call->args[1].value, false);
			state->unset = false;
			return;
		}
		if (state->isnull)
			return;
	}
	call->args[0].value = state->value;
	call->args[0].isnull = state->isnull;
	call->isnull = false;
	value = FunctionCallInvoke(call);
	replace_value(transition, state, value, call->isnull);
	state->unset = false;
}

void
transition_advance(Transition *transition, TransitionState *state)
{
	if (transition_needs_order(transition))
		transition_settle(transition, state);
	call_transition(transition, state);
}

/* The numeric of an integer with so many digits after the point. */
static Datum
numeric_of_integer(int128 integer, int scale)
{
	StringInfoData bytes;
	int16		digits[SCALED_WIDE_DIGITS];
	int			weight;
	int			ndigits = scaled_digits(integer, scale, digits, &weight);

	initStringInfo(&bytes);
	pq_sendint16(&bytes, ndigits);
	pq_sendint16(&bytes, weight);
	pq_sendint16(&bytes, integer < 0 ? 0x4000 : 0);
	pq_sendint16(&bytes, scale);
	for (int i = 0; i < ndigits; i++)
		pq_sendint16(&bytes, digits[i]);
	return DirectFunctionCall3(numeric_recv, PointerGetDatum(&bytes), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/* Advances a state by the extreme that vectors have found. */
static void
settle_extreme(Transition *transition, TransitionState *state)
{
	NullableDatum *arg = &transition->call->args[1];
	NullableDatum waiting = *arg;

	arg->value = numeric_of_integer(state->sum, state->scale);
	arg->isnull = false;
	state->count = 0;
	call_transition(transition, state);
	*arg = waiting;
}

/* An integer as numericvar_serialize() writes it. */
static void
send_numeric(StringInfo bytes, int128 integer, int scale)
{
	int16		digits[SCALED_WIDE_DIGITS];
	int			weight;
	int			ndigits = scaled_digits(integer, scale, digits, &weight);

	pq_sendint32(bytes, ndigits);
	pq_sendint32(bytes, weight);
	pq_sendint32(bytes, integer < 0 ? 0x4000 : 0);
	pq_sendint32(bytes, scale);
	for (int i = 0; i < ndigits; i++)
		pq_sendint16(bytes, digits[i]);
}

static Datum
call_in_context(FmgrInfo *function, Node *context, Datum first, Datum second)
{
	LOCAL_FCINFO(call, 2);
	Datum		result;

	InitFunctionCallInfoData(*call, function, 2, InvalidOid, context, NULL);
	call->args[0].value = first;
	call->args[0].isnull = false;
	call->args[1].value = second;
	call->args[1].isnull = false;
	result = FunctionCallInvoke(call);
	if (call->isnull)
		elog(ERROR, "function %u returned NULL", function->fn_oid);
	return result;
}

/* What was added up, as a state of the server's. */
static Datum
state_of_sum(Transition *transition, const TransitionState *state)
{
	StringInfoData bytes;

	if (transition->form->sum == SUM_ARRAY)
	{
		Datum		parts[2] = {Int64GetDatum(state->count), Int64GetDatum((int64) state->sum)};

		return PointerGetDatum(construct_array(parts, 2, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE));
	}
	pq_begintypsend(&bytes);
	pq_sendint64(&bytes, state->count);
	if (SUM_STATE_IS_INTEGER && transition->form->sum == SUM_INTEGER_STATE)
		compat_send_integer_sum(&bytes, state->sum);
	else
		send_numeric(&bytes, state->sum, state->scale);
	if (transition->form->sum == SUM_NUMERIC_STATE)
	{
		pq_sendint32(&bytes, state->scale);
		pq_sendint64(&bytes, state->count);
		pq_sendint64(&bytes, 0);	/* NaN */
		pq_sendint64(&bytes, 0);	/* infinity */
		pq_sendint64(&bytes, 0);	/* -infinity */
	}
	return call_in_context(&transition->deserialize, transition->call->context,
						   PointerGetDatum(pq_endtypsend(&bytes)), PointerGetDatum(NULL));
}

void
transition_settle(Transition *transition, TransitionState *state)
{
	Datum		value;

	if (transition->form == NULL || transition->form->sum == SUM_NONE || state->count == 0)
		return;
	if (transition->form->sum == SUM_EXTREME)
	{
		settle_extreme(transition, state);
		return;
	}
	value = state_of_sum(transition, state);
	if (!state->isnull)
		value = call_in_context(&transition->combine, transition->call->context, state->value, value);
	else if (transition->type == INTERNALOID)
	{
		/* The combine function copies the state to the context of states. */
		LOCAL_FCINFO(call, 2);

		InitFunctionCallInfoData(*call, &transition->combine, 2, InvalidOid, transition->call->context, NULL);
		call->args[0].isnull = true;
		call->args[1].value = value;
		call->args[1].isnull = false;
		value = FunctionCallInvoke(call);
	}
	replace_value(transition, state, value, false);
	state->unset = false;
	state->count = 0;
	state->sum = 0;
}

Datum
vector_aggregate_result(VectorAggregate *aggregate, TransitionState *state, bool *isnull)
{
	FunctionCallInfo call = aggregate->final_call;
	Datum		result;

	transition_settle(aggregate->transition, state);
	*isnull = state->isnull;
	if (call == NULL)
		return state->value;
	if (aggregate->final_is_strict && (state->isnull || call->nargs > 1))
	{
		*isnull = true;
		return (Datum) 0;
	}
	call->args[0].value = state->value;
	call->args[0].isnull = state->isnull;
	call->isnull = false;
	result = FunctionCallInvoke(call);
	*isnull = call->isnull;
	return result;
}
