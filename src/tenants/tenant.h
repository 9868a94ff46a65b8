/*-------------------------------------------------------------------------
 *
 * tenant.h
 *	  Statements of a tenant: a value of a distribution column, or a
 *	  distributed schema.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TENANTS_TENANT_H
#define CITUS_TENANTS_TENANT_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/params.h"

/*
 * A statement that starts is about one value of a colocation group's
 * distribution columns, or about a group that is a schema's (value is NULL);
 * hash is any hash value of its shard group.  Waits as the tenant's limits
 * require, and returns whether there are any; errors if cancelled.
 */
extern bool tenant_statement_starts(const QueryDesc *query_desc, int32 colocation_id, int32 hash,
									const ParamExternData *value);

/*
 * The same statement has started.  It is counted when its executor's memory is
 * released, whether it succeeded or failed.
 */
extern void tenant_statement_started(QueryDesc *query_desc);

extern void tenant_init(void);

#endif							/* CITUS_TENANTS_TENANT_H */
