/*-------------------------------------------------------------------------
 *
 * create_table.c
 *	  Local tables that would hang on a distributed one; rules.
 *
 * CREATE TABLE makes local tables; it is looked at only to refuse those that
 * inherit from a distributed table, and partitioned ones that reference one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_attrdef.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "conversion/convert_checks.h"
#include "ddl/create_table.h"
#include "ddl/handlers.h"
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
				 errmsg("cannot inherit from distributed or reference table \"%s\"", parent->relname)));
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
 * CREATE TABLE.  A foreign key to a distributed table is let pass, unless the
 * new table is partitioned or a partition: all others are going to be
 * distributed as well, which looks at their keys.
 */
bool
create_table_utility(UtilityCall *call)
{
	CreateStmt *stmt = castNode(CreateStmt, call->pstmt->utilityStmt);
	ListCell   *cell;

	if (stmt->partbound != NULL && !call->relayed && create_partition(call, stmt))
		return true;
	foreach(cell, stmt->inhRelations)
		check_not_inherited(lfirst_node(RangeVar, cell));
	if (stmt->partspec == NULL && stmt->partbound == NULL)
		return false;
	utility_run(call);
	check_local_foreign_keys(get_relname_relid(stmt->relation->relname, RangeVarGetCreationNamespace(stmt->relation)),
							 NIL);
	return true;
}

bool
rule_utility(UtilityCall *call)
{
	RuleStmt   *stmt = castNode(RuleStmt, call->pstmt->utilityStmt);

	if (dist_table_of_rangevar(stmt->relation) == NULL)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("rules are not supported on distributed or reference table \"%s\"", stmt->relation->relname)));
}
