/*-------------------------------------------------------------------------
 *
 * vector_expression.c
 *	  Arithmetic on the rows of a batch together.
 *
 * Integers and numerics are int64.  The range of each result follows from the
 * ranges of its arguments; if it fits, no value is checked, and otherwise the
 * evaluation is given up: nothing here raises an error.  Results of numeric
 * are exact, with as many digits after the point as the server's.  Floating-
 * point operations are done as the server does them, and given up if a result
 * may be an overflow or underflow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"

#include "columnar/column_chunk.h"
#include "columnar/scaled_numeric.h"
#include "compat/varlena.h"
#include "vector/vector_dates.h"
#include "vector/vector_expression.h"

typedef enum ArithmeticOperator
{
	OPERATOR_NONE,
	OPERATOR_ADD,
	OPERATOR_SUBTRACT,
	OPERATOR_MULTIPLY,
	OPERATOR_DIVIDE,			/* not of numerics */
	OPERATOR_CAST,				/* integers to larger ones, or to numeric */
	OPERATOR_DATE,				/* a function of a date or timestamp */
	OPERATOR_LENGTH				/* characters of a text */
} ArithmeticOperator;

struct VectorExpression
{
	VectorKind	kind;
	Oid			type;
	int			column;			/* from 0; -1: not a column */
	ExprState  *constant;		/* of one that is the same for all rows */
	ScanState  *scan;
	ArithmeticOperator operator;
	const VectorDateFunction *date_function;
	VectorExpression *left;
	VectorExpression *right;	/* NULL: operators from OPERATOR_CAST on */
};

/* The server's functions that have a vector form. */
static const struct VectorFunction
{
	Oid			function;
	ArithmeticOperator operator;
}			vector_functions[] = {
	{F_INT2PL, OPERATOR_ADD},
	{F_INT4PL, OPERATOR_ADD},
	{F_INT8PL, OPERATOR_ADD},
	{F_INT24PL, OPERATOR_ADD},
	{F_INT42PL, OPERATOR_ADD},
	{F_INT28PL, OPERATOR_ADD},
	{F_INT82PL, OPERATOR_ADD},
	{F_INT48PL, OPERATOR_ADD},
	{F_INT84PL, OPERATOR_ADD},
	{F_INT2MI, OPERATOR_SUBTRACT},
	{F_INT4MI, OPERATOR_SUBTRACT},
	{F_INT8MI, OPERATOR_SUBTRACT},
	{F_INT24MI, OPERATOR_SUBTRACT},
	{F_INT42MI, OPERATOR_SUBTRACT},
	{F_INT28MI, OPERATOR_SUBTRACT},
	{F_INT82MI, OPERATOR_SUBTRACT},
	{F_INT48MI, OPERATOR_SUBTRACT},
	{F_INT84MI, OPERATOR_SUBTRACT},
	{F_INT2MUL, OPERATOR_MULTIPLY},
	{F_INT4MUL, OPERATOR_MULTIPLY},
	{F_INT8MUL, OPERATOR_MULTIPLY},
	{F_INT24MUL, OPERATOR_MULTIPLY},
	{F_INT42MUL, OPERATOR_MULTIPLY},
	{F_INT28MUL, OPERATOR_MULTIPLY},
	{F_INT82MUL, OPERATOR_MULTIPLY},
	{F_INT48MUL, OPERATOR_MULTIPLY},
	{F_INT84MUL, OPERATOR_MULTIPLY},
	{F_INT2DIV, OPERATOR_DIVIDE},
	{F_INT4DIV, OPERATOR_DIVIDE},
	{F_INT8DIV, OPERATOR_DIVIDE},
	{F_INT24DIV, OPERATOR_DIVIDE},
	{F_INT42DIV, OPERATOR_DIVIDE},
	{F_INT28DIV, OPERATOR_DIVIDE},
	{F_INT82DIV, OPERATOR_DIVIDE},
	{F_INT48DIV, OPERATOR_DIVIDE},
	{F_INT84DIV, OPERATOR_DIVIDE},
	{F_DATE_PLI, OPERATOR_ADD},
	{F_DATE_MII, OPERATOR_SUBTRACT},
	{F_DATE_MI, OPERATOR_SUBTRACT},
	{F_NUMERIC_ADD, OPERATOR_ADD},
	{F_NUMERIC_SUB, OPERATOR_SUBTRACT},
	{F_NUMERIC_MUL, OPERATOR_MULTIPLY},
	{F_FLOAT8PL, OPERATOR_ADD},
	{F_FLOAT8MI, OPERATOR_SUBTRACT},
	{F_FLOAT8MUL, OPERATOR_MULTIPLY},
	{F_FLOAT8DIV, OPERATOR_DIVIDE},
	{F_INT4_INT2, OPERATOR_CAST},
	{F_INT8_INT2, OPERATOR_CAST},
	{F_INT8_INT4, OPERATOR_CAST},
	{F_NUMERIC_INT2, OPERATOR_CAST},
	{F_NUMERIC_INT4, OPERATOR_CAST},
	{F_NUMERIC_INT8, OPERATOR_CAST},
	{F_LENGTH_TEXT, OPERATOR_LENGTH},
	{F_CHAR_LENGTH_TEXT, OPERATOR_LENGTH},
	{F_CHARACTER_LENGTH_TEXT, OPERATOR_LENGTH},
};

static VectorKind
vector_kind_of_type(Oid type)
{
	if (type == NUMERICOID)
		return VECTOR_NUMERIC;
	if (type == FLOAT8OID)
		return VECTOR_FLOAT;
	return column_is_ordered_as_integer(type) ? VECTOR_INTEGER : VECTOR_DATUM;
}

/* The function that an expression calls, and its arguments. */
static Oid
called_function(Node *expr, List **args)
{
	if (IsA(expr, OpExpr))
	{
		*args = ((OpExpr *) expr)->args;
		return ((OpExpr *) expr)->opfuncid;
	}
	if (IsA(expr, FuncExpr))
	{
		*args = ((FuncExpr *) expr)->args;
		return ((FuncExpr *) expr)->funcid;
	}
	return InvalidOid;
}

/* Makes what calls a function, if it and its arguments have vector forms. */
static bool
make_call(VectorExpression *expression, Node *expr, ScanState *scan)
{
	List	   *args = NIL;
	Oid			function = called_function(expr, &args);
	Node	   *arg;

	expression->date_function = vector_date_function(function, args, &arg);
	if (expression->date_function != NULL)
	{
		expression->operator = OPERATOR_DATE;
		expression->left = vector_expression_make(arg, scan);
		return expression->left != NULL;
	}
	for (int i = 0; i < lengthof(vector_functions) && OidIsValid(function); i++)
	{
		if (vector_functions[i].function == function)
			expression->operator = vector_functions[i].operator;
	}
	if (expression->operator == OPERATOR_NONE ||
		(expression->operator == OPERATOR_LENGTH && GetDatabaseEncoding() != PG_UTF8 &&
		 pg_database_encoding_max_length() > 1))
		return false;
	expression->left = vector_expression_make(linitial(args), scan);
	if (expression->left == NULL || expression->operator >= OPERATOR_CAST)
		return expression->left != NULL;
	expression->right = vector_expression_make(lsecond(args), scan);
	return expression->right != NULL;
}

VectorExpression *
vector_expression_make(Node *expr, ScanState *scan)
{
	VectorExpression *expression = palloc0(sizeof(VectorExpression));

	expression->type = exprType(expr);
	expression->kind = vector_kind_of_type(expression->type);
	expression->column = -1;
	expression->scan = scan;
	if (expression->kind == VECTOR_DATUM)
	{
		/* varchar as text, for instance */
		while (IsA(expr, RelabelType))
			expr = (Node *) ((RelabelType *) expr)->arg;
		if (!IsA(expr, Var))
			return NULL;
	}
	if (IsA(expr, Var))
		expression->column = ((Var *) expr)->varattno - 1;
	else if (!contain_var_clause(expr))
		expression->constant = ExecInitExpr((Expr *) expr, &scan->ps);
	else if (!make_call(expression, expr, scan))
		return NULL;
	return expression;
}

VectorKind
vector_expression_kind(const VectorExpression *expression)
{
	return expression->kind;
}

/* Finds the range of integers. */
static void
find_range(Vector *vector, uint32 count)
{
	const int64 *values = (const int64 *) vector->values;
	int64		least = count > 0 ? values[0] : 0;
	int64		greatest = least;

	for (uint32 i = 0; i < count; i++)
	{
		least = Min(least, values[i]);
		greatest = Max(greatest, values[i]);
	}
	vector->least = least;
	vector->greatest = greatest;
	vector->exact = true;
}

/* The values of a column, where they are or copied to the order of rows. */
static bool
gather_column(const VectorExpression *expression, const VectorBatch *batch, Vector *result)
{
	const uint32 *rows = batch->rows;
	uint32		count = batch->count;
	const ColumnVector *column = &batch->reader->vectors[expression->column];
	const Datum *values = column->values;
	bool		all = count == batch->reader->group_rows;

	if (expression->kind == VECTOR_NUMERIC)
	{
		if (column->integers == NULL)
			return false;
		values = (const Datum *) column->integers;
		result->scale = column->scale;
	}
	result->values = values;
	result->nulls = column->has_nulls ? column->nulls : NULL;
	if (!all)
	{
		Datum	   *gathered = arena_alloc(batch->arena, count * sizeof(Datum));

		for (uint32 i = 0; i < count; i++)
			gathered[i] = values[rows[i]];
		result->values = gathered;
	}
	if (!all && column->has_nulls)
	{
		bool	   *nulls = arena_alloc(batch->arena, count * sizeof(bool));

		for (uint32 i = 0; i < count; i++)
			nulls[i] = column->nulls[rows[i]];
		result->nulls = nulls;
	}
	if (expression->kind != VECTOR_FLOAT && expression->kind != VECTOR_DATUM)
		find_range(result, count);
	return true;
}

/* The same, once for a batch. */
static bool
evaluate_column(const VectorExpression *expression, const VectorBatch *batch, Vector *result)
{
	Vector	   *gathered = &batch->gathered[expression->column];

	if (gathered->kind != expression->kind && !gather_column(expression, batch, gathered))
		return false;
	gathered->kind = expression->kind;
	*result = *gathered;
	return true;
}

static bool
evaluate_constant(const VectorExpression *expression, const VectorBatch *batch, Vector *result)
{
	bool		isnull;
	Datum		value = ExecEvalExprSwitchContext(expression->constant, expression->scan->ps.ps_ExprContext, &isnull);
	Datum	   *values = arena_alloc(batch->arena, sizeof(Datum));
	int64		integer = 0;

	if (isnull)
		return false;
	if (expression->kind == VECTOR_NUMERIC)
	{
		if (!numeric_to_scaled(value, &result->scale, &integer))
			return false;
		value = (Datum) integer;
	}
	else if (expression->kind == VECTOR_INTEGER)
		value = (Datum) integer_of_datum(value, expression->type);
	*values = value;
	result->values = values;
	result->nulls = NULL;
	result->least = result->greatest = (int64) value;
	result->same = true;
	return true;
}

/* Makes values of the one that all rows have. */
static void
spread_same(const VectorBatch *batch, Vector *vector)
{
	Datum	   *values;

	if (!vector->same)
		return;
	values = arena_alloc(batch->arena, batch->count * sizeof(Datum));
	for (uint32 i = 0; i < batch->count; i++)
		values[i] = vector->values[0];
	vector->values = values;
	vector->same = false;
}

/* Multiplies by a power of ten, to a scale. */
static bool
rescale_vector(const VectorBatch *batch, uint32 count, int scale, Vector *vector)
{
	const int64 *values = (const int64 *) vector->values;
	int64	   *scaled;
	int64		factor = 1;

	if (vector->scale == scale)
		return true;
	for (int i = vector->scale; i < scale; i++)
	{
		if (__builtin_mul_overflow(factor, 10, &factor))
			return false;
	}
	if (__builtin_mul_overflow(vector->least, factor, &vector->least) ||
		__builtin_mul_overflow(vector->greatest, factor, &vector->greatest))
		return false;
	count = vector->same ? 1 : count;
	scaled = arena_alloc(batch->arena, count * sizeof(int64));
	for (uint32 i = 0; i < count; i++)
		scaled[i] = values[i] * factor;
	vector->values = (Datum *) scaled;
	vector->scale = scale;
	return true;
}

/* Finds the range of a product; false if it exceeds int64. */
static bool
range_of_product(const Vector *left, const Vector *right, Vector *result)
{
	int64		corners[4];

	if (__builtin_mul_overflow(left->least, right->least, &corners[0]) ||
		__builtin_mul_overflow(left->least, right->greatest, &corners[1]) ||
		__builtin_mul_overflow(left->greatest, right->least, &corners[2]) ||
		__builtin_mul_overflow(left->greatest, right->greatest, &corners[3]))
		return false;
	result->least = Min(Min(corners[0], corners[1]), Min(corners[2], corners[3]));
	result->greatest = Max(Max(corners[0], corners[1]), Max(corners[2], corners[3]));
	return true;
}

/*
 * The same for a quotient, which is rounded towards 0; false if a divisor may
 * be 0, or the result may exceed int64.
 */
static bool
range_of_quotient(const Vector *left, const Vector *right, Vector *result)
{
	int64		corners[4];

	if ((right->least <= 0 && right->greatest >= 0) || left->least == PG_INT64_MIN)
		return false;
	corners[0] = left->least / right->least;
	corners[1] = left->least / right->greatest;
	corners[2] = left->greatest / right->least;
	corners[3] = left->greatest / right->greatest;
	result->least = Min(Min(corners[0], corners[1]), Min(corners[2], corners[3]));
	result->greatest = Max(Max(corners[0], corners[1]), Max(corners[2], corners[3]));
	return true;
}

static bool
range_of_result(ArithmeticOperator operator, const Vector *left, const Vector *right, Vector *result)
{
	switch (operator)
	{
		case OPERATOR_ADD:
			return !__builtin_add_overflow(left->least, right->least, &result->least) &&
				!__builtin_add_overflow(left->greatest, right->greatest, &result->greatest);
		case OPERATOR_SUBTRACT:
			return !__builtin_sub_overflow(left->least, right->greatest, &result->least) &&
				!__builtin_sub_overflow(left->greatest, right->least, &result->greatest);
		case OPERATOR_DIVIDE:
			return range_of_quotient(left, right, result);
		default:
			return range_of_product(left, right, result);
	}
}

/* Whether all values are of the type, and if that is date, finite. */
static bool
range_fits_type(const Vector *vector, Oid type)
{
	if (type == DATEOID)
		return vector->least >= DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE &&
			vector->greatest < DATE_END_JULIAN - POSTGRES_EPOCH_JDATE;
	if (type == INT4OID)
		return vector->least >= PG_INT32_MIN && vector->greatest <= PG_INT32_MAX;
	if (type == INT2OID)
		return vector->least >= PG_INT16_MIN && vector->greatest <= PG_INT16_MAX;
	return true;
}

#define EACH_RESULT(expression) \
	for (uint32 i = 0; i < count; i++) \
		out[i] = (expression)

#define EACH_OPERATION(operation) \
	do { \
		int64		one = lefts[0]; \
		int64		other = rights[0]; \
\
		if (right->same) \
			EACH_RESULT(lefts[i] operation other); \
		else if (left->same) \
			EACH_RESULT(one operation rights[i]); \
		else \
			EACH_RESULT(lefts[i] operation rights[i]); \
	} while (0)

/* Integers, whose results are known to fit. */
static void
compute_integers(ArithmeticOperator operator, const Vector *left, const Vector *right, uint32 count, int64 *out)
{
	const int64 *lefts = (const int64 *) left->values;
	const int64 *rights = (const int64 *) right->values;

	if (count == 0)
		return;
	if (operator == OPERATOR_ADD)
		EACH_OPERATION(+);
	else if (operator == OPERATOR_SUBTRACT)
		EACH_OPERATION(-);
	else if (operator == OPERATOR_DIVIDE)
		EACH_OPERATION(/);
	else
		EACH_OPERATION(*);
}

/*
 * False if a result is infinite, or 0 without a factor that is, or a divisor
 * is 0: the server finds out whether it is an error.
 */
static bool
compute_floats(ArithmeticOperator operator, const float8 *left, const float8 *right, const bool *nulls, uint32 count,
			   float8 *out)
{
	bool		doubtful = false;

	if (operator == OPERATOR_ADD)
		EACH_RESULT(left[i] + right[i]);
	else if (operator == OPERATOR_SUBTRACT)
		EACH_RESULT(left[i] - right[i]);
	else if (operator == OPERATOR_DIVIDE)
	{
		EACH_RESULT(left[i] / right[i]);
		for (uint32 i = 0; i < count; i++)
			doubtful |= (right[i] == 0) | ((out[i] == 0) & (left[i] != 0));
	}
	else
	{
		EACH_RESULT(left[i] * right[i]);
		for (uint32 i = 0; i < count; i++)
			doubtful |= (out[i] == 0) & (left[i] != 0) & (right[i] != 0);
	}
	for (uint32 i = 0; i < count; i++)
		doubtful |= isinf(out[i]) != 0;
	return !doubtful;
}

/* Rows with a NULL on either side. */
static const bool *
join_nulls(const VectorBatch *batch, const bool *left, const bool *right, uint32 count)
{
	bool	   *nulls;

	if (left == NULL || right == NULL)
		return left != NULL ? left : right;
	nulls = arena_alloc(batch->arena, count * sizeof(bool));
	for (uint32 i = 0; i < count; i++)
		nulls[i] = left[i] | right[i];
	return nulls;
}

static bool
evaluate_operator(const VectorExpression *expression, const VectorBatch *batch, uint32 count, Vector *left,
				  Vector *right, Vector *result)
{
	Datum	   *out = arena_alloc(batch->arena, count * sizeof(Datum));

	result->values = out;
	result->nulls = join_nulls(batch, left->nulls, right->nulls, count);
	if (expression->kind == VECTOR_FLOAT)
	{
		spread_same(batch, left);
		spread_same(batch, right);
		return compute_floats(expression->operator, (const float8 *) left->values, (const float8 *) right->values,
							  result->nulls, count, (float8 *) out);
	}
	if ((expression->left->type == DATEOID && !range_fits_type(left, DATEOID)) ||
		(expression->right->type == DATEOID && !range_fits_type(right, DATEOID)))
		return false;
	result->scale = left->scale + right->scale;
	if (expression->operator == OPERATOR_ADD || expression->operator == OPERATOR_SUBTRACT)
	{
		result->scale = Max(left->scale, right->scale);
		if (!rescale_vector(batch, count, result->scale, left) || !rescale_vector(batch, count, result->scale, right))
			return false;
	}
	if (!range_of_result(expression->operator, left, right, result) || !range_fits_type(result, expression->type))
		return false;
	compute_integers(expression->operator, left, right, count, (int64 *) out);
	return true;
}

/* What a function of dates or timestamps returns. */
static bool
evaluate_date_function(const VectorExpression *expression, const VectorBatch *batch, const Vector *arg, Vector *result)
{
	Datum	   *values = arena_alloc(batch->arena, batch->count * sizeof(Datum));

	result->values = values;
	result->nulls = arg->nulls;
	if (!vector_date_compute(expression->date_function, (const int64 *) arg->values, batch->count, arg->least,
							 arg->greatest, values))
		return false;
	if (expression->kind != VECTOR_FLOAT)
		find_range(result, batch->count);
	return true;
}

/* Characters of UTF-8: bytes that don't continue one. */
static int64
count_characters(const char *bytes, Size len)
{
	int64		count = len;
	Size		at = 0;

	for (; at + sizeof(uint64) <= len; at += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, bytes + at, sizeof(word));
		word = (word >> 7) & (~word >> 6) & UINT64CONST(0x0101010101010101);
		count -= (word * UINT64CONST(0x0101010101010101)) >> 56;
	}
	for (; at < len; at++)
		count -= ((unsigned char) bytes[at] & 0xC0) == 0x80;
	return count;
}

static void
evaluate_length(const VectorBatch *batch, const Vector *text, Vector *result)
{
	Datum	   *values = arena_alloc(batch->arena, batch->count * sizeof(Datum));
	bool		of_bytes = pg_database_encoding_max_length() == 1;

	for (uint32 i = 0; i < batch->count; i++)
	{
		const char *value = DatumGetPointer(text->values[i]);

		values[i] = 0;
		if (text->nulls == NULL || !text->nulls[i])
			values[i] = of_bytes ? VARSIZE_ANY_EXHDR(value) : count_characters(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	}
	result->values = values;
	result->nulls = text->nulls;
	find_range(result, batch->count);
}

/* As vector_expression_evaluate(), but there may be one value for all rows. */
static bool
evaluate_vector(VectorExpression *expression, const VectorBatch *batch, Vector *result)
{
	Vector		left;
	Vector		right;

	memset(result, 0, sizeof(Vector));
	result->kind = expression->kind;
	if (expression->column >= 0)
		return evaluate_column(expression, batch, result);
	if (expression->constant != NULL)
		return evaluate_constant(expression, batch, result);
	if (!evaluate_vector(expression->left, batch, &left))
		return false;
	if (expression->operator == OPERATOR_CAST)
	{
		*result = left;
		result->kind = expression->kind;
		return true;
	}
	if (expression->operator == OPERATOR_DATE)
		return evaluate_date_function(expression, batch, &left, result);
	if (expression->operator == OPERATOR_LENGTH)
	{
		evaluate_length(batch, &left, result);
		return true;
	}
	return evaluate_vector(expression->right, batch, &right) &&
		evaluate_operator(expression, batch, batch->count, &left, &right, result);
}

bool
vector_expression_evaluate(VectorExpression *expression, const VectorBatch *batch, Vector *result)
{
	if (!evaluate_vector(expression, batch, result))
		return false;
	spread_same(batch, result);
	return true;
}
