/*-------------------------------------------------------------------------
 *
 * conflict.c
 *	  ON CONFLICT of a DistributedModify.
 *
 * If the nodes can execute the clause, it is part of the text that inserts
 * (modify_text.c).  Otherwise (triggers fire, a row may move to another shard,
 * or only the initiator can evaluate an expression), the initiator resolves
 * conflicts: the node reports which rows conflict, and DO UPDATE is an action
 * like those of MERGE, on the old row and the excluded one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/partition.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "planner/modify_plan.h"
#include "planner/planning_context.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "planner/write_query.h"

/* Columns that ON CONFLICT DO UPDATE assigns. */
static List *
conflict_columns(OnConflictExpr *clause)
{
	List	   *colnos = NIL;

	foreach_ptr(TargetEntry, entry, clause->onConflictSet)
		if (!entry->resjunk)
			colnos = lappend_int(colnos, entry->resno);
	return colnos;
}

/*
 * Whether a task can have all the parameters that a clause needs, besides the
 * rows, and does the same to each copy of the table.
 */
static bool
task_can_resolve(OnConflictExpr *clause, const DistTable *table)
{
	List	   *exprs = NIL;
	OnConflictExpr *task = (OnConflictExpr *) task_params_extract((Node *) clause, 0, false, &exprs);

	return list_length(exprs) < TASK_MAX_PARAMS && !write_conflict_differs(task, table);
}

bool
conflict_is_shippable(OnConflictExpr *clause, const DistTable *table)
{
	return task_can_resolve(clause, table) &&
		shippable_expression((Node *) clause->onConflictSet) == NULL &&
		shippable_assignments(clause->onConflictSet) == NULL &&
		shippable_expression(clause->onConflictWhere) == NULL &&
		(table->kind != DIST_HASH || !list_member_int(conflict_columns(clause), table->dist_attno));
}

/*
 * Adds to the scan tuple what DO UPDATE's expressions use: columns of the old
 * row, and of the one that was not inserted.
 */
static List *
add_conflict_columns(ModifyPlan *plan, OnConflictExpr *clause, Index varno, List *scan_tlist)
{
	List	   *vars = list_concat(pull_var_clause((Node *) clause->onConflictSet, PVC_RECURSE_PLACEHOLDERS),
								   pull_var_clause(clause->onConflictWhere, PVC_RECURSE_PLACEHOLDERS));

	foreach_ptr(Var, var, vars)
	{
		bool		of_target = var->varno == varno;

		if (of_target && var->varattno < 0 && var->varattno != SelfItemPointerAttributeNumber &&
			var->varattno != TableOidAttributeNumber)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("ON CONFLICT DO UPDATE can't use column \"%s\" of a distributed or reference table here",
							NameStr(SystemAttributeDefinition(var->varattno)->attname))));
		if (tlist_member((Expr *) var, scan_tlist) != NULL)
			continue;
		scan_tlist = lappend(scan_tlist, makeTargetEntry((Expr *) copyObject(var), list_length(scan_tlist) + 1,
														 NULL, false));
		plan->column_attnos = lappend_int(plan->column_attnos, var->varattno);
		plan->column_resnos = lappend_int(plan->column_resnos, of_target ? 0 : COLUMN_EXCLUDED);
		if (of_target && var->varattno != TableOidAttributeNumber)
			plan->attnos = list_append_unique_int(plan->attnos, var->varattno);
	}
	return scan_tlist;
}

/*
 * The global indexes of a table, without its partitions, that are among those
 * named; all if none are.
 */
static List *
global_arbiters_of_table(Oid relid, AttrNumber dist_attno, const List *named)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *result = NIL;

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		HeapTuple	tuple = catalog_tuple(INDEXRELID, indexid, "index");
		Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);
		bool		global = index->indisunique && index->indisvalid;

		for (int i = 0; i < index->indnkeyatts; i++)
			global = global && index->indkey.values[i] != dist_attno;
		if (global && (named == NIL || list_member_oid(named, indexid)))
			result = lappend_oid(result, indexid);
		ReleaseSysCache(tuple);
	}
	table_close(rel, NoLock);
	return result;
}

/*
 * Without a name, partitions may have indexes that their table doesn't have.
 */
List *
conflict_global_arbiters(PlannerInfo *root, const DistTable *table)
{
	List	   *named;
	List	   *result = NIL;

	if (table->global_columns == NULL)
		return NIL;
	named = infer_arbiter_indexes(root);
	foreach_oid(member, named == NIL ? find_all_inheritors(table->relid, AccessShareLock, NULL) : list_make1_oid(table->relid))
	{
		const DistTable *part = metadata_require(member);

		result = list_concat(result, global_arbiters_of_table(member, part->dist_attno, named));
	}
	return result;
}

/* The root of the partition tree that a table is in, or the table. */
static Oid
tree_of(Oid relid)
{
	return get_rel_relispartition(relid) ? llast_oid(get_partition_ancestors(relid)) : relid;
}

bool
conflict_meets_written(Oid relid)
{
	Oid			tree;
	int			writes = 0;
	int			upserts = 0;

	if (planning_context == NULL || planning_context->upserted == NIL || list_length(planning_context->written) == 1)
		return false;
	tree = tree_of(relid);
	foreach_oid(written, planning_context->written)
		writes += tree_of(written) == tree;
	foreach_oid(upserted, planning_context->upserted)
		upserts += tree_of(upserted) == tree;
	return writes > 1 && upserts > 0;
}

void
conflict_prepare(ModifyPlan *plan, OnConflictExpr *clause, Index varno, List **scan_tlist)
{
	plan->assigned = conflict_columns(clause);
	*scan_tlist = add_conflict_columns(plan, clause, varno, *scan_tlist);
}

List *
conflict_add_action(ModifyPlan *plan, OnConflictExpr *clause, List *exprs)
{
	ModifyAction action = {MERGE_WHEN_MATCHED, CMD_UPDATE, -1, 0, NIL};

	if (clause->action != ONCONFLICT_UPDATE)
		return exprs;
	if (clause->onConflictWhere != NULL)
	{
		action.qual = list_length(exprs);
		exprs = lappend(exprs, make_ands_explicit((List *) clause->onConflictWhere));
	}

	/* SET (a, b) = (SELECT ..) is computed before a and b are assigned */
	action.first_target = list_length(exprs);
	for (int junk = 1; junk >= 0; junk--)
	{
		foreach_ptr(TargetEntry, entry, clause->onConflictSet)
		{
			if (entry->resjunk != (junk == 1))
				continue;
			action.colnos = lappend_int(action.colnos, junk ? InvalidAttrNumber : entry->resno);
			exprs = lappend(exprs, entry->expr);
		}
	}
	plan->actions = lappend(plan->actions, modify_action_pack(&action));
	return exprs;
}
