/*-------------------------------------------------------------------------
 *
 * column_sample.c
 *	  Computes statistics of the columns of a distributed table.
 *
 * The rows come from the shards, by a query.  The server's own functions for
 * each type, which get a sample and the size of the whole table, compute the
 * statistics, called as in ANALYZE.  A sample has as many rows as ANALYZE's,
 * and reads at most as many pages as rows: of a larger table, random pages are
 * read, and those of their rows whose ctid has a small hash.  Columnar tables
 * have no TABLESAMPLE: all rows are looked at, of which the hash chooses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "commands/vacuum.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/attoptcache.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "analyze/column_sample.h"
#include "columnar/columnar.h"
#include "compat/column_stats.h"
#include "compat/foreach.h"
#include "lib/run_as.h"
#include "table/definition.h"

/* Hashes of a place are signed 32-bit numbers. */
#define HASH_VALUES 4294967296.0

/*
 * Prepares a column's statistics, as examine_attribute() does; NULL if it is
 * to have none.
 */
static VacAttrStats *
prepare_column(Oid relid, Form_pg_attribute attribute)
{
	VacAttrStats *stats = palloc0(sizeof(VacAttrStats));
	HeapTuple	type = SearchSysCacheCopy1(TYPEOID, ObjectIdGetDatum(attribute->atttypid));
	bool		wanted;

	if (!HeapTupleIsValid(type))
		elog(ERROR, "cache lookup failed for type %u", attribute->atttypid);
	if (compat_set_stats_column(stats, relid, attribute) == 0)
		return NULL;
	stats->attrtypid = attribute->atttypid;
	stats->attrtypmod = attribute->atttypmod;
	stats->attrtype = (Form_pg_type) GETSTRUCT(type);
	stats->attrcollid = attribute->attcollation;
	stats->anl_context = CurrentMemoryContext;
	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
	{
		stats->statypid[slot] = stats->attrtypid;
		stats->statyplen[slot] = stats->attrtype->typlen;
		stats->statypbyval[slot] = stats->attrtype->typbyval;
		stats->statypalign[slot] = stats->attrtype->typalign;
	}
	if (OidIsValid(stats->attrtype->typanalyze))
		wanted = DatumGetBool(OidFunctionCall1(stats->attrtype->typanalyze, PointerGetDatum(stats)));
	else
		wanted = std_typanalyze(stats);
	return wanted && stats->compute_stats != NULL && stats->minrows > 0 ? stats : NULL;
}

/*
 * The table's columns that get statistics: a List of ColumnStatistics; *attnos
 * is set to their numbers.
 */
static List *
prepare_columns(Relation rel, List **attnos)
{
	List	   *columns = NIL;

	*attnos = NIL;
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), i);
		VacAttrStats *stats = attribute->attisdropped ? NULL : prepare_column(RelationGetRelid(rel), attribute);
		ColumnStatistics *column;

		if (stats == NULL)
			continue;
		column = palloc(sizeof(ColumnStatistics));
		column->column = pstrdup(NameStr(attribute->attname));
		column->stats = stats;
		columns = lappend(columns, column);
		*attnos = lappend_int(*attnos, attribute->attnum);
	}
	return columns;
}

/* Whether the table, or a table below it, is columnar. */
static bool
has_columnar_rows(Oid relid)
{
	bool		found = false;

	foreach_oid(child, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		Relation	rel = table_open(child, NoLock);

		found = found || columnar_is_columnar(rel);
		table_close(rel, NoLock);
	}
	return found;
}

/* The query that reads about so many rows of the table, or all of them. */
static char *
sample_query(Oid relid, List *columns, int64 pages, double tuples, int rows)
{
	StringInfoData buf;
	double		part = tuples > rows ? rows / tuples : 1.0;

	initStringInfo(&buf);
	foreach_ptr(ColumnStatistics, column, columns)
		appendStringInfo(&buf, "%s%s", foreach_current_index(column) == 0 ? "SELECT " : ", ",
						 quote_identifier(column->column));
	appendStringInfo(&buf, " FROM %s", relation_qualified_name(relid));
	if (part < 1.0 && has_columnar_rows(relid))
		appendStringInfo(&buf, " WHERE pg_catalog.hashtid(ctid) < %.0f", part * HASH_VALUES - HASH_VALUES / 2);
	else if (part < 1.0 && pages <= rows)
		appendStringInfo(&buf, " TABLESAMPLE BERNOULLI (%.9g)", part * 100.0);
	else if (part < 1.0)
	{
		double		pages_part = (double) rows / pages;

		appendStringInfo(&buf, " TABLESAMPLE SYSTEM (%.9g)", pages_part * 100.0);
		if (part < pages_part)
			appendStringInfo(&buf, " WHERE pg_catalog.hashtid(ctid) < %.0f",
							 part / pages_part * HASH_VALUES - HASH_VALUES / 2);
	}
	return buf.data;
}

/* AnalyzeAttrFetchFunc */
static Datum
fetch_value(VacAttrStats *stats, int row, bool *isnull)
{
	return heap_getattr(stats->rows[row], stats->tupattnum, stats->tupDesc, isnull);
}

/*
 * Computes the statistics of columns from the rows that a query has returned.
 */
static void
compute_columns(Oid relid, List *columns, List *attnos, SPITupleTable *rows, double tuples)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "citus column statistics",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	ListCell   *cell;
	ListCell   *attno;

	forboth(cell, columns, attno, attnos)
	{
		VacAttrStats *stats = ((ColumnStatistics *) lfirst(cell))->stats;
		AttributeOpts *options = get_attribute_options(relid, lfirst_int(attno));

		stats->rows = rows->vals;
		stats->tupDesc = rows->tupdesc;
		stats->tupattnum = foreach_current_index(cell) + 1;
		stats->compute_stats(stats, fetch_value, (int) rows->numvals, tuples);
		if (options != NULL && options->n_distinct != 0.0)
			stats->stadistinct = options->n_distinct;
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
}

/* Reads the sample and computes the columns' statistics from it. */
static void
compute_from_sample(Oid relid, List *columns, List *attnos, int64 pages, double tuples)
{
	int			wanted = 0;

	foreach_ptr(ColumnStatistics, column, columns)
		wanted = Max(wanted, column->stats->minrows);
	SPI_connect();
	if (SPI_execute(sample_query(relid, columns, pages, tuples, wanted), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read a sample of \"%s\"", get_rel_name(relid));
	if (SPI_processed > 0)
		compute_columns(relid, columns, attnos, SPI_tuptable,
						tuples > wanted ? Max(tuples, SPI_processed) : SPI_processed);
	SPI_finish();
}

/* The columns whose statistics have been computed. */
static List *
valid_columns(List *columns)
{
	List	   *result = NIL;

	foreach_ptr(ColumnStatistics, column, columns)
	{
		if (column->stats->stats_valid)
			result = lappend(result, column);
	}
	return result;
}

List *
column_sample_statistics(Oid relid, int64 pages, double tuples)
{
	Relation	rel = table_open(relid, AccessShareLock);
	RunAs		saved = run_as_owner_begin(relid);
	List	   *attnos;
	List	   *columns = prepare_columns(rel, &attnos);

	table_close(rel, NoLock);
	if (columns != NIL && pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		compute_from_sample(relid, columns, attnos, pages, tuples);
	run_as_end(saved);
	return valid_columns(columns);
}
