/*-------------------------------------------------------------------------
 *
 * row_codec.c
 *	  Converts rows and parameters between wire format and slots.
 *
 * Values are received with the types' own functions: binary if every column's
 * type allows it (WireType.localizable), else text, since a statement's result
 * has one format.  Parameters of types whose binary form names other types are
 * sent as text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/tuple_desc.h"
#include "executor/row_codec.h"
#include "lib/exact_text.h"
#include "planner/task_query.h"
#include "remote/wire_type.h"

typedef struct ColumnCodec
{
	FmgrInfo	function;		/* receive or input */
	Oid			ioparam;
	int32		typmod;
	Oid			type;
	bool		localized;		/* its values hold oids of the sender */
	bool		holds_domains;
	AttrNumber	position;		/* 0-based in the slot, or a system
								 * attribute */
} ColumnCodec;

struct RowCodec
{
	TupleDesc	columns;
	MemoryContext context;
	TupleDesc	slot_desc;		/* wide enough for all positions; NULL before
								 * it is asked for */
	bool		binary;
	int			ncolumns;
	ColumnCodec *column;
};

/* Prepares the input of one column. */
static void
init_column(RowCodec *codec, int index, AttrNumber position)
{
	Form_pg_attribute attribute = TupleDescAttr(codec->columns, index);
	ColumnCodec *column = &codec->column[index];
	WireType	type = wire_type(attribute->atttypid);

	fmgr_info(codec->binary ? type.receive : type.input, &column->function);
	column->ioparam = type.ioparam;
	column->typmod = attribute->atttypmod;
	column->type = attribute->atttypid;
	column->localized = codec->binary && !type.binary;
	column->holds_domains = type.holds_domains;
	column->position = position;
}

/* A descriptor whose attribute at each position has the column's type. */
static TupleDesc
make_slot_desc(RowCodec *codec)
{
	int			natts = 0;
	TupleDesc	desc;

	for (int i = 0; i < codec->ncolumns; i++)
		natts = Max(natts, codec->column[i].position + 1);
	desc = CreateTemplateTupleDesc(natts);
	for (int i = 0; i < natts; i++)
		TupleDescInitEntry(desc, i + 1, NULL, INT4OID, -1, 0);
	for (int i = 0; i < codec->ncolumns; i++)
	{
		if (codec->column[i].position >= 0)
			TupleDescInitEntry(desc, codec->column[i].position + 1, NULL,
							   TupleDescAttr(codec->columns, i)->atttypid, -1, 0);
	}
	TupleDescFinalize(desc);
	return desc;
}

RowCodec *
row_codec_create(TupleDesc columns, const AttrNumber *positions)
{
	RowCodec   *codec = palloc0(sizeof(RowCodec));

	codec->context = CurrentMemoryContext;
	codec->columns = columns;
	codec->ncolumns = columns->natts;
	codec->column = palloc0(sizeof(ColumnCodec) * Max(columns->natts, 1));
	codec->binary = true;
	for (int i = 0; i < columns->natts && codec->binary; i++)
		codec->binary = wire_type(TupleDescAttr(columns, i)->atttypid).localizable;
	for (int i = 0; i < columns->natts; i++)
		init_column(codec, i, positions ? positions[i] : i);
	return codec;
}

bool
row_codec_is_binary(const RowCodec *codec)
{
	return codec->binary;
}

TupleDesc
row_codec_slot_desc(RowCodec *codec)
{
	if (codec->slot_desc == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(codec->context);

		codec->slot_desc = make_slot_desc(codec);
		MemoryContextSwitchTo(old_context);
	}
	return codec->slot_desc;
}

TupleDesc
row_codec_spill_desc(RowCodec *codec)
{
	return codec->columns;
}

/* Sets all columns without value to null. */
static void
begin_row(TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	memset(slot->tts_values, 0, slot->tts_tupleDescriptor->natts * sizeof(Datum));
}

static void
put_value(ColumnCodec *column, TupleTableSlot *slot, Datum value, bool isnull)
{
	if (column->position >= 0)
	{
		slot->tts_values[column->position] = value;
		slot->tts_isnull[column->position] = isnull;
	}
	else if (column->position == SelfItemPointerAttributeNumber && !isnull)
		ItemPointerCopy((ItemPointer) DatumGetPointer(value), &slot->tts_tid);
}

/*
 * A null isn't passed to the input function: outer joins also make columns of
 * domain types null, whose input functions might reject that.
 */
static Datum
receive_value(RowCodec *codec, ColumnCodec *column, const RemoteValue *value)
{
	StringInfoData buffer;

	if (value->data == NULL)
		return (Datum) 0;
	if (!codec->binary)
		return InputFunctionCall(&column->function, value->data, column->ioparam, column->typmod);

	if (column->localized)
		wire_type_localize(column->type, value->data, value->len);
	if (column->holds_domains)
		return wire_type_receive(column->type, column->typmod, value->data, value->len);

	/*
	 * there is a null byte behind it, as receive functions expect of a
	 * StringInfo
	 */
	buffer.data = value->data;
	buffer.len = value->len;
	buffer.maxlen = value->len + 1;
	buffer.cursor = 0;
	return ReceiveFunctionCall(&column->function, &buffer, column->ioparam, column->typmod);
}

/* Decodes all columns; may raise an error. */
static void
decode_row(RowCodec *codec, const RemoteRow *row, TupleTableSlot *slot)
{
	int			nest = codec->binary ? 0 : exact_text_read_begin();

	if (row->ncolumns != codec->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("a task returned %d columns instead of %d",
						row->ncolumns, codec->ncolumns)));
	begin_row(slot);
	for (int i = 0; i < codec->ncolumns; i++)
	{
		const RemoteValue *value = &row->values[i];
		ColumnCodec *column = &codec->column[i];

		put_value(column, slot, receive_value(codec, column, value), value->data == NULL);
	}
	exact_text_read_end(nest);
	ExecStoreVirtualTuple(slot);
}

void
row_codec_store(RowCodec *codec, const RemoteRow *row, TupleTableSlot *slot, MemoryContext context)
{
	MemoryContext old_context = MemoryContextSwitchTo(context);
	int			client_encoding = wire_encoding_begin();

	PG_TRY();
	{
		decode_row(codec, row, slot);
	}
	PG_FINALLY();
	{
		wire_encoding_end(client_encoding);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old_context);
}

void
row_codec_copy(RowCodec *codec, TupleTableSlot *row, TupleTableSlot *slot)
{
	slot_getallattrs(row);
	begin_row(slot);
	for (int i = 0; i < codec->ncolumns; i++)
		put_value(&codec->column[i], slot, row->tts_values[i], row->tts_isnull[i]);
	ExecStoreVirtualTuple(slot);
}

void
row_codec_spill(RowCodec *codec, TupleTableSlot *slot, Tuplestorestate *store)
{
	Datum	   *values = palloc0(sizeof(Datum) * Max(codec->ncolumns, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(codec->ncolumns, 1));

	for (int i = 0; i < codec->ncolumns; i++)
	{
		AttrNumber	position = codec->column[i].position;

		if (position >= 0)
		{
			values[i] = slot->tts_values[position];
			nulls[i] = slot->tts_isnull[position];
		}
		else
			values[i] = PointerGetDatum(&slot->tts_tid);
	}
	tuplestore_putvalues(store, codec->columns, values, nulls);
	pfree(values);
	pfree(nulls);
}

void
row_codec_restore(RowCodec *codec, TupleTableSlot *spilled, TupleTableSlot *slot)
{
	row_codec_copy(codec, spilled, slot);
}

/* One parameter; may raise an error. */
static void
encode_param(RemoteParams *remote, int i, const ParamExternData *param)
{
	WireType	type;

	remote->types[i] = wire_type_oid(param->ptype);
	if (param->isnull)
		return;
	type = wire_type(param->ptype);
	if (type.binary)
	{
		bytea	   *bytes = OidSendFunctionCall(type.send, param->value);

		remote->values[i] = VARDATA(bytes);
		remote->lengths[i] = VARSIZE(bytes) - VARHDRSZ;
		remote->formats[i] = 1;
	}
	else
	{
		int			nest = exact_text_begin();

		remote->values[i] = OidOutputFunctionCall(type.output, param->value);
		remote->lengths[i] = strlen(remote->values[i]);
		AtEOXact_GUC(true, nest);
	}
}

RemoteParams *
row_codec_params(ParamListInfo params)
{
	RemoteParams *remote;
	int			client_encoding;

	if (params == NULL || params->numParams == 0)
		return NULL;
	if (params->numParams > TASK_MAX_PARAMS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a task needs %d parameters, of which it can have %d at most", params->numParams, TASK_MAX_PARAMS),
				 errhint("Use fewer parameters, or pass them as an array.")));

	remote = palloc0(sizeof(RemoteParams));
	remote->count = params->numParams;
	remote->types = palloc0(sizeof(Oid) * params->numParams);
	remote->values = palloc0(sizeof(char *) * params->numParams);
	remote->lengths = palloc0(sizeof(int) * params->numParams);
	remote->formats = palloc0(sizeof(int) * params->numParams);

	client_encoding = wire_encoding_begin();
	PG_TRY();
	{
		for (int i = 0; i < params->numParams; i++)
			encode_param(remote, i, &params->params[i]);
	}
	PG_FINALLY();
	{
		wire_encoding_end(client_encoding);
	}
	PG_END_TRY();
	return remote;
}
