/*-------------------------------------------------------------------------
 *
 * row_codec.h
 *	  Converts rows and parameters between wire format and slots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_ROW_CODEC_H
#define CITUS_EXECUTOR_ROW_CODEC_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "nodes/params.h"
#include "utils/tuplestore.h"

#include "remote/connection.h"

typedef struct RowCodec RowCodec;

/*
 * For rows with the given columns.  positions as in TaskSetSpec.  Memory
 * comes from CurrentMemoryContext.
 */
extern RowCodec *row_codec_create(TupleDesc columns, const AttrNumber *positions);

/* Whether all columns travel in binary (else all travel as text). */
extern bool row_codec_is_binary(const RowCodec *codec);

/*
 * Decodes a row, in its place, into an empty virtual slot.  Values live in
 * context.
 */
extern void row_codec_store(RowCodec *codec, const RemoteRow *row, TupleTableSlot *slot, MemoryContext context);

/* Copies a row of a task of this node (values are shared). */
extern void row_codec_copy(RowCodec *codec, TupleTableSlot *row, TupleTableSlot *slot);

/*
 * A tuple descriptor for a slot good enough to be a target of row_codec_store.
 */
extern TupleDesc row_codec_slot_desc(RowCodec *codec);

/*
 * Rows in a tuplestore: their descriptor, and conversions in both directions.
 */
extern TupleDesc row_codec_spill_desc(RowCodec *codec);
extern void row_codec_spill(RowCodec *codec, TupleTableSlot *slot, Tuplestorestate *store);
extern void row_codec_restore(RowCodec *codec, TupleTableSlot *spilled, TupleTableSlot *slot);

/* Parameters for remote_send, palloc'd; NULL for none. */
extern RemoteParams *row_codec_params(ParamListInfo params);

#endif							/* CITUS_EXECUTOR_ROW_CODEC_H */
