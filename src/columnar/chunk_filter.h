/*-------------------------------------------------------------------------
 *
 * chunk_filter.h
 *	  Chunk groups that cannot have a row that passes a scan's conditions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_CHUNK_FILTER_H
#define CITUS_COLUMNAR_CHUNK_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "columnar/stripe_reader.h"

/* The conditions of a run of a scan that bounds of chunks can refute. */
typedef struct ChunkFilter
{
	List	   *conditions;		/* without anything that is not known before
								 * the run */
	Bitmapset  *columns;		/* that they are about, from 0 */
	Index		varno;
	MemoryContext scratch;
} ChunkFilter;

/*
 * Those of a scan's conditions (without RestrictInfos) that bounds can
 * refute.  Only columns of varno are in them.
 */
extern List *chunk_filter_conditions(List *quals, Index varno);

/*
 * Makes the filter of a run: what does not depend on rows is evaluated.  It is
 * allocated in the current memory context.
 */
extern ChunkFilter *chunk_filter_make(List *conditions, Index varno, PlanState *planstate);

/* Whether the chunk group may have a wanted row; a ChunkGroupTest. */
extern bool chunk_filter_test(void *filter, const StripeReader *reader, int group);

#endif							/* CITUS_COLUMNAR_CHUNK_FILTER_H */
