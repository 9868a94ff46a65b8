/*-------------------------------------------------------------------------
 *
 * ctid.c
 *	  ctid and tableoid in a task: as the logical table's, not the shard's.
 *
 * Each ctid of a shard becomes logical_ctid(ctid, tableoid): tableoid is the
 * shard or, for a partitioned table, the partition's shard that has the row.
 * A comparison with a value of that form can't use a Tid Scan.  Therefore
 *
 *	  logical_ctid(t.ctid, t.tableoid) = value
 *
 * is followed by AND t.ctid = shard_ctid(value), which it implies, if the
 * value doesn't depend on t's row; likewise for = ANY (array).  What the
 * server adds to a write later (the ctid of the row to be changed) is the
 * shard's.
 *
 * tableoid becomes logical_relation(tableoid).  Policies may contain it; it is
 * in no user's text that a task has.
 *
 * A set of shards is a subquery, which has no system columns.  It gets three
 * columns more: the logical ctid, the shard's, and the table.  So its whole
 * rows, which would contain these as well, become ROW(..) of the table's
 * columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "compat/foreach.h"
#include "resolve/ctid.h"

typedef struct CtidContext
{
	List	   *queries;		/* the query that the walk is in, and those
								 * around it */
	List	   *entries;
} CtidContext;

static bool
ctid_is_used_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno == SelfItemPointerAttributeNumber ||
			((Var *) node)->varattno == TableOidAttributeNumber;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, ctid_is_used_walker, context, 0);
	return expression_tree_walker(node, ctid_is_used_walker, context);
}

bool
ctid_is_used(Query *query)
{
	return ctid_is_used_walker((Node *) query, NULL);
}

/* The entry of a Var of one of these; NULL if it is another Var, say. */
static const ResolvedEntry *
resolved_entry_of(const Node *node, const CtidContext *context)
{
	const Var  *var = (const Var *) node;
	const RangeTblEntry *rte;

	if (!IsA(node, Var) || (var->varattno != SelfItemPointerAttributeNumber &&
							var->varattno != TableOidAttributeNumber && var->varattno != InvalidAttrNumber))
		return NULL;
	rte = rt_fetch(var->varno, list_nth_node(Query, context->queries, var->varlevelsup)->rtable);
	foreach_ptr(const ResolvedEntry, entry, context->entries)
		if (entry->rte == rte)
			return entry;
	return NULL;
}

/* The entry of a Var that is a ctid. */
static const ResolvedEntry *
ctid_entry(const Node *node, const CtidContext *context)
{
	const ResolvedEntry *entry = resolved_entry_of(node, context);

	return entry != NULL && ((const Var *) node)->varattno == SelfItemPointerAttributeNumber ? entry : NULL;
}

static Expr *
call_ctid_function(char *name, Node *ctid, Node *shard)
{
	Oid			types[] = {exprType(ctid), OIDOID};
	Oid			function = LookupFuncName(list_make2(makeString("citus_internal"), makeString(name)), 2, types, false);

	return (Expr *) makeFuncExpr(function, types[0], list_make2(ctid, shard), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* The shard that has a row, one of whose columns is given. */
static Var *
make_shard_of_row(const Var *column)
{
	Var		   *shard = copyObject(unconstify(Var *, column));

	shard->varattno = TableOidAttributeNumber;
	shard->vartype = OIDOID;
	shard->varnosyn = 0;
	shard->varattnosyn = 0;
	return shard;
}

/* The logical ctid of a shard's row. */
static Node *
make_logical_ctid(const Var *ctid)
{
	return (Node *) call_ctid_function("logical_ctid", (Node *) copyObject(unconstify(Var *, ctid)),
									   (Node *) make_shard_of_row(ctid));
}

/* The table of a shard's row. */
static Node *
make_logical_relation(const Var *column)
{
	Oid			type = OIDOID;
	Oid			function = LookupFuncName(list_make2(makeString("citus_internal"), makeString("logical_relation")),
										  1, &type, false);

	return (Node *) makeFuncExpr(function, OIDOID, list_make1(make_shard_of_row(column)), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

List *
ctid_set_columns(RangeTblEntry *rte)
{
	int			natts = list_length(rte->eref->colnames);
	Var		   *ctid = makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);

	rte->eref->colnames = lappend(rte->eref->colnames, makeString("citus_ctid"));
	rte->eref->colnames = lappend(rte->eref->colnames, makeString("citus_shard_ctid"));
	rte->eref->colnames = lappend(rte->eref->colnames, makeString("citus_table"));
	return list_make3(makeTargetEntry((Expr *) make_logical_ctid(ctid), natts + 1, "citus_ctid", false),
					  makeTargetEntry((Expr *) ctid, natts + 2, "citus_shard_ctid", false),
					  makeTargetEntry((Expr *) make_logical_relation(ctid), natts + 3, "citus_table", false));
}

/* One of the columns of ctid_set_columns, from 1 on. */
static Var *
make_set_column(const Var *var, const ResolvedEntry *entry, int column)
{
	return makeVar(var->varno, entry->set_columns + column, column == 3 ? OIDOID : TIDOID, -1, InvalidOid,
				   var->varlevelsup);
}

/* What becomes of a ctid or tableoid. */
static Node *
replace_system_column(const Var *column, const ResolvedEntry *entry)
{
	if (column->varattno == TableOidAttributeNumber)
		return entry->set_columns > 0 ? (Node *) make_set_column(column, entry, 3) : make_logical_relation(column);
	return entry->set_columns > 0 ? (Node *) make_set_column(column, entry, 1) : make_logical_ctid(column);
}

/*
 * A whole row of a set: CASE WHEN its ctid IS NOT NULL THEN ROW(..) END, null
 * where an outer join has no row.
 */
static Node *
make_set_row(const Var *row, const ResolvedEntry *entry)
{
	const Query *set = entry->rte->subquery;
	RowExpr    *columns = makeNode(RowExpr);
	NullTest   *exists = makeNode(NullTest);
	CaseWhen   *when = makeNode(CaseWhen);
	CaseExpr   *result = makeNode(CaseExpr);

	for (int i = 0; i < entry->set_columns; i++)
	{
		Var		   *column = makeVarFromTargetEntry(row->varno, list_nth_node(TargetEntry, set->targetList, i));

		column->varlevelsup = row->varlevelsup;
		columns->args = lappend(columns->args, column);
	}
	columns->row_typeid = row->vartype;
	columns->row_format = COERCE_IMPLICIT_CAST;
	columns->colnames = list_copy_head(entry->rte->eref->colnames, entry->set_columns);
	columns->location = -1;
	exists->arg = (Expr *) make_set_column(row, entry, 2);
	exists->nulltesttype = IS_NOT_NULL;
	exists->location = -1;
	when->expr = (Expr *) exists;
	when->result = (Expr *) columns;
	when->location = -1;
	result->casetype = row->vartype;
	result->args = list_make1(when);
	result->defresult = (Expr *) makeNullConst(row->vartype, -1, InvalidOid);
	result->location = -1;
	return (Node *) result;
}

/* Whether a value is known before a row of a relation is read. */
static bool
precedes_row(Node *value, int varno)
{
	return !bms_is_member(varno, pull_varnos(NULL, value)) && !checkExprHasSubLink(value) &&
		!contain_volatile_functions(value);
}

/* The condition on the shard's ctid that a comparison implies. */
static Node *
make_shard_condition(const Var *ctid, const ResolvedEntry *entry, Node *value, bool is_array)
{
	Node	   *shard = (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(entry->shard_relid), false, true);
	Var		   *left = entry->set_columns > 0 ? make_set_column(ctid, entry, 2) : copyObject(unconstify(Var *, ctid));
	Expr	   *place = call_ctid_function(is_array ? "shard_ctids" : "shard_ctid", copyObject(value), shard);
	ScalarArrayOpExpr *any;

	if (!is_array)
		return (Node *) make_opclause(TIDEqualOperator, BOOLOID, false, (Expr *) left, place,
									  InvalidOid, InvalidOid);
	any = makeNode(ScalarArrayOpExpr);
	any->opno = TIDEqualOperator;
	any->opfuncid = get_opcode(TIDEqualOperator);
	any->useOr = true;
	any->args = list_make2(left, place);
	any->location = -1;
	return (Node *) any;
}

/*
 * Adds that condition to a comparison whose original operands are given, if
 * one of these is a ctid of this query.
 */
static Node *
add_shard_condition(Node *comparison, List *originals, List *operands, bool is_array, const CtidContext *context)
{
	for (int i = 0; i < (is_array ? 1 : 2); i++)
	{
		Node	   *ctid = list_nth(originals, i);
		Node	   *value = list_nth(operands, 1 - i);
		const ResolvedEntry *entry = ctid_entry(ctid, context);

		if (entry == NULL || ((Var *) ctid)->varlevelsup != 0 || !precedes_row(value, ((Var *) ctid)->varno))
			continue;
		return (Node *) make_andclause(list_make2(comparison,
												  make_shard_condition((Var *) ctid, entry, value, is_array)));
	}
	return comparison;
}

static Node *
ctid_mutator(Node *node, void *context)
{
	CtidContext *ctid = context;
	const ResolvedEntry *entry;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		CtidContext inner = {lcons(node, list_copy(ctid->queries)), ctid->entries};

		return (Node *) query_tree_mutator((Query *) node, ctid_mutator, &inner, QTW_DONT_COPY_QUERY);
	}
	entry = resolved_entry_of(node, ctid);
	if (entry != NULL && ((Var *) node)->varattno != InvalidAttrNumber)
		return replace_system_column((Var *) node, entry);
	if (entry != NULL && entry->set_columns > 0)
		return make_set_row((Var *) node, entry);
	if (IsA(node, OpExpr) && ((OpExpr *) node)->opno == TIDEqualOperator)
	{
		OpExpr	   *changed = (OpExpr *) expression_tree_mutator(node, ctid_mutator, context);

		return add_shard_condition((Node *) changed, ((OpExpr *) node)->args, changed->args, false, ctid);
	}
	if (IsA(node, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) node)->opno == TIDEqualOperator &&
		((ScalarArrayOpExpr *) node)->useOr)
	{
		ScalarArrayOpExpr *changed = (ScalarArrayOpExpr *) expression_tree_mutator(node, ctid_mutator, context);

		return add_shard_condition((Node *) changed, ((ScalarArrayOpExpr *) node)->args, changed->args, true, ctid);
	}
	return expression_tree_mutator(node, ctid_mutator, context);
}

void
resolve_ctid(Query *query, List *entries)
{
	CtidContext context = {NIL, entries};

	(void) ctid_mutator((Node *) query, &context);
}
