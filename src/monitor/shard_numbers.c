/*-------------------------------------------------------------------------
 *
 * shard_numbers.c
 *	  Sizes and statistics of the shards on a node, by logical relation.
 *
 * The node's side of table_statistics.c: a row for each relation of a table
 * (the table itself, its TOAST table, that one's index, its indexes), with the
 * sums over the table's shards on this node.  Other nodes know relations by
 * their names, as Oids differ.
 *
 * As the server's functions, these ask for no right to the relations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "compat/sql_function.h"
#include "monitor/shard_numbers.h"

SQL_FUNCTION(citus_internal_local_shard_numbers);

/*
 * The shards are vacuumed and analyzed one by one, so the counts and times of
 * that aren't summed; how long it took is.
 */
const TableStatistic table_statistics[STATISTICS_MAX] = {
	{"pg_stat_get_numscans", STATISTIC_SUM},
	{"pg_stat_get_tuples_returned", STATISTIC_SUM},
	{"pg_stat_get_tuples_fetched", STATISTIC_SUM},
	{"pg_stat_get_tuples_inserted", STATISTIC_SUM},
	{"pg_stat_get_tuples_updated", STATISTIC_SUM},
	{"pg_stat_get_tuples_deleted", STATISTIC_SUM},
	{"pg_stat_get_tuples_hot_updated", STATISTIC_SUM},
	{"pg_stat_get_tuples_newpage_updated", STATISTIC_SUM},
	{"pg_stat_get_live_tuples", STATISTIC_SUM},
	{"pg_stat_get_dead_tuples", STATISTIC_SUM},
	{"pg_stat_get_mod_since_analyze", STATISTIC_SUM},
	{"pg_stat_get_ins_since_vacuum", STATISTIC_SUM},
	{"pg_stat_get_blocks_fetched", STATISTIC_SUM},
	{"pg_stat_get_blocks_hit", STATISTIC_SUM},
	{"pg_stat_get_lastscan", STATISTIC_LARGEST},
	{"pg_stat_get_last_vacuum_time", STATISTIC_LARGEST},
	{"pg_stat_get_last_autovacuum_time", STATISTIC_LARGEST},
	{"pg_stat_get_last_analyze_time", STATISTIC_LARGEST},
	{"pg_stat_get_last_autoanalyze_time", STATISTIC_LARGEST},
	{"pg_stat_get_vacuum_count", STATISTIC_LARGEST},
	{"pg_stat_get_autovacuum_count", STATISTIC_LARGEST},
	{"pg_stat_get_analyze_count", STATISTIC_LARGEST},
	{"pg_stat_get_autoanalyze_count", STATISTIC_LARGEST},
	{"pg_stat_get_total_vacuum_time", STATISTIC_FLOAT_SUM},
	{"pg_stat_get_total_autovacuum_time", STATISTIC_FLOAT_SUM},
	{"pg_stat_get_total_analyze_time", STATISTIC_FLOAT_SUM},
	{"pg_stat_get_total_autoanalyze_time", STATISTIC_FLOAT_SUM},
};

/* What a call asks for. */
typedef struct NumbersRequest
{
	NumbersKind kind;
	bool		wait;			/* for locks of other sessions */
	FmgrInfo	functions[STATISTICS_MAX];	/* fn_oid InvalidOid: the server
											 * has none */
} NumbersRequest;

/* A relation of a table. */
typedef struct TablePart
{
	Oid			relid;			/* InvalidOid for a TOAST table or its index */
	const char *name;
	int64		numbers[NUMBERS_MAX];
} TablePart;

List *
relation_indexes(Oid relid)
{
	List	   *indexes = NIL;

	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, relid))
		indexes = lappend_oid(indexes, ((Form_pg_index) GETSTRUCT(row->tuple))->indexrelid);
	return indexes;
}

Oid
relation_toast(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			toast = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		toast = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
		ReleaseSysCache(tuple);
	}
	return toast;
}

Oid
relation_toast_index(Oid relid)
{
	Oid			toast = relation_toast(relid);
	List	   *indexes = OidIsValid(toast) ? relation_indexes(toast) : NIL;

	return indexes != NIL ? linitial_oid(indexes) : InvalidOid;
}

static ShardStatistics
how_shards_count(NumbersKind kind, int number)
{
	return kind == NUMBERS_STATISTICS ? table_statistics[number].shards : STATISTIC_SUM;
}

void
numbers_clear(NumbersKind kind, int64 *numbers)
{
	for (int i = 0; i < NUMBERS_MAX; i++)
		numbers[i] = how_shards_count(kind, i) == STATISTIC_LARGEST ? NO_NUMBER : 0;
}

void
numbers_add(NumbersKind kind, int64 *numbers, const int64 *more)
{
	for (int i = 0; i < NUMBERS_MAX; i++)
	{
		ShardStatistics how = how_shards_count(kind, i);

		if (how == STATISTIC_LARGEST)
			numbers[i] = Max(numbers[i], more[i]);
		else if (more[i] == NO_NUMBER)
			continue;
		else if (how == STATISTIC_SUM)
			numbers[i] += more[i];
		else
			numbers[i] = DatumGetInt64(Float8GetDatum(DatumGetFloat8(Int64GetDatum(numbers[i])) +
													  DatumGetFloat8(Int64GetDatum(more[i]))));
	}
}

int64
number_of_relation(FmgrInfo *function, Oid relid)
{
	LOCAL_FCINFO(call, 1);
	Datum		number;

	InitFunctionCallInfoData(*call, function, 1, InvalidOid, NULL, NULL);
	call->args[0] = (NullableDatum) {ObjectIdGetDatum(relid), false};
	number = FunctionCallInvoke(call);
	return call->isnull ? NO_NUMBER : DatumGetInt64(number);
}

static TablePart *
make_table_part(NumbersKind kind, Oid relid, const char *name)
{
	TablePart  *part = palloc0(sizeof(TablePart));

	part->relid = relid;
	part->name = name;
	numbers_clear(kind, part->numbers);
	return part;
}

/* The relations (TablePart) of a logical table. */
static List *
parts_of_table(NumbersKind kind, Oid relid)
{
	List	   *parts = list_make1(make_table_part(kind, relid, PART_TABLE));

	foreach_oid(index, relation_indexes(relid))
		parts = lappend(parts, make_table_part(kind, index, psprintf(PART_INDEX_PREFIX "%s", get_rel_name(index))));
	if (OidIsValid(relation_toast(relid)))
	{
		parts = lappend(parts, make_table_part(kind, InvalidOid, PART_TOAST));
		parts = lappend(parts, make_table_part(kind, InvalidOid, PART_TOAST_INDEX));
	}
	return parts;
}

/* A part's relation in the shard, whose table has the Oid shard. */
static Oid
part_of_shard(const TablePart *part, Oid shard, int64 shardid)
{
	if (OidIsValid(part->relid))
		return shard_local_relid(part->relid, shardid);
	return strcmp(part->name, PART_TOAST) == 0 ? relation_toast(shard) : relation_toast_index(shard);
}

/* Sizes of a relation's forks; of one that was dropped, 0. */
static void
read_fork_sizes(Oid relid, int64 *numbers)
{
	for (int fork = 0; fork <= MAX_FORKNUM; fork++)
	{
		LOCAL_FCINFO(call, 2);
		Datum		size;

		InitFunctionCallInfoData(*call, NULL, 2, InvalidOid, NULL, NULL);
		call->args[0] = (NullableDatum) {ObjectIdGetDatum(relid), false};
		call->args[1] = (NullableDatum) {CStringGetTextDatum(forkNames[fork]), false};
		size = pg_relation_size(call);
		numbers[fork] = call->isnull ? 0 : DatumGetInt64(size);
	}
}

/*
 * Adds the numbers of a relation, which is locked meanwhile if the server's
 * function locks it.  False if it is locked by another session, and we aren't
 * to wait.
 */
static bool
add_part(NumbersRequest *request, TablePart *part, Oid relid)
{
	int64		numbers[NUMBERS_MAX] = {0};

	if (!OidIsValid(relid))
		return true;
	if (request->kind == NUMBERS_SIZES)
	{
		if (request->wait)
			LockRelationOid(relid, AccessShareLock);
		else if (!ConditionalLockRelationOid(relid, AccessShareLock))
			return false;
		read_fork_sizes(relid, numbers);
		UnlockRelationOid(relid, AccessShareLock);
	}
	else
		for (int i = 0; i < STATISTICS_MAX; i++)
			numbers[i] = OidIsValid(request->functions[i].fn_oid) ?
				number_of_relation(&request->functions[i], relid) : NO_NUMBER;
	numbers_add(request->kind, part->numbers, numbers);
	return true;
}

static void
put_part(ReturnSetInfo *result, Oid relid, int nshards, const TablePart *part)
{
	Datum		numbers[NUMBERS_MAX];
	Datum		row[5];
	bool		nulls[5] = {false};

	for (int i = 0; i < NUMBERS_MAX; i++)
		numbers[i] = Int64GetDatum(part->numbers[i]);
	row[0] = CStringGetTextDatum(get_namespace_name(get_rel_namespace(relid)));
	row[1] = CStringGetTextDatum(get_rel_name(relid));
	row[2] = CStringGetTextDatum(part->name);
	row[3] = Int32GetDatum(nshards);
	row[4] = PointerGetDatum(construct_array(numbers, NUMBERS_MAX, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	tuplestore_putvalues(result->setResult, result->setDesc, row, nulls);
}

/*
 * Puts the rows of a table that has shards here; none if one of these is
 * locked, and we aren't to wait.
 */
static void
put_numbers_of_table(ReturnSetInfo *result, NumbersRequest *request, Oid relid)
{
	const DistTable *table = OidIsValid(relid) ? metadata_find(relid) : NULL;
	List	   *parts;
	int			nshards = 0;

	if (table == NULL || table->damage != NULL || table->kind == DIST_REFERENCE || get_rel_name(relid) == NULL)
		return;
	parts = parts_of_table(request->kind, relid);
	for (int i = 0; i < table->nshards; i++)
	{
		int64		shardid = table->shards[i].shardid;
		Oid			shard;

		if (table->shards[i].groupid != metadata_local_group())
			continue;
		shard = shard_local_relid(relid, shardid);
		foreach_ptr(TablePart, part, parts)
			if (!add_part(request, part, part_of_shard(part, shard, shardid)))
				return;
		nshards++;
	}
	if (nshards > 0)
		foreach_ptr(TablePart, part, parts)
			put_part(result, relid, nshards, part);
}

/*
 * citus_internal.local_shard_numbers(statistics boolean, name_of_schema text,
 * name_of_table text, OUT schema_name text, OUT table_name text, OUT part
 * text, OUT shards integer, OUT numbers bigint[])
 *
 * Of one table; if the names are NULL, of all tables, without those of which
 * other sessions have locked a relation whose size is asked for.
 */
Datum
citus_internal_local_shard_numbers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		one = !PG_ARGISNULL(1) && !PG_ARGISNULL(2);
	NumbersRequest request = {.wait = one};

	request.kind = !PG_ARGISNULL(0) && PG_GETARG_BOOL(0) ? NUMBERS_STATISTICS : NUMBERS_SIZES;
	for (int i = 0; i < STATISTICS_MAX; i++)
	{
		Oid			function = fmgr_internal_function(table_statistics[i].function);

		if (OidIsValid(function))
			fmgr_info(function, &request.functions[i]);
	}
	InitMaterializedSRF(fcinfo, 0);
	if (one)
	{
		char	   *schema = text_to_cstring(PG_GETARG_TEXT_PP(1));
		char	   *table = text_to_cstring(PG_GETARG_TEXT_PP(2));
		Oid			namespace = get_namespace_oid(schema, true);

		put_numbers_of_table(result, &request, OidIsValid(namespace) ? get_relname_relid(table, namespace) : InvalidOid);
		return (Datum) 0;
	}
	foreach_oid(relid, metadata_tables(0))
	{
		CHECK_FOR_INTERRUPTS();
		put_numbers_of_table(result, &request, relid);
	}
	return (Datum) 0;
}
