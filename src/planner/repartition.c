/*-------------------------------------------------------------------------
 *
 * repartition.c
 *	  Relations whose rows nodes send to each other for a join or groups.
 *
 * If one side of a join isn't joined on its distribution column, the nodes
 * that compute it can send each of its rows to the node that has the other
 * side's rows with the same value (exchange/).  The moved relation is then
 * distributed like the other side.  If neither side is joined on its
 * distribution column, both are moved to the nodes of one side's shards.  Rows
 * that are grouped by a value can be moved in the same way, if it costs less
 * than combining partial groups on the initiator (upper_path.c).
 *
 * The sending part is a separate plan below the scan, which runs first: SELECT
 * exchange_send(name, map, hash, columns ..) FROM ..; the text of the scan
 * reads the rows by exchange_read(..).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "planner/dist_cost.h"
#include "planner/dist_query.h"
#include "planner/moved_rows.h"
#include "planner/planning_context.h"
#include "remote/wire_type.h"

static Plan *plan_repartition(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
							  List *custom_plans);

static const CustomPathMethods repartition_path_methods = {
	.CustomName = "DistributedScan",
	.PlanCustomPath = plan_repartition,
};

/*
 * The factor for the cost of opening an exchange if the size of a table is a
 * guess, since the table may be small.
 */
#define GUESS_CAUTION 100

/*
 * The most columns that exchange_send can take after its three other
 * arguments.
 */
#define MAX_SENT_COLUMNS (FUNC_MAX_ARGS - 1 - 3)

/* Describes the rows to be sent; a path's custom_private. */
typedef struct Repartition
{
	const DistRel *source;
	List	   *columns;		/* Vars */
	Expr	   *hash;
} Repartition;

/* exchange_send(name, map, hash, columns ..) */
static Aggref *
make_send(const Repartition *repartition)
{
	static const Oid args[] = {TEXTOID, INT4ARRAYOID, INT4OID, ANYOID};
	Aggref	   *send = makeNode(Aggref);
	List	   *exprs = list_make3(moved_rows_param(0, 1, TEXTOID), moved_rows_param(0, 2, INT4ARRAYOID),
								   copyObject(repartition->hash));
	ListCell   *cell;

	send->aggfnoid = moved_rows_function("exchange_send", lengthof(args), args);
	send->aggtype = BYTEAOID;
	send->inputcollid = DEFAULT_COLLATION_OID;
	send->aggtranstype = InvalidOid;
	send->aggkind = AGGKIND_NORMAL;
	send->aggsplit = AGGSPLIT_SIMPLE;
	send->aggno = send->aggtransno = -1;
	send->location = -1;
	foreach(cell, list_concat(exprs, copyObject(repartition->columns)))
	{
		send->args = lappend(send->args, makeTargetEntry(lfirst(cell), foreach_current_index(cell) + 1, NULL, false));
		send->aggargtypes = lappend_oid(send->aggargtypes, exprType(lfirst(cell)));
	}
	return send;
}

/* PlanCustomPath. */
static Plan *
plan_repartition(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path, List *tlist, List *clauses,
				 List *custom_plans)
{
	const Repartition *repartition = linitial(best_path->custom_private);
	const DistRel *source = repartition->source;
	DistPlan	plan = {.kind = DIST_PLAN_SCAN,.dist_param = -1,.tableoid_position = -1,.command = CMD_SELECT,
	.by_node = true,.sends = true};
	CustomScan *scan = makeNode(CustomScan);
	Query	   *task = dist_query_make(root, source, source->fromlist, source->quals);
	Expr	   *sent = (Expr *) make_send(repartition);

	task->hasAggs = true;
	task->targetList = list_make1(makeTargetEntry(copyObject(sent), 1, "sent", false));
	plan.relid = source->table->relid;
	scan->custom_scan_tlist = dist_query_describe(&plan, list_make1(sent));
	scan->custom_exprs = dist_query_finish(&plan, task, source);
	plan.narrays += 2;
	plan.nparams += 2;
	scan->scan.plan.targetlist = list_make1(makeTargetEntry(sent, 1, NULL, false));
	scan->flags = best_path->flags;
	scan->methods = &dist_scan_methods;
	scan->custom_plans = custom_plans;
	scan->custom_private = dist_plan_pack(&plan, scan->custom_exprs);
	planning_context->scans = lappend(planning_context->scans, scan);
	return (Plan *) scan;
}

/*
 * The path of the plan that sends a relation's rows.  It returns the result of
 * exchange_send, none of their columns.
 */
static Path *
make_repartition_path(RelOptInfo *rel, Repartition *repartition, double cost)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = create_empty_pathtarget();
	path->path.rows = dist_rel_count_nodes(repartition->source->table);
	path->path.startup_cost = path->path.total_cost = cost;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(repartition);
	foreach_ptr(Broadcast, broadcast, repartition->source->broadcasts)
		path->custom_paths = lappend(path->custom_paths, broadcast->path);
	path->methods = &repartition_path_methods;
	return (Path *) path;
}

/* An expression under the collation that an operator compares it by. */
static Node *
compared_expression(Node *expr, const OpExpr *operator)
{
	if (!OidIsValid(operator->inputcollid))
		return expr;
	return applyRelabelType(expr, exprType(expr), exprTypmod(expr), operator->inputcollid, COERCE_IMPLICIT_CAST, -1,
							false);
}

/*
 * The hash value of hash_of, the compared_expression of one that an operator
 * compares with a table's distribution column; NULL if the nodes can't compute
 * it.
 */
static Expr *
make_hash(PlannerInfo *root, const DistTable *table, Node *expr, Node *hash_of, const OpExpr *operator)
{
	Oid			left;
	Oid			right;
	Oid			type;
	Oid			function;
	Expr	   *hash;

	op_input_types(operator->opno, &left, &right);
	type = equal(expr, linitial(operator->args)) ? left : right;
	if (IsPolymorphicType(type))
		return NULL;
	function = get_opfamily_proc(table->hash_opfamily, type, type, HASHSTANDARD_PROC);
	if (!OidIsValid(function))
		return NULL;
	hash = (Expr *) makeFuncExpr(function, INT4OID, list_make1(copyObject(hash_of)), InvalidOid, operator->inputcollid,
								 COERCE_EXPLICIT_CALL);
	return dist_rel_can_evaluate(root, NULL, list_make1(hash)) ? hash : NULL;
}

/*
 * An expression that has one hash value for all equal values.  COLLATE may
 * distinguish values that are equal otherwise.
 */
static Node *
hashed_expression(Node *hash_of)
{
	while (IsA(hash_of, RelabelType))
	{
		Node	   *arg = (Node *) ((RelabelType *) hash_of)->arg;
		Oid			collation = exprCollation(arg);

		if (OidIsValid(collation) && collation != exprCollation(hash_of) && !get_collation_isdeterministic(collation))
			break;
		hash_of = arg;
	}
	return hash_of;
}

/* Whether all columns have a form that is the same on all nodes. */
static bool
are_binary(const List *columns)
{
	foreach_node(Var, var, columns)
	{
		if (!wire_type(var->vartype).binary)
			return false;
	}
	return true;
}

/*
 * What it costs to send the rows of a relation: each node sends, and receives,
 * its part.
 */
static double
sending_cost(const DistRel *source, const DistTable *table, int ncolumns)
{
	int			nsources = dist_rel_count_nodes(source->table);
	int			ntargets = dist_rel_count_nodes(table);
	double		row = (ncolumns + 2) * dist_value_cost;
	double		exchange = planning_context->guesses ? GUESS_CAUTION * dist_exchange_cost : dist_exchange_cost;

	return dist_rel_cost(source) + exchange + dist_task_cost * (nsources + ntargets) +
		source->rows * row / Min(nsources, ntargets);
}

DistRel *
dist_rel_repartition(PlannerInfo *root, RelOptInfo *rel, List *columns, const DistTable *table, Node *expr,
					 const OpExpr *operator)
{
	const DistRel *source = dist_rel_of(rel);
	Repartition *repartition;
	Broadcast  *broadcast;
	DistRel    *dist;
	RangeTblRef *ref;
	Node	   *hash_of = compared_expression(expr, operator);
	Expr	   *hash;

	if (!citus_enable_repartition || source == NULL || source->table == NULL || dist_rel_finds_writes(root) ||
		table->kind != DIST_HASH || !dist_rel_can_prepare(root, rel) || !dist_rel_can_travel(columns) ||
		list_length(columns) > MAX_SENT_COLUMNS || !are_binary(columns) ||
		(hash = make_hash(root, table, expr, hash_of, operator)) == NULL)
		return NULL;
	repartition = palloc(sizeof(Repartition));
	*repartition = (Repartition) {source, columns, hash};
	dist = dist_rel_make(rel->relids, rel->rows);
	dist->preparation = sending_cost(source, table, list_length(columns));
	dist->work = rel->rows * cpu_tuple_cost * 2;
	dist->table = table;
	broadcast = palloc0(sizeof(Broadcast));
	broadcast->relids = rel->relids;
	broadcast->varno = bms_next_member(rel->relids, -1);
	broadcast->repartition = true;
	broadcast->columns = columns;
	broadcast->path = make_repartition_path(rel, repartition, dist->preparation);
	ref = makeNode(RangeTblRef);
	ref->rtindex = broadcast->varno;
	dist->fromlist = list_make1(ref);
	dist->broadcasts = list_make1(broadcast);
	dist->dist_exprs = list_make1(hashed_expression(hash_of));
	return dist;
}
