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
 * byte.
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
	const bool *wild;			/* bytes that stand for any character; NULL:
								 * none does */
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

static inline bool
continues_character(char byte)
{
	return ((unsigned char) byte & 0xC0) == 0x80 && GetDatabaseEncoding() == PG_UTF8;
}

/* Behind a part that is at bytes, or NULL if it isn't there. */
static const char *
match_part(const TextPart *part, const char *bytes, const char *end)
{
	if (part->wild == NULL)
		return (Size) (end - bytes) >= part->len && memcmp(bytes, part->bytes, part->len) == 0 ? bytes + part->len : NULL;
	for (Size i = 0; i < part->len; i++)
	{
		if (bytes == end || (!part->wild[i] && *bytes != part->bytes[i]))
			return NULL;
		bytes++;
		while (part->wild[i] && bytes < end && continues_character(*bytes))
			bytes++;
	}
	return bytes;
}

/* Behind the first place where a part is, or NULL. */
static const char *
find_part(const TextPart *part, const char *bytes, const char *end)
{
	const char *behind = NULL;

	if (part->len == 0)
		return bytes;
	for (; (Size) (end - bytes) >= part->len && behind == NULL; bytes++)
	{
		if (part->wild == NULL || !part->wild[0])
			bytes = memchr(bytes, part->bytes[0], end - bytes - part->len + 1);
		if (bytes == NULL)
			return NULL;
		behind = continues_character(*bytes) ? NULL : match_part(part, bytes, end);
	}
	return behind;
}

/*
 * Where a part would be, if it is at the end; NULL if there is no room for it
 * behind bytes.
 */
static const char *
start_of_last(const TextPart *part, const char *bytes, const char *end)
{
	const char *start = end;

	for (Size i = part->len; i-- > 0;)
	{
		do
		{
			if (start == bytes)
				return NULL;
			start--;
		}
		while (part->wild != NULL && part->wild[i] && continues_character(*start));
	}
	return start;
}

static bool
pattern_matches(const ConstantTest *test, const char *bytes, Size len)
{
	const TextPart *last = &test->texts[test->count - 1];
	const char *end = bytes + len;
	const char *start;

	bytes = match_part(&test->texts[0], bytes, end);
	if (test->count == 1 || bytes == NULL)
		return bytes == end;
	start = start_of_last(last, bytes, end);
	if (start == NULL || match_part(last, start, end) != end)
		return false;
	for (int i = 1; i < test->count - 1; i++)
	{
		bytes = find_part(&test->texts[i], bytes, start);
		if (bytes == NULL)
			return false;
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

static TextPart *
add_text_part(ConstantTest *test, const char *bytes, Size len)
{
	TextPart   *part = &test->texts[test->count++];

	part->bytes = bytes;
	part->len = len;
	part->wild = NULL;
	return part;
}

/* A part of a pattern, whose bytes begin with start. */
static void
add_pattern_part(ConstantTest *test, const char *bytes, const bool *wild, Size start, Size end)
{
	TextPart   *part = add_text_part(test, bytes + start, end - start);

	for (Size i = start; i < end; i++)
	{
		if (wild[i])
			part->wild = wild + start;
	}
}

/* Cuts a pattern at its percent signs; false if the server refuses it. */
static bool
make_pattern(ConstantTest *test, Datum pattern)
{
	const char *in = VARDATA_ANY(DatumGetPointer(pattern));
	Size		len = VARSIZE_ANY_EXHDR(DatumGetPointer(pattern));
	char	   *bytes = palloc(len + 1);
	bool	   *wild = palloc0((len + 1) * sizeof(bool));
	Size		count = 0;
	Size		start = 0;

	if (GetDatabaseEncoding() != PG_UTF8 && pg_database_encoding_max_length() > 1)
		return false;
	test->kind = CONSTANT_PATTERN;
	test->texts = palloc((len + 1) * sizeof(TextPart));
	for (Size i = 0; i < len; i++)
	{
		if (in[i] == '%')
		{
			add_pattern_part(test, bytes, wild, start, count);
			start = count;
			continue;
		}
		wild[count] = in[i] == '_';
		if (in[i] == '\\' && ++i == len)
			return false;
		bytes[count++] = in[i];
	}
	add_pattern_part(test, bytes, wild, start, count);
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

			(void) add_text_part(test, bytes, test->padded ? length_without_blanks(bytes, len) : len);
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
