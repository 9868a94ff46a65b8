/*-------------------------------------------------------------------------
 *
 * shard_schema.h
 *	  Keeps other objects out of the schema of shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_SHARD_SCHEMA_H
#define CITUS_TABLE_SHARD_SCHEMA_H

#include "postgres.h"

/*
 * To be called after a user's command has created an object; errors if that is
 * in the schema.
 */
extern void shard_schema_check_created(Oid classid, Oid objid);

/*
 * To be called after a user's command has altered an object, before that can
 * be seen: errors if the object was moved into or out of the schema, or
 * renamed in it.
 */
extern void shard_schema_check_altered(Oid classid, Oid objid);

#endif							/* CITUS_TABLE_SHARD_SCHEMA_H */
