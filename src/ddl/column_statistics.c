/*-------------------------------------------------------------------------
 *
 * column_statistics.c
 *	  Rows of pg_statistic for a logical table, taken from a sample.
 *
 * The server itself computes them: a sample of the shards' rows goes into a
 * temporary table, which is analyzed.  Its rows of pg_statistic travel to
 * all nodes as calls of citus_internal.set_column_statistics.  Types and
 * operators of the values don't travel: the receiver knows which ones each
 * kind of statistics has, so that a table's owner can't store statistics that
 * the planner would misread.  Kinds of extensions are left out.
 *
 * A number of distinct values that grows with the table is stored by the
 * server as a fraction of the rows, so that it holds for the whole table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "catalog/metadata.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "ddl/column_statistics.h"
#include "ddl/definition.h"
#include "ddl/run_commands.h"

SQL_FUNCTION(citus_internal_set_column_statistics);

/* Rows of the sample, about: as many as ANALYZE takes with its default target. */
#define SAMPLE_ROWS 30000

#define SAMPLE_TABLE "citus_analyze_sample"

/* The table's columns, each with a comma in front but the first. */
static char *
column_list(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ",
							 quote_identifier(NameStr(TupleDescAttr(desc, i)->attname)));
	}
	table_close(rel, NoLock);
	return buf.data;
}

/* Appends an element to the text of an ARRAY[]; NULL if there is no datum. */
static void
append_array(StringInfo buf, int position, Datum datum, bool isnull)
{
	appendStringInfo(buf, "%s%s", position == 0 ? "ARRAY[" : ", ",
					 isnull ? "NULL" : quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, datum)));
}

/* The call that stores one column's row. */
static char *
column_command(const char *relation, const char *column, HeapTuple tuple)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(tuple);
	const int16 *kinds = &form->stakind1;
	StringInfoData kind_list;
	StringInfoData numbers;
	StringInfoData values;

	initStringInfo(&kind_list);
	initStringInfo(&numbers);
	initStringInfo(&values);
	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
	{
		bool		isnull;
		Datum		datum;

		appendStringInfo(&kind_list, "%s%d", slot == 0 ? "" : ", ", kinds[slot]);
		datum = SysCacheGetAttr(STATRELATTINH, tuple, Anum_pg_statistic_stanumbers1 + slot, &isnull);
		append_array(&numbers, slot, datum, isnull);
		datum = SysCacheGetAttr(STATRELATTINH, tuple, Anum_pg_statistic_stavalues1 + slot, &isnull);
		append_array(&values, slot, datum, isnull);
	}
	return psprintf("SELECT citus_internal.set_column_statistics(%s, %s, %.9g, %d, %.9g, ARRAY[%s]::int2[], "
					"%s]::text[], %s]::text[])",
					quote_literal_cstr(relation), quote_literal_cstr(column), form->stanullfrac, form->stawidth,
					form->stadistinct, kind_list.data, numbers.data, values.data);
}

/* Makes and analyzes the sample; returns its Oid. */
static Oid
make_sample(Oid relid, double tuples)
{
	const char *name = relation_qualified_name(relid);
	const char *sampling = "";

	if (tuples > SAMPLE_ROWS)
		sampling = psprintf(" TABLESAMPLE BERNOULLI (%.9g)", Min(100.0, SAMPLE_ROWS * 100.0 / tuples));
	run_commands(list_make2(psprintf("CREATE TEMPORARY TABLE " SAMPLE_TABLE " AS SELECT %s FROM %s%s",
									 column_list(relid), name, sampling),
							psprintf("ANALYZE pg_temp." SAMPLE_TABLE)));
	return RelnameGetRelid(SAMPLE_TABLE);
}

List *
column_statistics_commands(Oid relid, double tuples)
{
	const char *name = relation_qualified_name(relid);
	List	   *commands = NIL;
	Definition *def;
	Relation	rel;

	if (column_list(relid)[0] == '\0')
		return NIL;
	rel = table_open(make_sample(relid, tuples), AccessShareLock);
	def = definition_begin(relid, false);
	for (int i = 0; i < RelationGetDescr(rel)->natts; i++)
	{
		HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(rel)),
											Int16GetDatum(i + 1), BoolGetDatum(false));

		if (!HeapTupleIsValid(tuple))
			continue;
		commands = lappend(commands,
						   column_command(name, NameStr(TupleDescAttr(RelationGetDescr(rel), i)->attname), tuple));
		ReleaseSysCache(tuple);
	}
	(void) definition_end(def);
	table_close(rel, AccessShareLock);
	run_commands(list_make1(pstrdup("DROP TABLE pg_temp." SAMPLE_TABLE)));
	return commands;
}

/* Element of a text[] as C string, or NULL. */
static char *
text_element(FunctionCallInfo fcinfo, int argument, int slot)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(argument);
	int			index = slot + 1;
	bool		isnull;
	Datum		datum = array_ref(array, 1, &index, -1, -1, false, TYPALIGN_INT, &isnull);

	return isnull ? NULL : TextDatumGetCString(datum);
}

/* An array from its text form; *isnull if there is none. */
static Datum
array_from_text(const char *text, Oid element, bool *isnull)
{
	*isnull = (text == NULL);
	if (text == NULL)
		return (Datum) 0;
	return OidInputFunctionCall(F_ARRAY_IN, unconstify(char *, text), element, -1);
}

/* What the statistics of a column are about. */
typedef struct StatisticsSlot
{
	Oid			type;			/* of the values */
	Oid			operator;
	Oid			collation;
} StatisticsSlot;

/* Which type, operator and collation a kind of statistics has in a column; false for unknown kinds. */
static bool
describe_slot(int16 kind, Oid type, Oid collation, StatisticsSlot *slot)
{
	Oid			element = type == TSVECTOROID ? TEXTOID : get_base_element_type(type);
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	TypeCacheEntry *element_entry = OidIsValid(element) ? lookup_type_cache(element, TYPECACHE_EQ_OPR) : NULL;

	*slot = (StatisticsSlot) {type, InvalidOid, collation};
	switch (kind)
	{
		case STATISTIC_KIND_MCV:
			slot->operator = entry->eq_opr;
			return OidIsValid(entry->eq_opr);
		case STATISTIC_KIND_HISTOGRAM:
		case STATISTIC_KIND_CORRELATION:
			slot->operator = entry->lt_opr;
			return OidIsValid(entry->lt_opr);
		case STATISTIC_KIND_MCELEM:
		case STATISTIC_KIND_DECHIST:
			slot->type = element;
			slot->operator = element_entry ? element_entry->eq_opr : InvalidOid;
			slot->collation = type == TSVECTOROID ? DEFAULT_COLLATION_OID : collation;
			return OidIsValid(slot->operator);
		case STATISTIC_KIND_RANGE_LENGTH_HISTOGRAM:
			slot->type = FLOAT8OID;
			slot->operator = Float8LessOperator;
			slot->collation = InvalidOid;
			return true;
		case STATISTIC_KIND_BOUNDS_HISTOGRAM:
			if (type_is_multirange(type))
				slot->type = get_multirange_range(type);
			return type_is_range(slot->type);
		default:
			return false;
	}
}

/* Number of elements of an array, 0 if it is null. */
static int
element_count(Datum array, bool isnull)
{
	ArrayType  *value = isnull ? NULL : DatumGetArrayTypeP(array);

	return value == NULL ? 0 : ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value));
}

/* Fills what belongs to one slot; leaves it empty if its kind is not known. */
static void
fill_slot(FunctionCallInfo fcinfo, int slot, Oid type, Oid collation, Datum *values, bool *nulls)
{
	int			kind_index = slot + 1;
	bool		isnull;
	Datum		kind = array_ref(PG_GETARG_ARRAYTYPE_P(5), 1, &kind_index, -1, sizeof(int16), true, TYPALIGN_SHORT,
								 &isnull);
	int			at_numbers = Anum_pg_statistic_stanumbers1 + slot - 1;
	int			at_values = Anum_pg_statistic_stavalues1 + slot - 1;
	StatisticsSlot description;

	nulls[at_numbers] = nulls[at_values] = true;
	values[Anum_pg_statistic_stakind1 + slot - 1] = Int16GetDatum(0);
	values[Anum_pg_statistic_staop1 + slot - 1] = ObjectIdGetDatum(InvalidOid);
	values[Anum_pg_statistic_stacoll1 + slot - 1] = ObjectIdGetDatum(InvalidOid);
	if (isnull || !describe_slot(DatumGetInt16(kind), type, collation, &description))
		return;
	values[Anum_pg_statistic_stakind1 + slot - 1] = kind;
	values[Anum_pg_statistic_staop1 + slot - 1] = ObjectIdGetDatum(description.operator);
	values[Anum_pg_statistic_stacoll1 + slot - 1] = ObjectIdGetDatum(description.collation);
	values[at_numbers] = array_from_text(text_element(fcinfo, 6, slot), FLOAT4OID, &nulls[at_numbers]);
	values[at_values] = array_from_text(text_element(fcinfo, 7, slot), description.type, &nulls[at_values]);
	if (DatumGetInt16(kind) == STATISTIC_KIND_MCV &&
		element_count(values[at_numbers], nulls[at_numbers]) != element_count(values[at_values], nulls[at_values]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("most common values and their frequencies differ in number")));
}

/* Inserts a row of pg_statistic, in the place of an older one. */
static void
store_row(Oid relid, AttrNumber attno, Datum *values, bool *nulls)
{
	Relation	rel = table_open(StatisticRelationId, RowExclusiveLock);
	HeapTuple	old = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(attno),
									  BoolGetDatum(false));

	if (HeapTupleIsValid(old))
	{
		bool		replaces[Natts_pg_statistic];
		HeapTuple	tuple;

		memset(replaces, true, sizeof(replaces));
		tuple = heap_modify_tuple(old, RelationGetDescr(rel), values, nulls, replaces);
		ReleaseSysCache(old);
		CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	}
	else
		CatalogTupleInsert(rel, heap_form_tuple(RelationGetDescr(rel), values, nulls));
	table_close(rel, RowExclusiveLock);
	CommandCounterIncrement();
}

/*
 * citus_internal.set_column_statistics(relation regclass, column_name text, null_fraction real, width int,
 *		distinct_values real, kinds int2[], numbers text[], value_lists text[])
 */
Datum
citus_internal_set_column_statistics(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	AttrNumber	attno = get_attnum(relid, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	Datum		values[Natts_pg_statistic] = {0};
	bool		nulls[Natts_pg_statistic] = {false};
	Oid			type;
	int32		typmod;
	Oid			collation;

	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	(void) metadata_require(relid);
	if (attno <= 0)
		PG_RETURN_VOID();
	get_atttypetypmodcoll(relid, attno, &type, &typmod, &collation);
	values[Anum_pg_statistic_starelid - 1] = ObjectIdGetDatum(relid);
	values[Anum_pg_statistic_staattnum - 1] = Int16GetDatum(attno);
	values[Anum_pg_statistic_stainherit - 1] = BoolGetDatum(false);
	values[Anum_pg_statistic_stanullfrac - 1] = PG_GETARG_DATUM(2);
	values[Anum_pg_statistic_stawidth - 1] = PG_GETARG_DATUM(3);
	values[Anum_pg_statistic_stadistinct - 1] = PG_GETARG_DATUM(4);
	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
		fill_slot(fcinfo, slot, type, collation, values, nulls);
	store_row(relid, attno, values, nulls);
	PG_RETURN_VOID();
}
