/*-------------------------------------------------------------------------
 *
 * process_parameter.c
 *	  The type of a parameter that is a process id.
 *
 * Beside the server's pg_cancel_backend(integer), there is one of ours that
 * takes a global process id.  Its argument is double precision, the preferred
 * type of numbers: so a call with a bigint, a smallint or a literal in quotes
 * is ours and none is ambiguous.  But a parameter without a given type becomes
 * double precision, too, and some drivers insist on the type that the server
 * infers.  So after the analysis, calls with such a parameter become calls of
 * the server's function, and the parameter an integer, as without us.  The
 * same holds for pg_terminate_backend().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_param.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "compat/foreach.h"
#include "resolve/process_parameter.h"

/*
 * What the server keeps in ParseState.p_ref_hook_state for parameters whose
 * types are inferred (parser/parse_param.c).
 */
typedef struct InferredTypes
{
	Oid		  **types;
	int		   *count;
} InferredTypes;

/* The uses of a parameter in a query. */
typedef struct ParameterUses
{
	int			paramid;
	int			all;
	List	   *calls;			/* FuncExpr: those as a process id */
} ParameterUses;

/* The server's function beside one of ours; InvalidOid for other functions. */
static Oid
server_process_function(Oid funcid)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	Oid			result = InvalidOid;

	if (funcid < FirstNormalObjectId)
		return InvalidOid;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (form->pronamespace == PG_CATALOG_NAMESPACE)
	{
		if (strcmp(NameStr(form->proname), "pg_cancel_backend") == 0)
			result = F_PG_CANCEL_BACKEND;
		else if (strcmp(NameStr(form->proname), "pg_terminate_backend") == 0)
			result = F_PG_TERMINATE_BACKEND;
	}
	ReleaseSysCache(tuple);
	return result;
}

static bool
is_process_parameter(Node *node, int paramid)
{
	return IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN && ((Param *) node)->paramid == paramid;
}

static bool
parameter_uses_walker(Node *node, void *context)
{
	ParameterUses *uses = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, parameter_uses_walker, context, 0);
	if (is_process_parameter(node, uses->paramid))
		uses->all++;
	if (IsA(node, FuncExpr))
	{
		FuncExpr   *call = (FuncExpr *) node;

		if (call->args != NIL && is_process_parameter(linitial(call->args), uses->paramid) &&
			OidIsValid(server_process_function(call->funcid)))
			uses->calls = lappend(uses->calls, call);
	}
	return expression_tree_walker(node, parameter_uses_walker, context);
}

/*
 * Whether the client leaves types of parameters to the server, as in Parse and
 * PREPARE.
 */
static bool
types_are_inferred(ParseState *pstate)
{
	ParseState	other = {0};
	Oid		   *types = NULL;
	int			count = 0;

	if (pstate->p_coerce_param_hook == NULL)
		return false;
	setup_parse_variable_parameters(&other, &types, &count);
	return pstate->p_coerce_param_hook == other.p_coerce_param_hook;
}

void
process_parameters_infer(ParseState *pstate, Query *query)
{
	InferredTypes *inferred = pstate->p_ref_hook_state;

	if (!types_are_inferred(pstate))
		return;
	for (int i = 0; i < *inferred->count; i++)
	{
		ParameterUses uses = {.paramid = i + 1};

		if ((*inferred->types)[i] != FLOAT8OID)
			continue;
		query_tree_walker(query, parameter_uses_walker, &uses, 0);
		if (uses.calls == NIL || list_length(uses.calls) != uses.all)
			continue;
		foreach_ptr(FuncExpr, call, uses.calls)
		{
			call->funcid = server_process_function(call->funcid);
			((Param *) linitial(call->args))->paramtype = INT4OID;
		}
		(*inferred->types)[i] = INT4OID;
	}
}
