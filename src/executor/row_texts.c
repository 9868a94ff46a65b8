/*-------------------------------------------------------------------------
 *
 * row_texts.c
 *	  Rows as arrays of text, whose values aren't checked on the way.
 *
 * A value of a composite type is checked against the domains of its columns
 * when it is received.  But a table can have rows that violate a domain's
 * constraint, added as NOT VALID, which a server only checks where a value
 * becomes one of the domain.  So the rows of a table that has columns of
 * domains travel between nodes as text of the domains' base types: those that
 * a DistributedModify sends, and rows that nodes return to it.  (Values of
 * single columns that a scan returns aren't checked either, see wire_type.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "compat/sql_function.h"
#include "executor/row_texts.h"
#include "lib/exact_text.h"
#include "remote/wire_type.h"

/* A task that writes and is running. */
typedef struct WritingTask
{
	MemoryContextCallback callback;
	MemoryContext query;		/* EState.es_query_cxt */
	struct WritingTask *outer;
} WritingTask;

static WritingTask *writing_tasks = NULL;	/* the latest first */

static int
count_columns(TupleDesc desc)
{
	int			count = 0;

	for (int i = 0; i < desc->natts; i++)
		count += !TupleDescAttr(desc, i)->attisdropped;
	return count;
}

/* A column, and how its values become text or values again. */
typedef struct TextColumn
{
	FmgrInfo	function;		/* output, input, or if nested: send */
	Oid			type;
	int32		typmod;
	Oid			ioparam;		/* of input */
	bool		nested;			/* there are domains inside */
} TextColumn;

/* The columns, of which those that are dropped are left empty. */
static TextColumn *
text_columns(TupleDesc desc, bool output)
{
	TextColumn *columns = palloc0(sizeof(TextColumn) * Max(desc->natts, 1));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		TextColumn *column = &columns[i];
		WireType	type;

		if (attribute->attisdropped)
			continue;
		type = wire_type(attribute->atttypid);
		column->type = attribute->atttypid;
		column->typmod = attribute->atttypmod;
		column->ioparam = type.ioparam;
		column->nested = type.holds_domains && type.localizable;
		fmgr_info(column->nested ? type.send : output ? type.output : type.input, &column->function);
	}
	return columns;
}

/* The binary form of a value with domains inside, or such a value. */
static Datum
convert_nested(TextColumn *column, Datum value, bool output)
{
	int			client_encoding = wire_encoding_begin();
	Datum volatile result;

	PG_TRY();
	{
		if (output)
			result = PointerGetDatum(SendFunctionCall(&column->function, value));
		else
		{
			bytea	   *bytes = DatumGetByteaP(value);

			wire_type_localize(column->type, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
			result = wire_type_receive(column->type, column->typmod, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
		}
	}
	PG_FINALLY();
	{
		wire_encoding_end(client_encoding);
	}
	PG_END_TRY();
	return result;
}

static char *
value_to_text(TextColumn *column, Datum value)
{
	if (column->nested)
		return DatumGetCString(DirectFunctionCall1(byteaout, convert_nested(column, value, true)));
	return OutputFunctionCall(&column->function, value);
}

static Datum
text_to_value(TextColumn *column, char *text)
{
	if (column->nested)
		return convert_nested(column, DirectFunctionCall1(byteain, CStringGetDatum(text)), false);
	return InputFunctionCall(&column->function, text, column->ioparam, column->typmod);
}

static void
texts_deform_row(TupleDesc desc, Datum row, Datum *values, bool *nulls)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(row);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header),.t_data = header};

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, desc, values, nulls);
}

Datum
row_texts_make(TupleDesc desc, Datum *rows, int count)
{
	int			dims[2] = {count, count_columns(desc)};
	int			lower[2] = {1, 1};
	TextColumn *columns = text_columns(desc, true);
	Datum	   *values = palloc(sizeof(Datum) * Max(desc->natts, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(desc->natts, 1));
	Datum	   *texts = palloc_array(Datum, Max(dims[0] * dims[1], 1));
	bool	   *text_nulls = palloc_array(bool, Max(dims[0] * dims[1], 1));
	int			next = 0;
	int			nest = exact_text_begin();

	for (int row = 0; row < count; row++)
	{
		CHECK_FOR_INTERRUPTS();
		texts_deform_row(desc, rows[row], values, nulls);
		for (int i = 0; i < desc->natts; i++)
		{
			if (TupleDescAttr(desc, i)->attisdropped)
				continue;
			text_nulls[next] = nulls[i];
			texts[next++] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(value_to_text(&columns[i], values[i]));
		}
	}
	AtEOXact_GUC(true, nest);
	return PointerGetDatum(construct_md_array(texts, text_nulls, 2, dims, lower, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Reads one row off an array; returns how many texts it took. */
static int
read_row(TupleDesc desc, TextColumn *columns, Datum *texts, bool *text_nulls, Datum *values, bool *nulls)
{
	int			next = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		nulls[i] = attribute->attisdropped || text_nulls[next];
		if (!nulls[i])
			values[i] = text_to_value(&columns[i], TextDatumGetCString(texts[next]));
		next += !attribute->attisdropped;
	}
	return next;
}

/* The texts of an array; errors unless they are rows of the type. */
static int
deconstruct_texts(TupleDesc desc, Datum array, Datum **texts, bool **nulls)
{
	int			ncolumns = count_columns(desc);
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, texts, nulls, &count);
	if (ncolumns == 0 || count % ncolumns != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("an array of %d texts is not rows of %d columns", count, ncolumns)));
	return count;
}

Datum
row_texts_first(TupleDesc desc, Datum texts)
{
	Datum	   *values = palloc0(sizeof(Datum) * Max(desc->natts, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(desc->natts, 1));
	Datum	   *elements;
	bool	   *element_nulls;
	int			nest;

	if (deconstruct_texts(desc, texts, &elements, &element_nulls) != count_columns(desc))
		elog(ERROR, "a task returned an array that is not one row");
	nest = exact_text_read_begin();
	(void) read_row(desc, text_columns(desc, false), elements, element_nulls, values, nulls);
	exact_text_read_end(nest);
	return heap_copy_tuple_as_datum(heap_form_tuple(desc, values, nulls), desc);
}

static void
row_texts_forbid(void *arg)
{
	WritingTask **link = &writing_tasks;

	while (*link != arg)
		link = &(*link)->outer;
	*link = (*link)->outer;
}

void
row_texts_allow(MemoryContext task)
{
	WritingTask *writing = MemoryContextAllocZero(task, sizeof(*writing));

	writing->callback.func = row_texts_forbid;
	writing->callback.arg = writing;
	writing->query = task;
	writing->outer = writing_tasks;
	writing_tasks = writing;
	MemoryContextRegisterResetCallback(task, &writing->callback);
}

/*
 * Whether the call is part of a writing task's own text, and not of a
 * statement that a function executes meanwhile.
 */
static bool
call_is_of_writing_task(FunctionCallInfo fcinfo)
{
	const ReturnSetInfo *result = (const ReturnSetInfo *) fcinfo->resultinfo;
	const EState *estate = result != NULL && IsA(result, ReturnSetInfo) ? result->econtext->ecxt_estate : NULL;

	for (const WritingTask *writing = writing_tasks; writing != NULL && estate != NULL; writing = writing->outer)
	{
		if (writing->query == estate->es_query_cxt)
			return true;
	}
	return false;
}

/*
 * citus_internal.rows_of_texts(type, texts): the rows that row_texts_make made
 * texts of.  For the texts of tasks that write, since it doesn't check values.
 */
SQL_FUNCTION(citus_internal_rows_of_texts);
Datum
citus_internal_rows_of_texts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result;
	TupleDesc	desc;
	TextColumn *columns;
	Datum	   *texts;
	bool	   *text_nulls;
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			nest;

	if (!call_is_of_writing_task(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only a task that writes may read rows that aren't checked")));
	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the texts of rows must not be null")));
	InitMaterializedSRF(fcinfo, 0);
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	desc = result->setDesc;
	columns = text_columns(desc, false);
	values = palloc0(sizeof(Datum) * Max(desc->natts, 1));
	nulls = palloc0(sizeof(bool) * Max(desc->natts, 1));
	count = deconstruct_texts(desc, PG_GETARG_DATUM(1), &texts, &text_nulls);
	nest = exact_text_read_begin();
	for (int next = 0; next < count;)
	{
		CHECK_FOR_INTERRUPTS();
		next += read_row(desc, columns, &texts[next], &text_nulls[next], values, nulls);
		tuplestore_putvalues(result->setResult, desc, values, nulls);
	}
	exact_text_read_end(nest);
	return (Datum) 0;
}

/* citus_internal.texts_of_row(row): row_texts_make of one row. */
SQL_FUNCTION(citus_internal_texts_of_row);
Datum
citus_internal_texts_of_row(PG_FUNCTION_ARGS)
{
	Datum		row = PG_GETARG_DATUM(0);
	HeapTupleHeader header = DatumGetHeapTupleHeader(row);
	TupleDesc	desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(header), HeapTupleHeaderGetTypMod(header));

	PG_RETURN_DATUM(row_texts_make(desc, &row, 1));
}
