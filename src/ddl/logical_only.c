/*-------------------------------------------------------------------------
 *
 * logical_only.c
 *	  Statements that all nodes run, but no shard: comments, policies, types.
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

#include "ddl/handlers.h"
#include "ddl/statistics.h"
#include "resolve/utility.h"

/* Runs the statement here, then on the other nodes. */
static bool
run_and_relay(UtilityCall *call)
{
	utility_check_initiator(call);
	utility_run(call);
	utility_relay(call);
	return true;
}

/* The table that a COMMENT is about, as a whole or in part; InvalidOid if it is about something else, or nothing. */
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
			/* FALLTHROUGH */
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
	} while (!utility_lock(call, relid, ShareUpdateExclusiveLock, AccessShareLock));
	return metadata_lookup(relid) != NULL && run_and_relay(call);
}

/* CREATE and ALTER POLICY */
static bool
policy_utility(UtilityCall *call, const RangeVar *relation)
{
	return utility_table(call, relation, AccessExclusiveLock, AccessExclusiveLock) != NULL && run_and_relay(call);
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

/* Whether a distributed or reference table has a column of a type, or of one that contains it. */
static bool
type_is_distributed(Oid typid)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	check_stack_depth();
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(TypeRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(typid));
	scan = systable_beginscan(rel, DependReferenceIndexId, true, NULL, 2, keys);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->classid == TypeRelationId)
			result = type_is_distributed(depend->objid);
		else if (depend->classid != RelationRelationId)
			continue;
		else if (get_rel_relkind(depend->objid) == RELKIND_COMPOSITE_TYPE)
			result = get_rel_type_id(depend->objid) != typid &&
				type_is_distributed(get_rel_type_id(depend->objid));
		else
			result = metadata_lookup(depend->objid) != NULL;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/* Whether a distributed or reference table has a column of the type that these names mean, or of one that contains it. */
static bool
type_name_is_distributed(List *names)
{
	Oid			typid = LookupTypeNameOid(NULL, makeTypeNameFromNameList(names), true);

	return OidIsValid(typid) && type_is_distributed(typid);
}

/* Errors if a table is distributed by a column of an enum: its labels determine where rows are. */
static void
check_not_distributed_by(Oid typid)
{
	ListCell   *cell;

	foreach(cell, metadata_tables(0))
	{
		const DistTable *table = metadata_require(lfirst_oid(cell));

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
	return type_name_is_distributed(stmt->typeName) ? run_and_relay(call) : false;
}

bool
alter_domain_utility(UtilityCall *call)
{
	AlterDomainStmt *stmt = castNode(AlterDomainStmt, call->pstmt->utilityStmt);

	return type_name_is_distributed(stmt->typeName) ? run_and_relay(call) : false;
}
