/*-------------------------------------------------------------------------
 *
 * base_rel.c
 *	  Base relations whose rows the nodes can compute: tables, subqueries, and
 *	  UNION ALL of these in FROM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat/permissions.h"
#include "planner/base_rel.h"
#include "planner/dist_query.h"
#include "planner/planning_context.h"
#include "planner/row_order.h"
#include "planner/shippable.h"
#include "resolve/shard_set.h"
#include "sharding/prune.h"

/* Whether a system column of a relation, or its row as a whole, is needed. */
static bool
needs_more_than_columns(const RelOptInfo *rel)
{
	for (int attno = rel->min_attr; attno <= 0; attno++)
	{
		if (!bms_is_empty(rel->attr_needed[attno - rel->min_attr]))
			return true;
	}
	return false;
}

/* Whether the statement writes the relation or locks its rows. */
static bool
is_written(PlannerInfo *root, Index varno)
{
	foreach_ptr(PlanRowMark, mark, root->rowMarks)
	{
		if (mark->rti == varno)
			return true;
	}
	return bms_is_member(varno, root->all_result_relids);
}

/* Whether a filter is to be checked once, not for each row. */
static bool
any_pseudoconstant(List *clauses)
{
	foreach_ptr(RestrictInfo, clause, clauses)
	{
		if (clause->pseudoconstant)
			return true;
	}
	return false;
}

/*
 * A subquery that the nodes can compute: its entry, and the columns that
 * determine the shard group of a row.  NULL, or why they can't.
 */
static const char *
take_subquery(PlannerInfo *root, DistRel *dist, RelOptInfo *rel, RangeTblEntry *rte)
{
	DistQuery  *subquery = dist_query_whole(rel->subroot);
	RangeTblEntry *entry;

	if (subquery == NULL || subquery->rel->broadcasts != NIL || rte->securityQuals != NIL)
		return "it is more than the nodes compute of a subquery without each other";
	if (row_order_is_needed(root, rel))
		return "the order of its rows makes a difference";
	dist->table = subquery->rel->table;
	dist->check_as = subquery->rel->check_as;
	dist->disjunctions = subquery->rel->disjunctions;
	dist->work = subquery->rel->work;
	dist->preparation = subquery->rel->preparation;
	dist->dist_exprs = dist_query_dist_columns(rel->subroot, subquery, rel->relid);
	entry = copyObject(rte);
	entry->subquery = dist_query_build_subquery(rel->subroot, subquery, rte->eref->colnames);
	entry->inFromCl = true;
	entry->security_barrier = false;
	if (entry->alias == NULL)
		entry->alias = makeAlias(entry->eref->aliasname, NIL);
	dist->entries = list_make1(entry);
	dist->hidden = list_make1(rte->subquery);
	dist->entry_numbers = list_make1_int(rel->relid);
	return NULL;
}

Oid
base_rel_check_as(PlannerInfo *root, Index varno)
{
	RangeTblEntry *rte = planner_rt_fetch(varno, root);

	while (!compat_has_permissions(rte) && root->append_rel_array != NULL && root->append_rel_array[varno] != NULL)
	{
		varno = root->append_rel_array[varno]->parent_relid;
		rte = planner_rt_fetch(varno, root);
	}
	return compat_check_as_user(root->parse, rte);
}

/* A table; NULL, or why the nodes can't compute it. */
static const char *
take_table(PlannerInfo *root, DistRel *dist, RelOptInfo *rel, RangeTblEntry *rte, const DistTable *table)
{
	if (rte->tablesample != NULL)
		return "it takes a sample";
	dist->check_as = base_rel_check_as(root, rel->relid);
	dist->work = rel->pages * 0.1 + rel->tuples * cpu_tuple_cost;
	if (table->kind == DIST_REFERENCE)
		return NULL;
	dist->table = table;
	dist->disjunctions = prune_from_quals(table, rel->relid, dist->quals);
	if (table->kind == DIST_HASH)
		dist->dist_exprs = list_make1(makeVar(rel->relid, table->dist_attno, table->dist_type, table->dist_typmod,
											  table->dist_collation, 0));
	return NULL;
}

/*
 * Whether a relation is computed from other relations' rows, without a table:
 * functions, or VALUES.
 */
static bool
is_computed(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_FUNCTION || rte->rtekind == RTE_TABLEFUNC || rte->rtekind == RTE_VALUES;
}

/*
 * Whether functions in FROM give the same rows on all nodes.  Of the stable
 * ones, which may report about their node (pg_stat_get_activity), only those
 * whose result depends just on how types are read.
 */
static bool
are_node_independent(List *functions)
{
	static const Oid known[] = {F_JSON_TO_RECORD, F_JSON_TO_RECORDSET, F_JSONB_TO_RECORD, F_JSONB_TO_RECORDSET,
		F_JSON_POPULATE_RECORD, F_JSON_POPULATE_RECORDSET, F_JSONB_POPULATE_RECORD, F_JSONB_POPULATE_RECORDSET,
	F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL};
	ListCell   *cell;

	foreach(cell, functions)
	{
		const FuncExpr *call = (const FuncExpr *) lfirst_node(RangeTblFunction, cell)->funcexpr;
		bool		independent = IsA(call, FuncExpr) && func_volatile(call->funcid) == PROVOLATILE_IMMUTABLE;

		for (int i = 0; i < lengthof(known) && IsA(call, FuncExpr); i++)
			independent = independent || known[i] == call->funcid;
		if (!independent && !group_subqueries_stand_in(list_make1(unconstify(FuncExpr *, call)), NULL))
			return false;
	}
	return true;
}

/*
 * Takes functions in FROM, or VALUES, that give the same rows on all nodes;
 * NULL, or why they don't.
 */
static const char *
take_computed(PlannerInfo *root, DistRel *dist, RelOptInfo *rel, RangeTblEntry *rte)
{
	List	   *exprs = list_make3(rte->functions, rte->values_lists, rte->tablefunc);

	if ((!rte->lateral && (rte->rtekind == RTE_VALUES || contain_mutable_functions((Node *) exprs))) ||
		!are_node_independent(rte->functions))
		return "it is computed here";
	dist->reads_nothing = !group_subqueries_stand_in(exprs, &dist->check_as);
	dist->lateral = rel->lateral_relids;
	dist->computed = exprs;
	dist->work = group_subquery_cost(exprs);
	if (dist->work == 0)
		dist->work = ((Path *) linitial(rel->pathlist))->total_cost;
	return dist_rel_keeps_here(root, NULL, group_subqueries_hide(exprs));
}

/*
 * Why the rows of a relation must be sent to the initiator, whatever its
 * filter; NULL if they needn't.
 */
static const char *
reason_for_rows(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if ((!bms_is_empty(rel->lateral_relids) || rte->lateral) && !is_computed(rte))
		return "it depends on rows of others (LATERAL)";
	if (any_pseudoconstant(rel->baserestrictinfo))
		return "it has a filter that is the same for all rows";
	if (dist_rel_finds_writes(root))
		return NULL;
	if (is_written(root, rel->relid))
		return "its rows are locked or written";
	return needs_more_than_columns(rel) ? "a system column or its row as a whole is needed" : NULL;
}

void
base_rel_note(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte, const DistTable *table)
{
	DistRel    *dist;
	RangeTblRef *ref;
	const char *reason;

	if (!citus_enable_query_pushdown || planning_context == NULL || planning_context->node_task ||
		rel->reloptkind != RELOPT_BASEREL || rel->fdwroutine != NULL || rel->fdw_private != NULL)
		return;
	dist = dist_rel_make(rel->relids, rel->rows);
	dist->quals = extract_actual_clauses(rel->baserestrictinfo, false);
	if ((reason = reason_for_rows(root, rel, rte)) == NULL && is_computed(rte))
		reason = take_computed(root, dist, rel, rte);
	else if (reason == NULL)
		reason = table != NULL ? take_table(root, dist, rel, rte, table) : take_subquery(root, dist, rel, rte);
	if (reason == NULL)
		reason = dist_rel_keeps_here(root, dist, dist->quals);
	if (reason != NULL)
	{
		if (count_distributed_tables((Node *) rte) > 0)
			dist_rel_refuse(root, rel->relids, psprintf("what uses %s", rte->eref->aliasname), reason);
		return;
	}
	dist->work += Max(rel->tuples, rel->rows) * group_subquery_cost(dist->quals);
	ref = makeNode(RangeTblRef);
	ref->rtindex = rel->relid;
	dist->fromlist = list_make1(ref);
	rel->fdw_private = dist;
}

void
base_rel_add_path(PlannerInfo *root, RelOptInfo *rel)
{
	DistRel    *dist = dist_rel_of(rel);
	DistQuery  *query;

	if (dist == NULL || dist->table == NULL || !group_subqueries_stand_in(dist->quals, NULL) || dist_rel_finds_writes(root) ||
		!dist_rel_can_evaluate(root, dist, rel->reltarget->exprs))
		return;
	query = palloc0(sizeof(DistQuery));
	query->rel = dist;
	add_path(rel, dist_query_path(root, rel, query, rel->reltarget, rel->rows, 0));
}

/*
 * Keeps only the columns that determine the shard group of a row in a member
 * of a UNION ALL as well.
 */
static void
keep_common_columns(Bitmapset **columns, const Bitmapset *members, bool first)
{
	*columns = first ? bms_copy(members) : bms_int_members(*columns, members);
}

/*
 * Adds a member that is a table to a UNION ALL; false if the nodes can't read
 * it independently.
 */
static bool
add_member_table(PlannerInfo *root, DistRel *dist, RelOptInfo *member, const AppendRelInfo *append, Bitmapset **columns)
{
	RangeTblEntry *rte = planner_rt_fetch(member->relid, root);
	const DistTable *table = metadata_lookup(rte->relid);
	DistRel		part = {.quals = extract_actual_clauses(member->baserestrictinfo, false)};
	Bitmapset  *own = NULL;
	ListCell   *cell;

	if (table == NULL || !dist_rel_can_evaluate(root, NULL, part.quals) || take_table(root, &part, member, rte, table) != NULL ||
		part.table == NULL)
		return false;
	foreach(cell, append->translated_vars)
	{
		if (lfirst(cell) != NULL && dist_rel_is_dist_expr(root, &part, lfirst(cell)))
			own = bms_add_member(own, foreach_current_index(cell) + 1);
	}
	keep_common_columns(columns, own, dist->table == NULL);
	if (dist->table == NULL)
	{
		dist->table = part.table;
		dist->check_as = part.check_as;
	}
	dist->work += part.work;
	return dist->table->colocation_id == part.table->colocation_id && dist->check_as == part.check_as;
}

/* The same for a subquery. */
static bool
add_member_subquery(PlannerInfo *root, DistRel *dist, RelOptInfo *member, Bitmapset **columns)
{
	DistQuery  *part = member->subroot != NULL ? dist_query_whole(member->subroot) : NULL;
	Bitmapset  *own = NULL;

	if (part == NULL || part->rel->broadcasts != NIL || row_order_is_needed(root, member))
		return false;
	foreach_node(Var, var, dist_query_dist_columns(member->subroot, part, member->relid))
		own = bms_add_member(own, var->varattno);
	keep_common_columns(columns, own, dist->table == NULL);
	if (dist->table == NULL)
	{
		dist->table = part->rel->table;
		dist->check_as = part->rel->check_as;
	}
	dist->work += part->rel->work;
	dist->preparation += part->rel->preparation;
	return dist->table->colocation_id == part->rel->table->colocation_id && dist->check_as == part->rel->check_as;
}

/*
 * Whether two members of a UNION ALL have the same collations.  If not, one
 * has its collation by a COLLATE clause, which texts don't keep.
 */
static bool
same_collations(const AppendRelInfo *left, const AppendRelInfo *right)
{
	ListCell   *one;
	ListCell   *other;

	forboth(one, left->translated_vars, other, right->translated_vars)
		if (lfirst(one) != NULL && lfirst(other) != NULL && exprCollation(lfirst(one)) != exprCollation(lfirst(other)))
			return false;
	return true;
}

/*
 * Adds all members of a UNION ALL, and notes its columns that determine the
 * shard group of a row.
 */
static bool
add_members(PlannerInfo *root, DistRel *dist, Index varno)
{
	const AppendRelInfo *first = NULL;
	Bitmapset  *columns = NULL;
	int			column = -1;

	foreach_ptr(const AppendRelInfo, append, root->append_rel_list)
	{
		RelOptInfo *member;

		if (append->parent_relid != varno)
			continue;
		first = first == NULL ? append : first;
		if (!same_collations(first, append))
			return false;
		member = find_base_rel(root, append->child_relid);
		if (planner_rt_fetch(member->relid, root)->rtekind == RTE_SUBQUERY ?
			!add_member_subquery(root, dist, member, &columns) :
			!add_member_table(root, dist, member, append, &columns))
			return false;
	}
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		const TargetEntry *entry = get_tle_by_resno(planner_rt_fetch(varno, root)->subquery->targetList, column);

		dist->dist_exprs = lappend(dist->dist_exprs,
								   makeVar(varno, column, exprType((Node *) entry->expr),
										   exprTypmod((Node *) entry->expr), exprCollation((Node *) entry->expr), 0));
	}
	return dist->table != NULL && dist->table->colocation_id != 0;
}

/*
 * A member that is a table as a query: SELECT columns FROM table.
 */
static Query *
make_table_member(PlannerInfo *root, RelOptInfo *member, const AppendRelInfo *append, List *names)
{
	DistRel    *part = dist_rel_make(member->relids, member->rows);
	RangeTblRef *ref = makeNode(RangeTblRef);
	Query	   *query;
	ListCell   *column;
	ListCell   *name;

	ref->rtindex = member->relid;
	query = dist_query_make(root, part, list_make1(ref), NIL);
	forboth(column, append->translated_vars, name, names)
		query->targetList = lappend(query->targetList,
									makeTargetEntry(copyObject(lfirst(column)), list_length(query->targetList) + 1,
													pstrdup(strVal(lfirst(name))), false));
	return query;
}

/*
 * UNION ALL of members that are known to be computable, for a statement that
 * consists of it: the planner has given it the leftmost member's entry, and
 * made the members separate relations.  NULL if they are filtered.  Adds their
 * subqueries to hidden.
 */
static Query *
make_members_query(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte, List **hidden)
{
	List	   *members = NIL;

	foreach_ptr(const AppendRelInfo, append, root->append_rel_list)
	{
		RelOptInfo *member;
		Query	   *query;

		if (append->parent_relid != rel->relid)
			continue;
		member = find_base_rel(root, append->child_relid);
		if (member->baserestrictinfo != NIL)
			return NULL;
		if (member->subroot == NULL)
			query = make_table_member(root, member, append, rte->eref->colnames);
		else
		{
			query = dist_query_build_subquery(member->subroot, dist_query_whole(member->subroot), rte->eref->colnames);
			*hidden = lappend(*hidden, planner_rt_fetch(member->relid, root)->subquery);
		}
		members = lappend(members, query);
	}
	return shard_set_union_all(members, linitial_node(Query, members)->targetList, rte->eref);
}

void
base_rel_note_union(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	DistRel    *dist;
	RangeTblRef *ref;
	RangeTblEntry *entry;
	Query	   *all;

	if (!citus_enable_query_pushdown || planning_context->node_task || rel->reloptkind != RELOPT_BASEREL ||
		rel->fdwroutine != NULL || rel->fdw_private != NULL || rte->securityQuals != NIL ||
		reason_for_rows(root, rel, rte) != NULL)
		return;
	dist = dist_rel_make(rel->relids, rel->rows);
	dist->quals = extract_actual_clauses(rel->baserestrictinfo, false);
	all = rte->subquery->setOperations != NULL ? rte->subquery : NULL;
	if (!dist_rel_can_evaluate(root, NULL, dist->quals) ||
		(all != NULL && !dist_rel_can_evaluate(root, NULL, list_make1(all))) || !add_members(root, dist, rel->relid) ||
		(all == NULL && (all = make_members_query(root, rel, rte, &dist->hidden)) == NULL))
		return;
	entry = copyObject(rte);
	entry->subquery = copyObject(all);
	entry->inh = false;
	entry->inFromCl = true;
	if (entry->alias == NULL)
		entry->alias = makeAlias(entry->eref->aliasname, NIL);
	dist->entries = list_make1(entry);
	dist->entry_numbers = list_make1_int(rel->relid);
	dist->hidden = lappend(dist->hidden, rte->subquery);
	ref = makeNode(RangeTblRef);
	ref->rtindex = rel->relid;
	dist->fromlist = list_make1(ref);
	rel->fdw_private = dist;
}
