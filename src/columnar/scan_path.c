/*-------------------------------------------------------------------------
 *
 * scan_path.c
 *	  Paths that scan columnar tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "columnar/bitmap_scan.h"
#include "columnar/chunk_cache.h"
#include "columnar/columnar.h"
#include "columnar/options.h"
#include "columnar/scan_node.h"
#include "columnar/scan_path.h"
#include "compat/foreach.h"

/* What it costs to expand a value, as a share of cpu_operator_cost. */
#define EXPAND_COST 0.04

/* The share of what conditions cost by row that vectors save. */
#define VECTOR_SAVES 0.8

/*
 * To fetch a row by its ctid, whose chunks are in the cache: measured, as much
 * as a sequential scan of a heap takes for 60 rows.
 */
#define FETCH_COST 250

/*
 * Attribute numbers (offset by FirstLowInvalidHeapAttributeNumber) that a scan
 * needs.
 */
static Bitmapset *
needed_attnos(RelOptInfo *rel)
{
	Bitmapset  *attnos = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attnos);
	foreach_node(RestrictInfo, clause, rel->baserestrictinfo)
		pull_varattnos((Node *) clause->clause, rel->relid, &attnos);
	return attnos;
}

/* Whether a slot of values has all that is needed: no xmin, for example. */
static bool
values_suffice(Bitmapset *attnos)
{
	int			attno = -1;

	while ((attno = bms_next_member(attnos, attno)) >= 0)
	{
		int			number = attno + FirstLowInvalidHeapAttributeNumber;

		if (number >= 0)
			break;
		if (number != SelfItemPointerAttributeNumber && number != TableOidAttributeNumber)
			return false;
	}
	return true;
}

/* The share of the table's bytes that the needed columns are. */
static double
share_of_columns(RelOptInfo *rel, Bitmapset *attnos)
{
	double		all = 0;
	double		needed = 0;

	for (int attno = 1; attno <= rel->max_attr; attno++)
	{
		double		width = Max(rel->attr_widths[attno - rel->min_attr], 4);

		all += width;
		if (bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, attnos) ||
			bms_is_member(-FirstLowInvalidHeapAttributeNumber, attnos))
			needed += width;
	}
	return all > 0 ? needed / all : 0;
}

static Plan *
plan_columnar_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.scanrelid = rel->relid;
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->flags = path->flags;
	scan->methods = &columnar_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods columnar_path_methods = {
	.CustomName = "ColumnarScan",
	.PlanCustomPath = plan_columnar_scan,
};

bool
columnar_path_is_scan(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods == &columnar_path_methods;
}

static bool
is_plain_operand(Node *node)
{
	if (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return (IsA(node, Var) && ((Var *) node)->varattno > 0) || IsA(node, Const) || IsA(node, Param);
}

/*
 * Whether a condition is likely to have a vector form (row_filter.h): it
 * compares a column with something plain.
 */
static bool
is_vector_condition(Node *condition)
{
	List	   *args;

	if (is_andclause(condition) || is_orclause(condition))
	{
		foreach_ptr(Node, arm, ((BoolExpr *) condition)->args)
		{
			if (!is_vector_condition(arm))
				return false;
		}
		return true;
	}
	if (IsA(condition, OpExpr))
		args = ((OpExpr *) condition)->args;
	else if (IsA(condition, ScalarArrayOpExpr))
		args = ((ScalarArrayOpExpr *) condition)->args;
	else
		return IsA(condition, NullTest) || is_plain_operand(condition);
	foreach_ptr(Node, arg, args)
	{
		if (!is_plain_operand(arg))
			return false;
	}
	return true;
}

/*
 * What conditions with a vector form save of the cost of a sequential scan:
 * most of their evaluation, and the making of rows that don't pass them.
 */
static Cost
vectors_save(PlannerInfo *root, RelOptInfo *rel)
{
	QualCost	cost = {0};
	double		passing = 1;

	if (!columnar_enable_vectorization)
		return 0;
	foreach_node(RestrictInfo, clause, rel->baserestrictinfo)
	{
		QualCost	one;

		if (!is_vector_condition((Node *) clause->clause))
			continue;
		cost_qual_eval_node(&one, (Node *) clause, root);
		cost.per_tuple += one.per_tuple;
		passing *= clause_selectivity(root, (Node *) clause, 0, JOIN_INNER, NULL);
	}
	return rel->tuples * ((1 - passing) * cpu_tuple_cost + cost.per_tuple) * VECTOR_SAVES;
}

/*
 * A columnar scan in the place of one of the server's, which reads and expands
 * all columns, and evaluates conditions by row; or that one.
 */
static Path *
make_scan_path(PlannerInfo *root, RelOptInfo *rel, Path *seqscan, Bitmapset *attnos)
{
	CustomPath *path;
	double		share = share_of_columns(rel, attnos);
	double		saved = ((1 - share) * (rel->pages * seq_page_cost) + vectors_save(root, rel)) / Max(seqscan->parallel_workers, 1);

	if (!columnar_enable_custom_scan || !values_suffice(attnos))
		return seqscan;
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = seqscan->param_info;
	path->path.parallel_aware = seqscan->parallel_aware;
	path->path.parallel_safe = seqscan->parallel_safe;
	path->path.parallel_workers = seqscan->parallel_workers;
	path->path.rows = seqscan->rows;
	path->path.startup_cost = seqscan->startup_cost;
	path->path.total_cost = Max(seqscan->total_cost - saved, seqscan->startup_cost);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->methods = &columnar_path_methods;
	return &path->path;
}

static double
expand_group_cost(RelOptInfo *rel, Bitmapset *attnos)
{
	return Min(rel->tuples, columnar_default_group_rows()) * rel->max_attr * share_of_columns(rel, attnos) *
		cpu_operator_cost * EXPAND_COST;
}

/* How often a path is expected to run: once for each row of what it joins. */
static double
count_of_runs(PlannerInfo *root, const Path *path)
{
	double		runs = -1;
	int			relid = -1;

	if (path->param_info == NULL)
		return 1;
	while ((relid = bms_next_member(path->param_info->ppi_req_outer, relid)) >= 0)
	{
		RelOptInfo *outer = relid < root->simple_rel_array_size ? root->simple_rel_array[relid] : NULL;

		if (outer != NULL && outer->rows > 0 && (runs < 0 || outer->rows < runs))
			runs = outer->rows;
	}
	return Max(runs, 1);
}

/*
 * A row that an index has found needs its chunk group expanded, the needed
 * columns of it, unless they are in the session's cache: there are as many
 * expansions as chunk groups, and beyond these as the cache has no room for.
 * What that costs for a run of the path, for all rows that the index finds,
 * also those that don't pass the other conditions.
 */
static double
fetch_cost(PlannerInfo *root, RelOptInfo *rel, const Path *path, Bitmapset *attnos)
{
	double		groups = Max(ceil(rel->tuples / Max(columnar_default_group_rows(), 1)), 1);
	double		bytes = rel->tuples * Max(rel->reltarget->width, (int) sizeof(Datum));
	double		cached = Min(1, chunk_cache_room() / Max(bytes, 1));
	double		runs = count_of_runs(root, path);
	double		found = IsA(path, IndexPath) ? clamp_row_est(((const IndexPath *) path)->indexselectivity * rel->tuples) : path->rows;
	double		fetches = found * runs;
	double		expansions = Min(fetches, groups);

	expansions += (fetches - expansions) * (1 - cached);
	return expansions / runs * expand_group_cost(rel, attnos) + found * FETCH_COST * cpu_operator_cost;
}

static void
add_fetch_cost(PlannerInfo *root, RelOptInfo *rel, List *paths, Bitmapset *attnos)
{
	foreach_ptr(Path, path, paths)
	{
		if (IsA(path, IndexPath))
			path->total_cost += fetch_cost(root, rel, path, attnos);
	}
}

/* Without those in whose place come ours. */
static List *
without_server_scans(List *paths)
{
	List	   *result = NIL;

	foreach_ptr(Path, path, paths)
	{
		if (path->pathtype != T_SeqScan && path->pathtype != T_BitmapHeapScan)
			result = lappend(result, path);
	}
	return result;
}

/* Whether a bitmap has rows of stripes: a BRIN index doesn't know these. */
static bool
bitmap_is_complete(Path *path)
{
	List	   *parts;

	if (IsA(path, IndexPath))
		return ((IndexPath *) path)->indexinfo->relam != BRIN_AM_OID;
	parts = IsA(path, BitmapAndPath) ? ((BitmapAndPath *) path)->bitmapquals : ((BitmapOrPath *) path)->bitmapquals;
	foreach_ptr(Path, part, parts)
	{
		if (!bitmap_is_complete(part))
			return false;
	}
	return true;
}

/*
 * Bitmap scans in the place of the server's.  Few rows are looked up; of many,
 * each chunk group with a row is expanded once, the needed columns of it.
 */
static List *
make_bitmap_paths(PlannerInfo *root, RelOptInfo *rel, List *paths, Bitmapset *attnos)
{
	double		rows = Max(columnar_default_group_rows(), 1);
	double		group_cost = expand_group_cost(rel, attnos);
	List	   *result = NIL;

	foreach_ptr(Path, path, paths)
	{
		if (path->pathtype == T_BitmapHeapScan && bitmap_is_complete(((BitmapHeapPath *) path)->bitmapqual))
		{
			double		cost = path->rows > BITMAP_SCAN_LOOKUPS ? Min(path->rows, ceil(rel->tuples / rows)) * group_cost :
				fetch_cost(root, rel, path, attnos);

			result = lappend(result, bitmap_scan_make_path(path, cost));
		}
	}
	return result;
}

static int
compare_total_costs(const ListCell *a, const ListCell *b)
{
	const Path *left = lfirst(a);
	const Path *right = lfirst(b);

	return left->total_cost < right->total_cost ? -1 : left->total_cost > right->total_cost;
}

void
columnar_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	Relation	table;
	bool		columnar;
	Bitmapset  *attnos;
	List	   *bitmaps = NIL;

	if (rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample != NULL ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return;
	table = table_open(rte->relid, NoLock);
	columnar = columnar_is_columnar(table);
	table_close(table, NoLock);
	if (!columnar)
		return;
	attnos = needed_attnos(rel);

	/*
	 * As add_path() keeps them.  It may have dropped the sequential scan for
	 * an index scan that seemed cheaper.
	 */
	if (columnar_enable_custom_scan && values_suffice(attnos))
		bitmaps = make_bitmap_paths(root, rel, rel->pathlist, attnos);
	rel->pathlist = without_server_scans(rel->pathlist);
	rel->partial_pathlist = without_server_scans(rel->partial_pathlist);
	add_fetch_cost(root, rel, rel->pathlist, attnos);
	add_fetch_cost(root, rel, rel->partial_pathlist, attnos);
	list_sort(rel->pathlist, compare_total_costs);
	list_sort(rel->partial_pathlist, compare_total_costs);

	foreach_ptr(Path, bitmap, bitmaps)
		add_path(rel, bitmap);
	add_path(rel, make_scan_path(root, rel, create_seqscan_path(root, rel, rel->lateral_relids, 0), attnos));
	if (rel->consider_parallel && rel->lateral_relids == NULL)
	{
		int			workers = compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather);

		if (workers > 0)
			add_partial_path(rel, make_scan_path(root, rel, create_seqscan_path(root, rel, NULL, workers), attnos));
	}
}
