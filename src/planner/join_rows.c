/*-------------------------------------------------------------------------
 *
 * join_rows.c
 *	  Estimates the rows of joins that PostgreSQL far underestimates.
 *
 * A wrong estimate costs more here than on a single server: unexpected rows
 * are fetched from nodes one by one, and kept on the initiator.  For an anti
 * join with more conditions than an equality, PostgreSQL often estimates one
 * row, and puts the result in nested loops.  It assumes that equalities of
 * several columns are independent, although together they usually compare the
 * key of one side with references to it: for 800,000 pairs of part and
 * supplier it estimates that one in 2,500 is found in a table of six million
 * references.
 *
 * This file assumes that the combinations of values of one side are a subset
 * of the other's, as PostgreSQL does for single columns.  The number of
 * combinations of a table is limited as in PostgreSQL's estimate for GROUP BY.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/selfuncs.h"

#include "planner/dist_rel.h"

/*
 * An anti join is assumed to return at least one in this many rows of its
 * outer side.
 */
#define ANTI_JOIN_PART 100

/* No table has more groups of several columns than this part of its rows. */
#define GROUPS_PART 0.1

/* A column, without what only changes its type's name; or NULL. */
static const Var *
plain_column(const Node *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr != NULL && IsA(expr, Var) ? (const Var *) expr : NULL;
}

/* The column of a relation that one side of an equality is, or is equal to. */
static const Var *
column_of_relation(Index varno, const Node *side, EquivalenceClass *class)
{
	const Var  *column = plain_column(side);

	if (column != NULL && column->varno == (int) varno)
		return column;
	while (class != NULL && class->ec_merged != NULL)
		class = class->ec_merged;
	if (class == NULL)
		return NULL;
	foreach_ptr(const EquivalenceMember, member, class->ec_members)
	{
		column = plain_column((const Node *) member->em_expr);
		if (!member->em_is_child && column != NULL && column->varno == (int) varno)
			return column;
	}
	return NULL;
}

/* How many values a column has; -1 if it isn't known. */
static double
column_values(PlannerInfo *root, const Var *column)
{
	VariableStatData data;
	bool		is_default;
	double		count;

	examine_variable(root, (Node *) column, 0, &data);
	count = get_variable_numdistinct(&data, &is_default);
	ReleaseVariableStats(data);
	return is_default ? -1 : count;
}

/* Whether columns have different values in all rows of a table. */
static bool
are_unique_together(const RelOptInfo *rel, const Bitmapset *columns)
{
	foreach_ptr(const IndexOptInfo, index, rel->indexlist)
	{
		int			known = 0;

		if (!index->unique || !index->immediate || (index->indpred != NIL && !index->predOK))
			continue;
		while (known < index->nkeycolumns && index->indexkeys[known] > 0 &&
			   bms_is_member(index->indexkeys[known], columns))
			known++;
		if (known == index->nkeycolumns)
			return true;
	}
	return false;
}

/*
 * How many different combinations of the columns that equalities compare a
 * relation has; -1 if the equalities are not all of its columns, or if it
 * isn't known.  left says on which side of each of them it stands.
 */
static double
relation_combinations(PlannerInfo *root, const RelOptInfo *rel, List *equalities, const Bitmapset *left)
{
	double		product = 1;
	double		largest = 1;
	Bitmapset  *columns = NULL;

	foreach_ptr(const RestrictInfo, info, equalities)
	{
		bool		is_left = bms_is_member(foreach_current_index(info), left);
		const OpExpr *op = (const OpExpr *) info->clause;
		const Var  *column = column_of_relation(rel->relid, is_left ? linitial(op->args) : lsecond(op->args),
												is_left ? info->left_ec : info->right_ec);
		double		count = column != NULL && column->varattno > 0 ? column_values(root, column) : -1;

		if (count < 0)
			return -1;
		if (!bms_is_member(column->varattno, columns))
			product *= count;
		largest = Max(largest, count);
		columns = bms_add_member(columns, column->varattno);
	}
	if (bms_membership(columns) != BMS_MULTIPLE)
		return -1;
	if (are_unique_together(rel, columns))
		return Min(product, rel->tuples);
	return Min(product, Max(largest, rel->tuples * GROUPS_PART));
}

/*
 * The same of a side of a join: of the relation in it that has the fewest.
 */
static double
side_combinations(PlannerInfo *root, const RelOptInfo *side, List *equalities, const Bitmapset *left)
{
	double		fewest = -1;
	int			varno = -1;

	while ((varno = bms_next_member(side->relids, varno)) >= 0)
	{
		const RelOptInfo *rel = root->simple_rel_array[varno];
		double		count = rel != NULL ? relation_combinations(root, rel, equalities, left) : -1;

		if (count >= 0 && (fewest < 0 || count < fewest))
			fewest = count;
	}
	return fewest;
}

/*
 * Splits a join's clauses into equalities of the two sides and others; sets in
 * which of the equalities, by their places, the outer side stands left.
 */
static void
split_equalities(const RelOptInfo *outer, const RelOptInfo *inner, List *restrictlist, List **equalities,
				 List **others, Bitmapset **outer_left)
{
	foreach_ptr(RestrictInfo, info, restrictlist)
	{
		bool		is_left = bms_is_subset(info->left_relids, outer->relids);

		if (!info->can_join || info->mergeopfamilies == NIL ||
			!((is_left && bms_is_subset(info->right_relids, inner->relids)) ||
			  (bms_is_subset(info->right_relids, outer->relids) && bms_is_subset(info->left_relids, inner->relids))))
		{
			*others = lappend(*others, info);
			continue;
		}
		if (is_left)
			*outer_left = bms_add_member(*outer_left, list_length(*equalities));
		*equalities = lappend(*equalities, info);
	}
}

/*
 * The least number of rows of an inner join whose equalities of several
 * columns compare references with a key; 0 if unknown.
 */
static double
joined_references(PlannerInfo *root, const RelOptInfo *outer, const RelOptInfo *inner, JoinPathExtraData *extra)
{
	List	   *equalities = NIL;
	List	   *others = NIL;
	Bitmapset  *outer_left = NULL;
	Bitmapset  *inner_left;
	double		outer_count;
	double		inner_count;
	double		rows;

	if (list_length(extra->restrictlist) < 2)
		return 0;
	split_equalities(outer, inner, extra->restrictlist, &equalities, &others, &outer_left);
	if (list_length(equalities) < 2)
		return 0;
	inner_left = bms_difference(bms_add_range(NULL, 0, list_length(equalities) - 1), outer_left);
	outer_count = side_combinations(root, outer, equalities, outer_left);
	inner_count = side_combinations(root, inner, equalities, inner_left);
	if (outer_count < 0 || inner_count < 0)
		return 0;
	rows = outer->rows * inner->rows / Max(Max(outer_count, inner_count), 1);
	rows = Min(rows, Max(outer->rows, inner->rows));
	return rows * clauselist_selectivity(root, others, 0, JOIN_INNER, extra->sjinfo);
}

void
join_rows_correct(PlannerInfo *root, RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner,
				  JoinType type, JoinPathExtraData *extra)
{
	double		least = 0;

	if (type == JOIN_ANTI)
		least = outer->rows / ANTI_JOIN_PART;
	else if (type == JOIN_INNER)
		least = joined_references(root, outer, inner, extra);
	least = clamp_row_est(least);
	if (joinrel->rows >= least)
		return;
	joinrel->rows = least;
	foreach_ptr(Path, path, joinrel->pathlist)
		if (path->param_info == NULL)
			path->rows = least;
}
