/*-------------------------------------------------------------------------
 *
 * exchange_row.c
 *	  The format of rows in an exchange: for each column its length, -1 for
 *	  null, and its value in binary form.
 *
 * Strings are copied, as all nodes' databases have the same encoding, and
 * checked when they are read, as their session could have added any bytes.
 * Other types have their own send and receive functions called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"

#include "compat/varlena.h"
#include "exchange/exchange_row.h"
#include "remote/wire_type.h"

/* How a column's values are written. */
typedef enum ExchangeForm
{
	FORM_INT2,
	FORM_INT4,
	FORM_INT8,
	FORM_BYTES,					/* those of a varlena */
	FORM_STRING,				/* the same, in the database's encoding */
	FORM_TYPE,					/* as its type's functions say */
} ExchangeForm;

typedef struct ExchangeColumn
{
	ExchangeForm form;
	FmgrInfo	function;		/* send or receive, if FORM_TYPE */
	Oid			ioparam;
	int32		typmod;
} ExchangeColumn;

struct ExchangeRow
{
	int			ncolumns;
	bool		calls;			/* a column is FORM_TYPE */
	ExchangeColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

static ExchangeForm
form_of_type(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return FORM_INT2;
		case INT4OID:
		case DATEOID:
			return FORM_INT4;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return FORM_INT8;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return FORM_STRING;
		case BYTEAOID:
			return FORM_BYTES;
		default:
			return FORM_TYPE;
	}
}

ExchangeRow *
exchange_row_create(TupleDesc columns, bool writes)
{
	ExchangeRow *row = palloc0(offsetof(ExchangeRow, columns) + sizeof(ExchangeColumn) * columns->natts);

	row->ncolumns = columns->natts;
	for (int i = 0; i < columns->natts; i++)
	{
		ExchangeColumn *column = &row->columns[i];
		WireType	type = wire_type(TupleDescAttr(columns, i)->atttypid);

		column->form = form_of_type(type.type);
		column->typmod = TupleDescAttr(columns, i)->atttypmod;
		column->ioparam = type.ioparam;
		if (column->form != FORM_TYPE)
			continue;
		row->calls = true;
		fmgr_info(writes ? type.send : type.receive, &column->function);
	}
	return row;
}

/* Appends a value with its length. */
static void
append_row_value(ExchangeColumn *column, StringInfo buffer, Datum value)
{
	bytea	   *bytes;

	switch (column->form)
	{
		case FORM_INT2:
			pq_sendint32(buffer, sizeof(int16));
			pq_sendint16(buffer, DatumGetInt16(value));
			return;
		case FORM_INT4:
			pq_sendint32(buffer, sizeof(int32));
			pq_sendint32(buffer, DatumGetInt32(value));
			return;
		case FORM_INT8:
			pq_sendint32(buffer, sizeof(int64));
			pq_sendint64(buffer, DatumGetInt64(value));
			return;
		case FORM_BYTES:
		case FORM_STRING:
			bytes = DatumGetByteaPP(value);
			break;
		default:
			bytes = SendFunctionCall(&column->function, value);
			break;
	}
	pq_sendint32(buffer, VARSIZE_ANY_EXHDR(bytes));
	appendBinaryStringInfo(buffer, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

static void
append_row_values(ExchangeRow *row, StringInfo buffer, const Datum *values, const bool *nulls)
{
	for (int i = 0; i < row->ncolumns; i++)
	{
		if (nulls[i])
			pq_sendint32(buffer, (uint32) -1);
		else
			append_row_value(&row->columns[i], buffer, values[i]);
	}
}

void
exchange_row_append(ExchangeRow *row, StringInfo buffer, const Datum *values, const bool *nulls)
{
	int			encoding;

	if (!row->calls || pg_get_client_encoding() == GetDatabaseEncoding())
	{
		append_row_values(row, buffer, values, nulls);
		return;
	}
	encoding = wire_encoding_begin();
	PG_TRY();
	{
		append_row_values(row, buffer, values, nulls);
	}
	PG_FINALLY();
	{
		wire_encoding_end(encoding);
	}
	PG_END_TRY();
}

/* Takes a value of that length. */
static Datum
take_row_value(ExchangeColumn *column, StringInfo buffer, int len)
{
	StringInfoData part;
	bytea	   *bytes;
	char		kept;
	Datum		value;

	switch (column->form)
	{
		case FORM_INT2:
			return Int16GetDatum((int16) pq_getmsgint(buffer, sizeof(int16)));
		case FORM_INT4:
			return Int32GetDatum((int32) pq_getmsgint(buffer, sizeof(int32)));
		case FORM_INT8:
			return Int64GetDatum(pq_getmsgint64(buffer));
		case FORM_BYTES:
		case FORM_STRING:
			bytes = palloc(VARHDRSZ + len);
			SET_VARSIZE(bytes, VARHDRSZ + len);
			memcpy(VARDATA(bytes), pq_getmsgbytes(buffer, len), len);
			if (column->form == FORM_STRING)
				(void) pg_verifymbstr(VARDATA(bytes), len, false);
			return PointerGetDatum(bytes);
		default:
			break;
	}

	/* receive functions want a null byte behind the value */
	part.data = unconstify(char *, pq_getmsgbytes(buffer, len));
	part.len = len;
	part.maxlen = len + 1;
	part.cursor = 0;
	kept = part.data[len];
	part.data[len] = '\0';
	value = ReceiveFunctionCall(&column->function, &part, column->ioparam, column->typmod);
	part.data[len] = kept;
	return value;
}

static void
take_row_values(ExchangeRow *row, StringInfo buffer, Datum *values, bool *nulls)
{
	for (int i = 0; i < row->ncolumns; i++)
	{
		int			len = (int) pq_getmsgint(buffer, sizeof(int32));

		nulls[i] = len < 0;
		values[i] = nulls[i] ? (Datum) 0 : take_row_value(&row->columns[i], buffer, len);
	}
}

bool
exchange_row_take(ExchangeRow *row, StringInfo buffer, Datum *values, bool *nulls)
{
	int			encoding;

	if (buffer->cursor >= buffer->len)
		return false;
	if (!row->calls || pg_get_client_encoding() == GetDatabaseEncoding())
	{
		take_row_values(row, buffer, values, nulls);
		return true;
	}
	encoding = wire_encoding_begin();
	PG_TRY();
	{
		take_row_values(row, buffer, values, nulls);
	}
	PG_FINALLY();
	{
		wire_encoding_end(encoding);
	}
	PG_END_TRY();
	return true;
}
