/*-------------------------------------------------------------------------
 *
 * create_table.c
 *	  CREATE TABLE, CREATE TABLE AS, CREATE SCHEMA and CREATE RULE.
 *
 * CREATE TABLE makes a local table, unless it is a partition of a distributed
 * table (partition.c), or in a distributed schema, whose tables are
 * distributed as soon as they are made.  A table that inherits from a
 * distributed one is refused.
 * CREATE SCHEMA makes the schema on all nodes (object.c), and a distributed
 * one where citus.enable_schema_based_sharding says so.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_attrdef.h"
#include "commands/extension.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "conversion/convert_checks.h"
#include "conversion/distribute_schema.h"
#include "ddl/create_table.h"
#include "ddl/handlers.h"
#include "ddl/object.h"
#include "ddl/partition.h"
#include "resolve/utility.h"
#include "table/run_commands.h"
#include "table/table_definition.h"

void
check_not_inherited(const RangeVar *parent)
{
	const DistTable *table = dist_table_of_rangevar(parent);

	if (table != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from distributed or reference table \"%s\"", parent->relname),
				 errdetail("Queries of \"%s\" would not find the rows of a table that inherits from it.",
						   parent->relname),
				 errhint("Use a partitioned table, or CREATE TABLE .. (LIKE ..) for a table of the same columns.")));
}

bool
column_default_is_volatile(Oid relid, AttrNumber attno)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleConstr *constr = RelationGetDescr(rel)->constr;
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	bool		result = (att->attidentity != '\0');

	for (int i = 0; !result && constr != NULL && i < constr->num_defval; i++)
	{
		if (constr->defval[i].adnum == attno && att->attgenerated == '\0')
			result = contain_volatile_functions(stringToNode(constr->defval[i].adbin));
	}
	table_close(rel, NoLock);
	return result;
}

void
relay_needs(UtilityCall *call, Oid relid)
{
	List	   *commands;

	if (call->relayed)
		return;
	commands = table_needs_commands(relid);
	if (commands != NIL)
		utility_relay_call(call, run_commands_call(commands));
}

/*
 * Makes a table whose schema is distributed, and distributes it; false if the
 * schema is not.
 */
static bool
create_in_schema(UtilityCall *call, const RangeVar *relation)
{
	Oid			schema;

	if (call->relayed || creating_extension || relation->relpersistence == RELPERSISTENCE_TEMP)
		return false;
	schema = RangeVarGetCreationNamespace(relation);
	if (schema_colocation(schema) == 0)
		return false;
	utility_check_initiator(call);
	utility_run(call);
	CommandCounterIncrement();
	schema_distribute_table(get_relname_relid(relation->relname, schema));
	return true;
}

/* CREATE TABLE AS, SELECT INTO */
bool
create_table_as_utility(UtilityCall *call)
{
	CreateTableAsStmt *stmt = castNode(CreateTableAsStmt, call->pstmt->utilityStmt);

	return stmt->objtype == OBJECT_TABLE && create_in_schema(call, stmt->into->rel);
}

/*
 * CREATE SCHEMA, which makes distributed ones if
 * citus.enable_schema_based_sharding says so.
 */
bool
create_schema_utility(UtilityCall *call)
{
	CreateSchemaStmt *stmt = castNode(CreateSchemaStmt, call->pstmt->utilityStmt);
	char	   *name = stmt->schemaname != NULL ? stmt->schemaname : get_rolespec_name(stmt->authrole);

	if (call->relayed || !enable_schema_based_sharding || OidIsValid(get_namespace_oid(name, true)))
		return false;
	if (!object_utility(call))
		utility_run(call);
	CommandCounterIncrement();
	schema_distribute(get_namespace_oid(name, false));
	return true;
}

/*
 * CREATE TABLE.  A foreign key to a distributed table is accepted: its keys
 * are checked when the table is distributed as well.
 */
bool
create_table_utility(UtilityCall *call)
{
	CreateStmt *stmt = castNode(CreateStmt, call->pstmt->utilityStmt);

	if (stmt->partbound != NULL && !call->relayed && create_partition(call, stmt))
		return true;
	foreach_node(RangeVar, relation, stmt->inhRelations)
		check_not_inherited(relation);
	return create_in_schema(call, stmt->relation);
}

bool
rule_utility(UtilityCall *call)
{
	RuleStmt   *stmt = castNode(RuleStmt, call->pstmt->utilityStmt);

	if (dist_table_of_rangevar(stmt->relation) == NULL)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("rules are not supported on distributed or reference table \"%s\"", stmt->relation->relname),
			 errhint("Use a trigger; or create a view of the table, and the rule or an INSTEAD OF trigger on the view.")));
}
