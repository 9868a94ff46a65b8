/*-------------------------------------------------------------------------
 *
 * published.h
 *	  The relation under whose name the changes of a relation are published.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DECODING_PUBLISHED_H
#define CITUS_DECODING_PUBLISHED_H

#include "postgres.h"

#include "access/tupconvert.h"
#include "utils/rel.h"

typedef enum PublishedKind
{
	PUBLISHED_ITSELF,			/* local tables, and reference tables of the
								 * coordinator */
	PUBLISHED_AS_TABLE,			/* a shard */
	PUBLISHED_ELSEWHERE,		/* a reference table of another node; the
								 * table itself of shards; what is in
								 * pg_catalog */
} PublishedKind;

typedef struct Published
{
	Oid			relid;			/* key */
	PublishedKind kind;
	Oid			table;			/* of a shard */
	TupleConversionMap *map;	/* from the shard's rows to the table's; NULL:
								 * they are the same */
} Published;

/*
 * How a relation is published, by the catalogs as of logical decoding's
 * snapshot.  Valid until the next call.
 */
extern const Published *published_as(Relation rel);

#endif							/* CITUS_DECODING_PUBLISHED_H */
