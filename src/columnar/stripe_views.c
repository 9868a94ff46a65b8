/*-------------------------------------------------------------------------
 *
 * stripe_views.c
 *	  The functions of the views columnar.stripe, chunk_group and chunk.
 *
 * A chunk's least and greatest values are values of the table, whatever its
 * row-level security says.  So only its owner gets rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "columnar/columnar.h"
#include "columnar/options.h"
#include "columnar/row_marks.h"
#include "columnar/stripe_reader.h"
#include "columnar/stripe_writer.h"
#include "compat/acl.h"
#include "compat/sql_function.h"

typedef void (*StripeVisitor) (ReturnSetInfo *result, StripeStore *store, const StripeInfo *stripe);

/*
 * Calls the visitor for each stripe of a columnar table that the user owns.
 * The table is locked until the transaction ends.
 */
static void
visit_stripes(FunctionCallInfo fcinfo, StripeVisitor visit)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	table;
	StripeStore store;

	InitMaterializedSRF(fcinfo, 0);
	if (get_rel_name(relid) == NULL || !object_ownercheck(RelationRelationId, relid, GetUserId()))
		return;
	table = try_relation_open(relid, AccessShareLock);
	if (table == NULL)
		return;
	if (columnar_is_columnar(table) && !RELATION_IS_OTHER_TEMP(table))
	{
		stripe_writer_flush(table);
		if (stripe_store_open(&store, table, AccessShareLock))
		{
			int			count;
			StripeInfo *stripes = stripe_directory_read(&store, GetActiveSnapshot(), &count);

			for (int i = 0; i < count; i++)
			{
				CHECK_FOR_INTERRUPTS();
				visit((ReturnSetInfo *) fcinfo->resultinfo, &store, &stripes[i]);
			}
			stripe_store_close(&store);
		}
	}
	relation_close(table, NoLock);
}

static int64
number_of_stripe(const StripeInfo *stripe)
{
	return (int64) (stripe->first_block - STRIPE_FIRST_BLOCK);
}

static void
put_stripe(ReturnSetInfo *result, StripeStore *store, const StripeInfo *stripe)
{
	Datum		values[7];
	bool		nulls[7] = {false};
	RowMarks	marks;

	row_marks_read(store, stripe, GetActiveSnapshot(), &marks);
	values[0] = Int64GetDatum(number_of_stripe(stripe));
	values[1] = Int64GetDatum((int64) (stripe->record.footer_at + stripe->record.footer_len));
	values[2] = Int32GetDatum((int32) stripe->record.natts);
	values[3] = Int64GetDatum((int64) stripe->record.nrows);
	values[4] = Int32GetDatum((int32) stripe->record.ngroups);
	values[5] = Int64GetDatum(number_of_stripe(stripe) * STRIPE_BLOCK_ROWS + 1);
	values[6] = Int64GetDatum((int64) marks.count);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	if (marks.bits != NULL)
		pfree(marks.bits);
}

/* citus_internal.columnar_stripes(regclass) */
SQL_FUNCTION(citus_internal_columnar_stripes);
Datum
citus_internal_columnar_stripes(PG_FUNCTION_ARGS)
{
	visit_stripes(fcinfo, put_stripe);
	return (Datum) 0;
}

/* A value as text, by the output function of the column's type. */
static Datum
bound_as_text(Form_pg_attribute att, Datum value)
{
	Oid			function;
	bool		is_varlena;

	getTypeOutputInfo(att->atttypid, &function, &is_varlena);
	return CStringGetTextDatum(OidOutputFunctionCall(function, value));
}

static void
put_chunk(ReturnSetInfo *result, const StripeReader *reader, int column, int group)
{
	const ChunkMeta *chunk = footer_chunk(&reader->footer, column, group);
	Form_pg_attribute att = TupleDescAttr(reader->tupdesc, column);
	Datum		values[10] = {0};
	bool		nulls[10] = {false};
	ChunkBounds bounds;

	stripe_reader_bounds(reader, column, group, &bounds);
	values[0] = Int64GetDatum(number_of_stripe(&reader->stripe));
	values[1] = Int32GetDatum(column + 1);
	values[2] = Int32GetDatum(group);
	values[3] = Int64GetDatum((int64) reader->footer.group_rows[group]);
	nulls[4] = nulls[5] = !bounds.known;
	if (bounds.known)
	{
		values[4] = bound_as_text(att, bounds.min);
		values[5] = bound_as_text(att, bounds.max);
	}
	values[6] = Int64GetDatum((int64) chunk->at);
	values[7] = Int64GetDatum((int64) chunk->len);
	values[8] = CStringGetTextDatum(columnar_compression_name(chunk->compression));
	values[9] = Int64GetDatum((int64) chunk->raw_len);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_chunks(ReturnSetInfo *result, StripeStore *store, const StripeInfo *stripe)
{
	TupleDesc	tupdesc = RelationGetDescr(store->table);
	StripeReader *reader = stripe_reader_open(store, stripe, tupdesc, NULL);
	int			natts = Min(tupdesc->natts, (int) reader->footer.natts);

	for (int column = 0; column < natts; column++)
	{
		if (TupleDescAttr(tupdesc, column)->attisdropped)
			continue;
		for (int group = 0; group < (int) reader->footer.ngroups; group++)
			put_chunk(result, reader, column, group);
	}
	stripe_reader_close(reader);
}

/* citus_internal.columnar_chunks(regclass) */
SQL_FUNCTION(citus_internal_columnar_chunks);
Datum
citus_internal_columnar_chunks(PG_FUNCTION_ARGS)
{
	visit_stripes(fcinfo, put_chunks);
	return (Datum) 0;
}
