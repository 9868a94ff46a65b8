/*-------------------------------------------------------------------------
 *
 * rename.c
 *	  RENAME and SET SCHEMA of distributed and reference tables, and of their
 *	  dependent objects.
 *
 * A shard's name comes from its table's, so shards are renamed with it; the
 * statements for shards are made before the logical names are gone.  Shards
 * stay in their own schema.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "utils/lsyscache.h"

#include "catalog/global_key.h"
#include "conversion/convert_checks.h"
#include "conversion/distribute_schema.h"
#include "conversion/undistribute.h"
#include "ddl/create_table.h"
#include "ddl/handlers.h"
#include "ddl/statistics.h"
#include "resolve/utility.h"
#include "table/run_commands.h"
#include "table/shards.h"

/*
 * Whether a RENAME is ALTER INDEX of an index (the server takes tables as
 * well): it needs no lock that excludes other sessions.
 */
static bool
renames_index(const RenameStmt *stmt)
{
	Oid			relid;

	if (stmt->renameType != OBJECT_INDEX)
		return false;
	relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	return OidIsValid(relid) && table_of_relation(relid) != relid;
}

bool
rename_utility(UtilityCall *call)
{
	RenameStmt *stmt = castNode(RenameStmt, call->pstmt->utilityStmt);
	bool		index = renames_index(stmt);
	const DistTable *table = NULL;
	List	   *for_shards = NIL;
	ListCell   *cell;

	if (stmt->renameType == OBJECT_ATTRIBUTE && stmt->behavior == DROP_CASCADE)
		check_no_typed_tables(RangeVarGetRelid(stmt->relation, NoLock, true));
	if (stmt->renameType == OBJECT_STATISTIC_EXT)
		table = utility_table_of_statistics(call, castNode(List, stmt->object), ShareUpdateExclusiveLock);
	else if (stmt->relation != NULL)
		table = utility_table(call, stmt->relation, index ? ShareUpdateExclusiveLock : AccessExclusiveLock,
							  index ? AccessShareLock : AccessExclusiveLock);
	if (table == NULL)
		return false;
	if (stmt->renameType != OBJECT_POLICY && stmt->renameType != OBJECT_TRIGGER &&
		!(stmt->renameType == OBJECT_TABCONSTRAINT &&
		  constraint_is_global(get_relation_constraint_oid(table->relid, stmt->subname, true))))
		for_shards = resolve_for_local_shards(table, (Node *) stmt);
	utility_run(call);
	utility_relay(call);
	foreach(cell, for_shards)
		run_raw_statement(lfirst(cell), call->query);
	metadata_invalidate(table->relid);
	return true;
}

/*
 * Makes a table that is moved out of a distributed schema a local one.  Errors
 * if it can't be, or is distributed otherwise and moved into such a schema.
 */
static void
leave_distributed_schema(Oid relid)
{
	if (schema_colocation(get_rel_namespace(relid)) == 0 || get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot move distributed table \"%s\" into or out of a distributed schema", get_rel_name(relid)),
				 errhint("Use undistribute_table() first: a local table is distributed when it is moved into the schema.")));
	undistribute_relation(relid, false);
}

/* ALTER TABLE .. SET SCHEMA */
bool
alter_schema_utility(UtilityCall *call)
{
	AlterObjectSchemaStmt *stmt = castNode(AlterObjectSchemaStmt, call->pstmt->utilityStmt);
	const DistTable *table;
	int32		colocation;
	Oid			relid;

	if (stmt->objectType == OBJECT_STATISTIC_EXT)
		return move_statistics_utility(call);
	if (stmt->objectType != OBJECT_TABLE || stmt->relation == NULL)
		return false;
	table = utility_table(call, stmt->relation, AccessExclusiveLock, AccessExclusiveLock);
	colocation = schema_colocation(get_namespace_oid(stmt->newschema, true));
	if (table == NULL && colocation == 0)
		return false;
	relid = table != NULL ? table->relid : RangeVarGetRelid(stmt->relation, NoLock, true);
	if (table != NULL && !call->relayed && schema_colocation(get_rel_namespace(relid)) != colocation &&
		OidIsValid(get_namespace_oid(stmt->newschema, true)))
	{
		leave_distributed_schema(relid);
		table = NULL;
	}
	utility_run(call);
	CommandCounterIncrement();
	if (table == NULL)
	{
		schema_distribute_table(relid);
		return true;
	}
	relay_needs(call, relid);
	utility_relay(call);
	return true;
}
