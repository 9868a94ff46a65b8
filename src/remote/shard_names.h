/*-------------------------------------------------------------------------
 *
 * shard_names.h
 *	  Replaces names of shards in messages by those of logical tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_SHARD_NAMES_H
#define CITUS_REMOTE_SHARD_NAMES_H

#include "postgres.h"

#include "compat/noreturn.h"

/*
 * A copy (palloc'd) of text in which <name>_<shardid> is <name>, where shardid
 * is that of a shard.  Outside a transaction the copy is unchanged.
 */
extern char *shard_names_to_logical(const char *text);

/* The logical table of a shard of that name, or InvalidOid. */
extern Oid	shard_name_table(const char *shard);

/*
 * *schema becomes the logical table's schema if schema and table are those of
 * a shard.
 */
extern void shard_names_fix_schema(const char *shard_schema, const char *shard_table, char **schema);

/*
 * To be called in a PG_CATCH block that saw an error of a shard of this node:
 * switches to the context, and raises the error again with logical names.
 */
pg_noreturn extern void shard_names_rethrow(MemoryContext context);

#endif							/* CITUS_REMOTE_SHARD_NAMES_H */
