/*-------------------------------------------------------------------------
 *
 * grouping_sets.c
 *	  GROUPING SETS, CUBE and ROLLUP on the nodes.
 *
 * If each set has a column that determines the shard group of a row, the nodes
 * compute everything.  Otherwise each node returns transition states for the
 * groups of each set, with the value of GROUPING(..) of all items, which
 * identifies the set.  An ordinary Finalize Aggregate on the initiator groups
 * by the items and that number.  The results of GROUPING() in the statement
 * are columns that the nodes return.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"

#include "planner/dist_query.h"

/* Items that GROUPING() takes. */
#define MAX_GROUPING_ITEMS 31

/*
 * Converts the sets back from the planner's IntLists of sortgrouprefs to the
 * form of a parsed query.
 */
static List *
sets_as_written(const List *sets)
{
	GroupingSet *all = makeGroupingSet(GROUPING_SET_SETS, NIL, -1);
	ListCell   *cell;

	foreach(cell, sets)
	{
		List	   *refs = list_copy(lfirst(cell));

		all->content = lappend(all->content,
							   makeGroupingSet(refs == NIL ? GROUPING_SET_EMPTY : GROUPING_SET_SIMPLE, refs, -1));
	}
	return list_make1(all);
}

/* The members of GROUP BY that a set has. */
static List *
set_clause(PlannerInfo *root, const List *set)
{
	List	   *clause = NIL;

	foreach_int(ref, set)
		clause = lappend(clause, get_sortgroupref_clause(ref, root->parse->groupClause));
	return clause;
}

/* Whether the rows of each group of each set are in one shard group. */
static bool
sets_are_whole(PlannerInfo *root, const DistRel *rel)
{
	ListCell   *cell;

	foreach(cell, root->parse->groupingSets)
	{
		if (!dist_query_groups_are_whole(root, rel, set_clause(root, lfirst(cell))))
			return false;
	}
	return true;
}

/*
 * Whether all sets are different: Finalize Aggregate would merge the groups of
 * equal ones.
 */
static bool
sets_differ(const List *sets)
{
	List	   *seen = NIL;
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, sets)
	{
		Bitmapset  *set = NULL;
		ListCell   *ref;

		foreach(ref, (List *) lfirst(cell))
			set = bms_add_member(set, lfirst_int(ref));
		foreach(other, seen)
		{
			if (bms_equal(set, lfirst(other)))
				return false;
		}
		seen = lappend(seen, set);
	}
	return true;
}

/*
 * Whether a set without items may get no row from any node, if the filter
 * leaves no shard.
 */
static bool
may_miss_total(PlannerInfo *root, const DistRel *rel)
{
	return rel->disjunctions != NIL && list_member(root->parse->groupingSets, NIL);
}

/*
 * Adds the number that identifies the sets to the columns; returns the GROUP
 * BY clause with it.
 */
static List *
add_set_number(PlannerInfo *root, List **columns, PathTarget *partial)
{
	GroupingFunc *number = makeNode(GroupingFunc);
	SortGroupClause *clause = makeNode(SortGroupClause);
	Index		ref = 0;
	ListCell   *cell;

	number->location = -1;
	foreach(cell, root->parse->groupClause)
	{
		number->args = lappend(number->args,
							   copyObject(get_sortgroupclause_expr(lfirst(cell), root->processed_tlist)));
		number->refs = lappend_int(number->refs, lfirst_node(SortGroupClause, cell)->tleSortGroupRef);
	}
	foreach_node(TargetEntry, entry, root->processed_tlist)
		ref = Max(ref, entry->ressortgroupref);
	clause->tleSortGroupRef = ref + 1;
	get_sort_group_operators(INT4OID, true, true, false, &clause->sortop, &clause->eqop, NULL, &clause->hashable);
	*columns = lappend(*columns, number);
	add_column_to_pathtarget(partial, (Expr *) number, clause->tleSortGroupRef);
	return lappend(list_copy(root->parse->groupClause), clause);
}

/* Why the initiator can't combine groups from partial ones; NULL if it can. */
static const char *
reason_for_parts(PlannerInfo *root, const DistRel *rel)
{
	const List *clause = root->parse->groupClause;

	if (root->hasNonPartialAggs || root->hasNonSerialAggs)
		return "one can't be computed in parts, and rows of a group are on several nodes";
	if (clause == NIL || list_length(clause) > MAX_GROUPING_ITEMS || !grouping_is_hashable((List *) clause) ||
		!sets_differ(root->parse->groupingSets) || may_miss_total(root, rel))
		return "groups of these GROUPING SETS can't be told apart";
	return NULL;
}

/*
 * The query that computes the columns; NULL if the nodes can't.  Columns that
 * are the same for all rows, or that a key determines, are not supported with
 * GROUPING SETS.
 */
static DistQuery *
make_sets_query(PlannerInfo *root, const DistRel *rel, List *columns, bool partial)
{
	List	   *clause = root->parse->groupClause;
	DistQuery  *query = dist_query_group(root, rel, clause, columns, partial);

	if (query == NULL || !equal(query->group_clause, clause))
		return NULL;
	query->grouping_sets = sets_as_written(root->parse->groupingSets);
	return query;
}

static void
add_finalize_sets_path(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const DistRel *rel,
					   double ngroups)
{
	PathTarget *partial = create_empty_pathtarget();
	List	   *columns = dist_query_partial_columns(root, grouped_rel->reltarget, partial);
	List	   *clause = add_set_number(root, &columns, partial);
	DistQuery  *query = make_sets_query(root, rel, columns, true);
	AggClauseCosts costs = {0};
	Path	   *path;

	if (query == NULL)
		return;
	path = dist_query_path(root, grouped_rel, query, partial, ngroups * dist_rel_count_nodes(rel->table),
						   input_rel->rows * cpu_operator_cost * 2 * list_length(root->parse->groupingSets));
	get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(grouped_rel, (Path *) create_agg_path(root, grouped_rel, path, grouped_rel->reltarget, AGG_HASHED,
												   AGGSPLIT_FINAL_DESERIAL, clause, (List *) root->parse->havingQual,
												   &costs, ngroups));
}

void
grouping_sets_paths_add(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *grouped_rel, const DistRel *rel,
						double ngroups)
{
	DistQuery  *query;
	const char *reason;

	if (!sets_are_whole(root, rel))
	{
		reason = reason_for_parts(root, rel);
		if (reason == NULL)
			add_finalize_sets_path(root, input_rel, grouped_rel, rel, ngroups);
		else
			dist_rel_refuse(root, rel->relids, "the aggregates", reason);
		return;
	}
	query = make_sets_query(root, rel, grouped_rel->reltarget->exprs, false);
	if (query == NULL || !dist_rel_can_evaluate(root, query->rel, query->having))
		return;
	add_path(grouped_rel, dist_query_path(root, grouped_rel, query, grouped_rel->reltarget, ngroups,
										  input_rel->rows * cpu_operator_cost * 2 *
										  list_length(root->parse->groupingSets)));
	grouped_rel->fdw_private = query;
}
