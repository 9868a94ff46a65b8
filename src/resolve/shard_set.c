/*-------------------------------------------------------------------------
 *
 * shard_set.c
 *	  A task for several shards of a node, which it reads as one relation.
 *
 * The entry of the logical table becomes a subquery, SELECT .. FROM shard1
 * UNION ALL SELECT .. FROM shard2 .., which the server's planner flattens into
 * an append relation, as it does for a table with inheritance children: it
 * pushes filters to the shards, uses their indexes, merges their sorted rows
 * and stops early at a LIMIT.  Row-security policies stay with the entry.
 *
 * The planner has no statistics of a subquery's columns.  It gets those of
 * the logical table, whose oid stays in the entry.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "compat/permissions.h"
#include "resolve/array_stats.h"
#include "resolve/ctid.h"
#include "resolve/shard_set.h"
#include "sharding/hash_condition.h"

/* As many shards are grouped, for the planner. */
#define MANY_MEMBERS 64

static get_relation_stats_hook_type prev_get_relation_stats = NULL;

/*
 * The columns of a table, by attribute number from 1; dropped ones are null
 * constants.
 */
static List *
make_shard_columns(Oid relid, int natts)
{
	List	   *columns = NIL;

	for (AttrNumber attno = 1; attno <= natts; attno++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));
		Form_pg_attribute attribute;
		Expr	   *expr;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", attno, relid);
		attribute = (Form_pg_attribute) GETSTRUCT(tuple);
		if (attribute->attisdropped)
			expr = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
		else
			expr = (Expr *) makeVar(1, attno, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);
		columns = lappend(columns, makeTargetEntry(expr, attno, pstrdup(NameStr(attribute->attname)), false));
		ReleaseSysCache(tuple);
	}
	return columns;
}

/*
 * SELECT all columns FROM shard, in which the entry is a copy of the table's.
 */
static Query *
make_shard_query(Query *query, RangeTblEntry *rte, const ShardPart *part, List *columns)
{
	Query	   *child = makeNode(Query);
	RangeTblEntry *child_rte = copyObject(rte);
	RangeTblRef *ref = makeNode(RangeTblRef);
	Node	   *condition = part->clipped ? hash_condition(metadata_require(rte->relid), 1, part->range) : NULL;

	child_rte->relid = part->relid;
	child_rte->securityQuals = NIL;
	child_rte->inFromCl = true;
	compat_pass_permissions(query, rte, child, child_rte);
	ref->rtindex = 1;
	child->commandType = CMD_SELECT;
	child->canSetTag = true;
	child->rtable = list_make1(child_rte);
	child->jointree = makeFromExpr(list_make1(ref), condition);
	child->targetList = copyObject(columns);
	return child;
}

/* An entry for a member of UNION ALL, or for all of it. */
static RangeTblEntry *
make_subquery_entry(Query *subquery, Alias *names)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = subquery;
	entry->eref = names;
	entry->inFromCl = true;
	return entry;
}

/*
 * UNION ALL of the members from first to last of a range table, as a balanced
 * tree.
 */
static Node *
make_union(const SetOperationStmt *form, int first, int last)
{
	SetOperationStmt *node;

	if (first == last)
	{
		RangeTblRef *ref = makeNode(RangeTblRef);

		ref->rtindex = first;
		return (Node *) ref;
	}
	node = makeNode(SetOperationStmt);
	*node = *form;
	node->larg = make_union(form, first, (first + last) / 2);
	node->rarg = make_union(form, (first + last) / 2 + 1, last);
	return (Node *) node;
}

/* Adds a column's type to the form of the UNION ALL, and its output. */
static void
add_union_column(Query *query, SetOperationStmt *form, const TargetEntry *column)
{
	Oid			type = exprType((Node *) column->expr);
	int32		typmod = exprTypmod((Node *) column->expr);
	Oid			collation = exprCollation((Node *) column->expr);

	form->colTypes = lappend_oid(form->colTypes, type);
	form->colTypmods = lappend_int(form->colTypmods, typmod);
	form->colCollations = lappend_oid(form->colCollations, collation);
	query->targetList = lappend(query->targetList,
								makeTargetEntry((Expr *) makeVar(1, column->resno, type, typmod, collation, 0),
												column->resno, pstrdup(column->resname), false));
}

/* Errors if a query can't read an entry's shards as one. */
static void
check_expandable(Query *query, RangeTblEntry *rte)
{
	if (rte->rellockmode != AccessShareLock || rte->tablesample != NULL || query->rowMarks != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a task for several shards writes, locks or samples table \"%s\"", get_rel_name(rte->relid))));
}

Query *
shard_set_union_all(List *members, List *columns, Alias *names)
{
	Query	   *all = makeNode(Query);
	SetOperationStmt *form = makeNode(SetOperationStmt);
	ListCell   *cell;

	foreach(cell, members)
		all->rtable = lappend(all->rtable, make_subquery_entry(lfirst(cell), copyObject(names)));
	form->op = SETOP_UNION;
	form->all = true;
	foreach(cell, columns)
		add_union_column(all, form, lfirst(cell));
	all->commandType = CMD_SELECT;
	all->canSetTag = true;
	all->jointree = makeFromExpr(NIL, NULL);
	all->setOperations = make_union(form, 1, list_length(members));
	return all;
}

/* Whose whole-row Vars row_tests_walker looks for. */
typedef struct RowTests
{
	Index		varno;
	Index		level;			/* queries around which it stands */
	List	   *columns;		/* as make_shard_columns returns them */
} RowTests;

/* A row's columns, without those that were dropped. */
static Expr *
make_live_row(const Var *row, List *columns)
{
	RowExpr    *live = makeNode(RowExpr);
	ListCell   *cell;

	foreach(cell, columns)
	{
		const Var  *column = (const Var *) lfirst_node(TargetEntry, cell)->expr;

		if (IsA(column, Var))
			live->args = lappend(live->args, makeVar(row->varno, column->varattno, column->vartype, column->vartypmod,
													 column->varcollid, row->varlevelsup));
	}
	live->row_typeid = RECORDOID;
	live->row_format = COERCE_IMPLICIT_CAST;
	live->location = -1;
	return (Expr *) live;
}

/*
 * Restricts IS [NOT] NULL of a table's row to its live columns, since the
 * planner expands it to all columns of a subquery.  In place.
 */
static bool
row_tests_walker(Node *node, void *context)
{
	RowTests   *tests = context;

	if (node == NULL)
		return false;
	if (IsA(node, NullTest) && IsA(((NullTest *) node)->arg, Var))
	{
		NullTest   *test = (NullTest *) node;
		const Var  *var = (const Var *) test->arg;

		if (var->varno == (int) tests->varno && var->varattno == InvalidAttrNumber && var->varlevelsup == tests->level)
			test->arg = make_live_row(var, tests->columns);
		return false;
	}
	if (IsA(node, Query))
	{
		bool		stop;

		tests->level++;
		stop = query_tree_walker((Query *) node, row_tests_walker, context, 0);
		tests->level--;
		return stop;
	}
	return expression_tree_walker(node, row_tests_walker, context);
}

/* Whether a table has dropped columns. */
static bool
any_is_dropped(List *columns)
{
	ListCell   *cell;

	foreach(cell, columns)
	{
		if (!IsA(lfirst_node(TargetEntry, cell)->expr, Var))
			return true;
	}
	return false;
}

/* Adds the place of a member among all of them to its columns. */
static Query *
add_number(Query *member, int number)
{
	Const	   *value = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(number), false, true);

	member->targetList = lappend(member->targetList, makeTargetEntry((Expr *) value, list_length(member->targetList) + 1,
																	 "citus_shard_number", false));
	return member;
}

/*
 * UNION ALL of many members: of groups, each of which is SELECT .. FROM (UNION
 * ALL of some members).  Before version 16, the server takes a time that grows
 * with the square of their number to pull up the members of one UNION ALL; it
 * pulls up those of a group apart from the others.  All of them are children
 * of the same Append in the end.  Columns must be Vars.
 */
static Query *
union_in_groups(List *members, List *columns, Alias *names)
{
	int			size = (int) sqrt(list_length(members));
	List	   *groups = NIL;
	List	   *group = NIL;
	ListCell   *cell;

	foreach(cell, members)
	{
		Query	   *selected;
		RangeTblRef *ref;

		group = lappend(group, lfirst(cell));
		if (list_length(group) < size && lnext(members, cell) != NULL)
			continue;
		selected = makeNode(Query);
		ref = makeNode(RangeTblRef);
		ref->rtindex = 1;
		selected->commandType = CMD_SELECT;
		selected->canSetTag = true;
		selected->rtable = list_make1(make_subquery_entry(shard_set_union_all(group, columns, names), copyObject(names)));
		selected->jointree = makeFromExpr(list_make1(ref), NULL);
		selected->targetList = copyObject(columns);
		groups = lappend(groups, selected);
		group = NIL;
	}
	return shard_set_union_all(groups, columns, names);
}

void
shard_set_expand(Query *query, RangeTblEntry *rte, List *parts, bool with_ctid, bool numbered)
{
	List	   *columns = make_shard_columns(rte->relid, list_length(rte->eref->colnames));
	List	   *members = NIL;
	ListCell   *cell;

	check_expandable(query, rte);
	if (any_is_dropped(columns))
	{
		RowTests	tests = {.columns = columns};

		foreach(cell, query->rtable)
		{
			if (lfirst(cell) == rte)
				tests.varno = foreach_current_index(cell) + 1;
		}
		(void) query_tree_walker(query, row_tests_walker, &tests, 0);
	}
	if (with_ctid)
		columns = list_concat(columns, ctid_set_columns(rte));
	if (numbered)
		rte->eref->colnames = lappend(rte->eref->colnames, makeString("citus_shard_number"));
	foreach(cell, parts)
	{
		Query	   *member = make_shard_query(query, rte, lfirst(cell), columns);

		members = lappend(members, numbered ? add_number(member, foreach_current_index(cell)) : member);
	}
	if (numbered)
		columns = linitial_node(Query, members)->targetList;
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = list_length(members) >= MANY_MEMBERS && !with_ctid && !numbered && !any_is_dropped(columns) ?
		union_in_groups(members, columns, rte->eref) : shard_set_union_all(members, columns, rte->eref);
	rte->relkind = 0;
	rte->inh = false;
}

/*
 * get_relation_stats_hook: the statistics of a logical table's column, for the
 * set of its shards here.
 */
static bool
get_shard_set_stats(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum, VariableStatData *vardata)
{
	if (rte->rtekind == RTE_FUNCTION && array_stats_get(rte, attnum, vardata))
		return true;
	if (rte->rtekind != RTE_SUBQUERY || !rte->inh || !OidIsValid(rte->relid) || attnum <= 0)
		return prev_get_relation_stats != NULL && prev_get_relation_stats(root, rte, attnum, vardata);

	vardata->statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid), Int16GetDatum(attnum),
										  BoolGetDatum(false));
	vardata->freefunc = ReleaseSysCache;
	vardata->acl_ok = pg_class_aclcheck(rte->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
	return true;
}

void
shard_set_init(void)
{
	prev_get_relation_stats = get_relation_stats_hook;
	get_relation_stats_hook = get_shard_set_stats;
}
