/*-------------------------------------------------------------------------
 *
 * logical_error.h
 *	  Errors from a shard that this backend writes speak of its table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_LOGICAL_ERROR_H
#define CITUS_COPY_LOGICAL_ERROR_H

#include "postgres.h"

/*
 * To be called in a PG_CATCH block, after switching out of ErrorContext: raises
 * the error again, with the names of the shard, its indexes and constraints
 * replaced by those of the table.
 */
extern void rethrow_logical_error(const char *table_schema, const char *table_name, const char *shard_name,
								  int64 shardid) pg_attribute_noreturn();

#endif							/* CITUS_COPY_LOGICAL_ERROR_H */
