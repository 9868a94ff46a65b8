/*-------------------------------------------------------------------------
 *
 * next_id.h
 *	  Ids of shards, nodes and the like that no other node hands out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_NEXT_ID_H
#define CITUS_TABLE_NEXT_ID_H

#include "postgres.h"

#include "catalog/relations.h"

/* The next id of one of the sequences (PG_DIST_*_SEQ). */
extern int64 next_id(DistRelation sequence);

/* As many of them, palloc'd, at the price of one. */
extern int64 *next_ids(DistRelation sequence, int count);

#endif							/* CITUS_TABLE_NEXT_ID_H */
