/*-------------------------------------------------------------------------
 *
 * logical_ctid.h
 *	  ctid of a logical table: unique over all its shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_SHARDING_LOGICAL_CTID_H
#define CITUS_SHARDING_LOGICAL_CTID_H

#include "storage/itemptr.h"

/*
 * Adds the placement of a local shard to the ctid of one of its rows, in
 * place; nothing to that of a row that isn't stored.  Errors with
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if a ctid has no room.
 */
extern void logical_ctid_of_row(Oid shard_relid, ItemPointer ctid);

/*
 * The reverse, in place; false if the ctid is one of another placement, which
 * no row of this shard has.
 */
extern bool logical_ctid_to_row(Oid shard_relid, ItemPointer ctid);

#endif							/* CITUS_SHARDING_LOGICAL_CTID_H */
