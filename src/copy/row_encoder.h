/*-------------------------------------------------------------------------
 *
 * row_encoder.h
 *	  Encodes a row's values for COPY.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_ROW_ENCODER_H
#define CITUS_COPY_ROW_ENCODER_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "lib/stringinfo.h"

#include "compat/foreach.h"

typedef struct RowEncoder RowEncoder;

/*
 * An encoder for the columns attnums (integer List) of rows of desc: binary
 * COPY format if all their types have a binary form that every node can read
 * (frame_trust_domains), else the text format.  Lives in CurrentMemoryContext.
 */
extern RowEncoder *row_encoder_create(TupleDesc desc, List *attnums);

/* The options for COPY that describe the format: what stands in WITH (...). */
extern const char *row_encoder_options(const RowEncoder *encoder);

/*
 * Appends a row.  Leaks what type output functions leak into
 * CurrentMemoryContext.
 */
extern void row_encoder_append(RowEncoder *encoder, TupleTableSlot *slot, StringInfo buf);

#endif							/* CITUS_COPY_ROW_ENCODER_H */
