/*-------------------------------------------------------------------------
 *
 * row_encoder.c
 *	  Encodes a row's values for COPY.
 *
 * Rows are sent in the binary COPY format.  Some types don't allow that: those
 * without send or receive functions, those whose binary form carries oids that
 * differ between nodes (arrays and composites of types that a user made, the
 * reg* types), and any text when the session's client encoding is not the
 * database's, because send functions convert to the client's.  Then the whole
 * statement uses the text format, written under settings that any node reads
 * back exactly.
 *
 * Send functions of the commonest types are bypassed: their output is written
 * straight into the buffer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "copy/row_encoder.h"
#include "lib/exact_text.h"
#include "remote/wire_type.h"

typedef enum ColumnKind
{
	COLUMN_INT16,
	COLUMN_INT32,				/* int4, date, float4, oid: 4 bytes by value */
	COLUMN_INT64,				/* int8, timestamp, timestamptz, float8 */
	COLUMN_BYTES,				/* text, varchar, bpchar, bytea: the value is
								 * what is sent */
	COLUMN_FUNCTION,			/* call the send or output function */
} ColumnKind;

typedef struct EncodedColumn
{
	int			index;			/* attribute number - 1 */
	ColumnKind	kind;
	FmgrInfo	function;
} EncodedColumn;

struct RowEncoder
{
	bool		binary;
	const char *options;
	int			ncolumns;
	EncodedColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

/* How to write a column whose type sends with the function. */
static ColumnKind
column_kind(Oid send_function)
{
	switch (send_function)
	{
		case F_INT2SEND:
			return COLUMN_INT16;
		case F_INT4SEND:
		case F_DATE_SEND:
		case F_FLOAT4SEND:
		case F_OIDSEND:
			return COLUMN_INT32;
		case F_INT8SEND:
		case F_TIMESTAMP_SEND:
		case F_TIMESTAMPTZ_SEND:
		case F_TIME_SEND:
		case F_CASH_SEND:
		case F_FLOAT8SEND:
			return FLOAT8PASSBYVAL ? COLUMN_INT64 : COLUMN_FUNCTION;
		case F_TEXTSEND:
		case F_VARCHARSEND:
		case F_BPCHARSEND:
		case F_BYTEASEND:
			return COLUMN_BYTES;
		default:
			return COLUMN_FUNCTION;
	}
}

static bool
columns_are_portable(TupleDesc desc, List *attnums)
{
	foreach_int(attnum, attnums)
	{
		if (!wire_type(TupleDescAttr(desc, attnum - 1)->atttypid).localizable)
			return false;
	}
	return true;
}

RowEncoder *
row_encoder_create(TupleDesc desc, List *attnums)
{
	int			ncolumns = list_length(attnums);
	RowEncoder *encoder = palloc(offsetof(RowEncoder, columns) + ncolumns * sizeof(EncodedColumn));

	encoder->binary = pg_get_client_encoding() == GetDatabaseEncoding() && columns_are_portable(desc, attnums);
	encoder->options = encoder->binary ? "FORMAT binary" :
		psprintf("FORMAT text, ENCODING %s", quote_literal_cstr(GetDatabaseEncodingName()));
	encoder->ncolumns = ncolumns;

	foreach_int(attnum, attnums)
	{
		EncodedColumn *column = &encoder->columns[foreach_current_index(attnum)];
		Form_pg_attribute attr = TupleDescAttr(desc, attnum - 1);
		Oid			function;
		bool		varlena;

		if (encoder->binary)
			getTypeBinaryOutputInfo(attr->atttypid, &function, &varlena);
		else
			getTypeOutputInfo(attr->atttypid, &function, &varlena);
		fmgr_info(function, &column->function);
		column->index = attr->attnum - 1;
		column->kind = encoder->binary ? column_kind(function) : COLUMN_FUNCTION;
	}
	return encoder;
}

const char *
row_encoder_options(const RowEncoder *encoder)
{
	return encoder->options;
}

/* Appends length and bytes of a varlena value. */
static void
append_bytes(StringInfo buf, Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	int			len = VARSIZE_ANY_EXHDR(bytes);

	pq_sendint32(buf, len);
	appendBinaryStringInfo(buf, VARDATA_ANY(bytes), len);
}

static void
append_binary(RowEncoder *encoder, TupleTableSlot *slot, StringInfo buf)
{
	pq_sendint16(buf, encoder->ncolumns);
	for (int i = 0; i < encoder->ncolumns; i++)
	{
		EncodedColumn *column = &encoder->columns[i];
		Datum		value = slot->tts_values[column->index];

		if (slot->tts_isnull[column->index])
		{
			pq_sendint32(buf, (uint32) -1);
			continue;
		}
		switch (column->kind)
		{
			case COLUMN_INT16:
				pq_sendint32(buf, 2);
				pq_sendint16(buf, DatumGetInt16(value));
				break;
			case COLUMN_INT32:
				pq_sendint32(buf, 4);
				pq_sendint32(buf, DatumGetInt32(value));
				break;
			case COLUMN_INT64:
				pq_sendint32(buf, 8);
				pq_sendint64(buf, DatumGetInt64(value));
				break;
			case COLUMN_BYTES:
				append_bytes(buf, value);
				break;
			case COLUMN_FUNCTION:
				append_bytes(buf, PointerGetDatum(SendFunctionCall(&column->function, value)));
				break;
		}
	}
}

/* Appends a string in COPY's text format. */
static void
append_escaped(StringInfo buf, const char *string)
{
	const char *start = string;

	for (const char *at = string;; at++)
	{
		char		escape;

		switch (*at)
		{
			case '\0':
				appendBinaryStringInfo(buf, start, at - start);
				return;
			case '\b':
				escape = 'b';
				break;
			case '\f':
				escape = 'f';
				break;
			case '\n':
				escape = 'n';
				break;
			case '\r':
				escape = 'r';
				break;
			case '\t':
				escape = 't';
				break;
			case '\v':
				escape = 'v';
				break;
			case '\\':
				escape = '\\';
				break;
			default:
				continue;
		}
		appendBinaryStringInfo(buf, start, at - start);
		appendStringInfoCharMacro(buf, '\\');
		appendStringInfoCharMacro(buf, escape);
		start = at + 1;
	}
}

static void
append_text(RowEncoder *encoder, TupleTableSlot *slot, StringInfo buf)
{
	int			nest = exact_text_begin();

	for (int i = 0; i < encoder->ncolumns; i++)
	{
		EncodedColumn *column = &encoder->columns[i];

		if (i > 0)
			appendStringInfoCharMacro(buf, '\t');
		if (slot->tts_isnull[column->index])
			appendBinaryStringInfo(buf, "\\N", 2);
		else
			append_escaped(buf, OutputFunctionCall(&column->function, slot->tts_values[column->index]));
	}
	appendStringInfoCharMacro(buf, '\n');
	AtEOXact_GUC(true, nest);
}

void
row_encoder_append(RowEncoder *encoder, TupleTableSlot *slot, StringInfo buf)
{
	slot_getallattrs(slot);
	if (encoder->binary)
		append_binary(encoder, slot, buf);
	else
		append_text(encoder, slot, buf);
}
