/*-------------------------------------------------------------------------
 *
 * shippable.c
 *	  Which expressions and queries mean the same on every node.
 *
 * Built-in functions, operators and aggregates are the same everywhere; those
 * of users might read local tables of another node.  The initiator evaluates
 * volatile functions.  Oids differ between nodes, so the initiator also
 * evaluates everything that converts names to Oids (regclass and similar
 * types, tableoid).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "planner/shippable.h"
#include "planner/shippable_function.h"
#include "remote/wire_type.h"

typedef struct ShippableContext
{
	const char *reason;			/* set when something is not shippable */
} ShippableContext;

static bool shippable_walker(Node *node, void *context);

static bool
not_shippable(ShippableContext *context, const char *reason)
{
	context->reason = reason;
	return true;
}

/* For check_functions_in_node: true (stop) if the function must stay here. */
static bool
function_must_stay(Oid funcid, void *context)
{
	const char *reason = shippable_function(funcid);

	return reason != NULL && not_shippable(context, reason);
}

/*
 * For check_functions_in_node: whether the function may look up an object by
 * its oid, which is another one's on other nodes.  Functions that read types'
 * input have an oid of a type that the node itself has found.
 */
static bool
takes_oid(Oid funcid, void *context)
{
	Oid		   *types;
	int			count;
	bool		found = false;

	if (func_volatile(funcid) == PROVOLATILE_IMMUTABLE)
		return false;
	(void) get_func_signature(funcid, &types, &count);
	for (int i = 0; i < count; i++)
		found = found || types[i] == OIDOID || wire_type_is_oid_alias(types[i]);
	return found && types[0] != CSTRINGOID;
}

/*
 * Whether oids are taken for objects, or objects for their oids: values of
 * regclass and so on become other nodes' own oids when they are sent there,
 * values of oid stay what they are.
 */
static bool
names_by_oid(Node *node)
{
	if (IsA(node, RelabelType))
	{
		Oid			from = exprType((Node *) ((RelabelType *) node)->arg);
		Oid			to = exprType(node);

		return wire_type_is_oid_alias(from) != wire_type_is_oid_alias(to);
	}
	return !IsA(node, CoerceViaIO) && check_functions_in_node(node, takes_oid, NULL);
}

static bool
relation_walker(RangeTblEntry *rte, ShippableContext *context)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			if (rte->relkind == RELKIND_VIEW)
				return false;	/* expanded by the rewriter, kept for
								 * permissions */
			if (metadata_lookup(rte->relid) == NULL)
				return not_shippable(context, "it reads a relation that is only on this node");
			return false;
		case RTE_NAMEDTUPLESTORE:
			return not_shippable(context, "it reads a transition table");
		default:
			return false;
	}
}

/* Finds an assignment to a part of a column: SET a[1] = .., SET c.x = .. */
static bool
part_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, FieldStore) || (IsA(node, SubscriptingRef) && ((SubscriptingRef *) node)->refassgnexpr != NULL))
		return true;
	return expression_tree_walker(node, part_walker, context);
}

/*
 * Whether the deparser prints an assignment completely: it finds parts only
 * below coercions to domains, and prints only one of several that have been
 * merged into one expression.
 */
static bool
assigns_one_part(Node *expr)
{
	for (;;)
	{
		Node	   *whole = NULL;	/* what a part is of */

		if (expr == NULL)
			return true;
		if (IsA(expr, FieldStore))
		{
			const FieldStore *store = (FieldStore *) expr;

			if (list_length(store->newvals) != 1 || store->arg == NULL)
				return false;
			whole = (Node *) store->arg;
			expr = linitial(store->newvals);
		}
		else if (IsA(expr, SubscriptingRef) && ((SubscriptingRef *) expr)->refassgnexpr != NULL)
		{
			whole = (Node *) ((SubscriptingRef *) expr)->refexpr;
			expr = (Node *) ((SubscriptingRef *) expr)->refassgnexpr;
		}
		else if (IsA(expr, CoerceToDomain) && ((CoerceToDomain *) expr)->coercionformat == COERCE_IMPLICIT_CAST)
			expr = (Node *) ((CoerceToDomain *) expr)->arg;
		else
			return !part_walker(expr, NULL);
		if (part_walker(whole, NULL))
			return false;
	}
}

const char *
shippable_assignments(List *target_list)
{
	foreach_ptr(TargetEntry, entry, target_list)
	{
		if (!assigns_one_part((Node *) entry->expr))
			return "it assigns several parts of one column";
	}
	return NULL;
}

/*
 * True (stop) if the deparser does not understand one of a write's
 * assignments.
 */
static bool
assignments_walker(Query *query, ShippableContext *context)
{
	if (query->commandType != CMD_INSERT && query->commandType != CMD_UPDATE)
		return false;
	context->reason = shippable_assignments(query->targetList);
	if (context->reason == NULL && query->onConflict != NULL)
		context->reason = shippable_assignments(query->onConflict->onConflictSet);
	return context->reason != NULL;
}

/*
 * Whether an anonymous row has names, as x.* of JOIN .. USING (..) AS x has:
 * the deparser shows it as ROW(..), which has none.
 */
static bool
names_columns(const RowExpr *row)
{
	ListCell   *cell;

	if (row->row_typeid != RECORDOID)
		return false;
	foreach(cell, row->colnames)
	{
		if (strcmp(strVal(lfirst(cell)), psprintf("f%d", foreach_current_index(cell) + 1)) != 0)
			return true;
	}
	return false;
}

/* Values and casts whose type must exist on the other node. */
static bool
type_walker(Node *node, ShippableContext *context)
{
	switch (nodeTag(node))
	{
		case T_Const:
			if (wire_type_is_oid_alias(((Const *) node)->consttype) && !((Const *) node)->constisnull)
				return not_shippable(context, "it names an object of this node");
			if (get_typtype(((Const *) node)->consttype) == TYPTYPE_PSEUDO &&
				!((Const *) node)->constisnull)
				return not_shippable(context, "it has an anonymous record as a constant");
			break;
		case T_Var:
			if (((Var *) node)->varattno != InvalidAttrNumber)
				return false;
			break;				/* a row of a view, perhaps */
		case T_Param:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CoerceToDomain:
		case T_RowExpr:
			break;
		default:
			return false;
	}
	if (!shippable_type(exprType(node)))
		return not_shippable(context, "it uses a type that other nodes need not have");
	return false;
}

static bool
shippable_walker(Node *node, void *context)
{
	ShippableContext *ship = context;

	if (node == NULL)
		return false;
	if (type_walker(node, ship))
		return true;
	switch (nodeTag(node))
	{
		case T_Query:
			if (assignments_walker((Query *) node, ship))
				return true;
			return query_tree_walker((Query *) node, shippable_walker, context,
									 QTW_EXAMINE_RTES_BEFORE);
		case T_RangeTblEntry:
			return relation_walker((RangeTblEntry *) node, ship);
		case T_Var:
			if (((Var *) node)->varattno == TableOidAttributeNumber)
				return not_shippable(ship, "it uses the system column tableoid");
			break;
		case T_RowExpr:
			if (names_columns((RowExpr *) node))
				return not_shippable(ship, "it names the columns of an anonymous row");
			break;
		case T_NextValueExpr:
			return not_shippable(ship, "it draws from a sequence");
		case T_CurrentOfExpr:
			return not_shippable(ship, "it uses WHERE CURRENT OF");
		case T_PlaceHolderVar:
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return not_shippable(ship, "it depends on the plan here");
		default:
			break;
	}
	if (check_functions_in_node(node, function_must_stay, context))
		return true;
	if ((IsA(node, FuncExpr) || IsA(node, CoerceViaIO)) && wire_type_is_oid_alias(exprType(node)))
		return not_shippable(ship, "it looks up an object by its name");
	if (names_by_oid(node))
		return not_shippable(ship, "it uses an object's oid, which is another one on other nodes");
	return expression_tree_walker(node, shippable_walker, context);
}

const char *
shippable_expression(Node *node)
{
	ShippableContext context = {NULL};

	shippable_walker(node, &context);
	return context.reason;
}

const char *
shippable_query(Query *query)
{
	ShippableContext context = {NULL};

	shippable_walker((Node *) query, &context);
	return context.reason;
}

const char *
shippable_columns(List *target_list)
{
	foreach_ptr(TargetEntry, entry, target_list)
		if (!entry->resjunk && get_typtype(exprType((Node *) entry->expr)) == TYPTYPE_PSEUDO &&
			exprType((Node *) entry->expr) != VOIDOID)
			return "a result column is an anonymous record";
	return NULL;
}

/* Whether our planner must handle an entry of a range table. */
static bool
is_distributed_entry(const RangeTblEntry *rte)
{
	const DistTable *table;

	if (rte->rtekind != RTE_RELATION)
		return false;
	table = metadata_lookup(rte->relid);
	return table && (table->kind != DIST_REFERENCE || rte->rellockmode > AccessShareLock);
}

static bool
distributed_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return is_distributed_entry((RangeTblEntry *) node);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, distributed_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, distributed_walker, context);
}

bool
query_has_distributed_table(Query *query)
{
	/*
	 * most queries of plain tables are settled here, without a walk over their
	 * expressions
	 */
	if (query->hasSubLinks || query->cteList != NIL)
		return distributed_walker((Node *) query, NULL);
	foreach_ptr(RangeTblEntry, rte, query->rtable)
	{
		if (rte->rtekind == RTE_SUBQUERY)
			return distributed_walker((Node *) query, NULL);
		if (is_distributed_entry(rte))
			return true;
	}
	return false;
}

static bool
count_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;
		const DistTable *table;

		/* relkind 'c' is the pseudo-relation "excluded" of ON CONFLICT */
		if (rte->rtekind == RTE_RELATION && rte->relkind != RELKIND_COMPOSITE_TYPE &&
			(table = metadata_lookup(rte->relid)) != NULL && table->kind != DIST_REFERENCE)
			(*(int *) context)++;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, count_walker, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, count_walker, context);
}

int
count_distributed_tables(Node *node)
{
	int			count = 0;

	count_walker(node, &count);
	return count;
}

/* Whose rights the relations of a query need (compat_check_as_user). */
typedef struct UserContext
{
	bool		found;
	bool		differ;
	Oid			user;
	Query	   *query;			/* the level that the walk is at */
} UserContext;

static bool
user_walker(Node *node, void *context)
{
	UserContext *users = context;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind == RTE_RELATION && rte->relkind != RELKIND_VIEW)
		{
			Oid			user = compat_check_as_user(users->query, rte);

			users->differ = users->differ || (users->found && users->user != user);
			users->found = true;
			users->user = user;
		}
		return false;
	}
	if (IsA(node, Query))
	{
		Query	   *outer = users->query;
		bool		result;

		users->query = (Query *) node;
		result = query_tree_walker(users->query, user_walker, context, QTW_EXAMINE_RTES_BEFORE);
		users->query = outer;
		return result;
	}
	return expression_tree_walker(node, user_walker, context);
}

bool
query_check_as(Query *query, Oid *user)
{
	UserContext users = {.query = query};
	const RangeTblEntry *first = query->rtable != NIL ? linitial(query->rtable) : NULL;

	/*
	 * most queries are of one table, and need no walk over their expressions
	 */
	if (list_length(query->rtable) == 1 && first->rtekind == RTE_RELATION && !query->hasSubLinks &&
		query->cteList == NIL)
		user_walker((Node *) first, &users);
	else
		user_walker((Node *) query, &users);
	*user = users.user;
	return !users.differ;
}
