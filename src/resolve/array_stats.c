/*-------------------------------------------------------------------------
 *
 * array_stats.c
 *	  Statistics of the columns of unnest(), from the arrays themselves.
 *
 * A task may join with broadcast rows, which are arrays.  PostgreSQL knows the
 * length of a constant array, but assumes 200 values for each column of
 * unnest(), so it underestimates the rows that pass a filter on a column with
 * few values, and prefers nested loops.  Here statistics are computed from a
 * sample of the array: number of values, the commonest ones, nulls.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "resolve/array_stats.h"

#define ARRAY_SAMPLE 2000		/* elements that are looked at */
#define COMMON_VALUES 25		/* of which so many values are remembered */

/* A sample of an array's elements. */
typedef struct ArraySample
{
	TypeCacheEntry *type;
	Oid			collation;
	Datum	   *values;			/* not null, sorted */
	int			nvalues;
	int			nelements;		/* with nulls */
	int			total;			/* elements of the array */
} ArraySample;

/* A run of equal values in a sample. */
typedef struct ValueCount
{
	Datum		value;
	int			count;
} ValueCount;

/* The constant array that a column of a function in FROM unnests, or NULL. */
static const Const *
unnested_array(RangeTblEntry *rte, AttrNumber attnum)
{
	const RangeTblFunction *function;
	const FuncExpr *call;
	const Const *array;

	if (attnum <= 0 || attnum > list_length(rte->functions))
		return NULL;
	function = list_nth_node(RangeTblFunction, rte->functions, attnum - 1);
	call = (const FuncExpr *) function->funcexpr;
	if (function->funccolcount != 1 || !IsA(call, FuncExpr) || call->funcid != F_UNNEST_ANYARRAY)
		return NULL;
	array = linitial(call->args);
	return IsA(array, Const) && !array->constisnull ? array : NULL;
}

static int
compare_elements(const void *a, const void *b, void *arg)
{
	ArraySample *sample = arg;

	return DatumGetInt32(FunctionCall2Coll(&sample->type->cmp_proc_finfo, sample->collation, *(const Datum *) a,
										   *(const Datum *) b));
}

/* Takes elements at even distances; false if their type has no order. */
static bool
take_sample(const Const *array, ArraySample *sample)
{
	ArrayType  *elements = DatumGetArrayTypeP(array->constvalue);
	Oid			type = ARR_ELEMTYPE(elements);
	ArrayIterator iterator;
	Datum		value;
	bool		isnull;
	int			step;
	int			i = 0;

	memset(sample, 0, sizeof(ArraySample));
	sample->type = lookup_type_cache(type, TYPECACHE_CMP_PROC_FINFO | TYPECACHE_EQ_OPR);
	sample->collation = array->constcollid;
	sample->total = ArrayGetNItems(ARR_NDIM(elements), ARR_DIMS(elements));
	if (!OidIsValid(sample->type->cmp_proc_finfo.fn_oid) || sample->total == 0)
		return false;
	step = (sample->total + ARRAY_SAMPLE - 1) / ARRAY_SAMPLE;
	sample->values = palloc(sizeof(Datum) * (sample->total / step + 1));
	iterator = array_create_iterator(elements, 0, NULL);
	while (array_iterate(iterator, &value, &isnull))
	{
		if (i++ % step != 0)
			continue;
		sample->nelements++;
		if (!isnull)
			sample->values[sample->nvalues++] = value;
	}
	array_free_iterator(iterator);
	qsort_arg(sample->values, sample->nvalues, sizeof(Datum), compare_elements, sample);
	return true;
}

static int
compare_counts(const void *a, const void *b)
{
	return ((const ValueCount *) b)->count - ((const ValueCount *) a)->count;
}

/* The distinct values of a sample, commonest first; returns how many. */
static int
count_values(ArraySample *sample, ValueCount *counts)
{
	int			ncounts = 0;

	for (int i = 0; i < sample->nvalues; i++)
	{
		if (ncounts > 0 && compare_elements(&counts[ncounts - 1].value, &sample->values[i], sample) == 0)
			counts[ncounts - 1].count++;
		else
			counts[ncounts++] = (ValueCount) {sample->values[i], 1};
	}
	qsort(counts, ncounts, sizeof(ValueCount), compare_counts);
	return ncounts;
}

/* How many values the whole array has, as pg_statistic says it. */
static float4
estimate_distinct(const ArraySample *sample, const ValueCount *counts, int ncounts)
{
	int			once = 0;

	for (int i = 0; i < ncounts; i++)
		once += counts[i].count == 1;
	if (sample->nelements == sample->total || once == 0)
		return ncounts;
	/*
	 * values that occur once in a sample represent as many others that don't
	 * occur
	 */
	return -(float4) Min(1.0, (double) (ncounts - once + (double) once * sample->total / sample->nelements) / sample->total);
}

/* A row of pg_statistic. */
static HeapTuple
make_stats(ArraySample *sample, Oid collation)
{
	ValueCount *counts = palloc(sizeof(ValueCount) * Max(sample->nvalues, 1));
	int			ncounts = count_values(sample, counts);
	int			ncommon = Min(ncounts, COMMON_VALUES);
	Datum		values[Natts_pg_statistic] = {0};
	bool		nulls[Natts_pg_statistic];
	Datum		common[COMMON_VALUES];
	Datum		numbers[COMMON_VALUES];
	TupleDesc	columns = lookup_rowtype_tupdesc(get_rel_type_id(StatisticRelationId), -1);
	HeapTuple	tuple;

	memset(nulls, true, sizeof(nulls));
	for (int i = Anum_pg_statistic_starelid; i < Anum_pg_statistic_stavalues1; i++)
		nulls[i - 1] = i >= Anum_pg_statistic_stanumbers1;
	values[Anum_pg_statistic_stanullfrac - 1] =
		Float4GetDatum((float4) (sample->nelements - sample->nvalues) / sample->nelements);
	values[Anum_pg_statistic_stawidth - 1] = Int32GetDatum(get_typavgwidth(sample->type->type_id, -1));
	values[Anum_pg_statistic_stadistinct - 1] = Float4GetDatum(estimate_distinct(sample, counts, ncounts));
	for (int i = 0; i < ncommon; i++)
	{
		common[i] = counts[i].value;
		numbers[i] = Float4GetDatum((float4) counts[i].count / sample->nelements);
	}
	if (ncommon > 0)
	{
		values[Anum_pg_statistic_stakind1 - 1] = Int16GetDatum(STATISTIC_KIND_MCV);
		values[Anum_pg_statistic_staop1 - 1] = ObjectIdGetDatum(sample->type->eq_opr);
		values[Anum_pg_statistic_stacoll1 - 1] = ObjectIdGetDatum(collation);
		values[Anum_pg_statistic_stanumbers1 - 1] =
			PointerGetDatum(construct_array(numbers, ncommon, FLOAT4OID, sizeof(float4), true, TYPALIGN_INT));
		values[Anum_pg_statistic_stavalues1 - 1] =
			PointerGetDatum(construct_array(common, ncommon, sample->type->type_id, sample->type->typlen,
											sample->type->typbyval, sample->type->typalign));
		nulls[Anum_pg_statistic_stanumbers1 - 1] = nulls[Anum_pg_statistic_stavalues1 - 1] = false;
	}
	tuple = heap_form_tuple(columns, values, nulls);
	ReleaseTupleDesc(columns);
	return tuple;
}

bool
array_stats_get(RangeTblEntry *rte, AttrNumber attnum, VariableStatData *vardata)
{
	const Const *array = unnested_array(rte, attnum);
	ArraySample sample;

	if (array == NULL || !take_sample(array, &sample))
		return false;
	vardata->statsTuple = make_stats(&sample, array->constcollid);
	vardata->freefunc = heap_freetuple;
	vardata->acl_ok = true;
	return true;
}
