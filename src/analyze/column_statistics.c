/*-------------------------------------------------------------------------
 *
 * column_statistics.c
 *	  Rows of pg_statistic for a logical table, computed from a sample.
 *
 * The statistics of a sample of the shards' rows (column_sample.c) are sent to
 * all nodes as calls of citus_internal.set_column_statistics.  Types and
 * operators of the values aren't sent: the receiver derives them from the kind
 * of statistics, so that a table's owner can't store statistics that the
 * planner would misread.  Kinds of extensions are left out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "analyze/column_sample.h"
#include "analyze/column_statistics.h"
#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/maintains_table.h"
#include "compat/sql_function.h"
#include "lib/run_as.h"
#include "remote/node_call.h"
#include "table/definition.h"

SQL_FUNCTION(citus_internal_set_column_statistics);

/* An array's text; NULL if there is none. */
static char *
array_text(ArrayType *array)
{
	return array == NULL ? NULL : OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(array));
}

/* A slot's numbers, or NULL. */
static ArrayType *
slot_numbers(const VacAttrStats *stats, int slot)
{
	int			count = stats->numnumbers[slot];
	Datum	   *numbers;

	if (count <= 0)
		return NULL;
	numbers = palloc(sizeof(Datum) * count);
	for (int i = 0; i < count; i++)
		numbers[i] = Float4GetDatum(stats->stanumbers[slot][i]);
	return construct_array(numbers, count, FLOAT4OID, sizeof(float4), true, TYPALIGN_INT);
}

/* A slot's values, or NULL. */
static ArrayType *
slot_values(const VacAttrStats *stats, int slot)
{
	if (stats->numvalues[slot] <= 0)
		return NULL;
	return construct_array(stats->stavalues[slot], stats->numvalues[slot], stats->statypid[slot],
						   stats->statyplen[slot], stats->statypbyval[slot], stats->statypalign[slot]);
}

/* The call that stores one column's row. */
static char *
column_command(const char *relation, const ColumnStatistics *column)
{
	const VacAttrStats *stats = column->stats;
	List	   *kinds = NIL;
	List	   *numbers = NIL;
	List	   *values = NIL;

	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
	{
		kinds = lappend_int(kinds, stats->stakind[slot]);
		numbers = lappend(numbers, array_text(slot_numbers(stats, slot)));
		values = lappend(values, array_text(slot_values(stats, slot)));
	}
	return node_call(NODE_set_column_statistics, node_text(relation), node_text(column->column),
					 node_real(stats->stanullfrac), node_int(stats->stawidth), node_real(stats->stadistinct),
					 node_smallints(kinds), node_texts(numbers), node_texts(values));
}

List *
column_statistics_commands(Oid relid, int64 pages, double tuples)
{
	const char *name = relation_qualified_name(relid);
	List	   *commands = NIL;
	List	   *columns = column_sample_statistics(relid, pages, tuples);
	Definition *def = definition_begin(relid, false);
	ListCell   *cell;

	foreach(cell, columns)
		commands = lappend(commands, column_command(name, lfirst(cell)));
	(void) definition_end(def);
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

/*
 * An array from its text form; *isnull if there is none.  The values were in
 * the table, so a domain doesn't check them.
 */
static Datum
array_from_text(const char *text, Oid element, bool *isnull)
{
	Datum		array;

	*isnull = (text == NULL);
	if (text == NULL)
		return (Datum) 0;
	array = OidInputFunctionCall(F_ARRAY_IN, unconstify(char *, text), getBaseType(element), -1);
	ARR_ELEMTYPE(DatumGetArrayTypeP(array)) = element;
	return array;
}

/* Type, operator and collation of a column's statistics. */
typedef struct StatisticsSlot
{
	Oid			type;			/* of the values */
	Oid			operator;
	Oid			collation;
} StatisticsSlot;

/*
 * Which type, operator and collation a kind of statistics has in a column;
 * false for unknown kinds.
 */
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
store_statistics(Oid relid, AttrNumber attno, Datum *values, bool *nulls)
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
 * citus_internal.set_column_statistics(relation regclass, column_name text,
 * null_fraction real, width int,
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
	RunAs		saved;

	node_function_check(fcinfo);
	if (!compat_may_vacuum(relid))
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
	saved = run_as_owner_begin(relid);
	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
		fill_slot(fcinfo, slot, type, collation, values, nulls);
	run_as_end(saved);
	store_statistics(relid, attno, values, nulls);
	PG_RETURN_VOID();
}
