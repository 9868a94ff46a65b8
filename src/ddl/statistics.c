/*-------------------------------------------------------------------------
 *
 * statistics.c
 *	  CREATE and ALTER STATISTICS of distributed and reference tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_statistic_ext.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "ddl/handlers.h"
#include "ddl/statistics.h"
#include "table/definition.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

Oid
table_of_statistics(List *names)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(get_statistics_object_oid(names, true)));
	Oid			relid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	relid = ((Form_pg_statistic_ext) GETSTRUCT(tuple))->stxrelid;
	ReleaseSysCache(tuple);
	return relid;
}

const DistTable *
utility_table_of_statistics(const UtilityCall *call, List *names, LOCKMODE mode)
{
	Oid			relid = table_of_statistics(names);
	Oid			locked;

	do
	{
		if (!OidIsValid(relid))
			return NULL;
		locked = utility_take_lock(call, relid, mode, AccessShareLock) ? relid : InvalidOid;
		relid = table_of_statistics(names);
	} while (relid != locked);
	return metadata_lookup(relid);
}

/* Oids of a table's statistics objects. */
static List *
statistics_of_table(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *result = RelationGetStatExtList(rel);

	table_close(rel, NoLock);
	return result;
}

bool
create_statistics_utility(UtilityCall *call)
{
	CreateStatsStmt *stmt = castNode(CreateStatsStmt, call->pstmt->utilityStmt);
	const DistTable *table = NULL;
	List	   *before;

	if (list_length(stmt->relations) == 1 && IsA(linitial(stmt->relations), RangeVar))
		table = utility_table(call, linitial(stmt->relations), ShareUpdateExclusiveLock, ShareUpdateExclusiveLock);
	if (table == NULL)
		return false;
	before = statistics_of_table(table->relid);
	utility_run(call);
	CommandCounterIncrement();
	foreach_oid(statistics, statistics_of_table(table->relid))
	{
		char	   *definition;

		if (list_member_oid(before, statistics))
			continue;
		definition = statistics_create_text(statistics);
		utility_relay_text(call, definition);
		run_commands_on_local_shards(metadata_require(table->relid), list_make1(definition));
	}
	return true;
}

bool
alter_statistics_utility(UtilityCall *call)
{
	AlterStatsStmt *stmt = castNode(AlterStatsStmt, call->pstmt->utilityStmt);
	const DistTable *table = utility_table_of_statistics(call, stmt->defnames, ShareUpdateExclusiveLock);

	if (table == NULL)
		return false;
	utility_run_with_shards(call, table);
	return true;
}

/* Makes the other nodes create a schema that they lack. */
static void
relay_schema(UtilityCall *call, Oid relid, Oid schema)
{
	Definition *def = definition_begin(relid, false);
	List	   *commands;

	definition_schema(def, schema);
	commands = definition_end(def);
	if (commands != NIL)
		utility_relay_call(call, run_commands_call(commands));
}

bool
move_statistics_utility(UtilityCall *call)
{
	AlterObjectSchemaStmt *stmt = castNode(AlterObjectSchemaStmt, call->pstmt->utilityStmt);
	const DistTable *table = utility_table_of_statistics(call, castNode(List, stmt->object), ShareUpdateExclusiveLock);

	if (table == NULL)
		return false;
	/* those of shards stay in the schema of shards */
	utility_run(call);
	if (!call->relayed)
		relay_schema(call, table->relid, get_namespace_oid(stmt->newschema, false));
	utility_relay(call);
	return true;
}

bool
alter_owner_utility(UtilityCall *call)
{
	AlterOwnerStmt *stmt = castNode(AlterOwnerStmt, call->pstmt->utilityStmt);
	const DistTable *table;

	if (stmt->objectType != OBJECT_STATISTIC_EXT)
		return false;
	table = utility_table_of_statistics(call, castNode(List, stmt->object), ShareUpdateExclusiveLock);
	if (table == NULL)
		return false;
	utility_run_with_shards(call, table);
	return true;
}
