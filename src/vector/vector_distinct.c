/*-------------------------------------------------------------------------
 *
 * vector_distinct.c
 *	  The different values of an aggregate with DISTINCT, by group.
 *
 * Pairs of a group and a value are in a hash table.  When it has filled the
 * memory for hash tables, it stays as it is, and further pairs that aren't in
 * it go to temporary files, by bits of their hash values, so that equal ones
 * are in one file.  In the end, each file gets a table of its own.  So no pair
 * counts twice, and memory is bounded.
 *
 * Only aggregates whose result doesn't depend on the order of values are
 * computed so, of types whose values are equal if their bytes are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/buffile.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "columnar/column_chunk.h"
#include "compat/varlena.h"
#include "vector/vector_distinct.h"

/* Slots of a new table; a power of two. */
#define FIRST_SLOTS 1024

/* Files of the pairs that have no room, as a power of two. */
#define FILE_BITS 5
#define NFILES (1 << FILE_BITS)

typedef struct DistinctPair
{
	TransitionState *states;	/* of the group; NULL: the slot is free */
	Datum		value;
} DistinctPair;

/* Pairs that wait; bits of their hash values are the same. */
typedef struct DistinctFile
{
	BufFile    *file;
	int			bits_used;
} DistinctFile;

/* A pair in a file; for text, the value's bytes follow. */
typedef struct StoredPair
{
	TransitionState *states;
	Datum		value;			/* of text, the length */
} StoredPair;

struct VectorDistinct
{
	Transition *transition;
	Oid			type;
	bool		is_text;
	MemoryContext context;		/* of the table and its values */
	DistinctPair *slots;
	uint64		nslots;
	uint64		count;
	bool		full;
	int			bits_used;		/* of the hash values of the table's pairs */
	DistinctFile *files[NFILES];	/* of pairs that had no room, or NULL */
};

bool
vector_distinct_can(const Aggref *aggref)
{
	Oid			type;

	switch (aggref->aggfnoid)
	{
		case F_COUNT_ANY:
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
			break;
		default:
			return false;
	}
	if (list_length(aggref->args) != 1)
		return false;
	type = exprType((Node *) linitial_node(TargetEntry, aggref->args)->expr);
	if (type == TEXTOID)
		return OidIsValid(aggref->inputcollid) && get_collation_isdeterministic(aggref->inputcollid);
	return column_is_ordered_as_integer(type);
}

VectorDistinct *
vector_distinct_make(Transition *transition)
{
	VectorDistinct *distinct = palloc0(sizeof(VectorDistinct));

	distinct->transition = transition;
	distinct->type = exprType((Node *) linitial_node(TargetEntry, transition->aggref->args)->expr);
	distinct->is_text = distinct->type == TEXTOID;
	distinct->context = AllocSetContextCreate(CurrentMemoryContext, "distinct values", ALLOCSET_DEFAULT_SIZES);
	return distinct;
}

static bool
pair_equals(const VectorDistinct *distinct, const DistinctPair *pair, const TransitionState *states, Datum value)
{
	Size		len;

	if (pair->states != states)
		return false;
	if (pair->value == value || !distinct->is_text)
		return pair->value == value;
	len = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	return VARSIZE_ANY_EXHDR(DatumGetPointer(pair->value)) == len &&
		memcmp(VARDATA_ANY(DatumGetPointer(pair->value)), VARDATA_ANY(DatumGetPointer(value)), len) == 0;
}

static uint64
hash_pair(const VectorDistinct *distinct, const TransitionState *states, Datum value)
{
	uint64		hash = (uint64) (uintptr_t) states;

	hash ^= distinct->is_text ? hash_bytes((unsigned char *) VARDATA_ANY(DatumGetPointer(value)),
										   (int) VARSIZE_ANY_EXHDR(DatumGetPointer(value))) : (uint64) value;
	hash *= UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

/* The slot of a pair, or the free one where it belongs. */
static DistinctPair *
find_pair(const VectorDistinct *distinct, const TransitionState *states, Datum value, uint64 hash)
{
	uint64		at = hash & (distinct->nslots - 1);

	while (distinct->slots[at].states != NULL && !pair_equals(distinct, &distinct->slots[at], states, value))
		at = (at + 1) & (distinct->nslots - 1);
	return &distinct->slots[at];
}

/* Makes room for more pairs, if there is memory. */
static void
grow_distinct_table(VectorDistinct *distinct)
{
	DistinctPair *old = distinct->slots;
	uint64		nold = distinct->nslots;
	uint64		nslots = Max(nold * 2, FIRST_SLOTS);

	if (MemoryContextMemAllocated(distinct->context, false) + nslots * sizeof(DistinctPair) > get_hash_memory_limit() &&
		nold > 0)
	{
		distinct->full = true;
		return;
	}
	distinct->slots = MemoryContextAllocExtended(distinct->context, nslots * sizeof(DistinctPair),
												 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	distinct->nslots = nslots;
	for (uint64 i = 0; i < nold; i++)
	{
		if (old[i].states != NULL)
			*find_pair(distinct, old[i].states, old[i].value, hash_pair(distinct, old[i].states, old[i].value)) = old[i];
	}
	if (old != NULL)
		pfree(old);
}

/* Writes a pair to the file of its hash value. */
static void
keep_pair(VectorDistinct *distinct, TransitionState *states, Datum value, uint64 hash)
{
	int			shift = Max(64 - distinct->bits_used - FILE_BITS, 0);
	DistinctFile **file = &distinct->files[(hash >> shift) & (NFILES - 1)];
	StoredPair	pair = {states, value};

	if (*file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(distinct));

		*file = palloc(sizeof(DistinctFile));
		(*file)->bits_used = distinct->bits_used + FILE_BITS;
		(*file)->file = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	if (distinct->is_text)
		pair.value = (Datum) VARSIZE_ANY(DatumGetPointer(value));
	BufFileWrite((*file)->file, &pair, sizeof(pair));
	if (distinct->is_text)
		BufFileWrite((*file)->file, DatumGetPointer(value), (Size) pair.value);
}

bool
vector_distinct_add(VectorDistinct *distinct, TransitionState *states, Datum value)
{
	DistinctPair *pair;
	uint64		hash;

	if (distinct->is_text)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	hash = hash_pair(distinct, states, value);
	if (!distinct->full && distinct->count * 4 >= distinct->nslots * 3)
		grow_distinct_table(distinct);
	pair = find_pair(distinct, states, value, hash);
	if (pair->states != NULL)
		return false;
	if (distinct->full)
	{
		keep_pair(distinct, states, value, hash);
		return false;
	}
	pair->states = states;
	pair->value = value;
	if (distinct->is_text)
	{
		MemoryContext old = MemoryContextSwitchTo(distinct->context);

		pair->value = datumCopy(value, false, -1);
		MemoryContextSwitchTo(old);
	}
	distinct->count++;
	return true;
}

/* Empties the table. */
static void
forget_pairs(VectorDistinct *distinct)
{
	MemoryContextReset(distinct->context);
	distinct->slots = NULL;
	distinct->nslots = 0;
	distinct->count = 0;
	distinct->full = false;
}

/* Reads a pair, whose text goes to the buffer; false at the file's end. */
static bool
read_pair(const VectorDistinct *distinct, BufFile *file, StoredPair *pair, StringInfo buffer)
{
	Size		done = BufFileRead(file, pair, sizeof(StoredPair));
	Size		wanted = sizeof(StoredPair);

	if (done == 0)
		return false;
	if (done == wanted && distinct->is_text)
	{
		resetStringInfo(buffer);
		enlargeStringInfo(buffer, (int) pair->value);
		done = BufFileRead(file, buffer->data, (Size) pair->value);
		wanted = (Size) pair->value;
		pair->value = PointerGetDatum(buffer->data);
	}
	if (done != wanted)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: read only %zu of %zu bytes", done, wanted)));
	return true;
}

/* Advances states by the different pairs of a file. */
static void
advance_by_file(VectorDistinct *distinct, DistinctFile *from, StringInfo buffer)
{
	Transition *transition = distinct->transition;
	NullableDatum *arg = &transition->call->args[1];
	StoredPair	pair;

	forget_pairs(distinct);
	distinct->bits_used = from->bits_used;
	if (BufFileSeek(from->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind temporary file")));
	while (read_pair(distinct, from->file, &pair, buffer))
	{
		CHECK_FOR_INTERRUPTS();
		if (!vector_distinct_add(distinct, pair.states, pair.value))
			continue;
		arg->value = pair.value;
		arg->isnull = false;
		transition_advance(transition, transition_state_of(transition, pair.states));
	}
	BufFileClose(from->file);
	pfree(from);
}

/* Moves the files to the front of a list. */
static List *
take_files(VectorDistinct *distinct, List *waiting)
{
	for (int i = 0; i < NFILES; i++)
	{
		if (distinct->files[i] != NULL)
			waiting = lcons(distinct->files[i], waiting);
		distinct->files[i] = NULL;
	}
	return waiting;
}

void
vector_distinct_finish(VectorDistinct *distinct)
{
	List	   *waiting = take_files(distinct, NIL);
	StringInfoData buffer;

	if (waiting == NIL)
		return;
	initStringInfo(&buffer);
	while (waiting != NIL)
	{
		DistinctFile *from = linitial(waiting);

		waiting = list_delete_first(waiting);
		advance_by_file(distinct, from, &buffer);
		waiting = take_files(distinct, waiting);
	}
	pfree(buffer.data);
}

void
vector_distinct_reset(VectorDistinct *distinct)
{
	forget_pairs(distinct);
	distinct->bits_used = 0;
}
