/*-------------------------------------------------------------------------
 *
 * metadata_load.h
 *	  Reads the pg_dist_* rows of a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_METADATA_LOAD_H
#define CITUS_CATALOG_METADATA_LOAD_H

#include "catalog/dist_table.h"

/*
 * Fills in *table (already zeroed) from the catalogs, with what it points to
 * in CurrentMemoryContext, and nothing else there; false if relid is not
 * distributed.
 */
extern bool metadata_load(Oid relid, DistTable *table);

/*
 * Number of the column in pg_dist_partition.partkey's text; errors if that
 * isn't a column's node string.
 */
extern AttrNumber metadata_parse_partkey(const char *partkey);

/* The text for pg_dist_partition.partkey; palloc'd. */
extern char *metadata_format_partkey(Oid relid, AttrNumber attno);

#endif							/* CITUS_CATALOG_METADATA_LOAD_H */
