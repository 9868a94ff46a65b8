/*-------------------------------------------------------------------------
 *
 * task_query.c
 *	  From a query tree to the text and the parameters of a task.
 *
 * The server's deparser makes the text, under search_path = pg_catalog, and
 * with constants in forms that don't depend on settings, since a plan may be
 * used under other settings than it was made.  User-defined types have other
 * Oids on other nodes; a parameter of such a type is declared without type and
 * cast by name in the text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/table.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "compat/foreach.h"
#include "lib/exact_text.h"
#include "planner/shippable.h"
#include "planner/task_query.h"
#include "remote/wire_type.h"

/*
 * A list that is longer than this stays in the text if its elements are
 * constants; otherwise it becomes one array parameter, since a node would
 * process single parameters one by one, for each of its shards.
 */
#define MAX_LISTED_CONSTANTS 20

/* No more constants than this become parameters of one task. */
#define MAX_CONSTANT_PARAMS 64

/* Lists of more parameters than this are searched by hash. */
#define MAX_SEARCHED_PARAMS 32

/* Where an expression is in a list of parameters. */
typedef struct ParamPosition
{
	Expr	   *expr;			/* hash key */
	uint32		hash;
	int			position;		/* from 0 */
	char		status;			/* for simplehash.h */
} ParamPosition;

#define SH_PREFIX positions
#define SH_ELEMENT_TYPE ParamPosition
#define SH_KEY_TYPE Expr *
#define SH_KEY expr
#define SH_HASH_KEY(table, key) task_tree_hash((Node *) (key))
#define SH_EQUAL(table, a, b) equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* The positions of a list's first members. */
typedef struct ParamIndex
{
	positions_hash *positions;	/* NULL while the list is short */
	int			count;
} ParamIndex;

/*
 * Which constants become parameters: those that probably differ when the
 * statement is repeated, because they are stored or compared.  Others may be
 * part of an index expression (data ->> 'name').
 */
typedef enum ConstantMode
{
	CONSTANTS_STAY,
	CONSTANTS_COMPARED,			/* arguments of comparisons further down */
	CONSTANTS_DIRECT,			/* this node, as the argument of a
								 * comparison */
	CONSTANTS_ALL,				/* in values that are stored */
} ConstantMode;

typedef struct ExtractContext
{
	Index		own_varno;
	bool		volatile_too;
	ConstantMode constants;
	bool		share_constants;	/* equal constants are one parameter */
	List	  **exprs;
	ParamIndex *index;			/* of *exprs */
} ExtractContext;

/* Finds a part that can't be evaluated before the task runs. */
static bool
depends_on_row_walker(Node *node, void *context)
{
	ExtractContext *extract = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return extract->own_varno == 0 || ((Var *) node)->varno == extract->own_varno;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN &&
				((Param *) node)->paramkind != PARAM_EXEC;
		case T_Aggref:
		case T_WindowFunc:
		case T_GroupingFunc:
		case T_SubLink:
		case T_SubPlan:
		case T_Query:
		case T_CaseTestExpr:
		case T_CoerceToDomainValue:
		case T_SetToDefault:
		case T_CurrentOfExpr:
		case T_PlaceHolderVar:
			return true;
		default:
			return expression_tree_walker(node, depends_on_row_walker, context);
	}
}

/*
 * Whether the initiator must evaluate an expression that doesn't depend on
 * rows: its value could differ elsewhere, or its functions be missing there.
 */
static bool
must_evaluate(Node *node, ExtractContext *context)
{
	if (!context->volatile_too && contain_volatile_functions(node))
		return false;
	return contain_mutable_functions(node) || shippable_expression(node) != NULL;
}

/* Whether an expression is a list that should be a single parameter. */
static bool
is_long_list(Node *node)
{
	ListCell   *cell;

	if (!IsA(node, ArrayExpr) || list_length(((ArrayExpr *) node)->elements) <= MAX_LISTED_CONSTANTS)
		return false;
	foreach(cell, ((ArrayExpr *) node)->elements)
	{
		if (!IsA(lfirst(cell), Const))
			return !contain_volatile_functions(node);
	}
	return false;
}

/*
 * The position of an equal expression in the list of parameters, or the list's
 * length.
 */
static int
find_param(Expr *expr, ExtractContext *extract)
{
	ParamIndex *index = extract->index;
	List	   *exprs = *extract->exprs;
	ParamPosition *entry;
	ListCell   *cell;

	if (list_length(exprs) <= MAX_SEARCHED_PARAMS)
	{
		foreach(cell, exprs)
		{
			if (equal(lfirst(cell), expr))
				return foreach_current_index(cell);
		}
		return list_length(exprs);
	}
	if (index->positions == NULL)
		index->positions = positions_create(CurrentMemoryContext, 4 * MAX_SEARCHED_PARAMS, NULL);
	for (; index->count < list_length(exprs); index->count++)
	{
		bool		found;

		entry = positions_insert(index->positions, list_nth(exprs, index->count), &found);
		if (!found)
			entry->position = index->count;
	}
	entry = positions_lookup(index->positions, expr);
	return entry != NULL ? entry->position : list_length(exprs);
}

/*
 * Adds a COLLATE clause to an expression, unless the node derives the same
 * collation from the text: there, a parameter has the collation of its type.
 */
static Node *
show_collation(Node *expr, Oid collation)
{
	CollateExpr *collate;
	Oid			found = IsA(expr, Param) ? get_typcollation(((Param *) expr)->paramtype) : exprCollation(expr);

	if (!OidIsValid(collation) || collation == found)
		return expr;
	collate = makeNode(CollateExpr);
	collate->arg = (Expr *) expr;
	collate->collOid = collation;
	collate->location = -1;
	return (Node *) collate;
}

/*
 * The planner has made COLLATE a RelabelType, of which the deparser prints
 * the type alone.
 */
static Node *
show_relabel_collation(RelabelType *relabel)
{
	Node	   *arg = (Node *) relabel->arg;
	Oid			collation = relabel->resultcollid;

	if (!OidIsValid(collation) || collation == exprCollation(arg))
		return (Node *) relabel;
	if (relabel->resulttype == exprType(arg))
		return show_collation(arg, collation);
	relabel->resultcollid = exprCollation(arg);
	return show_collation((Node *) relabel, collation);
}

/*
 * Gives all arguments that have a COLLATE clause the collation by which their
 * function compares: explicit collations must not differ, while that of a
 * parameter may come from an implicit one.
 */
static void
agree_on_collation(List *args, Oid collation)
{
	ListCell   *cell;

	foreach(cell, args)
	{
		if (OidIsValid(collation) && IsA(lfirst(cell), CollateExpr))
			lfirst_node(CollateExpr, cell)->collOid = collation;
	}
}

/* A parameter for expr, that of an equal one if shared. */
static Node *
make_task_param(Expr *expr, ExtractContext *extract, bool shared)
{
	Param	   *param = makeNode(Param);
	Oid			type = exprType((Node *) expr);
	int			position = list_length(*extract->exprs);

	if (shared && !contain_volatile_functions((Node *) expr))
		position = find_param(expr, extract);
	if (position == list_length(*extract->exprs))
		*extract->exprs = lappend(*extract->exprs, expr);

	param->paramkind = PARAM_EXTERN;
	param->paramid = position + 1;
	param->paramtype = type;
	param->paramtypmod = exprTypmod((Node *) expr);
	param->paramcollid = exprCollation((Node *) expr);
	param->location = -1;

	if (type >= FirstNormalObjectId)
		return show_collation((Node *) makeRelabelType((Expr *) param, type, -1, get_typcollation(type),
													   COERCE_EXPLICIT_CAST), param->paramcollid);
	return show_collation((Node *) param, param->paramcollid);
}

/*
 * Whether a constant means the same as a parameter of its type, on every node.
 */
static bool
constant_may_travel(const Const *constant, ExtractContext *context)
{
	Oid			type = constant->consttype;

	return type < FirstNormalObjectId && !wire_type_is_oid_alias(type) &&
		get_typtype(type) != TYPTYPE_PSEUDO &&
		list_length(*context->exprs) < MAX_CONSTANT_PARAMS;
}

/* The mode for what is below a node. */
static ConstantMode
mode_below(Node *node, ConstantMode mode)
{
	switch (nodeTag(node))
	{
		case T_Query:
			return mode == CONSTANTS_STAY ? mode : CONSTANTS_COMPARED;
		case T_FuncExpr:
			/* EXTRACT(field FROM ..) and the like need constants */
			if (mode == CONSTANTS_ALL && ((FuncExpr *) node)->funcformat == COERCE_SQL_SYNTAX)
				return CONSTANTS_STAY;
			break;
		case T_XmlExpr:
			return CONSTANTS_STAY;
		case T_OpExpr:
			if (mode != CONSTANTS_STAY && mode != CONSTANTS_ALL && ((OpExpr *) node)->opresulttype == BOOLOID)
				return CONSTANTS_DIRECT;
			break;
		case T_ScalarArrayOpExpr:
			if (mode != CONSTANTS_STAY && mode != CONSTANTS_ALL)
				return CONSTANTS_DIRECT;
			break;
		case T_List:
		case T_RelabelType:
			return mode;
		case T_ArrayExpr:
			if (mode == CONSTANTS_DIRECT &&
				list_length(((ArrayExpr *) node)->elements) <= MAX_LISTED_CONSTANTS)
				return mode;
			break;
		default:
			break;
	}
	return mode == CONSTANTS_DIRECT ? CONSTANTS_COMPARED : mode;
}

static Node *
extract_mutator(Node *node, void *context)
{
	ExtractContext *extract = context;
	ExtractContext below;

	if (node == NULL)
		return NULL;
	below = *extract;
	below.constants = mode_below(node, extract->constants);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, extract_mutator, &below, 0);

	if (IsA(node, Param))
	{
		ParamKind	kind = ((Param *) node)->paramkind;

		if (kind == PARAM_EXTERN || kind == PARAM_EXEC)
			return make_task_param((Expr *) node, extract, true);
		return copyObject(node);
	}
	if (IsA(node, Const))
	{
		if ((extract->constants == CONSTANTS_DIRECT || extract->constants == CONSTANTS_ALL) &&
			constant_may_travel((Const *) node, extract))
			return make_task_param(copyObject((Expr *) node), extract, extract->share_constants);
		return copyObject(node);
	}
	if (IsA(node, Var) && extract->own_varno != 0 && ((Var *) node)->varno != extract->own_varno)
		return make_task_param((Expr *) node, extract, true);

	/*
	 * a function in FROM must stay a function: only its arguments are replaced
	 */
	if (IsA(node, RangeTblFunction))
	{
		RangeTblFunction *function = copyObject((RangeTblFunction *) node);

		function->funcexpr = expression_tree_mutator(function->funcexpr, extract_mutator, &below);
		return (Node *) function;
	}

	switch (nodeTag(node))
	{
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_SQLValueFunction:
		case T_NextValueExpr:
		case T_CoerceToDomain:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_CaseExpr:
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_SubscriptingRef:
		case T_XmlExpr:
			if ((must_evaluate(node, extract) || is_long_list(node)) && !depends_on_row_walker(node, extract) &&
				!expression_returns_set(node) &&
				get_typtype(exprType(node)) != TYPTYPE_PSEUDO)
				return make_task_param(copyObject((Expr *) node), extract, true);
			break;
		default:
			break;
	}

	/*
	 * a length that isn't a constant would not be deparsed as part of a cast
	 */
	if (IsA(node, FuncExpr) && exprIsLengthCoercion(node, NULL))
	{
		FuncExpr   *cast = copyObject((FuncExpr *) node);

		linitial(cast->args) = extract_mutator(linitial(cast->args), &below);
		return (Node *) cast;
	}
	node = expression_tree_mutator(node, extract_mutator, &below);
	if (IsA(node, RelabelType))
		return show_relabel_collation((RelabelType *) node);
	if (IsA(node, OpExpr))
		agree_on_collation(((OpExpr *) node)->args, ((OpExpr *) node)->inputcollid);
	else if (IsA(node, FuncExpr))
		agree_on_collation(((FuncExpr *) node)->args, ((FuncExpr *) node)->inputcollid);
	return node;
}

Node *
task_params_extract(Node *node, Index own_varno, bool volatile_too, List **exprs)
{
	ParamIndex	index = {NULL, 0};
	ExtractContext context = {
		.own_varno = own_varno,
		.volatile_too = volatile_too,
		.exprs = exprs,
		.index = &index,
	};

	return extract_mutator(node, &context);
}

Node *
task_filter_extract(Node *filter, Index own_varno, List **exprs)
{
	ParamIndex	index = {NULL, 0};
	ExtractContext context = {
		.own_varno = own_varno,
		.constants = CONSTANTS_COMPARED,
		.exprs = exprs,
		.index = &index,
	};

	return extract_mutator(filter, &context);
}

List *
task_values_extract(List *values, List **exprs)
{
	ParamIndex	index = {NULL, 0};
	ExtractContext context = {
		.volatile_too = true,
		.constants = CONSTANTS_ALL,
		.exprs = exprs,
		.index = &index,
	};

	return (List *) extract_mutator((Node *) values, &context);
}

/*
 * Whether the parser may have to recognize equal expressions in two places:
 * SELECT a + 1 .. GROUP BY a + 1.
 */
static bool
repeats_expressions(Query *query)
{
	ListCell   *cell;

	if (query->groupClause != NIL || query->hasAggs || query->hasWindowFuncs ||
		query->distinctClause != NIL || query->hasSubLinks || query->cteList != NIL)
		return true;
	foreach(cell, query->rtable)
	{
		if (((RangeTblEntry *) lfirst(cell))->rtekind == RTE_SUBQUERY)
			return true;
	}
	return false;
}

Query *
task_query_extract(Query *query, List **exprs)
{
	Query		rest = *query;
	Query	   *task;
	List	   *assignments = NIL;
	ParamIndex	index = {NULL, 0};
	ExtractContext context = {
		.constants = CONSTANTS_COMPARED,
		.share_constants = repeats_expressions(query),
		.exprs = exprs,
		.index = &index,
	};

	if (query->commandType == CMD_UPDATE)
	{
		ExtractContext stored = context;

		stored.constants = CONSTANTS_ALL;
		assignments = (List *) extract_mutator((Node *) query->targetList, &stored);
		rest.targetList = NIL;
	}
	task = (Query *) extract_mutator((Node *) &rest, &context);
	if (query->commandType == CMD_UPDATE)
		task->targetList = assignments;
	return task;
}

/*
 * Which result of which subquery an assignment takes, in the order of SET (a,
 * b) = (SELECT ..); 0 if none.
 */
static int
subquery_result(const TargetEntry *entry)
{
	Node	   *value = (Node *) entry->expr;

	for (;;)
	{
		if (value != NULL && IsA(value, FieldStore))
			value = linitial(((FieldStore *) value)->newvals);
		else if (value != NULL && IsA(value, SubscriptingRef) && ((SubscriptingRef *) value)->refassgnexpr != NULL)
			value = (Node *) ((SubscriptingRef *) value)->refassgnexpr;
		else if (value != NULL && IsA(value, CoerceToDomain))
			value = (Node *) ((CoerceToDomain *) value)->arg;
		else
			break;
	}
	value = strip_implicit_coercions(value);
	return value != NULL && IsA(value, Param) && ((Param *) value)->paramkind == PARAM_MULTIEXPR ?
		((Param *) value)->paramid : 0;
}

static int
compare_results(const ListCell *a, const ListCell *b)
{
	return subquery_result(lfirst(a)) - subquery_result(lfirst(b));
}

/*
 * The deparser expects the assignments of SET (b, a) = (SELECT ..) in that
 * order, while the rewriter has sorted them by the table's columns.
 */
static List *
order_assignments(List *assignments)
{
	List	   *results = NIL;
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, assignments)
	{
		if (subquery_result(lfirst(cell)) != 0)
			results = lappend(results, lfirst(cell));
		else
			others = lappend(others, lfirst(cell));
	}
	list_sort(results, compare_results);
	return list_concat(results, others);
}

/*
 * The rewriter leaves the target of a write through a view in FROM as well; it
 * must not be printed twice.  A view whose rule has made the write is there as
 * a subquery that was never in a FROM clause.
 */
static void
mark_from_clause(Query *query)
{
	ListCell   *cell;

	foreach(cell, query->jointree->fromlist)
	{
		RangeTblEntry *rte = IsA(lfirst(cell), RangeTblRef) ?
			rt_fetch(((RangeTblRef *) lfirst(cell))->rtindex, query->rtable) : NULL;

		if (rte == NULL || rte->rtekind != RTE_SUBQUERY || rte->inFromCl)
			continue;
		rte->inFromCl = true;
		if (rte->alias == NULL)
			rte->alias = makeAlias(rte->eref->aliasname, NIL);
	}
	rt_fetch(query->resultRelation, query->rtable)->inFromCl = false;
}

AttrNumber
task_generated_column(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);
	AttrNumber	attno = InvalidAttrNumber;

	for (int i = 0; i < desc->natts && attno == InvalidAttrNumber; i++)
	{
		if (TupleDescAttr(desc, i)->attgenerated && !TupleDescAttr(desc, i)->attisdropped)
			attno = i + 1;
	}
	table_close(relation, NoLock);
	if (attno == InvalidAttrNumber)
		elog(ERROR, "an UPDATE assigns no column");
	return attno;
}

/*
 * The rewriter drops assignments of DEFAULT to generated columns, and nothing
 * may be left of the SET clause.  One of them is put back then.
 */
static List *
keep_assignment(Query *query, List *assignments)
{
	Oid			relid = rt_fetch(query->resultRelation, query->rtable)->relid;
	SetToDefault *value;
	AttrNumber	attno;

	if (assignments != NIL)
		return assignments;
	attno = task_generated_column(relid);
	value = makeNode(SetToDefault);
	value->location = -1;
	get_atttypetypmodcoll(relid, attno, &value->typeId, &value->typeMod, &value->collation);
	return list_make1(makeTargetEntry((Expr *) value, attno, get_attname(relid, attno, false), false));
}

RangeTblEntry *
task_query_unused_entry(void)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	entry->rtekind = RTE_RESULT;
	entry->eref = makeAlias("unused", NIL);
	return entry;
}

/*
 * Has the deparser write columns with their table's name, if one that the
 * query is sorted by has the name of another output column: in ORDER BY and
 * DISTINCT ON, a bare name means that one.  The deparser writes bare names
 * only in queries with one range table entry.
 */
static void
qualify_sort_columns(Query *query)
{
	if (list_length(query->rtable) != 1)
		return;
	foreach_node(TargetEntry, item, query->targetList)
	{
		const Var  *var = (Var *) strip_implicit_coercions((Node *) item->expr);
		const char *name;

		if (item->ressortgroupref == 0 || !IsA(var, Var) || var->varno != 1 || var->varlevelsup > 0)
			continue;
		name = get_rte_attribute_name(linitial(query->rtable), var->varattno);
		foreach_node(TargetEntry, other, query->targetList)
		{
			if (other == item || other->resjunk || strcmp(other->resname, name) != 0 || equal(other->expr, item->expr))
				continue;
			query->rtable = lappend(query->rtable, task_query_unused_entry());
			return;
		}
	}
}

/*
 * The planner has added the default of a VARIADIC parameter, an array, to a
 * call that has none: as VARIADIC, since elements would be meant otherwise.
 */
static void
mark_variadic_default(FuncExpr *call)
{
	Oid			element;

	if (call->funcvariadic || call->args == NIL || call->funcformat != COERCE_EXPLICIT_CALL)
		return;
	element = get_func_variadictype(call->funcid);
	if (OidIsValid(element) && element != ANYOID && list_length(call->args) == get_func_nargs(call->funcid))
		call->funcvariadic = true;
}

/*
 * Gives a subquery's columns the names by which the query around it knows
 * them.  Those of an inlined CTE, or of a view whose columns were renamed, are
 * others; and the deparser reads the names of a set operation's columns from
 * its leftmost member.
 */
static void
name_subquery_columns(Query *query, List *names)
{
	ListCell   *column;
	ListCell   *name;
	Node	   *member = query->setOperations;

	forboth(column, query->targetList, name, names)
		lfirst_node(TargetEntry, column)->resname = strVal(lfirst(name));
	if (member == NULL)
		return;
	while (IsA(member, SetOperationStmt))
		member = ((SetOperationStmt *) member)->larg;
	name_subquery_columns(rt_fetch(((RangeTblRef *) member)->rtindex, query->rtable)->subquery, names);
	rt_fetch(((RangeTblRef *) member)->rtindex, query->rtable)->eref->colnames = names;
}

/* Prepares the query, and those in it, for the deparser. */
static bool
prepare_deparse_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		query->isReturn = false;	/* RETURN (SELECT ..), the body of a
									 * function, goes as a SELECT */
		foreach_node(RangeTblEntry, entry, query->rtable)
			if (entry->rtekind == RTE_SUBQUERY)
				name_subquery_columns(entry->subquery, entry->eref->colnames);
		qualify_sort_columns(query);
		if (query->commandType == CMD_UPDATE || query->commandType == CMD_DELETE)
			mark_from_clause(query);
		if (query->commandType == CMD_UPDATE)
			query->targetList = keep_assignment(query, order_assignments(query->targetList));
		if (query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE)
			query->onConflict->onConflictSet =
				keep_assignment(query, order_assignments(query->onConflict->onConflictSet));
		return query_tree_walker(query, prepare_deparse_walker, context, 0);
	}
	if (IsA(node, FuncExpr))
		mark_variadic_default((FuncExpr *) node);
	return expression_tree_walker(node, prepare_deparse_walker, context);
}

/*
 * Rewrites string literals with backslashes in a deparsed text as E'..', which
 * doesn't depend on standard_conforming_strings.
 */
static char *
escape_literals(const char *text)
{
	StringInfoData buf;
	char		quote = '\0';

	initStringInfo(&buf);
	for (const char *p = text; *p != '\0'; p++)
	{
		if (quote == '\0' && (*p == '\'' || *p == '"'))
		{
			quote = *p;
			/* not bits: B'101' */
			if (quote == '\'' && (p == text || !isalnum((unsigned char) p[-1])))
				appendStringInfoChar(&buf, 'E');
		}
		else if (*p == quote && p[1] == quote)
			appendStringInfoChar(&buf, *p++);
		else if (*p == quote)
			quote = '\0';
		else if (*p == '\\' && quote == '\'')
			appendStringInfoChar(&buf, '\\');
		appendStringInfoChar(&buf, *p);
	}
	return buf.data;
}

char *
task_query_deparse(Query *query)
{
	int			nestlevel = exact_text_begin();
	char	   *text;

	(void) prepare_deparse_walker((Node *) query, NULL);
	text = pg_get_querydef(query, false);
	AtEOXact_GUC(true, nestlevel);
	return strchr(text, '\\') == NULL ? text : escape_literals(text);
}
