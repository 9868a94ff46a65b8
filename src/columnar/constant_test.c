/*-------------------------------------------------------------------------
 *
 * constant_test.c
 *	  Conditions that compare a column with constants: text = and <>, IN, LIKE.
 *
 * Text is compared byte by byte, which is what the server does if the
 * collation is deterministic.  A pattern of LIKE is cut at its percent signs:
 * a value passes if it has the parts one after the other, the first one at its
 * start and the last one at its end.  That is right for bytes where a part's
 * bytes can't begin within a character: in UTF-8, and where a character is a
 * byte.  Patterns with other special characters have no test here.
 *
 * If a chunk has a dictionary, each of its values is tested once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "columnar/constant_test.h"
#include "compat/varlena.h"

/* Integers that are compared one by one. */
#define FEW_INTEGERS 8

typedef enum ConstantTestKind
{
	CONSTANT_INTEGERS,			/* is one of these */
	CONSTANT_TEXTS,
	CONSTANT_PATTERN			/* LIKE */
} ConstantTestKind;

typedef struct TextPart
{
	const char *bytes;
	Size		len;
} TextPart;

struct ConstantTest
{
	ConstantTestKind kind;
	bool		negated;		/* rows that aren't NULL pass if it fails */
	bool		padded;			/* of type bpchar: blanks at the end don't
								 * count */
	int64	   *integers;		/* ascending */
	TextPart   *texts;			/* or the pattern's parts, between the percent
								 * signs */
	int			count;			/* of these */
};

static bool
part_equals(const TextPart *part, const char *bytes, Size len)
{
	return part->len == len && memcmp(part->bytes, bytes, len) == 0;
}

/* Where a part is first, or NULL. */
static const char *
find_part(const TextPart *part, const char *bytes, const char *end)
{
	if (part->len == 0)
		return bytes;
	while ((Size) (end - bytes) >= part->len)
	{
		bytes = memchr(bytes, part->bytes[0], end - bytes - part->len + 1);
		if (bytes == NULL || memcmp(bytes, part->bytes, part->len) == 0)
			return bytes;
		bytes++;
	}
	return NULL;
}

static bool
pattern_matches(const ConstantTest *test, const char *bytes, Size len)
{
	const TextPart *first = &test->texts[0];
	const TextPart *last = &test->texts[test->count - 1];
	const char *end = bytes + len - last->len;

	if (test->count == 1)
		return part_equals(first, bytes, len);
	if (len < first->len + last->len || memcmp(bytes, first->bytes, first->len) != 0 ||
		memcmp(end, last->bytes, last->len) != 0)
		return false;
	bytes += first->len;
	for (int i = 1; i < test->count - 1; i++)
	{
		bytes = find_part(&test->texts[i], bytes, end);
		if (bytes == NULL)
			return false;
		bytes += test->texts[i].len;
	}
	return true;
}

static Size
length_without_blanks(const char *bytes, Size len)
{
	while (len > 0 && bytes[len - 1] == ' ')
		len--;
	return len;
}

static bool
text_passes(const ConstantTest *test, Datum value)
{
	const char *bytes = VARDATA_ANY(DatumGetPointer(value));
	Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	bool		found = false;

	if (test->kind == CONSTANT_PATTERN)
		return pattern_matches(test, bytes, len) != test->negated;
	if (test->padded)
		len = length_without_blanks(bytes, len);
	for (int i = 0; i < test->count && !found; i++)
		found = part_equals(&test->texts[i], bytes, len);
	return found != test->negated;
}

static bool
integer_passes(const ConstantTest *test, int64 value)
{
	int			low = 0;
	int			high = test->count;
	bool		found = false;

	if (test->count <= FEW_INTEGERS)
	{
		for (int i = 0; i < test->count; i++)
			found |= test->integers[i] == value;
		return found != test->negated;
	}
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (test->integers[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return (low < test->count && test->integers[low] == value) != test->negated;
}

/* The same for a chunk with a dictionary: each code once. */
static uint32
apply_to_codes(const ConstantTest *test, const ColumnVector *vector, uint32 *rows, uint32 count)
{
	int8		passes[PG_UINT8_MAX + 1];	/* by code; -1: not known */
	uint32		kept = 0;

	memset(passes, -1, sizeof(passes));
	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = rows[i];
		uint8		code = vector->codes[row];

		if (passes[code] < 0)
			passes[code] = text_passes(test, vector->values[row]);
		rows[kept] = row;
		kept += passes[code];
	}
	return kept;
}

uint32
constant_test_apply(const ConstantTest *test, const ColumnVector *vector, uint32 *rows, uint32 count)
{
	const Datum *values = vector->values;
	const bool *nulls = vector->nulls;
	uint32		kept = 0;

	if (test->kind != CONSTANT_INTEGERS && vector->codes != NULL)
		return apply_to_codes(test, vector, rows, count);
	for (uint32 i = 0; i < count; i++)
	{
		uint32		row = rows[i];

		rows[kept] = row;
		if (!nulls[row])
			kept += test->kind == CONSTANT_INTEGERS ? integer_passes(test, (int64) values[row]) :
				text_passes(test, values[row]);
	}
	return kept;
}

static void
add_text_part(ConstantTest *test, const char *bytes, Size len)
{
	test->texts[test->count].bytes = bytes;
	test->texts[test->count].len = len;
	test->count++;
}

/* Cuts a pattern at its percent signs; false if it has other special ones. */
static bool
make_pattern(ConstantTest *test, Datum pattern)
{
	const char *bytes = VARDATA_ANY(DatumGetPointer(pattern));
	Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer(pattern));
	Size		start = 0;

	if (GetDatabaseEncoding() != PG_UTF8 && pg_database_encoding_max_length() > 1)
		return false;
	test->kind = CONSTANT_PATTERN;
	test->texts = palloc((len + 1) * sizeof(TextPart));
	for (Size i = 0; i < len; i++)
	{
		if (bytes[i] == '_' || bytes[i] == '\\')
			return false;
		if (bytes[i] != '%')
			continue;
		add_text_part(test, bytes + start, i - start);
		start = i + 1;
	}
	add_text_part(test, bytes + start, len - start);
	return true;
}

static int
compare_integers(const void *left, const void *right)
{
	int64		one = *(const int64 *) left;
	int64		other = *(const int64 *) right;

	return (one > other) - (one < other);
}

/* Takes the constants of a test; false if they can't be. */
static bool
set_constants(ConstantTest *test, Oid type, const Datum *values, const bool *nulls, int count)
{
	if (test->kind == CONSTANT_INTEGERS)
		test->integers = palloc(Max(count, 1) * sizeof(int64));
	else
		test->texts = palloc(Max(count, 1) * sizeof(TextPart));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i] && test->negated)
			return false;		/* no row passes */
		if (nulls[i])
			continue;
		if (test->kind == CONSTANT_INTEGERS)
			test->integers[test->count++] = integer_of_datum(values[i], type);
		else
		{
			const char *bytes = VARDATA_ANY(DatumGetPointer(values[i]));
			Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer(values[i]));

			add_text_part(test, bytes, test->padded ? length_without_blanks(bytes, len) : len);
		}
	}
	if (test->kind == CONSTANT_INTEGERS)
		qsort(test->integers, test->count, sizeof(int64), compare_integers);
	return true;
}

/* What a function compares, if it is one of those that are known here. */
static bool
set_function(ConstantTest *test, Oid function, bool *pattern)
{
	*pattern = false;
	test->kind = CONSTANT_TEXTS;
	switch (function)
	{
		case F_TEXTEQ:
			break;
		case F_TEXTNE:
			test->negated = true;
			break;
		case F_BPCHAREQ:
			test->padded = true;
			break;
		case F_BPCHARNE:
			test->padded = test->negated = true;
			break;
		case F_TEXTLIKE:
		case F_BPCHARLIKE:
			*pattern = true;
			break;
		case F_TEXTNLIKE:
		case F_BPCHARNLIKE:
			*pattern = test->negated = true;
			break;
		case F_INT2EQ:
		case F_INT4EQ:
		case F_INT8EQ:
		case F_DATE_EQ:
		case F_TIMESTAMP_EQ:
		case F_TIMESTAMPTZ_EQ:
			test->kind = CONSTANT_INTEGERS;
			break;
		case F_INT2NE:
		case F_INT4NE:
		case F_INT8NE:
		case F_DATE_NE:
		case F_TIMESTAMP_NE:
		case F_TIMESTAMPTZ_NE:
			test->kind = CONSTANT_INTEGERS;
			test->negated = true;
			break;
		default:
			return false;
	}
	return true;
}

/* A column of the table, maybe varchar as text. */
static Var *
column_of_test(Node *node, Index varno)
{
	Var		   *var = (Var *) (IsA(node, RelabelType) ? (Node *) ((RelabelType *) node)->arg : node);

	if (!IsA(var, Var) || var->varno != varno || var->varattno <= 0)
		return NULL;
	return var->vartype == exprType(node) || var->vartype == VARCHAROID ? var : NULL;
}

/* column IN (constants), or NOT IN */
static ConstantTest *
make_any_test(ScalarArrayOpExpr *any, ConstantTest *test)
{
	Const	   *constant = lsecond(any->args);
	ArrayType  *array;
	int16		len;
	bool		byval;
	char		align;
	Datum	   *values;
	bool	   *nulls;
	int			count;

	if (constant->constisnull || any->useOr == test->negated)
		return NULL;
	array = DatumGetArrayTypeP(constant->constvalue);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, &values, &nulls, &count);
	if (count == 0)
		return NULL;			/* of NULL, the answer isn't NULL then */
	return set_constants(test, ARR_ELEMTYPE(array), values, nulls, count) ? test : NULL;
}

ConstantTest *
constant_test_make(Node *qual, Index varno, int *column)
{
	bool		is_any = IsA(qual, ScalarArrayOpExpr);
	List	   *args = is_any ? ((ScalarArrayOpExpr *) qual)->args : IsA(qual, OpExpr) ? ((OpExpr *) qual)->args : NIL;
	ConstantTest *test = palloc0(sizeof(ConstantTest));
	Oid			function;
	Oid			collation;
	bool		pattern;
	Var		   *var;
	Const	   *constant;

	if (list_length(args) != 2 || !IsA(lsecond(args), Const) || (var = column_of_test(linitial(args), varno)) == NULL)
		return NULL;
	*column = var->varattno - 1;
	constant = lsecond(args);
	function = get_opcode(is_any ? ((ScalarArrayOpExpr *) qual)->opno : ((OpExpr *) qual)->opno);
	collation = is_any ? ((ScalarArrayOpExpr *) qual)->inputcollid : ((OpExpr *) qual)->inputcollid;
	if (!set_function(test, function, &pattern))
		return NULL;
	if (test->kind == CONSTANT_TEXTS && (!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
		return NULL;
	if (is_any)
		return pattern ? NULL : make_any_test((ScalarArrayOpExpr *) qual, test);
	if (constant->constisnull || test->kind == CONSTANT_INTEGERS)
		return NULL;
	if (pattern)
		return make_pattern(test, PointerGetDatum(PG_DETOAST_DATUM_PACKED(constant->constvalue))) ? test : NULL;
	return set_constants(test, exprType((Node *) constant), &constant->constvalue, &constant->constisnull, 1) ? test : NULL;
}
