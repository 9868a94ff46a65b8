/*-------------------------------------------------------------------------
 *
 * write_query.c
 *	  Checks whether a write can be sent to shards unchanged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
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
	if (table->triggers & write_commands(query))
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

/* Finds a table other than the one that context names. */
static bool
other_table_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *rte = (RangeTblEntry *) node;

		return rte->rtekind == RTE_RELATION && rte->relkind != RELKIND_VIEW &&
			rte->relkind != RELKIND_COMPOSITE_TYPE && rte->relid != *(Oid *) context;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, other_table_walker, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, other_table_walker, context);
}

const char *
write_is_same_everywhere(Query *query, const DistTable *table)
{
	Oid			target = table->relid;

	if (table->kind != DIST_REFERENCE)
		return NULL;
	/* INSERTs don't keep each other off the table */
	if (query->commandType == CMD_INSERT ? query->hasSubLinks : other_table_walker((Node *) query, &target))
		return "what it reads might not be the same on all nodes";
	return NULL;
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
