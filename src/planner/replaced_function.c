/*-------------------------------------------------------------------------
 *
 * replaced_function.c
 *	  Replaces functions of the server by functions of ours in statements that
 *	  are planned.
 *
 * Some functions of the server know this server only, where users expect an
 * answer about the cluster: values of sequences, sizes and statistics of
 * tables, process ids of the gateway's clients.  Modules add rows to one table
 * of such functions (replaced_functions_add).  In the planner hook, calls of
 * them become calls of functions in citus_internal that take the same
 * arguments; which relation a call is about is known when it runs.
 *
 * The hook sees the query after the rewriter, so this holds for views, and for
 * functions of users.  Those in SQL would be inlined after that if they are
 * simple: functions whose bodies contain such a call aren't (needs_fmgr_hook),
 * so their queries are planned when they run.  What the catalogs store has the
 * names of the server's functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "planner/replaced_function.h"
#include "txn/notify.h"

/* By the Oid of the server's function; NULL for those that aren't replaced. */
static const ReplacedFunction *replaced_by_oid[FirstGenbkiObjectId];

void
replaced_functions_add(const ReplacedFunction *functions, int n)
{
	for (int i = 0; i < n; i++)
	{
		Assert(functions[i].funcid < FirstGenbkiObjectId && replaced_by_oid[functions[i].funcid] == NULL);
		replaced_by_oid[functions[i].funcid] = &functions[i];
	}
}

/* The row of a function of the server that is replaced now, or NULL. */
static const ReplacedFunction *
find_replaced_function(Oid funcid)
{
	const ReplacedFunction *function = funcid < FirstGenbkiObjectId ? replaced_by_oid[funcid] : NULL;

	return function != NULL && (function->applies == NULL || function->applies()) ? function : NULL;
}

/*
 * Our function of a row; InvalidOid if the extension of this database has
 * none.
 */
static Oid
own_function(const ReplacedFunction *function)
{
	oidvector  *args = buildoidvector(function->args, function->nargs);

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(function->name),
						   PointerGetDatum(args), ObjectIdGetDatum(get_namespace_oid("citus_internal", true)));
}

/*
 * Our function in the place of one of the server's now, or InvalidOid.
 */
static Oid
own_function_now(Oid funcid)
{
	const ReplacedFunction *function = find_replaced_function(funcid);

	return function != NULL ? own_function(function) : InvalidOid;
}

static bool
has_replaced_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && find_replaced_function(((FuncExpr *) node)->funcid) != NULL)
		return true;
	if (IsA(node, NextValueExpr))
		return find_replaced_function(F_NEXTVAL) != NULL;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_replaced_function, context, 0);
	return expression_tree_walker(node, has_replaced_function, context);
}

/*
 * nextval() of an identity column's sequence, cast to the column's type; NULL
 * if it isn't replaced.
 */
static Node *
identity_call(const NextValueExpr *expr)
{
	Oid			nextval = own_function_now(F_NEXTVAL);
	Const	   *seqid = makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(expr->seqid), false, true);
	FuncExpr   *call;

	if (!OidIsValid(nextval))
		return NULL;
	call = makeFuncExpr(nextval, INT8OID, list_make1(seqid), InvalidOid, InvalidOid, COERCE_SQL_SYNTAX);
	if (expr->typeId == INT8OID)
		return (Node *) call;
	return (Node *) makeFuncExpr(expr->typeId == INT4OID ? F_INT4_INT8 : F_INT2_INT8, expr->typeId, list_make1(call),
								 InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST);
}

/*
 * A function in FROM that will be replaced: if it has columns by its OUT
 * arguments, ours returns records of the same columns.
 */
static void
name_columns(RangeTblFunction *function)
{
	TupleDesc	desc;

	if (function->funcexpr == NULL || !IsA(function->funcexpr, FuncExpr) || function->funccoltypes != NIL ||
		find_replaced_function(((FuncExpr *) function->funcexpr)->funcid) == NULL ||
		get_expr_result_type(function->funcexpr, NULL, &desc) != TYPEFUNC_COMPOSITE)
		return;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		function->funccolnames = lappend(function->funccolnames, makeString(pstrdup(NameStr(column->attname))));
		function->funccoltypes = lappend_oid(function->funccoltypes, column->atttypid);
		function->funccoltypmods = lappend_int(function->funccoltypmods, column->atttypmod);
		function->funccolcollations = lappend_oid(function->funccolcollations, column->attcollation);
	}
}

static Node *
replace_functions(Node *node, void *context)
{
	Node	   *turned = NULL;

	if (node == NULL)
		return NULL;
	if (IsA(node, NextValueExpr))
		turned = identity_call((NextValueExpr *) node);
	if (turned != NULL)
		return turned;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, replace_functions, context, 0);
	if (IsA(node, RangeTblFunction))
	{
		node = copyObject(node);
		name_columns((RangeTblFunction *) node);
	}
	turned = expression_tree_mutator(node, replace_functions, context);
	if (IsA(turned, FuncExpr) && OidIsValid(own_function_now(((FuncExpr *) turned)->funcid)))
		((FuncExpr *) turned)->funcid = own_function_now(((FuncExpr *) turned)->funcid);
	return turned;
}

Query *
replaced_functions_apply(Query *query)
{
	if (!query_tree_walker(query, has_replaced_function, NULL, 0))
		return query;
	return query_tree_mutator(query, replace_functions, NULL, 0);
}

Node *
replaced_functions_apply_expression(Node *expr)
{
	return has_replaced_function(expr, NULL) ? replace_functions(expr, NULL) : expr;
}

bool
replaced_function_is(Oid funcid, Oid of_server)
{
	return funcid == of_server ||
		(funcid >= FirstNormalObjectId && funcid == own_function(replaced_by_oid[of_server]));
}

/* Whether a SQL function is known to contain such a call. */
typedef struct KnownBody
{
	Oid			funcid;			/* key */
	bool		calls;
} KnownBody;

static HTAB *known_bodies = NULL;
static needs_fmgr_hook_type prev_needs_hook = NULL;

static void
forget_bodies(Datum arg, int cache_id, uint32 hash)
{
	hash_destroy(known_bodies);
	known_bodies = NULL;
}

static HTAB *
create_known_bodies(void)
{
	static bool registered = false;
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(KnownBody),.hcxt = CacheMemoryContext};

	if (!registered)
		CacheRegisterSyscacheCallback(PROCOID, forget_bodies, (Datum) 0);
	registered = true;
	return hash_create("citus SQL functions", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * Whether a body has such a call: its text the function's name, or its stored
 * form, if it is a standard one, the call itself.
 */
static bool
body_contains_call(char *text, const char *stored)
{
	if (text != NULL)
		text = asc_tolower(text, strlen(text));
	for (Oid funcid = 1; funcid < FirstGenbkiObjectId; funcid++)
	{
		if (replaced_by_oid[funcid] != NULL &&
			((text != NULL && strstr(text, get_func_name(funcid)) != NULL) ||
			 (stored != NULL && strstr(stored, psprintf(":funcid %u ", funcid)) != NULL)))
			return true;
	}
	return false;
}

/* A column of a function's row as text; palloc'd, or NULL. */
static char *
proc_text(HeapTuple proc, AttrNumber attno)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PROCOID, proc, attno, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static bool
function_contains_call(Oid funcid)
{
	HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	bool		contains = false;

	if (!HeapTupleIsValid(proc))
		return false;
	if (((Form_pg_proc) GETSTRUCT(proc))->prolang == SQLlanguageId)
		contains = body_contains_call(proc_text(proc, Anum_pg_proc_prosrc), proc_text(proc, Anum_pg_proc_prosqlbody));
	ReleaseSysCache(proc);
	return contains;
}

/* needs_fmgr_hook; called whenever a function is looked up. */
static bool
keeps_from_inlining(Oid funcid)
{
	KnownBody  *known;
	bool		found;

	if (prev_needs_hook != NULL && prev_needs_hook(funcid))
		return true;
	if (funcid < FirstNormalObjectId)
		return false;
	if (known_bodies == NULL)
		known_bodies = create_known_bodies();
	known = hash_search(known_bodies, &funcid, HASH_FIND, NULL);
	if (known == NULL)
	{
		bool		calls = function_contains_call(funcid);

		/* the look-up may have had the table forgotten */
		if (known_bodies == NULL)
			known_bodies = create_known_bodies();
		known = hash_search(known_bodies, &funcid, HASH_ENTER, &found);
		known->calls = calls;
	}
	return known->calls;
}

void
replaced_functions_init(void)
{
	static const ReplacedFunction of_earlier_folders[] = {
		{F_PG_NOTIFY, "pg_notify", 2, {TEXTOID, TEXTOID}, notify_concerns_others},
	};

	replaced_functions_add(of_earlier_folders, lengthof(of_earlier_folders));
	prev_needs_hook = needs_fmgr_hook;
	needs_fmgr_hook = keeps_from_inlining;
}
