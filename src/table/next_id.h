/*-------------------------------------------------------------------------
 *
 * next_id.h
 *	  Cluster-wide unique ids of shards, nodes and the like.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_NEXT_ID_H
#define CITUS_TABLE_NEXT_ID_H

#include "postgres.h"

#include "catalog/relations.h"

/* The next id of one of the sequences (PG_DIST_*_SEQ). */
extern int64 next_id(DistRelation sequence);

/* Several of them, palloc'd, by one query. */
extern int64 *next_ids(DistRelation sequence, int count);

#endif							/* CITUS_TABLE_NEXT_ID_H */
