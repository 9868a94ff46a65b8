/*-------------------------------------------------------------------------
 *
 * set_op_path.c
 *	  UNION, INTERSECT and EXCEPT on the nodes.
 *
 * If two queries have a common column that determines the shard group of a row
 * (they are *aligned*), their equal rows are in the same group.  So each group
 * can compute its part of the result; UNION ALL needs no such column.  The
 * result is a DistRel whose only entry is a subquery.  The entry replaces the
 * leftmost leaf of the tree, to which the columns of the containing query
 * refer.
 *
 * If the leaves aren't aligned, the nodes compute each of them, and PostgreSQL
 * combines them.  If duplicates make no difference, nodes first remove theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"

#include "compat/append_path.h"
#include "planner/base_rel.h"
#include "planner/dist_query.h"

/* The leaves of a tree of set operations. */
static Relids
tree_leaves(const Node *tree)
{
	if (IsA(tree, RangeTblRef))
		return bms_make_singleton(((const RangeTblRef *) tree)->rtindex);
	return bms_join(tree_leaves(((const SetOperationStmt *) tree)->larg),
					tree_leaves(((const SetOperationStmt *) tree)->rarg));
}

/* The part of a tree that has exactly these leaves, or NULL. */
static SetOperationStmt *
find_operation(Node *tree, Relids leaves)
{
	SetOperationStmt *operation = (SetOperationStmt *) tree;
	SetOperationStmt *found;

	if (!IsA(tree, SetOperationStmt))
		return NULL;
	if (bms_equal(tree_leaves(tree), leaves))
		return operation;
	found = find_operation(operation->larg, leaves);
	return found != NULL ? found : find_operation(operation->rarg, leaves);
}

/* The operation that a leaf is an operand of. */
static SetOperationStmt *
parent_operation(SetOperationStmt *tree, Index leaf)
{
	Node	   *operands[] = {tree->larg, tree->rarg};

	for (int i = 0; i < lengthof(operands); i++)
	{
		if (!bms_is_member(leaf, tree_leaves(operands[i])))
			continue;
		return IsA(operands[i], RangeTblRef) ? tree : parent_operation((SetOperationStmt *) operands[i], leaf);
	}
	return NULL;
}

/*
 * Whether a column of an operand determines the shard group of a row, and the
 * operation compares it unchanged.
 */
static bool
is_group_column(const DistRel *operand, AttrNumber attno, Oid type)
{
	foreach_ptr(const Var, var, operand->dist_exprs)
		if (var->varattno == attno && var->vartype == type)
			return true;
	return false;
}

/* Such columns of both operands, as Vars of varno. */
static List *
common_group_columns(const SetOperationStmt *operation, const DistRel *left, const DistRel *right, Index varno)
{
	List	   *vars = NIL;
	ListCell   *type;
	ListCell   *typmod;
	ListCell   *collation;

	forthree(type, operation->colTypes, typmod, operation->colTypmods, collation, operation->colCollations)
	{
		AttrNumber	attno = foreach_current_index(type) + 1;

		if (is_group_column(left, attno, lfirst_oid(type)) && is_group_column(right, attno, lfirst_oid(type)))
			vars = lappend(vars, makeVar(varno, attno, lfirst_oid(type), lfirst_int(typmod), lfirst_oid(collation), 0));
	}
	return vars;
}

/*
 * Whether the columns of an operand of a tree have these collations.  If not,
 * one operand has its collation by a COLLATE clause, which texts don't keep.
 */
static bool
has_collations(PlannerInfo *root, Node *operand, const List *collations)
{
	int			n = 0;

	if (IsA(operand, SetOperationStmt))
		return equal(((SetOperationStmt *) operand)->colCollations, collations);
	foreach_node(TargetEntry, entry, planner_rt_fetch(((RangeTblRef *) operand)->rtindex, root)->subquery->targetList)
		if (!entry->resjunk && exprCollation((Node *) entry->expr) != list_nth_oid(collations, n++))
			return false;
	return true;
}

/*
 * The DistRel of a tree's result, without the query that computes it; NULL if
 * the nodes can't compute it independently.
 */
static const DistRel *
judge_tree(PlannerInfo *root, Node *tree)
{
	const SetOperationStmt *operation = (SetOperationStmt *) tree;
	const DistRel *left;
	const DistRel *right;
	DistRel    *dist;
	Index		varno;

	if (IsA(tree, RangeTblRef))
		return dist_rel_of(find_base_rel(root, ((RangeTblRef *) tree)->rtindex));
	left = judge_tree(root, operation->larg);
	right = judge_tree(root, operation->rarg);
	if (left == NULL || right == NULL || left->table->colocation_id != right->table->colocation_id ||
		left->table->colocation_id == 0 || left->check_as != right->check_as ||
		!has_collations(root, operation->larg, operation->colCollations) ||
		!has_collations(root, operation->rarg, operation->colCollations))
		return NULL;
	varno = bms_singleton_member(left->relids);
	dist = dist_rel_make(left->relids, left->rows + right->rows);
	dist->table = left->table;
	dist->check_as = left->check_as;
	dist->hidden = list_concat_copy(left->hidden, right->hidden);
	dist->work = left->work + right->work;
	if (!(operation->op == SETOP_UNION && operation->all))
		dist->work += dist->rows * 2 * cpu_operator_cost;
	dist->preparation = left->preparation + right->preparation;
	dist->dist_exprs = common_group_columns(operation, left, right, varno);
	if (dist->dist_exprs == NIL && !(operation->op == SETOP_UNION && operation->all) &&
		left->table->kind != DIST_SINGLE)
		return NULL;
	return dist;
}

/*
 * A copy of a tree for another query, which gets entries for the leaves.
 */
static Node *
copy_tree(PlannerInfo *root, Node *tree, Query *query)
{
	SetOperationStmt *copy;

	if (IsA(tree, RangeTblRef))
	{
		RangeTblRef *ref = makeNode(RangeTblRef);
		const DistRel *leaf = dist_rel_of(find_base_rel(root, ((RangeTblRef *) tree)->rtindex));

		query->rtable = lappend(query->rtable, copyObject(linitial(leaf->entries)));
		ref->rtindex = list_length(query->rtable);
		return (Node *) ref;
	}
	copy = copyObject((SetOperationStmt *) tree);
	copy->larg = copy_tree(root, ((SetOperationStmt *) tree)->larg, query);
	copy->rarg = copy_tree(root, ((SetOperationStmt *) tree)->rarg, query);
	return (Node *) copy;
}

/* The query of a tree alone, with these names (String) of its columns. */
static Query *
make_tree_query(PlannerInfo *root, SetOperationStmt *tree, List *names)
{
	Query	   *query = makeNode(Query);
	ListCell   *cell;

	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	query->setOperations = copy_tree(root, (Node *) tree, query);
	foreach(cell, names)
	{
		int			i = foreach_current_index(cell);
		Var		   *var = makeVar(1, i + 1, list_nth_oid(tree->colTypes, i), list_nth_int(tree->colTypmods, i),
								  list_nth_oid(tree->colCollations, i), 0);

		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) var, i + 1, pstrdup(strVal(lfirst(cell))), false));
	}
	return query;
}

/*
 * The result of a tree as a DistRel; NULL if the nodes can't compute it
 * independently.
 */
static DistRel *
take_tree(PlannerInfo *root, SetOperationStmt *tree)
{
	const DistRel *judged = judge_tree(root, (Node *) tree);
	RangeTblRef *ref = makeNode(RangeTblRef);
	RangeTblEntry *entry;
	DistRel    *dist;

	if (judged == NULL)
		return NULL;
	dist = palloc(sizeof(DistRel));
	*dist = *judged;
	ref->rtindex = bms_singleton_member(dist->relids);
	dist->fromlist = list_make1(ref);
	entry = copyObject(planner_rt_fetch(ref->rtindex, root));
	entry->subquery = make_tree_query(root, tree, entry->eref->colnames);
	entry->inFromCl = true;
	entry->lateral = false;
	if (entry->alias == NULL)
		entry->alias = makeAlias(entry->eref->aliasname, NIL);
	dist->entries = list_make1(entry);
	dist->entry_numbers = list_make1_int(ref->rtindex);
	return dist;
}

Path *
set_op_query_path(PlannerInfo *root, RelOptInfo *rel, DistQuery *query, double rows)
{
	const SetOperationStmt *tree = find_operation(root->parse->setOperations, rel->relids);
	Index		varno = bms_singleton_member(query->rel->relids);
	PathTarget *target = create_empty_pathtarget();
	Path	   *path;
	ListCell   *cell;

	foreach(cell, rel->reltarget->exprs)
	{
		int			i = foreach_current_index(cell);

		/*
		 * the column after the others tells a SetOp node which operand a row
		 * is from
		 */
		if (i < list_length(tree->colTypes))
			add_column_to_pathtarget(target, (Expr *) makeVar(varno, i + 1, list_nth_oid(tree->colTypes, i),
															  list_nth_int(tree->colTypmods, i),
															  list_nth_oid(tree->colCollations, i), 0), 0);
		else
			add_column_to_pathtarget(target, (Expr *) makeNullConst(exprType(lfirst(cell)), -1, InvalidOid), 0);
	}
	target->width = rel->reltarget->width;
	path = dist_query_path(root, rel, query, target, rows, 0);

	/*
	 * an Append with one child, which is left out when the plan is finished,
	 * turns columns of the leaf to those that the result has in the planner
	 */
	return (Path *) compat_append_of_one(root, rel, path);
}

/* Adds a path of a whole tree. */
static void
add_tree_path(PlannerInfo *root, RelOptInfo *rel)
{
	SetOperationStmt *tree = find_operation(root->parse->setOperations, rel->relids);
	Path	   *other = rel->pathlist != NIL ? linitial(rel->pathlist) : NULL;
	DistRel    *dist;
	DistQuery  *query;
	Path	   *path;

	if (tree == NULL || other == NULL || rel->fdwroutine != NULL || rel->fdw_private != NULL ||
		(dist = take_tree(root, tree)) == NULL)
		return;
	dist->rows = other->rows;
	rel->fdw_private = dist;
	query = palloc0(sizeof(DistQuery));
	query->rel = dist;
	path = set_op_query_path(root, rel, query, other->rows);
	if (!equal(other->pathtarget->exprs, rel->reltarget->exprs))
		path = apply_projection_to_path(root, rel, path, other->pathtarget);
	add_path(rel, path);
}

/*
 * Adds a path of a leaf whose duplicates the nodes remove, if these make no
 * difference.
 */
static void
add_distinct_leaf_path(PlannerInfo *root, RelOptInfo *rel)
{
	SetOperationStmt *parent = parent_operation((SetOperationStmt *) root->parse->setOperations, rel->relid);
	const DistRel *dist = dist_rel_of(rel);
	DistQuery  *query = palloc0(sizeof(DistQuery));
	double		rows;
	ListCell   *cell;

	if (dist == NULL || parent == NULL || parent->all)
		return;
	foreach(cell, rel->reltarget->exprs)
	{
		if (IsA(lfirst(cell), Var))
			query->columns = lappend(query->columns, lfirst(cell));
		else if (!IsA(lfirst(cell), Const))
			return;
	}
	query->rel = dist;
	query->grouped = true;
	query->group_clause = dist_query_group_by_all(query->columns, &query->tlist);
	if (query->group_clause == NIL)
		return;
	rows = estimate_num_groups(rel->subroot, get_tlist_exprs(rel->subroot->parse->targetList, false),
							   rel->rows, NULL, NULL);
	add_path(rel, dist_query_path(root, rel, query, rel->reltarget,
								  Min(rows * dist_rel_count_nodes(dist->table), rel->rows),
								  rel->rows * cpu_operator_cost * 2));
}

void
set_op_paths_add(PlannerInfo *root, RelOptInfo *rel)
{
	if (root->hasRecursion)
		return;
	if (rel->reloptkind != RELOPT_BASEREL)
	{
		add_tree_path(root, rel);
		return;
	}
	base_rel_note(root, rel, planner_rt_fetch(rel->relid, root), NULL);
	add_distinct_leaf_path(root, rel);
}

RelOptInfo *
set_op_result(PlannerInfo *root)
{
	return fetch_upper_rel(root, UPPERREL_SETOP, tree_leaves(root->parse->setOperations));
}
