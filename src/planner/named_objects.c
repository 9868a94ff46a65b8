/*-------------------------------------------------------------------------
 *
 * named_objects.c
 *	  Objects whose names are in the texts of a plan's tasks.
 *
 * PostgreSQL's plans refer to objects by Oid, so a cached plan stays valid if
 * an object is renamed.  Texts don't.  So our plans depend on all types and
 * functions that the statement uses, and are rebuilt when one of them changes.
 * (Plans already depend on tables.)  Changes of operators and schemas
 * invalidate all plans anyway.
 *
 * The plan cache doesn't watch enum labels and collations.  So a change of one
 * is reported to it as the change of a type with a special hash value, on
 * which all plans that use enums or collations depend.  This discards only the
 * plan: the statement isn't parsed again, since its constants may use the old
 * name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat/foreach.h"
#include "planner/named_objects.h"

/*
 * Represents the names of all enum labels and collations; it does no harm that
 * a type may have this hash value, too.
 */
#define LABELS_HASH 0x6c61626c

/* Makes the plan depend on a row in pg_type or pg_proc, by its hash value. */
static void
add_item(PlannedStmt *plan, int cache, uint32 hash)
{
	PlanInvalItem *item;
	ListCell   *cell;

	foreach(cell, plan->invalItems)
	{
		item = lfirst(cell);
		if (item->cacheId == cache && item->hashValue == hash)
			return;
	}
	item = makeNode(PlanInvalItem);
	item->cacheId = cache;
	item->hashValue = hash;
	plan->invalItems = lappend(plan->invalItems, item);
}

static void
add_type(PlannedStmt *plan, Oid type)
{
	Oid			relid;

	if (type < FirstNormalObjectId)
		return;
	add_item(plan, TYPEOID, GetSysCacheHashValue1(TYPEOID, ObjectIdGetDatum(type)));
	if (OidIsValid(get_element_type(type)))
		add_type(plan, get_element_type(type));
	if (get_typtype(type) == TYPTYPE_ENUM)
		add_item(plan, TYPEOID, LABELS_HASH);
	relid = get_typ_typrelid(type);
	if (OidIsValid(relid))
		plan->relationOids = list_append_unique_oid(plan->relationOids, relid);	/* its fields */
}

/* For check_functions_in_node. */
static bool
add_function(Oid function, void *context)
{
	if (function >= FirstNormalObjectId)
		add_item(context, PROCOID, GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function)));
	return false;
}

static bool
named_walker(Node *node, void *context)
{
	PlannedStmt *plan = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return query_tree_walker((Query *) node, named_walker, context, 0);
		case T_RangeTblFunction:
			{
				foreach_oid(funccoltype, ((RangeTblFunction *) node)->funccoltypes)
					add_type(plan, funccoltype);
				break;
			}
		case T_Var:
		case T_Const:
		case T_Param:
		case T_FuncExpr:
		case T_FieldSelect:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_RowExpr:
		case T_ArrayExpr:
		case T_CoerceToDomain:
			add_type(plan, exprType(node));
			break;
		case T_CollateExpr:
			add_item(plan, TYPEOID, LABELS_HASH);
			break;
		default:
			break;
	}
	(void) check_functions_in_node(node, add_function, plan);
	return expression_tree_walker(node, named_walker, context);
}

void
named_objects_note(PlannedStmt *plan, Query *query)
{
	named_walker((Node *) query, plan);
}

/* A syscache callback. */
static void
name_changed(Datum arg, int cache, uint32 hash)
{
	CallSyscacheCallbacks(TYPEOID, LABELS_HASH);
}

void
named_objects_init(void)
{
	CacheRegisterSyscacheCallback(ENUMOID, name_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(COLLOID, name_changed, (Datum) 0);
}
