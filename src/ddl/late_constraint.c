/*-------------------------------------------------------------------------
 *
 * late_constraint.c
 *	  Constraints of shards on a column that is filled after it was added.
 *
 * If a new column draws its values from a sequence, the shards' existing rows
 * get them from the initiator, when all nodes have the column
 * (alter_table.c).  Until then it is NULL, which a primary key that the same
 * statement adds doesn't allow.  So the shards get constraints on the column
 * last, while the logical tables have them already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "ddl/late_constraint.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

SQL_FUNCTION(citus_internal_add_shard_constraint);

bool
constraint_has_column(Oid constraint, AttrNumber attno)
{
	HeapTuple	tuple = catalog_tuple(CONSTROID, constraint, "constraint");
	bool		null;
	Datum		columns = SysCacheGetAttr(CONSTROID, tuple, Anum_pg_constraint_conkey, &null);
	bool		found = false;

	if (!null)
	{
		ArrayType  *array = DatumGetArrayTypeP(columns);

		for (int i = 0; i < ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)); i++)
			found |= ((int16 *) ARR_DATA_PTR(array))[i] == attno;
	}
	ReleaseSysCache(tuple);
	return found;
}

void
add_shard_constraint(const DistTable *table, Oid constraint, bool inherited)
{
	const char *definition = constraint_definition(constraint);
	AlterTableStmt *stmt = castNode(AlterTableStmt, parse_utility(definition));

	if (constraint_becomes_global(constraint))
		return;
	stmt->relation->inh = inherited;
	run_on_local_shards(table, (Node *) stmt, definition);
}

void
add_late_constraints(UtilityCall *call, const DistTable *table, List *constraints, bool inherited)
{
	foreach_oid(constraint, constraints)
	{
		utility_relay_call(call, node_call(NODE_add_shard_constraint,
										   node_text(relation_qualified_name(table->relid)),
										   node_text(get_constraint_name(constraint)), node_bool(inherited)));
		add_shard_constraint(table, constraint, inherited);
	}
}

/*
 * citus_internal.add_shard_constraint(relation regclass, name text, inherited
 * boolean)
 */
Datum
citus_internal_add_shard_constraint(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));

	node_function_check(fcinfo);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	add_shard_constraint(metadata_require(relid), get_relation_constraint_oid(relid, name, false), PG_GETARG_BOOL(2));
	PG_RETURN_VOID();
}
