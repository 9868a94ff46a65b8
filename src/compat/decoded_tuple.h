/*-------------------------------------------------------------------------
 *
 * decoded_tuple.h
 *	  The tuples of a change that logical decoding has found.
 *
 * They are HeapTuples since version 17; before, buffers with a tuple in each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_DECODED_TUPLE_H
#define CITUS_COMPAT_DECODED_TUPLE_H

#include "postgres.h"

#include "access/htup.h"
#include "replication/reorderbuffer.h"

#if PG_VERSION_NUM >= 170000

typedef HeapTuple DecodedTuple;

static inline HeapTuple
compat_heap_of_decoded(DecodedTuple tuple)
{
	return tuple;
}

static inline DecodedTuple
compat_decoded_of_heap(HeapTuple tuple)
{
	return tuple;
}

#else

typedef ReorderBufferTupleBuf *DecodedTuple;

static inline HeapTuple
compat_heap_of_decoded(DecodedTuple tuple)
{
	return &tuple->tuple;
}

/* In CurrentMemoryContext; the tuple's data stay where they are. */
static inline DecodedTuple
compat_decoded_of_heap(HeapTuple tuple)
{
	DecodedTuple result = palloc0(sizeof(ReorderBufferTupleBuf));

	result->tuple = *tuple;
	return result;
}

#endif

#endif							/* CITUS_COMPAT_DECODED_TUPLE_H */
