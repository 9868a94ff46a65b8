/*-------------------------------------------------------------------------
 *
 * router.c
 *	  The whole statement as one task of one shard group.
 *
 * The decision is based on a finished plan.  If in a correct plan of the
 * statement every scan of a distributed table is pruned to the shards of one
 * and the same value, then that plan's answer is a function of that shard
 * group's rows (and of tables that are the same everywhere), so the statement
 * run on a database that holds just those rows has the same answer.
 * Equalities, outer joins, views and subqueries need no rules of our own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "planner/planner.h"
#include "planner/reference_lock_path.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "planner/write_query.h"
#include "sharding/hash.h"
#include "sharding/prune.h"

/* The table and value that pin the statement to a shard group. */
typedef struct Pin
{
	const DistTable *table;		/* of the first scan */
	PruneTerm	term;			/* value NULL for DIST_SINGLE */
} Pin;

static bool
exec_param_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	return expression_tree_walker(node, exec_param_walker, context);
}

/*
 * The pin of one scan; false if it isn't pinned by one value known before
 * execution.
 */
static bool
scan_pin(CustomScan *scan, Pin *pin)
{
	DistPlan	plan;

	dist_plan_unpack(scan, &plan);
	pin->table = metadata_require(plan.relid);
	pin->term = (PruneTerm) {NULL};
	if (pin->table->kind == DIST_SINGLE)
		return true;

	foreach_ptr(List, terms, plan.prune)
	{
		const PrunePlanTerm *term = prune_plan_value(terms);
		Expr	   *value = term == NULL ? NULL : list_nth(scan->custom_exprs, term->expr);

		if (value == NULL || exec_param_walker((Node *) value, NULL) || contain_var_clause((Node *) value))
			continue;
		pin->term = (PruneTerm) {value, false, term->type};
		return true;
	}
	return false;
}

/* Whether two pins always lead to the same shard index. */
static bool
same_shard(const Pin *a, const Pin *b)
{
	if (a->table->colocation_id != b->table->colocation_id)
		return false;
	if (a->term.value == NULL || b->term.value == NULL)
		return a->term.value == b->term.value;
	if (equal(a->term.value, b->term.value))
		return true;
	if (!IsA(a->term.value, Const) || !IsA(b->term.value, Const) ||
		((Const *) a->term.value)->constisnull || ((Const *) b->term.value)->constisnull ||
		((Const *) a->term.value)->consttype != a->table->hash_opcintype ||
		((Const *) b->term.value)->consttype != b->table->hash_opcintype)
		return false;
	return shard_index_of_value(a->table, ((Const *) a->term.value)->constvalue) ==
		shard_index_of_value(b->table, ((Const *) b->term.value)->constvalue);
}

/* The pin that all scans share. */
static bool
common_pin(List *scans, Pin *pin)
{
	ListCell   *cell;

	if (scans == NIL || !scan_pin(linitial(scans), pin))
		return false;
	for_each_from(cell, scans, 1)
	{
		Pin			other;

		if (!scan_pin(lfirst(cell), &other) || !same_shard(pin, &other))
			return false;
	}
	return true;
}

/* Requirements of the writes of a statement. */
typedef struct Writes
{
	const char *reason;			/* why they can't be routed; NULL: they can */
	int32		colocation_id;	/* the group of single-shard tables that they
								 * insert into; 0: they don't */
} Writes;

/*
 * Notes an INSERT of one row or a MERGE.  Rows that are computed are known to
 * stay in the pinned shard group only if the target has no other one.  (An
 * INSERT of more rows is for pushed_write.c.)
 */
static const char *
note_insert(Query *query, const DistTable *table, Writes *writes)
{
	if (table == NULL || table->kind != DIST_SINGLE ||
		(query->commandType == CMD_INSERT && query->jointree->fromlist != NIL))
		return "it inserts rows that are computed";
	if (writes->colocation_id != 0 && writes->colocation_id != table->colocation_id)
		return "it writes tables of several nodes";
	writes->colocation_id = table->colocation_id;
	return write_stays_in_shard(query, table);
}

/* For all writes in the statement; context is Writes. */
static bool
write_walker(Node *node, void *context)
{
	Writes	   *writes = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->resultRelation != 0)
		{
			RangeTblEntry *target = rt_fetch(query->resultRelation, query->rtable);
			const DistTable *table = metadata_lookup(target->relid);

			if (query->commandType == CMD_INSERT || query->commandType == CMD_MERGE)
				writes->reason = note_insert(query, table, writes);
			else if (table == NULL || table->kind == DIST_REFERENCE)
				writes->reason = "it writes a table that is not distributed";
			else
				writes->reason = write_stays_in_shard(query, table);
		}
		if (writes->reason != NULL)
			return true;
		return query_tree_walker(query, write_walker, context, 0);
	}
	return expression_tree_walker(node, write_walker, context);
}

static bool
row_mark_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		if (((Query *) node)->rowMarks != NIL || ((Query *) node)->commandType != CMD_SELECT)
			return true;
		return query_tree_walker((Query *) node, row_mark_walker, context, 0);
	}
	return expression_tree_walker(node, row_mark_walker, context);
}

PlannedStmt *
router_plan(Query *original, const PlanningContext *context, const char **reason)
{
	DistPlan	plan = {.kind = DIST_PLAN_ROUTER,.dist_param = -1,.tableoid_position = -1};
	List	   *exprs = NIL;
	Writes		writes = {NULL};
	Pin			pin;

	(void) write_walker((Node *) original, &writes);
	*reason = writes.reason;
	if (*reason != NULL ||
		(*reason = shippable_columns(original->commandType == CMD_SELECT ?
									 original->targetList : original->returningList)) != NULL)
		return NULL;
	*reason = "it locks rows of a reference table";
	if (reference_rows_are_locked(original))
		return NULL;
	*reason = "its tables are read with the rights of different users";
	if (!query_check_as(original, &plan.traits.check_as))
		return NULL;
	*reason = "its tables are not all pinned to one shard group";
	if (!common_pin(context->scans, &pin) ||
		(writes.colocation_id != 0 && writes.colocation_id != pin.table->colocation_id))
		return NULL;

	plan.relid = pin.table->relid;
	plan.writes = row_mark_walker((Node *) original, NULL);
	plan.text = task_query_text(task_query_extract(original, &exprs), reason);
	if (plan.text == NULL)
		return NULL;
	plan.nparams = list_length(exprs);
	*reason = "it has too many parameters";
	if (plan.nparams > TASK_MAX_PARAMS)
		return NULL;
	if (pin.term.value != NULL)
	{
		pin.term.value = copyObject(pin.term.value);
		plan.prune = prune_pack(list_make1(list_make1(&pin.term)), &exprs);
	}
	return make_dist_statement(original, &plan, exprs);
}
