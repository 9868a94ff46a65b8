/*-------------------------------------------------------------------------
 *
 * row_filter.c
 *	  Conditions evaluated on the rows of a chunk group together.
 *
 * A filter is a sequence of tests, each of which looks at the rows that the
 * tests before it have left.  So a column is only read if a row is left.
 *
 * Comparisons of integers (also dates, times and numerics of one scale) and
 * floating-point numbers with a value that is known before the scan, and of
 * integers in two columns, are loops over arrays; so are comparisons of text
 * and integers with constants (constant_test.c), and an OR of such conditions,
 * each of whose arms is evaluated for the rows that those before it have not
 * taken.  They can neither fail nor show a value to anybody, so they come
 * first.  Other conditions are evaluated
 * by the server's executor, in their order, which keeps those of security
 * barriers before others.  If a condition is about one column and the chunk
 * has a dictionary, it is evaluated once for each code, when the first row
 * that is left has it: so it fails for no value that it wouldn't have seen row
 * by row.
 *
 * Conditions that are volatile or contain subplans are not in the filter, nor
 * what follows them.  The scan node evaluates these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "columnar/column_chunk.h"
#include "columnar/constant_test.h"
#include "columnar/row_filter.h"
#include "columnar/scaled_numeric.h"
#include "compat/foreach.h"

/* Beside the btree strategies. */
#define NOT_EQUAL_STRATEGY 6

typedef enum RowTestKind
{
	TEST_INTEGER,				/* column strategy value */
	TEST_FLOAT,
	TEST_NUMERIC,				/* as TEST_INTEGER, where the chunk's values
								 * are integers */
	TEST_COLUMNS,				/* column strategy other column, as integers */
	TEST_CONSTANTS,				/* column compared with constants */
	TEST_NULLNESS,				/* column IS [NOT] NULL */
	TEST_ANY,					/* OR of AND of the kinds before */
	TEST_EXPRESSION				/* anything else */
} RowTestKind;

typedef struct RowTest
{
	RowTestKind kind;
	int			column;			/* from 0; -1: several */
	int			other;			/* TEST_COLUMNS: what it is compared with */
	Bitmapset  *columns;
	int			strategy;
	Oid			left_type;
	Oid			right_type;
	ConstantTest *constants;	/* TEST_CONSTANTS */
	bool		wants_null;		/* TEST_NULLNESS */
	List	   *arms;			/* TEST_ANY: a RowFilter of each */
	ExprState  *state;			/* the value compared with */
	ExprState  *condition;		/* for a row: TEST_EXPRESSION, TEST_NUMERIC */
	int64		integer;		/* the value, once it is known */
	int			scale;			/* of integer; -1: it is none */
	float8		number;
	bool		value_is_null;
} RowTest;

struct RowFilter
{
	ScanState  *scan;
	RowTest    *tests;
	int			ntests;
	bool		complete;
	bool		values_known;
	bool		counts_nothing;
};

static bool
type_is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

static bool
type_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/*
 * Whether values of both types are compared as numbers of the same unit, or
 * the second, a time, can become a date (date_of_timestamp).
 */
static bool
types_compare_alike(Oid left, Oid right)
{
	if (left == DATEOID && right == TIMESTAMPOID)
		return true;
	if (type_is_integer(left) || type_is_float(left))
		return type_is_integer(left) ? type_is_integer(right) : type_is_float(right);
	return left == right && (left == NUMERICOID || column_is_ordered_as_integer(left));
}

/* The strategy of an operator for its left type's order, or 0. */
static int
comparison_strategy(Oid operator, Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			negator;
	int			strategy;

	if (!OidIsValid(entry->btree_opf))
		return 0;
	strategy = get_op_opfamily_strategy(operator, entry->btree_opf);
	if (strategy != 0)
		return strategy;
	negator = get_negator(operator);
	if (OidIsValid(negator) && get_op_opfamily_strategy(negator, entry->btree_opf) == BTEqualStrategyNumber)
		return NOT_EQUAL_STRATEGY;
	return 0;
}

/* Makes a test of a comparison of two columns, if it is one. */
static bool
make_columns_comparison(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	OpExpr	   *op = (OpExpr *) qual;
	Var		   *left;
	Var		   *right;

	if (!IsA(qual, OpExpr) || list_length(op->args) != 2 || !IsA(linitial(op->args), Var) || !IsA(lsecond(op->args), Var))
		return false;
	left = linitial(op->args);
	right = lsecond(op->args);
	if (left->varno != varno || right->varno != varno || left->varattno <= 0 || right->varattno <= 0)
		return false;
	if (!column_is_ordered_as_integer(left->vartype) ||
		(left->vartype != right->vartype && !(type_is_integer(left->vartype) && type_is_integer(right->vartype))))
		return false;
	test->strategy = comparison_strategy(op->opno, left->vartype);
	if (test->strategy == 0)
		return false;
	test->kind = TEST_COLUMNS;
	test->column = left->varattno - 1;
	test->other = right->varattno - 1;
	test->columns = bms_add_member(bms_make_singleton(test->column), test->other);
	return true;
}

/* Makes a test of a comparison of a column with a value, if it is one. */
static bool
make_comparison(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	OpExpr	   *op = (OpExpr *) qual;
	Node	   *left;
	Node	   *right;
	Oid			operator;
	Oid			left_type;

	if (!IsA(qual, OpExpr) || list_length(op->args) != 2)
		return false;
	left = linitial(op->args);
	right = lsecond(op->args);
	operator = op->opno;
	if (!IsA(left, Var))
	{
		left = right;
		right = linitial(op->args);
		operator = get_commutator(operator);
	}
	if (!OidIsValid(operator) || !IsA(left, Var) || contain_var_clause(right))
		return false;
	if (((Var *) left)->varno != varno || ((Var *) left)->varattno <= 0)
		return false;
	op_input_types(operator, &left_type, &test->right_type);
	if (left_type != ((Var *) left)->vartype || !types_compare_alike(left_type, test->right_type))
		return false;
	test->strategy = comparison_strategy(operator, left_type);
	if (test->strategy == 0)
		return false;
	test->left_type = left_type;
	test->kind = type_is_float(left_type) ? TEST_FLOAT : left_type == NUMERICOID ? TEST_NUMERIC : TEST_INTEGER;
	test->column = ((Var *) left)->varattno - 1;
	test->columns = bms_make_singleton(test->column);
	if (test->kind == TEST_NUMERIC)
		test->condition = ExecInitQual(list_make1(qual), &scan->ps);
	test->state = ExecInitExpr((Expr *) right, &scan->ps);
	return true;
}

/* Makes a test of a column of type boolean, or of whether one is NULL. */
static bool
make_column_test(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	Var		   *var = (Var *) qual;

	test->kind = TEST_INTEGER;
	test->strategy = BTEqualStrategyNumber;
	test->right_type = BOOLOID;
	test->integer = 1;
	if (IsA(qual, NullTest))
	{
		test->kind = TEST_NULLNESS;
		test->wants_null = ((NullTest *) qual)->nulltesttype == IS_NULL;
		var = (Var *) ((NullTest *) qual)->arg;
		if (((NullTest *) qual)->argisrow)
			return false;
	}
	if (!IsA(var, Var) || var->varno != varno || var->varattno <= 0)
		return false;
	test->column = var->varattno - 1;
	test->columns = bms_make_singleton(test->column);
	return true;
}

/*
 * Makes a test that evaluates the condition row by row, or by code, if nothing
 * else than columns is in it.
 */
static bool
make_expression_test(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	Bitmapset  *attnos = NULL;
	int			attno = -1;

	pull_varattnos(qual, varno, &attnos);
	if (bms_is_empty(attnos) || bms_next_member(attnos, -1) <= -FirstLowInvalidHeapAttributeNumber)
		return false;
	test->kind = TEST_EXPRESSION;
	while ((attno = bms_next_member(attnos, attno)) >= 0)
		test->columns = bms_add_member(test->columns, attno + FirstLowInvalidHeapAttributeNumber - 1);
	test->column = bms_num_members(test->columns) == 1 ? bms_next_member(test->columns, -1) : -1;
	test->condition = ExecInitQual(list_make1(qual), &scan->ps);
	return true;
}

/* Makes a test of IN, LIKE and the like. */
static bool
make_constant_test(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	test->constants = constant_test_make(qual, varno, &test->column);
	if (test->constants == NULL)
		return false;
	test->kind = TEST_CONSTANTS;
	test->columns = bms_make_singleton(test->column);
	return true;
}

static bool make_native_test(Node *qual, Index varno, ScanState *scan, RowTest *test);

/*
 * Whether evaluating what a comparison compares can't fail: an arm may never
 * be reached.
 */
static bool
operands_are_plain(Node *qual)
{
	if (!IsA(qual, OpExpr))
		return true;
	foreach_ptr(Node, operand, ((OpExpr *) qual)->args)
	{
		Node	   *plain = IsA(operand, RelabelType) ? (Node *) ((RelabelType *) operand)->arg : operand;

		if (!IsA(plain, Var) && !IsA(plain, Const) && !IsA(plain, Param))
			return false;
	}
	return true;
}

/* A filter that has native tests for all of the conditions, or NULL. */
static RowFilter *
make_arm(List *quals, Index varno, ScanState *scan)
{
	RowFilter  *arm = palloc0(sizeof(RowFilter));

	arm->scan = scan;
	arm->tests = palloc0(list_length(quals) * sizeof(RowTest));
	foreach_ptr(Node, qual, quals)
	{
		if (!operands_are_plain(qual) || !make_native_test(qual, varno, scan, &arm->tests[arm->ntests++]))
			return NULL;
	}
	return arm;
}

/* Makes a test of OR and AND of conditions with native tests. */
static bool
make_or_test(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	if (!is_orclause(qual))
		return false;
	test->kind = TEST_ANY;
	test->column = -1;
	foreach_ptr(Node, condition, ((BoolExpr *) qual)->args)
	{
		RowFilter  *arm = make_arm(is_andclause(condition) ? ((BoolExpr *) condition)->args : list_make1(condition), varno,
								   scan);

		if (arm == NULL)
			return false;
		test->arms = lappend(test->arms, arm);
	}
	return true;
}

/* Makes a test that can neither fail nor show a value, if there is one. */
static bool
make_native_test(Node *qual, Index varno, ScanState *scan, RowTest *test)
{
	static bool (*const makers[]) (Node *qual, Index varno, ScanState *scan, RowTest *test) = {
		make_comparison, make_column_test, make_columns_comparison, make_constant_test, make_or_test
	};

	check_stack_depth();
	for (int i = 0; i < lengthof(makers); i++)
	{
		memset(test, 0, sizeof(RowTest));
		if (makers[i] (qual, varno, scan, test))
			return true;
	}
	return false;
}

/* The native tests of the conditions first, then the others as they come. */
RowFilter *
row_filter_make(List *quals, Index varno, ScanState *scan)
{
	RowFilter  *filter = palloc0(sizeof(RowFilter));
	RowTest    *others = palloc0((list_length(quals) + 1) * sizeof(RowTest));
	int			nothers = 0;

	filter->scan = scan;
	filter->complete = true;
	filter->tests = palloc0((list_length(quals) + 1) * sizeof(RowTest));
	foreach_ptr(Node, qual, quals)
	{
		RowTest    *test = &filter->tests[filter->ntests];
		bool		known = !contain_volatile_functions(qual) && !contain_subplans(qual);

		if (known && make_native_test(qual, varno, scan, test))
			filter->ntests++;
		else
		{
			memset(&others[nothers], 0, sizeof(RowTest));
			if (known && filter->complete && make_expression_test(qual, varno, scan, &others[nothers]))
				nothers++;
			else
				filter->complete = false;
		}
	}
	if (nothers > 0)
		memcpy(&filter->tests[filter->ntests], others, nothers * sizeof(RowTest));
	filter->ntests += nothers;
	pfree(others);
	return filter->ntests > 0 ? filter : NULL;
}

bool
row_filter_is_complete(const RowFilter *filter)
{
	return filter->complete;
}

void
row_filter_counts_nothing(RowFilter *filter)
{
	filter->counts_nothing = true;
}

void
row_filter_reset(RowFilter *filter)
{
	filter->values_known = false;
}

/*
 * The date that dates, which stand for their midnights, are compared with
 * instead of a time: of the same day, or the next one if the time is later
 * than midnight and the strategy needs that; a number that no date has, if
 * only a date's midnight would be equal.
 */
static int64
date_of_timestamp(Timestamp time, int strategy)
{
	int64		day = time / USECS_PER_DAY - (time % USECS_PER_DAY < 0 ? 1 : 0);

	if (TIMESTAMP_IS_NOBEGIN(time))
		return DATEVAL_NOBEGIN;
	if (TIMESTAMP_IS_NOEND(time))
		return DATEVAL_NOEND;
	if (time % USECS_PER_DAY == 0)
		return day;
	if (strategy == BTEqualStrategyNumber || strategy == NOT_EQUAL_STRATEGY)
		return PG_INT64_MAX;
	return strategy == BTLessStrategyNumber || strategy == BTGreaterEqualStrategyNumber ? day + 1 : day;
}

/* Evaluates what columns are compared with. */
static void
find_compared_values(RowFilter *filter)
{
	ExprContext *econtext = filter->scan->ps.ps_ExprContext;

	for (int i = 0; i < filter->ntests; i++)
	{
		RowTest    *test = &filter->tests[i];
		Datum		value;

		foreach_ptr(RowFilter, arm, test->arms)
			find_compared_values(arm);
		if (test->state == NULL)
			continue;
		value = ExecEvalExprSwitchContext(test->state, econtext, &test->value_is_null);
		if (test->value_is_null)
			continue;
		switch (test->right_type)
		{
			case FLOAT4OID:
				test->number = DatumGetFloat4(value);
				break;
			case FLOAT8OID:
				test->number = DatumGetFloat8(value);
				break;
			case NUMERICOID:
				if (!numeric_to_scaled(PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)), &test->scale, &test->integer))
					test->scale = -1;
				break;
			default:
				test->integer = integer_of_datum(value, test->right_type);
				if (test->left_type == DATEOID && test->right_type == TIMESTAMPOID)
					test->integer = date_of_timestamp(test->integer, test->strategy);
				break;
		}
	}
	filter->values_known = true;
}

/*
 * Keeps the rows for which the condition about "row" holds.  Without branches:
 * rows that pass are as likely as not.
 */
#define KEEP_ROWS(condition) \
	for (uint32 i = 0; i < count; i++) \
	{ \
		uint32		row = rows[i]; \
\
		rows[kept] = row; \
		kept += (condition); \
	}

#define KEEP_ROWS_NOT_NULL(condition) \
	if (vector->has_nulls) \
		KEEP_ROWS(!nulls[row] & (condition)) \
	else \
		KEEP_ROWS(condition)

static uint32
test_integers(int strategy, int64 value, const int64 *values, const ColumnVector *vector, uint32 *rows, uint32 count)
{
	const bool *nulls = vector->nulls;
	uint32		kept = 0;

	switch (strategy)
	{
		case BTLessStrategyNumber:
			KEEP_ROWS_NOT_NULL(values[row] < value);
			break;
		case BTLessEqualStrategyNumber:
			KEEP_ROWS_NOT_NULL(values[row] <= value);
			break;
		case BTEqualStrategyNumber:
			KEEP_ROWS_NOT_NULL(values[row] == value);
			break;
		case BTGreaterEqualStrategyNumber:
			KEEP_ROWS_NOT_NULL(values[row] >= value);
			break;
		case BTGreaterStrategyNumber:
			KEEP_ROWS_NOT_NULL(values[row] > value);
			break;
		default:
			KEEP_ROWS_NOT_NULL(values[row] != value);
			break;
	}
	return kept;
}

static uint32 apply_tests(RowFilter *filter, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count);

/* Whether a comparison result (as of a btree's function) is wanted. */
static bool
strategy_wants(int strategy, int result)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return result < 0;
		case BTLessEqualStrategyNumber:
			return result <= 0;
		case BTEqualStrategyNumber:
			return result == 0;
		case BTGreaterEqualStrategyNumber:
			return result >= 0;
		case BTGreaterStrategyNumber:
			return result > 0;
		default:
			return result != 0;
	}
}

/* The server's order: NaN equals itself, and exceeds all others. */
static int
compare_floats(float8 left, float8 right)
{
	return float8_lt(left, right) ? -1 : float8_gt(left, right) ? 1 : 0;
}

static uint32
test_floats(const RowTest *test, Form_pg_attribute att, const ColumnVector *vector, uint32 *rows, uint32 count)
{
	bool		is_single = att->atttypid == FLOAT4OID;
	const Datum *values = vector->values;
	const bool *nulls = vector->nulls;
	uint32		kept = 0;

	KEEP_ROWS_NOT_NULL(strategy_wants(test->strategy,
									  compare_floats(is_single ? DatumGetFloat4(values[row]) :
													 DatumGetFloat8(values[row]), test->number)));
	return kept;
}

/* The server's order of integers and times is that of their numbers. */
static uint32
test_columns(const RowTest *test, const ColumnVector *left, const ColumnVector *right, uint32 *rows, uint32 count)
{
	const int64 *lefts = (const int64 *) left->values;
	const int64 *rights = (const int64 *) right->values;
	uint32		kept = 0;

	KEEP_ROWS(!left->nulls[row] & !right->nulls[row] &
			  strategy_wants(test->strategy, (lefts[row] > rights[row]) - (lefts[row] < rights[row])));
	return kept;
}

static uint32
test_nullness(const RowTest *test, const ColumnVector *vector, uint32 *rows, uint32 count)
{
	const bool *nulls = vector->nulls;
	uint32		kept = 0;

	KEEP_ROWS(nulls[row] == test->wants_null);
	return kept;
}

/* Evaluates the condition for a row of the group. */
static bool
evaluate_condition(const RowFilter *filter, const RowTest *test, const StripeReader *reader, uint32 row)
{
	ExprContext *econtext = filter->scan->ps.ps_ExprContext;
	TupleTableSlot *slot = filter->scan->ss_ScanTupleSlot;

	ResetExprContext(econtext);
	stripe_reader_store_values(reader, test->columns, row, slot);
	econtext->ecxt_scantuple = slot;
	return ExecQual(test->condition, econtext);
}

static uint32
test_expression(const RowFilter *filter, const RowTest *test, const StripeReader *reader, uint32 *rows, uint32 count)
{
	const uint8 *codes = test->column >= 0 ? reader->vectors[test->column].codes : NULL;
	int8		wanted[PG_UINT8_MAX + 1];	/* by code; -1: not known */
	uint32		kept = 0;

	memset(wanted, -1, sizeof(wanted));
	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = rows[i];
		bool		passes;

		if (codes == NULL)
			passes = evaluate_condition(filter, test, reader, row);
		else
		{
			if (wanted[codes[row]] < 0)
				wanted[codes[row]] = evaluate_condition(filter, test, reader, row);
			passes = wanted[codes[row]] != 0;
		}
		rows[kept] = row;
		kept += passes;
	}
	return kept;
}

/*
 * Numerics that are integers are compared with the value as an integer of the
 * same scale, or if it has more digits, with the next smaller one.
 */
static uint32
test_numerics(const RowFilter *filter, const RowTest *test, const StripeReader *reader, uint32 *rows, uint32 count)
{
	const ColumnVector *vector = &reader->vectors[test->column];
	int			strategy = test->strategy;
	int64		value = test->integer;
	bool		exact = true;

	if (vector->integers == NULL || test->scale < 0)
		return test_expression(filter, test, reader, rows, count);
	for (int scale = test->scale; scale < vector->scale; scale++)
	{
		if (__builtin_mul_overflow(value, 10, &value))
			return test_expression(filter, test, reader, rows, count);
	}
	for (int scale = test->scale; scale > vector->scale; scale--)
	{
		exact &= value % 10 == 0;
		value = value / 10 - (value % 10 < 0 ? 1 : 0);
	}
	if (!exact && strategy == BTEqualStrategyNumber)
		return 0;
	if (!exact && strategy == NOT_EQUAL_STRATEGY)
		value = PG_INT64_MAX;	/* which no value is */
	if (!exact && strategy == BTLessStrategyNumber)
		strategy = BTLessEqualStrategyNumber;
	if (!exact && strategy == BTGreaterEqualStrategyNumber)
		strategy = BTGreaterStrategyNumber;
	return test_integers(strategy, value, vector->integers, vector, rows, count);
}

/* Reads the test's columns. */
static void
need_columns_of_test(const RowTest *test, StripeReader *reader, StripeStore *store)
{
	int			column = -1;

	while ((column = bms_next_member(test->columns, column)) >= 0)
		stripe_reader_need(reader, store, column);
}

/*
 * Applies one arm after the other to the rows that no arm before it has taken;
 * those that any has taken are kept.
 */
static uint32
test_any(const RowTest *test, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count)
{
	uint32	   *left = arena_alloc(reader->arena, count * sizeof(uint32));
	uint32	   *taken = arena_alloc(reader->arena, count * sizeof(uint32));
	bool	   *passes = arena_alloc(reader->arena, reader->group_rows * sizeof(bool));
	uint32		nleft = count;
	uint32		kept = 0;

	memcpy(left, rows, count * sizeof(uint32));
	memset(passes, false, reader->group_rows * sizeof(bool));
	foreach_ptr(RowFilter, arm, test->arms)
	{
		uint32		ntaken;
		uint32		others = 0;

		memcpy(taken, left, nleft * sizeof(uint32));
		ntaken = apply_tests(arm, reader, store, taken, nleft);
		for (uint32 i = 0; i < ntaken; i++)
			passes[taken[i]] = true;
		for (uint32 i = 0; i < nleft; i++)
		{
			left[others] = left[i];
			others += !passes[left[i]];
		}
		nleft = others;
	}
	KEEP_ROWS(passes[row]);
	return kept;
}

/* Keeps the rows that pass all tests of a filter. */
static uint32
apply_tests(RowFilter *filter, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count)
{
	for (int i = 0; i < filter->ntests && count > 0; i++)
	{
		const RowTest *test = &filter->tests[i];
		const ColumnVector *vector = test->column >= 0 ? &reader->vectors[test->column] : NULL;

		if (test->value_is_null)
			return 0;
		need_columns_of_test(test, reader, store);
		switch (test->kind)
		{
			case TEST_INTEGER:
				count = test_integers(test->strategy, test->integer, (const int64 *) vector->values, vector, rows,
									  count);
				break;
			case TEST_NUMERIC:
				count = test_numerics(filter, test, reader, rows, count);
				break;
			case TEST_FLOAT:
				count = test_floats(test, TupleDescAttr(reader->tupdesc, test->column), vector, rows, count);
				break;
			case TEST_COLUMNS:
				count = test_columns(test, vector, &reader->vectors[test->other], rows, count);
				break;
			case TEST_CONSTANTS:
				count = constant_test_apply(test->constants, vector, rows, count);
				break;
			case TEST_NULLNESS:
				count = test_nullness(test, vector, rows, count);
				break;
			case TEST_ANY:
				count = test_any(test, reader, store, rows, count);
				break;
			case TEST_EXPRESSION:
				count = test_expression(filter, test, reader, rows, count);
				break;
		}
	}
	return count;
}

uint32
row_filter_apply(void *arg, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count)
{
	RowFilter  *filter = arg;
	uint32		asked = count;

	if (!filter->values_known)
		find_compared_values(filter);
	count = apply_tests(filter, reader, store, rows, count);
	if (!filter->counts_nothing)
		InstrCountFiltered1(filter->scan, asked - count);
	return count;
}
