/*-------------------------------------------------------------------------
 *
 * vector_spill.c
 *	  Rows whose groups have no memory yet, in temporary files.
 *
 * Bits of the hash value of a row's keys say which file it goes to, so the
 * rows of a group are in one file, in their order.  They are read again as
 * chunk groups of a StripeReader that has no stripe.
 *
 * A row is a header, which has its length and the number of its scan; a byte
 * for each column, whether it is NULL; and the other values, each at a
 * multiple of 8 bytes: a Datum, or what it points to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "columnar/scaled_numeric.h"
#include "vector/vector_spill.h"

/* Rows that are read together. */
#define BATCH_ROWS 2048

/* How many files, as a power of two; each has a buffer in memory. */
#define LEAST_FILE_BITS 2
#define MOST_FILE_BITS 6
#define MEMORY_OF_FILE (64 * 1024)

typedef struct RowHeader
{
	uint32		len;			/* of what follows */
	uint32		scan;
} RowHeader;

struct SpilledRows
{
	BufFile    *file;
	int			bits_used;		/* of the hash values, which they share */
	bool		rewound;
	RowHeader	next;			/* of the next row; len 0: not read yet */
};

struct VectorSpill
{
	int			file_bits;
	int			bits_used;
	SpilledRows **files;		/* NULL: has no rows */
	char	   *record;			/* a row on its way */
	Size		room;
};

void
vector_spill_prepare(SpilledColumns *columns, uint32 number, TupleDesc tupdesc, const Bitmapset *set)
{
	StripeReader *reader = palloc0(sizeof(StripeReader));
	int			column = -1;

	columns->number = number;
	columns->count = 0;
	columns->columns = palloc(Max(bms_num_members(set), 1) * sizeof(int));
	while ((column = bms_next_member(set, column)) >= 0)
		columns->columns[columns->count++] = column;
	reader->tupdesc = tupdesc;
	reader->vectors = palloc0(tupdesc->natts * sizeof(ColumnVector));
	reader->arena = arena_make();
	columns->reader = reader;
}

VectorSpill *
vector_spill_begin(const SpilledRows *parent)
{
	VectorSpill *spill = palloc0(sizeof(VectorSpill));

	spill->bits_used = parent != NULL ? parent->bits_used : 0;
	spill->file_bits = LEAST_FILE_BITS;
	while (spill->file_bits < MOST_FILE_BITS &&
		   ((Size) MEMORY_OF_FILE << spill->file_bits) < get_hash_memory_limit())
		spill->file_bits++;
	spill->files = palloc0(((Size) 1 << spill->file_bits) * sizeof(SpilledRows *));
	return spill;
}

/* The file of a row; its bits are from the highest one on. */
static SpilledRows *
file_of_hash(VectorSpill *spill, uint64 hash)
{
	int			shift = Max(64 - spill->bits_used - spill->file_bits, 0);
	uint32		number = (uint32) (hash >> shift) & ((1 << spill->file_bits) - 1);
	SpilledRows *rows = spill->files[number];

	if (rows == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(spill));

		rows = palloc0(sizeof(SpilledRows));
		rows->file = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
		rows->bits_used = spill->bits_used + spill->file_bits;
		spill->files[number] = rows;
	}
	return rows;
}

/* Makes the record so long. */
static char *
reserve_record(VectorSpill *spill, Size len)
{
	if (len > spill->room)
	{
		Size		room = Max(len * 2, 1024);

		spill->record = spill->record == NULL ? MemoryContextAllocHuge(GetMemoryChunkContext(spill), room) :
			repalloc_huge(spill->record, room);
		spill->room = room;
	}
	return spill->record;
}

static void
begin_record(VectorSpill *spill, const SpilledColumns *columns, Size *len)
{
	*len = MAXALIGN(sizeof(RowHeader) + columns->count);
	memset(reserve_record(spill, *len), 0, *len);
}

/* Adds the value of the column with a number among the columns. */
static void
add_to_record(VectorSpill *spill, const SpilledColumns *columns, int number, Datum value, bool isnull, Size *len)
{
	Form_pg_attribute att = TupleDescAttr(columns->reader->tupdesc, columns->columns[number]);
	Size		value_len;
	char	   *record;

	spill->record[sizeof(RowHeader) + number] = isnull;
	if (isnull)
		return;
	value_len = att->attbyval ? sizeof(Datum) : datumGetSize(value, false, att->attlen);
	record = reserve_record(spill, *len + MAXALIGN(value_len));
	if (att->attbyval)
		memcpy(record + *len, &value, sizeof(Datum));
	else
		memcpy(record + *len, DatumGetPointer(value), value_len);
	*len += MAXALIGN(value_len);
}

static void
write_record(VectorSpill *spill, const SpilledColumns *columns, uint64 hash, Size len)
{
	RowHeader	header = {(uint32) (len - sizeof(RowHeader)), columns->number};

	memcpy(spill->record, &header, sizeof(RowHeader));
	BufFileWrite(file_of_hash(spill, hash)->file, spill->record, len);
}

void
vector_spill_put(VectorSpill *spill, const SpilledColumns *columns, uint64 hash, const StripeReader *reader, uint32 row)
{
	Size		len;

	begin_record(spill, columns, &len);
	for (int i = 0; i < columns->count; i++)
	{
		ColumnVector *vector = &reader->vectors[columns->columns[i]];
		bool		isnull = vector->nulls[row];

		add_to_record(spill, columns, i, isnull ? 0 : column_vector_value(vector, row, reader->group_rows, reader->arena),
					  isnull, &len);
	}
	write_record(spill, columns, hash, len);
}

void
vector_spill_put_slot(VectorSpill *spill, const SpilledColumns *columns, uint64 hash, TupleTableSlot *slot)
{
	Size		len;

	begin_record(spill, columns, &len);
	for (int i = 0; i < columns->count; i++)
	{
		int			column = columns->columns[i];
		Form_pg_attribute att = TupleDescAttr(columns->reader->tupdesc, column);
		bool		isnull = slot->tts_isnull[column];
		Datum		value = slot->tts_values[column];

		if (!isnull && att->attlen == -1)
			value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
		add_to_record(spill, columns, i, value, isnull, &len);
	}
	write_record(spill, columns, hash, len);
}

List *
vector_spill_finish(VectorSpill *spill)
{
	List	   *result = NIL;

	for (int i = 0; i < 1 << spill->file_bits; i++)
	{
		if (spill->files[i] != NULL)
			result = lappend(result, spill->files[i]);
	}
	if (spill->record != NULL)
		pfree(spill->record);
	pfree(spill->files);
	pfree(spill);
	return result;
}

/* Reads from the file: so many bytes, or false at its end. */
static bool
read_spilled(SpilledRows *rows, void *to, Size len)
{
	Size		done = BufFileRead(rows->file, to, len);

	if (done == 0 && len > 0)
		return false;
	if (done != len)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: read only %zu of %zu bytes", done, len)));
	return true;
}

/* Takes a record apart, to a row of the reader. */
static void
load_record(const SpilledColumns *columns, const char *record, uint32 row)
{
	StripeReader *reader = columns->reader;
	const char *nulls = record;
	const char *at = record + MAXALIGN(sizeof(RowHeader) + columns->count) - sizeof(RowHeader);

	for (int i = 0; i < columns->count; i++)
	{
		int			column = columns->columns[i];
		Form_pg_attribute att = TupleDescAttr(reader->tupdesc, column);
		ColumnVector *vector = &reader->vectors[column];

		vector->nulls[row] = nulls[i];
		vector->values[row] = 0;
		if (nulls[i])
			vector->has_nulls = true;
		else if (att->attbyval)
		{
			memcpy(&vector->values[row], at, sizeof(Datum));
			at += sizeof(Datum);
		}
		else
		{
			vector->values[row] = PointerGetDatum(at);
			at += MAXALIGN(datumGetSize(vector->values[row], false, att->attlen));
		}
	}
}

/* Numerics as integers too, if all have one scale. */
static void
find_integers(StripeReader *reader, int column)
{
	ColumnVector *vector = &reader->vectors[column];
	int64	   *integers = arena_alloc(reader->arena, BATCH_ROWS * sizeof(int64));
	int			scale = -1;

	if (TupleDescAttr(reader->tupdesc, column)->atttypid != NUMERICOID)
		return;
	for (uint32 row = 0; row < reader->group_rows; row++)
	{
		int			own_scale;

		integers[row] = 0;
		if (vector->nulls[row])
			continue;
		if (!numeric_to_scaled(vector->values[row], &own_scale, &integers[row]) || (scale >= 0 && own_scale != scale))
			return;
		scale = own_scale;
	}
	vector->integers = integers;
	vector->scale = Max(scale, 0);
}

int
vector_spill_read(SpilledRows *rows, SpilledColumns *columns)
{
	SpilledColumns *of_scan;
	StripeReader *reader;
	uint32		scan;

	if (!rows->rewound && BufFileSeek(rows->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file")));
	rows->rewound = true;
	if (rows->next.len == 0 && !read_spilled(rows, &rows->next, sizeof(RowHeader)))
		return -1;
	scan = rows->next.scan;
	of_scan = &columns[scan];
	reader = of_scan->reader;
	arena_reset(reader->arena);
	memset(reader->vectors, 0, reader->tupdesc->natts * sizeof(ColumnVector));
	for (int i = 0; i < of_scan->count; i++)
	{
		ColumnVector *vector = &reader->vectors[of_scan->columns[i]];

		vector->values = arena_alloc(reader->arena, BATCH_ROWS * sizeof(Datum));
		vector->nulls = arena_alloc(reader->arena, BATCH_ROWS * sizeof(bool));
	}
	reader->group_rows = 0;
	while (rows->next.len > 0 && rows->next.scan == scan && reader->group_rows < BATCH_ROWS)
	{
		char	   *record = arena_alloc(reader->arena, rows->next.len);

		(void) read_spilled(rows, record, rows->next.len);
		load_record(of_scan, record, reader->group_rows++);
		if (!read_spilled(rows, &rows->next, sizeof(RowHeader)))
			rows->next.len = 0;
	}
	for (int i = 0; i < of_scan->count; i++)
		find_integers(reader, of_scan->columns[i]);
	return (int) scan;
}

void
vector_spill_remove(SpilledRows *rows)
{
	BufFileClose(rows->file);
	pfree(rows);
}
