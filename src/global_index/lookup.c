/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Plans statements whose filter gives the key of a global index.
 *
 * A SELECT, UPDATE or DELETE of one table becomes a GlobalIndexLookup node.
 * It contains a plan for one shard, whose distribution value is a parameter
 * that the entries tell when the statement runs.  Of a write by several keys,
 * or of a key of several rows, it is a plan for the shards of an array of such
 * values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/clauses.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "compat/planner_call.h"
#include "compat/result_relations.h"
#include "global_index/global_index.h"
#include "global_index/lookup.h"
#include "lib/index_columns.h"
#include "lib/plan_fields.h"
#include "planner/dist_cost.h"
#include "planner/dist_rel.h"
#include "planner/planner.h"
#include "planner/shippable.h"
#include "sharding/prune.h"

CustomScanMethods global_lookup_methods = {
	.CustomName = "GlobalIndexLookup",
};

bool		enable_global_lookups = true;

/* Whether a statement is planned for all shards. */
static bool asks_all = false;

static const PlanField global_lookup_fields[] = {
	PLAN_FIELD(PLAN_LIST, GlobalLookup, params),
	PLAN_FIELD(PLAN_LIST, GlobalLookup, one_shard),
	PLAN_FIELD(PLAN_LIST, GlobalLookup, query),
};

List *
global_lookup_pack(const GlobalLookup *lookup)
{
	return plan_fields_pack(global_lookup_fields, lengthof(global_lookup_fields), lookup, sizeof(GlobalLookup));
}

void
global_lookup_unpack(const CustomScan *node, GlobalLookup *lookup)
{
	plan_fields_unpack(global_lookup_fields, lengthof(global_lookup_fields), node->custom_private, lookup,
					   sizeof(GlobalLookup));
}

/* Collects the numbers of the client's parameters. */
static bool
find_params(Node *node, List **numbers)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		*numbers = list_append_unique_int(*numbers, ((Param *) node)->paramid);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_params, numbers, 0);
	return expression_tree_walker(node, find_params, numbers);
}

static bool
is_column(const Node *node, Index varno, AttrNumber attno)
{
	if (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return IsA(node, Var) && ((const Var *) node)->varno == varno && ((const Var *) node)->varattno == attno &&
		((const Var *) node)->varlevelsup == 0;
}

/* Finds columns, of any query. */
static bool
uses_columns(Node *node, void *context)
{
	if (node == NULL || IsA(node, Var))
		return node != NULL;
	return expression_tree_walker(node, uses_columns, context);
}

/* Whether the value of an expression is known before rows are read. */
static bool
is_known(Node *expr)
{
	return !uses_columns(expr, NULL) && !contain_volatile_functions(expr) && !contain_subplans(expr);
}

/* Whether an operator of the server means what the index means by equal. */
static bool
is_equality(Oid opno, Oid collation, Relation index, int column)
{
	return opno < FirstNormalObjectId && collation == index->rd_indcollation[column] &&
		get_op_opfamily_strategy(opno, index->rd_opfamily[column]) == BTEqualStrategyNumber;
}

/* A column of an index's key, or an expression. */
typedef struct KeyColumn
{
	Relation	index;
	int			number;			/* from 0 on */
	Index		varno;			/* the table's */
	Node	   *expr;			/* NULL: a column of the table */
} KeyColumn;

static bool
is_key_column(Node *node, const KeyColumn *column)
{
	return column->expr != NULL ? equal(node, column->expr) :
		is_column(node, column->varno, column->index->rd_index->indkey.values[column->number]);
}

/* The value that a condition gives to a key's column; NULL: none. */
static KeyValue *
key_value(Node *condition, const KeyColumn *column, bool arrays)
{
	KeyValue	value = {0};
	KeyValue   *result;
	List	   *args;

	if (is_andclause(condition))
	{
		foreach_ptr(Node, part, ((BoolExpr *) condition)->args)
			if ((result = key_value(part, column, arrays)) != NULL)
				return result;
		return NULL;
	}
	if (IsA(condition, OpExpr) && list_length(((OpExpr *) condition)->args) == 2 &&
		is_equality(((OpExpr *) condition)->opno, ((OpExpr *) condition)->inputcollid, column->index, column->number))
	{
		args = ((OpExpr *) condition)->args;
		value.expr = is_key_column(linitial(args), column) ? lsecond(args) :
			is_key_column(lsecond(args), column) ? linitial(args) : NULL;
	}
	else if (arrays && IsA(condition, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) condition)->useOr &&
			 is_equality(((ScalarArrayOpExpr *) condition)->opno, ((ScalarArrayOpExpr *) condition)->inputcollid,
						 column->index, column->number))
	{
		args = ((ScalarArrayOpExpr *) condition)->args;
		value.expr = is_key_column(linitial(args), column) ? lsecond(args) : NULL;
		value.is_array = true;
	}
	if (value.expr == NULL || !is_known((Node *) value.expr))
		return NULL;
	result = palloc(sizeof(KeyValue));
	*result = value;
	return result;
}

List *
key_values(Node *condition, Index varno, Relation index, bool arrays)
{
	List	   *exprs = RelationGetIndexExpressions(index);
	ListCell   *next = list_head(exprs);
	List	   *values = NIL;

	ChangeVarNodes((Node *) exprs, 1, varno, 0);
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		KeyColumn	column = {.index = index, .number = i, .varno = varno};
		KeyValue   *value;

		if (index->rd_index->indkey.values[i] == 0)
		{
			column.expr = lfirst(next);
			next = lnext(exprs, next);
		}
		value = key_value(condition, &column, arrays);
		if (value == NULL)
			break;
		values = lappend(values, value);
	}
	return values;
}

Node *
global_lookup_filter(Node *quals)
{
	return eval_const_expressions(NULL, copyObject(quals));
}

/* Whether all rows that a filter leaves are rows of a partial index. */
static bool
implies_predicate(Node *filter, Index varno, Relation index)
{
	List	   *predicate = RelationGetIndexPredicate(index);

	ChangeVarNodes((Node *) predicate, 1, varno, 0);
	return predicate == NIL ||
		predicate_implied_by(predicate, make_ands_implicit(canonicalize_qual((Expr *) copyObject(filter), false)), false);
}

/*
 * Whether the transaction's snapshot may be older than the index, and so not
 * show all entries.
 */
static bool
may_lack_entries(Relation index)
{
	return IsolationUsesXactSnapshot() &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin);
}

bool
global_index_finds(Relation index, const DistTable *table, Node *filter, Index varno, List *values)
{
	int			needed = index->rd_index->indisunique ? index->rd_index->indnkeyatts : 1;

	return list_length(values) >= needed && index_is_global(index->rd_index, table->dist_attno) && index->rd_index->indisvalid &&
		!may_lack_entries(index) && implies_predicate(filter, varno, index);
}

/*
 * Whether to find nothing shows: by no row, or by none that is written.  A
 * user's trigger may fire even then.
 */
static bool
shows_misses(Query *query, Relation rel)
{
	if (query->hasAggs || query->groupingSets != NIL || query->havingQual != NULL)
		return false;
	if (query->commandType == CMD_SELECT)
		return query->groupClause == NIL;
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		if (!rel->trigdesc->triggers[i].tgisinternal)
			return false;
	return true;
}

/* The number of the only distributed table that the query uses, or 0. */
static Index
only_table(Query *query)
{
	Index		varno = query->resultRelation;

	if (query->commandType != CMD_SELECT && query->commandType != CMD_UPDATE && query->commandType != CMD_DELETE)
		return 0;
	if (query->jointree->quals == NULL || query->cteList != NIL || query->setOperations != NULL || query->hasSubLinks ||
		list_length(query->jointree->fromlist) != 1 || !IsA(linitial(query->jointree->fromlist), RangeTblRef) ||
		count_distributed_tables((Node *) query) != 1)
		return 0;
	if (varno == 0)
		varno = linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex;
	return rt_fetch(varno, query->rtable)->rtekind == RTE_RELATION ? varno : 0;
}

/*
 * The number of the query's only table, if its filter may give the key of a
 * global index, or 0; a filter on the distribution column is better.
 */
static Index
table_with_keys(Query *query, const DistTable **table)
{
	Index		varno = only_table(query);

	if (varno == 0 || (*table = metadata_lookup(rt_fetch(varno, query->rtable)->relid)) == NULL ||
		(*table)->global_columns == NULL || contain_volatile_functions((Node *) query) ||
		prune_single_value(prune_from_quals(*table, varno, list_make1(query->jointree->quals))) != NULL)
		return 0;
	return varno;
}

/*
 * Finds a global index by which a write, or one that locks rows, of several
 * keys, or rows of a key, reaches fewer shards; and its values.  This pays if
 * the tasks that it saves cost more than two round trips.
 */
static List *
find_index_of_several(Query *query, Index varno, const DistTable *table, GlobalLookup *lookup)
{
	List	   *result = NIL;
	Relation	rel = relation_open(table->relid, NoLock);
	Node	   *filter = global_lookup_filter(query->jointree->quals);

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(indexid, AccessShareLock);
		List	   *values = result == NIL ? key_values(filter, varno, index, true) : NIL;
		Oid			entries = global_index_finds(index, table, filter, varno, values) ? global_index_entries(indexid) : InvalidOid;

		if (OidIsValid(entries) && dist_task_cost * (table->nshards - global_lookup_rows(rel, index, values)) >
			2 * (dist_round_trip_cost + dist_task_cost * dist_rel_count_nodes(table)))
		{
			result = values;
			lookup->index = indexid;
			lookup->entries = entries;
		}
		index_close(index, AccessShareLock);
	}
	relation_close(rel, NoLock);
	return result;
}

/*
 * Finds a global index whose key the query's filter gives, and its values.
 */
static List *
find_index(Query *query, Index varno, const DistTable *table, GlobalLookup *lookup)
{
	List	   *values = NIL;
	Relation	rel = relation_open(table->relid, NoLock);

	if (shows_misses(query, rel))
	{
		Node	   *filter = global_lookup_filter(query->jointree->quals);

		foreach_oid(indexid, RelationGetIndexList(rel))
		{
			Relation	index = index_open(indexid, AccessShareLock);

			/* rows may have equal keys until they are checked */
			if (values == NIL && index->rd_index->indisunique && index->rd_index->indimmediate)
				values = key_values(filter, varno, index, false);
			if (values != NIL && !OidIsValid(lookup->index))
			{
				lookup->index = indexid;
				lookup->entries = global_index_finds(index, table, filter, varno, values) ? global_index_entries(indexid) :
					InvalidOid;
				if (!OidIsValid(lookup->entries))
				{
					lookup->index = InvalidOid;
					values = NIL;
				}
			}
			index_close(index, AccessShareLock);
		}
	}
	relation_close(rel, NoLock);
	return values;
}

/* A statement whose only node is a GlobalIndexLookup. */
static PlannedStmt *
make_lookup(GlobalLookup *lookup, List *values)
{
	PlannedStmt *statement = makeNode(PlannedStmt);
	CustomScan *scan = make_scan_like(lookup->one_shard->planTree);

	*statement = *lookup->one_shard;
	statement->planTree = (Plan *) scan;
	statement->subplans = NIL;
	statement->rewindPlanIDs = NULL;
	statement->rowMarks = NIL;
	compat_forget_result_relations(statement);
	statement->appendRelations = NIL;
	statement->paramExecTypes = NIL;
	statement->relationOids = lappend_oid(list_copy(statement->relationOids), lookup->entries);
	scan->methods = &global_lookup_methods;
	scan->custom_plans = list_make1(lookup->one_shard->planTree);
	foreach_ptr(KeyValue, value, values)
		scan->custom_exprs = lappend(scan->custom_exprs, expression_planner(value->expr));
	lookup->one_shard->planTree = NULL;
	scan->custom_private = global_lookup_pack(lookup);
	return statement;
}

/* The parameter that is a distribution value, or an array of them. */
static Param *
distribution_param(const DistTable *table, int number, bool several)
{
	Oid			type = getBaseType(table->dist_type);
	Param	   *value = makeNode(Param);

	value->paramkind = PARAM_EXTERN;
	value->paramid = number;
	value->paramtype = several ? get_array_type(type) : type;
	value->paramtypmod = -1;
	value->paramcollid = table->dist_collation;
	value->location = -1;
	return value;
}

/* A copy of a query, of the shards of some distribution values only. */
static Query *
add_shards(const Query *query, Index varno, const DistTable *table, Param *values)
{
	Query	   *result = copyObject((Query *) query);
	Relation	rel = relation_open(table->relid, NoLock);

	result->jointree->quals = (Node *) make_ands_explicit(list_make2(result->jointree->quals,
																	 global_lookup_condition(table, rel, varno, (Node *) values)));
	relation_close(rel, NoLock);
	return result;
}

static PlannedStmt *
plan_lookup(Query *query, const char *query_string, int cursor_options, ParamListInfo params)
{
	GlobalLookup lookup = {0};
	const DistTable *table;
	PlannedStmt *covered;
	Param	   *value;
	List	   *values;
	Index		varno;

	if (!enable_global_lookups || asks_all || (cursor_options & (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)) != 0 ||
		(varno = table_with_keys(query, &table)) == 0)
		return NULL;
	covered = global_lookup_cover(query, varno, table, query_string, cursor_options, params);
	if (covered != NULL)
		return covered;
	values = find_index(query, varno, table, &lookup);
	if (values == NIL && (query->commandType != CMD_SELECT || query->rowMarks != NIL))
	{
		values = find_index_of_several(query, varno, table, &lookup);
		lookup.several = true;
	}
	if (values == NIL)
		return NULL;
	(void) find_params((Node *) query, &lookup.params);
	lookup.param = params != NULL ? params->numParams : 0;
	foreach_int(number, lookup.params)
		lookup.param = Max(lookup.param, number);
	lookup.param++;
	value = distribution_param(table, lookup.param, lookup.several);
	if (lookup.several)
		lookup.one_shard = plan_pinned(add_shards(query, varno, table, value), NULL, query_string, cursor_options, params);
	else
	{
		lookup.query = copyObject(query);
		lookup.one_shard = plan_pinned(query, value, query_string, cursor_options, params);
	}
	for (int i = 0; i < list_length(values); i++)
		lookup.array_keys |= ((KeyValue *) list_nth(values, i))->is_array ? UINT64CONST(1) << i : 0;
	return make_lookup(&lookup, values);
}

PlannedStmt *
global_lookup_plan_all(const Query *query, const char *query_string, ParamListInfo params)
{
	PlannedStmt *statement;

	asks_all = true;
	PG_TRY();
	{
		statement = planner(castNode(Query, copyObjectImpl(query)), query_string, 0, params, NULL);
	}
	PG_FINALLY();
	{
		asks_all = false;
	}
	PG_END_TRY();
	return statement;
}

void
global_lookup_init(void)
{
	plan_by_global_index = plan_lookup;
	narrow_by_global_indexes = global_lookup_narrow;
	global_lookup_run_init();
	DefineCustomBoolVariable("citus.enable_global_index_lookups",
							 "Finds the shard of a row by the key of a global index.",
							 "When off, statements that give such a key ask all shards.",
							 &enable_global_lookups, true, PGC_USERSET, 0, NULL, NULL, NULL);
}
