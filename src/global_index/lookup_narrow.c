/*-------------------------------------------------------------------------
 *
 * lookup_narrow.c
 *	  Narrows the shards of queries by the keys of global indexes.
 *
 * A filter that gives a table's rows the key of a global index, by values or
 * lists of them, implies that their distribution values are among those of the
 * keys' entries.  That is added to the filter, as
 *
 *	  tenant = ANY (ARRAY(SELECT .. FROM entries WHERE email IN (..)))
 *
 * with OR tenant IS NULL, unless the column is NOT NULL.  The subquery runs
 * first, and tells the table's scan its shards.  The statement reads both as
 * of one point in time, since it reads several shards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parse_collate.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteDefine.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "global_index/entry_plan.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "global_index/lookup.h"
#include "planner/dist_cost.h"
#include "planner/dist_rel.h"
#include "sharding/prune.h"
#include "table/definition.h"

/* Keys of an array, or rows of a key, whose number isn't known. */
#define UNKNOWN_KEYS 10

/* What is being done to a query. */
typedef struct Narrowing
{
	Cost		cost;			/* of the query as it is */
	bool		narrowed;
} Narrowing;

/* How many keys a value stands for. */
static double
count_keys(const KeyValue *value)
{
	if (!value->is_array)
		return 1;
	if (IsA(value->expr, ArrayExpr))
		return list_length(((ArrayExpr *) value->expr)->elements);
	if (IsA(value->expr, Const) && !((Const *) value->expr)->constisnull)
	{
		ArrayType  *array = DatumGetArrayTypeP(((Const *) value->expr)->constvalue);

		return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	}
	return UNKNOWN_KEYS;
}

/* How many rows have a key, as far as is known. */
static double
rows_of_key(Relation rel, Relation index)
{
	double		rows = rel->rd_rel->reltuples;
	double		distinct = 0;
	HeapTuple	tuple;

	if (index->rd_index->indisunique)
		return 1;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(rel)),
							Int16GetDatum(index->rd_index->indkey.values[0]), BoolGetDatum(false));
	if (HeapTupleIsValid(tuple))
	{
		distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
		ReleaseSysCache(tuple);
	}
	return distinct < 0 ? -1 / distinct : distinct > 0 && rows > 0 ? rows / distinct : UNKNOWN_KEYS;
}

double
global_lookup_rows(Relation rel, Relation index, List *values)
{
	double		rows = rows_of_key(rel, index);

	foreach_ptr(KeyValue, value, values)
		rows *= count_keys(value);
	return rows;
}

/*
 * Whether it costs less to ask for entries first: which saves the shards that
 * have no row, and adds two round trips, one of them for the point in time.
 */
static bool
is_worthwhile(const Narrowing *narrowing, const DistTable *table, Relation rel, Relation index, List *values)
{
	return narrowing->cost * (1 - Min(global_lookup_rows(rel, index, values) / table->nshards, 1)) >
		2 * (dist_round_trip_cost + dist_task_cost * dist_rel_count_nodes(table));
}

/* Puts values in the place of the parameters of a query for entries. */
static Node *
put_values(Node *node, void *values)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return copyObject((Node *) ((KeyValue *) list_nth(values, ((Param *) node)->paramid - 1))->expr);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, put_values, values, 0);
	return expression_tree_mutator(node, put_values, values);
}

/*
 * A query for the distribution values of keys, with the rights of the entries'
 * owner.
 */
static Query *
values_query(Oid entries, List *values)
{
	int			nkeys = list_length(values);
	Oid			types[INDEX_MAX_KEYS];
	StringInfoData text;
	Relation	rel = relation_open(entries, AccessShareLock);
	Query	   *query;

	initStringInfo(&text);
	appendStringInfo(&text, "SELECT " ENTRY_DISTRIBUTION_VALUE " FROM %s", relation_qualified_name(entries));
	for (int i = 0; i < nkeys; i++)
	{
		const KeyValue *value = list_nth(values, i);

		types[i] = exprType((Node *) value->expr);
		appendStringInfo(&text, "%s%s OPERATOR(pg_catalog.=) %s", i == 0 ? " WHERE " : " AND ",
						 quote_identifier(get_attname(entries, i + 1, false)),
						 psprintf(value->is_array ? "ANY ($%d)" : "$%d", i + 1));
	}
	query = parse_analyze_fixedparams(linitial_node(RawStmt, pg_parse_query(text.data)), text.data, types, nkeys, NULL);
	setRuleCheckAsUser((Node *) query, rel->rd_rel->relowner);
	relation_close(rel, NoLock);
	return castNode(Query, put_values((Node *) query, values));
}

Node *
global_lookup_condition(const DistTable *table, Relation rel, Index varno, Node *values)
{
	Var		   *column = makeVar(varno, table->dist_attno, table->dist_type, table->dist_typmod, table->dist_collation, 0);
	NullTest   *null;
	Node	   *condition;

	condition = (Node *) make_scalar_array_op(NULL, list_make2(makeString("pg_catalog"), makeString("=")), true,
											  (Node *) column, values, -1);
	assign_expr_collations(NULL, condition);
	if (TupleDescAttr(RelationGetDescr(rel), table->dist_attno - 1)->attnotnull)
		return condition;
	null = makeNode(NullTest);
	null->arg = (Expr *) copyObject(column);
	null->nulltesttype = IS_NULL;
	null->location = -1;
	return (Node *) makeBoolExpr(OR_EXPR, list_make2(condition, null), -1);
}

/* The condition that rows of the table are in shards of keys with entries. */
static Node *
shards_condition(const DistTable *table, Relation rel, Index varno, Oid entries, List *values)
{
	SubLink    *sublink = makeNode(SubLink);

	sublink->subLinkType = ARRAY_SUBLINK;
	sublink->subselect = (Node *) values_query(entries, values);
	sublink->location = -1;
	return global_lookup_condition(table, rel, varno, (Node *) sublink);
}

/*
 * The condition that the filter implies for a table by one of its global
 * indexes; NULL: none.
 */
static Node *
implied_condition(Node *filter, Index varno, const DistTable *table, const Narrowing *narrowing)
{
	Relation	rel = relation_open(table->relid, NoLock);
	Node	   *condition = NULL;

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(indexid, AccessShareLock);
		Oid			entries;
		List	   *values;

		if (condition == NULL && (values = key_values(filter, varno, index, true)) != NIL &&
			global_index_finds(index, table, filter, varno, values) && is_worthwhile(narrowing, table, rel, index, values) &&
			OidIsValid(entries = global_index_entries(indexid)))
			condition = shards_condition(table, rel, varno, entries, values);
		index_close(index, AccessShareLock);
	}
	relation_close(rel, NoLock);
	return condition;
}

/* Adds what a filter implies for tables of its query. */
static Node *
narrow_filter(Node *filter, Query *query, Narrowing *narrowing)
{
	Node	   *simplified = global_lookup_filter(filter);
	int			varno = 0;
	List	   *added = NIL;

	foreach_ptr(RangeTblEntry, rte, query->rtable)
	{
		const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;
		Node	   *condition;

		varno++;
		if (filter != NULL && table != NULL && table->global_columns != NULL &&
			prune_single_value(prune_from_quals(table, varno, list_make1(simplified))) == NULL &&
			(condition = implied_condition(simplified, varno, table, narrowing)) != NULL)
			added = lappend(added, condition);
	}
	if (added == NIL)
		return filter;
	query->hasSubLinks = true;
	narrowing->narrowed = true;
	return (Node *) make_ands_explicit(lcons(filter, added));
}

/* The same for all filters of a join tree. */
static void
narrow_joins(Node *node, Query *query, Narrowing *narrowing)
{
	if (node == NULL)
		return;
	if (IsA(node, FromExpr))
	{
		FromExpr   *from = (FromExpr *) node;

		from->quals = narrow_filter(from->quals, query, narrowing);
		foreach_ptr(Node, item, from->fromlist)
			narrow_joins(item, query, narrowing);
	}
	else if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		join->quals = narrow_filter(join->quals, query, narrowing);
		narrow_joins(join->larg, query, narrowing);
		narrow_joins(join->rarg, query, narrowing);
	}
}

static bool
narrow_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		(void) query_tree_walker((Query *) node, narrow_walker, context, 0);
		narrow_joins((Node *) ((Query *) node)->jointree, (Query *) node, context);
		return false;
	}
	return expression_tree_walker(node, narrow_walker, context);
}

/*
 * Finds row locks, which are taken as of no point in time, and global indexes.
 */
static bool
reads_and_locks(Node *node, void *context)
{
	bool	   *has_global = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		const Query *query = (const Query *) node;

		if (query->rowMarks != NIL || query->commandType != CMD_SELECT)
			return true;
		foreach_ptr(RangeTblEntry, rte, query->rtable)
		{
			const DistTable *table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;

			*has_global = *has_global || (table != NULL && table->global_columns != NULL);
		}
		return query_tree_walker((Query *) node, reads_and_locks, context, 0);
	}
	return expression_tree_walker(node, reads_and_locks, context);
}

Query *
global_lookup_narrow(Query *query, Cost cost)
{
	Narrowing	narrowing = {.cost = cost};
	bool		has_global = false;

	if (!enable_global_lookups || reads_and_locks((Node *) query, &has_global) || !has_global)
		return NULL;
	query = copyObject(query);
	(void) narrow_walker((Node *) query, &narrowing);
	return narrowing.narrowed ? query : NULL;
}
