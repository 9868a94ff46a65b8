/*-------------------------------------------------------------------------
 *
 * manual_change.c
 *	  Clients' own statements that change a shard by its name.
 *
 * A shard is an ordinary table, in which its owner could store rows that
 * belong to another shard, or that violate foreign keys and unique constraints
 * of the logical table, or whose definition the owner could change.  Reading
 * is allowed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "catalog/metadata.h"
#include "resolve/manual_change.h"

static bool enable_manual_changes = false;
static bool changes_are_own = false;

bool
manual_change_exempt(bool exempt)
{
	bool		before = changes_are_own;

	changes_are_own = exempt;
	return before;
}

void
manual_change_init(void)
{
	DefineCustomBoolVariable("citus.enable_manual_changes_to_shards",
							 "Lets statements change shards that they name.",
							 "Superusers may do so in any case.",
							 &enable_manual_changes, false, PGC_SUSET, 0, NULL, NULL, NULL);
}

static void
check_relation(Oid relid)
{
	if (changes_are_own || relid < FirstNormalObjectId || get_rel_namespace(relid) != get_namespace_oid(SHARD_SCHEMA, true))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to change shard \"%s\"", get_rel_name(relid)),
			 errhint("Change the distributed table.")));
}

static bool
check_query_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->resultRelation != 0)
			check_relation(rt_fetch(query->resultRelation, query->rtable)->relid);
		return query_tree_walker(query, check_query_walker, context, 0);
	}
	return expression_tree_walker(node, check_query_walker, context);
}

void
manual_change_check_query(Query *query)
{
	if (query->commandType == CMD_UTILITY || (query->resultRelation == 0 && !query->hasModifyingCTE) ||
		enable_manual_changes || superuser())
		return;
	if (query->hasModifyingCTE)
		check_query_walker((Node *) query, NULL);
	else
		check_relation(rt_fetch(query->resultRelation, query->rtable)->relid);
}

/*
 * Checks an object of DROP, COMMENT and the like: a relation, or a part of
 * one.
 */
static void
check_object(ObjectType type, Node *object)
{
	List	   *names = IsA(object, List) ? (List *) object : NIL;

	switch (type)
	{
		case OBJECT_POLICY:
		case OBJECT_RULE:
		case OBJECT_TABCONSTRAINT:
		case OBJECT_TRIGGER:
			names = list_truncate(list_copy(names), list_length(names) - 1);
			break;
		case OBJECT_INDEX:
		case OBJECT_TABLE:
			break;
		default:
			return;
	}
	if (names != NIL)
		check_relation(RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true));
}

/* The relations that a statement changes, as a List of RangeVar. */
static List *
changed_relations(Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_AlterObjectSchemaStmt:
			return list_make1(((AlterObjectSchemaStmt *) stmt)->relation);
		case T_AlterPolicyStmt:
			return list_make1(((AlterPolicyStmt *) stmt)->table);
		case T_AlterTableStmt:
			return list_make1(((AlterTableStmt *) stmt)->relation);
		case T_CopyStmt:
			return ((CopyStmt *) stmt)->is_from ? list_make1(((CopyStmt *) stmt)->relation) : NIL;
		case T_CreatePolicyStmt:
			return list_make1(((CreatePolicyStmt *) stmt)->table);
		case T_CreateStatsStmt:
			return ((CreateStatsStmt *) stmt)->relations;
		case T_CreateTrigStmt:
			return list_make1(((CreateTrigStmt *) stmt)->relation);
		case T_GrantStmt:
			return ((GrantStmt *) stmt)->targtype == ACL_TARGET_OBJECT && ((GrantStmt *) stmt)->objtype == OBJECT_TABLE ?
				((GrantStmt *) stmt)->objects : NIL;
		case T_IndexStmt:
			return list_make1(((IndexStmt *) stmt)->relation);
		case T_RenameStmt:
			return list_make1(((RenameStmt *) stmt)->relation);
		case T_RuleStmt:
			return list_make1(((RuleStmt *) stmt)->relation);
		case T_TruncateStmt:
			return ((TruncateStmt *) stmt)->relations;
		default:
			return NIL;
	}
}

void
manual_change_check_inheritance(Oid child, Oid parent)
{
	if (enable_manual_changes || superuser())
		return;
	check_relation(child);
	check_relation(parent);
}

void
manual_change_check_constraint(Oid constraint)
{
	Oid			relids[] = {InvalidOid, InvalidOid};
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (enable_manual_changes || superuser())
		return;
	rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_constraint_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(constraint));
	scan = systable_beginscan(rel, ConstraintOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		relids[0] = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;
		relids[1] = ((Form_pg_constraint) GETSTRUCT(tuple))->confrelid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	check_relation(relids[0]);
	check_relation(relids[1]);
}

void
manual_change_check_utility(Node *stmt)
{
	ListCell   *cell;

	if (enable_manual_changes || superuser())
		return;
	foreach_ptr(Node, relation, changed_relations(stmt))
		if (relation != NULL && IsA(relation, RangeVar))
			check_relation(RangeVarGetRelid((RangeVar *) relation, NoLock, true));
	if (IsA(stmt, DropStmt))
	{
		foreach(cell, ((DropStmt *) stmt)->objects)
			check_object(((DropStmt *) stmt)->removeType, lfirst(cell));
	}
}
