/*-------------------------------------------------------------------------
 *
 * logical_only.c
 *	  Statements that all nodes run, but no shard: comments, policies, enums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/node.h"
#include "compat/fallthrough.h"
#include "ddl/handlers.h"
#include "ddl/statistics.h"
#include "resolve/utility.h"
#include "table/policy_scope.h"

/* Runs the statement here, then on the other nodes. */
static bool
run_and_relay(UtilityCall *call)
{
	utility_check_initiator(call);
	utility_run(call);
	utility_relay(call);
	return true;
}

/*
 * The table that a COMMENT is about, as a whole or in part; InvalidOid if it
 * is about something else, or nothing.
 */
static Oid
commented_table(const CommentStmt *stmt)
{
	List	   *names = IsA(stmt->object, List) ? (List *) stmt->object : NIL;

	switch (stmt->objtype)
	{
		case OBJECT_COLUMN:
		case OBJECT_TABCONSTRAINT:
		case OBJECT_POLICY:
		case OBJECT_TRIGGER:
			names = list_truncate(list_copy(names), list_length(names) - 1);
			if (names == NIL)
				return InvalidOid;
			pg_fallthrough;
		case OBJECT_TABLE:
		case OBJECT_INDEX:
			return table_of_relation(RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true));
		case OBJECT_STATISTIC_EXT:
			return table_of_statistics(names);
		default:
			return InvalidOid;
	}
}

bool
comment_utility(UtilityCall *call)
{
	CommentStmt *stmt = castNode(CommentStmt, call->pstmt->utilityStmt);
	Oid			relid;

	do
	{
		relid = commented_table(stmt);
		if (!OidIsValid(relid))
			return false;
	} while (!utility_take_lock(call, relid, ShareUpdateExclusiveLock, AccessShareLock));
	return metadata_lookup(relid) != NULL && run_and_relay(call);
}

/* CREATE and ALTER POLICY */
static bool
policy_utility(UtilityCall *call, const RangeVar *relation)
{
	const DistTable *table = utility_table(call, relation, AccessExclusiveLock, AccessExclusiveLock);
	Oid			relid;

	if (table == NULL)
		return false;
	relid = table->relid;
	utility_check_initiator(call);
	utility_run(call);
	if (!call->relayed && node_active_primaries_remote() != NIL)
	{
		CommandCounterIncrement();
		policies_check_scope(relid);
	}
	utility_relay(call);
	return true;
}

bool
create_policy_utility(UtilityCall *call)
{
	return policy_utility(call, castNode(CreatePolicyStmt, call->pstmt->utilityStmt)->table);
}

bool
alter_policy_utility(UtilityCall *call)
{
	return policy_utility(call, castNode(AlterPolicyStmt, call->pstmt->utilityStmt)->table);
}

/*
 * Errors if a table is distributed by a column of an enum: its labels
 * determine where rows are.
 */
static void
check_not_distributed_by(Oid typid)
{
	foreach_oid(relid, metadata_tables(0))
	{
		const DistTable *table = metadata_require(relid);

		if (table->kind == DIST_HASH && getBaseType(table->dist_type) == typid)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot rename a value of the type of distribution column \"%s\" of relation \"%s\"",
							get_attname(table->relid, table->dist_attno, false), get_rel_name(table->relid)),
					 errdetail("The rows are stored by the hash values of this column.")));
	}
}

bool
alter_enum_utility(UtilityCall *call)
{
	AlterEnumStmt *stmt = castNode(AlterEnumStmt, call->pstmt->utilityStmt);

	if (stmt->oldVal != NULL)
		check_not_distributed_by(LookupTypeNameOid(NULL, makeTypeNameFromNameList(stmt->typeName), true));
	return false;
}
