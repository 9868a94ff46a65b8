/*-------------------------------------------------------------------------
 *
 * write_query.c
 *	  Checks whether a write can be sent to shards unchanged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "planner/write_query.h"

/* Whether a target list assigns the distribution column. */
static bool
assigns_dist_column(List *target_list, const DistTable *table)
{
	foreach_ptr(TargetEntry, entry, target_list)
		if (!entry->resjunk && entry->resno == table->dist_attno)
			return true;
	return false;
}

int
write_commands(Query *query)
{
	int			commands = COMMAND_BIT(query->commandType);

	if (query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE)
		commands |= COMMAND_BIT(CMD_UPDATE);
	foreach_ptr(MergeAction, action, query->mergeActionList)
		commands |= COMMAND_BIT(action->commandType);
	return commands;
}

/* Whether the partition key of a member of a tree has columns of its root. */
static bool
is_partitioned_by(Oid relid, Oid root, List *columns)
{
	Relation	rel;
	bool		result = false;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return false;
	rel = table_open(relid, NoLock);
	foreach_int(column, columns)
	{
		AttrNumber	attno = get_attnum(relid, get_attname(root, column, false));

		result = result || has_partition_attrs(rel, bms_make_singleton(attno - FirstLowInvalidHeapAttributeNumber), NULL);
	}
	table_close(rel, NoLock);
	return result;
}

int
write_fires(int commands, const DistTable *table, List *assigned)
{
	const int	moves = COMMAND_BIT(CMD_INSERT) | COMMAND_BIT(CMD_DELETE);
	bool		may_move = false;
	int			fires = table->triggers & commands;

	if ((commands & COMMAND_BIT(CMD_UPDATE)) && (table->row_triggers & moves & ~commands) &&
		get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE)
	{
		foreach_oid(member, find_all_inheritors(table->relid, AccessShareLock, NULL))
			may_move = may_move || is_partitioned_by(member, table->relid, assigned);
	}
	foreach_int(column, assigned)
		fires |= bms_is_member(column, table->global_columns) ? commands & COMMAND_BIT(CMD_UPDATE) : 0;
	return fires | (may_move ? table->row_triggers & moves : 0);
}

/* Columns that target lists assign, before they are planned. */
static List *
listed_targets(List *columns, List *target_list)
{
	foreach_ptr(TargetEntry, entry, target_list)
		if (!entry->resjunk)
			columns = lappend_int(columns, entry->resno);
	return columns;
}

int
write_query_fires(Query *query, const DistTable *table)
{
	List	   *assigned = NIL;

	if (table->triggers == 0)
		return 0;
	if (query->commandType == CMD_UPDATE)
		assigned = listed_targets(assigned, query->targetList);
	foreach_ptr(MergeAction, action, query->mergeActionList)
		if (action->commandType == CMD_UPDATE)
			assigned = listed_targets(assigned, action->targetList);
	return write_fires(write_commands(query), table, assigned);
}

/*
 * Whether the write goes through a view with security_barrier, whose condition
 * the rewriter has added to the target's security quals.  A text would lose
 * it: it is printed without security quals, since the node adds policies
 * again.
 */
static bool
has_barrier(Query *query)
{
	if (likely(rt_fetch(query->resultRelation, query->rtable)->securityQuals == NIL))
		return false;
	foreach_ptr(RangeTblEntry, rte, query->rtable)
		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_VIEW)
			return true;
	return false;
}

/* Finds an assignment to a part of a column, which a SELECT can't say. */
static bool
part_assignment_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FieldStore) || (IsA(node, SubscriptingRef) && ((SubscriptingRef *) node)->refassgnexpr != NULL))
		return true;
	return expression_tree_walker(node, part_assignment_walker, context);
}

bool
write_assigns_parts(Node *target_list)
{
	return part_assignment_walker(target_list, NULL);
}

const char *
write_stays_in_shard(Query *query, const DistTable *table)
{
	if (write_query_fires(query, table))
		return "it fires triggers";
	if (has_barrier(query))
		return "it writes through a view with security_barrier";
	foreach_ptr(WithCheckOption, option, query->withCheckOptions)
	{
		if (option->kind == WCO_VIEW_CHECK)
			return "it writes through a view with check option";
	}
	foreach_ptr(TargetEntry, entry, query->targetList)
		if (query->commandType == CMD_UPDATE && !entry->resjunk &&
			write_is_identity_column(table->relid, entry->resno))
			return "it assigns an identity column";
	if (table->kind != DIST_HASH)
		return NULL;
	if (query->commandType == CMD_UPDATE && assigns_dist_column(query->targetList, table))
		return "it assigns the distribution column";
	if (query->onConflict && assigns_dist_column(query->onConflict->onConflictSet, table))
		return "it assigns the distribution column on conflict";
	return NULL;
}

/* For check_functions_in_node. */
static bool
is_mutable_function(Oid funcid, void *context)
{
	return func_volatile(funcid) != PROVOLATILE_IMMUTABLE;
}

/*
 * Finds anything that isn't known to make an expression a function of the
 * row's own columns and of parameters.  The default is to stop: what isn't
 * listed here (subqueries, system columns, whole rows, WHERE CURRENT OF, XML,
 * ..) may differ between copies.
 */
static bool
copy_differs_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varattno <= 0 || ((Var *) node)->varlevelsup != 0;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_RowCompareExpr:
		case T_MinMaxExpr:
		case T_CoerceViaIO:
			if (check_functions_in_node(node, is_mutable_function, NULL))
				return true;
			break;
		case T_List:
		case T_TargetEntry:
		case T_InferenceElem:
		case T_Const:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_SetToDefault:
		case T_NamedArgExpr:
		case T_BoolExpr:
		case T_RelabelType:
		case T_CollateExpr:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CoerceToDomain:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_ArrayExpr:
		case T_RowExpr:
		case T_CoalesceExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_SubscriptingRef:
		case T_FieldSelect:
		case T_FieldStore:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, copy_differs_walker, context);
}

/*
 * The same for policies, which each node adds to the text: the user is the
 * same on all nodes.
 */
static bool
policy_differs_walker(Node *node, void *context)
{
	if (node != NULL && IsA(node, SQLValueFunction))
		return ((SQLValueFunction *) node)->op != SVFOP_CURRENT_USER &&
			((SQLValueFunction *) node)->op != SVFOP_CURRENT_ROLE && ((SQLValueFunction *) node)->op != SVFOP_USER;
	if (node != NULL && (IsA(node, RelabelType) || IsA(node, List) || IsA(node, BoolExpr) || IsA(node, OpExpr)))
		return check_functions_in_node(node, is_mutable_function, NULL) ||
			expression_tree_walker(node, policy_differs_walker, context);
	return copy_differs_walker(node, context);
}

/* Whether unique indexes could be inferred of which a row violates several. */
static bool
has_several_arbiters(const OnConflictExpr *conflict, Oid relid)
{
	Relation	relation;
	int			count = 0;

	if (conflict->action != ONCONFLICT_UPDATE || OidIsValid(conflict->constraint))
		return false;
	relation = table_open(relid, NoLock);
	foreach_oid(oid, RelationGetIndexList(relation))
	{
		Relation	index = index_open(oid, AccessShareLock);

		if (index->rd_index->indisunique && index->rd_index->indnkeyatts == list_length(conflict->arbiterElems))
			count++;
		index_close(index, NoLock);
	}
	table_close(relation, NoLock);
	return count > 1;
}

bool
write_conflict_differs(const OnConflictExpr *conflict, const DistTable *table)
{
	/* its list of the excluded row's columns contains the whole row */
	return table->kind == DIST_REFERENCE &&
		(copy_differs_walker((Node *) conflict->arbiterElems, NULL) ||
		 copy_differs_walker(conflict->arbiterWhere, NULL) ||
		 copy_differs_walker((Node *) conflict->onConflictSet, NULL) ||
		 copy_differs_walker(conflict->onConflictWhere, NULL) ||
		 has_several_arbiters(conflict, table->relid));
}

const char *
write_is_same_everywhere(Query *task, Query *query, const DistTable *table)
{
	const char *const reason = "it might not do the same to each copy of the table";

	if (table->kind != DIST_REFERENCE)
		return NULL;
	if (task->hasSubLinks || task->cteList != NIL ||
		policy_differs_walker((Node *) rt_fetch(query->resultRelation, query->rtable)->securityQuals, NULL) ||
		copy_differs_walker((Node *) task->targetList, NULL) || copy_differs_walker(task->jointree->quals, NULL))
		return reason;
	if (task->onConflict != NULL && write_conflict_differs(task->onConflict, table))
		return reason;
	foreach_ptr(RangeTblEntry, rte, task->rtable)
	{
		if (rte->rtekind == RTE_VALUES ? copy_differs_walker((Node *) rte->values_lists, NULL) :
			rte->rtekind != RTE_RELATION ||
			(rte->relid != table->relid && rte->relkind != RELKIND_VIEW && rte->relkind != RELKIND_COMPOSITE_TYPE))
			return reason;
	}
	return list_length(task->jointree->fromlist) > 1 ? reason : NULL;
}

static bool
order_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->limitCount || query->limitOffset || query->hasDistinctOn)
			return true;
		return query_tree_walker(query, order_walker, context, 0);
	}
	return expression_tree_walker(node, order_walker, context);
}

const char *
write_depends_on_order(Query *query)
{
	if (order_walker((Node *) query, NULL))
		return "a subquery with LIMIT or DISTINCT ON could pick other rows on each node";
	return NULL;
}

bool
write_is_identity_column(Oid relid, AttrNumber attno)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attidentity == ATTRIBUTE_IDENTITY_ALWAYS;
	ReleaseSysCache(tuple);
	return result;
}

void
write_override_identity(Query *task, Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attidentity != '\0')
			task->override = OVERRIDING_SYSTEM_VALUE;
	}
	table_close(relation, NoLock);
}
