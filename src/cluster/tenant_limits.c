/*-------------------------------------------------------------------------
 *
 * tenant_limits.c
 *	  citus_set_tenant_limits: what a tenant may use at most, on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "sharding/hash.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "tenants/tenant_limit.h"

SQL_FUNCTION(citus_set_tenant_limits);

/* The text of a tenant, as statements about it show it. */
static char *
tenant_text(const DistTable *table, Datum value, Oid type)
{
	Oid			output;
	bool		varlena;
	char	   *text;

	getTypeOutputInfo(table->dist_type, &output, &varlena);
	text = OidOutputFunctionCall(output, shard_value(table, value, type));
	if (strlen(text) >= TENANT_ATTRIBUTE_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("tenants with limits can have values of at most %d bytes", TENANT_ATTRIBUTE_SIZE - 1)));
	return text;
}

/*
 * citus_set_tenant_limits(table_name regclass, tenant "any", max_concurrent
 * integer, max_cpu_share float8): for a table of a distributed schema the
 * tenant is NULL.  Bounds that are NULL are none.
 */
Datum
citus_set_tenant_limits(PG_FUNCTION_ARGS)
{
	const DistTable *table;
	char	   *text = NULL;
	TenantLimit limit = {0};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("table cannot be NULL")));
	node_share_set_for_ddl();
	table = metadata_require(PG_GETARG_OID(0));
	if (table->kind == DIST_REFERENCE || (table->kind == DIST_SINGLE) != PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table \"%s\" has no such tenant", get_rel_name(table->relid)),
				 errdetail("Tenants are the values of a table's distribution column, or NULL for all of a "
						   "distributed schema's tables.")));
	if (!PG_ARGISNULL(1))
		text = tenant_text(table, PG_GETARG_DATUM(1), get_fn_expr_argtype(fcinfo->flinfo, 1));
	limit.key = tenant_key(table->colocation_id, text);
	if (!PG_ARGISNULL(2))
		limit.max_concurrent = PG_GETARG_INT32(2);
	if (!PG_ARGISNULL(3))
		limit.max_cpu_share = PG_GETARG_FLOAT8(3);
	tenant_limit_check(&limit);
	tenant_limit_record(&limit);
	if (node_active_primaries_remote() != NIL)
		remote_exec_on_all(run_commands_call(list_make1(tenant_limit_command(&limit))));
	PG_RETURN_VOID();
}
