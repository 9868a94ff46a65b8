/*-------------------------------------------------------------------------
 *
 * online_rows.h
 *	  Copies the rows of local tables into shards while others write them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_ONLINE_ROWS_H
#define CITUS_CONVERSION_ONLINE_ROWS_H

#include "postgres.h"

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "compat/foreach.h"

/*
 * Copies the rows of a local table that a snapshot shows to their shards, with
 * the flags of a row router; true if there were any.
 */
extern bool rows_to_shards(Relation rel, Snapshot snapshot, int router_flags);

/*
 * Errors unless changes of the tables (Oids), which are locked in
 * ShareUpdateExclusiveLock, can be tracked.
 */
extern void online_rows_check(List *relids);

/*
 * Copies the rows of the tables into their shards.  On return the tables are
 * locked in AccessExclusiveLock, and the shards have all rows.
 */
extern void online_rows_copy(List *relids);

#endif							/* CITUS_CONVERSION_ONLINE_ROWS_H */
