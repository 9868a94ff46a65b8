/*-------------------------------------------------------------------------
 *
 * sequence_calls.c
 *	  Replaces calls of nextval() and similar functions by functions for all
 *	  nodes.
 *
 * The server's sequence functions use this node's sequence only.  On nodes
 * other than the coordinator, functions of citus_internal
 * (objects/sequence_values.c) replace them in every planned query.  On the
 * coordinator, which has the authoritative sequences, only setval() is
 * replaced, since other nodes must discard their stored values.  Which
 * sequence a call is about is known when it runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "planner/sequence_calls.h"

static const struct
{
	Oid			funcid;			/* of the server */
	const char *name;			/* of ours */
	int			nargs;
	Oid			args[3];
	bool		everywhere;		/* also on the coordinator */
}			sequence_functions[] = {
	{F_NEXTVAL, "nextval", 1, {REGCLASSOID}, false},
	{F_CURRVAL, "currval", 1, {REGCLASSOID}, false},
	{F_LASTVAL, "lastval", 0, {0}, false},
	{F_SETVAL_REGCLASS_INT8, "setval", 2, {REGCLASSOID, INT8OID}, true},
	{F_SETVAL_REGCLASS_INT8_BOOL, "setval", 3, {REGCLASSOID, INT8OID, BOOLOID}, true},
};

/* The row of one of the server's functions, or -1. */
static int
find_sequence_function(Oid funcid)
{
	for (int i = 0; i < lengthof(sequence_functions); i++)
	{
		if (sequence_functions[i].funcid == funcid)
			return i;
	}
	return -1;
}

/*
 * Our function of a row; InvalidOid if an older version of the extension has
 * none.
 */
static Oid
own_function(int row)
{
	oidvector  *args = buildoidvector(sequence_functions[row].args, sequence_functions[row].nargs);

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(sequence_functions[row].name),
						   PointerGetDatum(args), ObjectIdGetDatum(get_namespace_oid("citus_internal", true)));
}

/* Our function for one of the server's on this node, or InvalidOid. */
static Oid
own_function_here(Oid funcid)
{
	int			row = funcid < FirstNormalObjectId ? find_sequence_function(funcid) : -1;

	if (row < 0 || (metadata_local_group() == COORDINATOR_GROUP && !sequence_functions[row].everywhere))
		return InvalidOid;
	return own_function(row);
}

static bool
has_sequence_call(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && find_sequence_function(((FuncExpr *) node)->funcid) >= 0)
		return true;
	if (IsA(node, NextValueExpr))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_sequence_call, context, 0);
	return expression_tree_walker(node, has_sequence_call, context);
}

/*
 * nextval() of an identity column's sequence, cast to the column's type; NULL
 * if the server's way is right here.
 */
static Node *
identity_call(const NextValueExpr *expr)
{
	Oid			nextval = own_function_here(F_NEXTVAL);
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

static Node *
turn_calls(Node *node, void *context)
{
	Node	   *turned = NULL;

	if (node == NULL)
		return NULL;
	if (IsA(node, NextValueExpr))
		turned = identity_call((NextValueExpr *) node);
	if (turned != NULL)
		return turned;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, turn_calls, context, 0);
	turned = expression_tree_mutator(node, turn_calls, context);
	if (IsA(turned, FuncExpr) && OidIsValid(own_function_here(((FuncExpr *) turned)->funcid)))
		((FuncExpr *) turned)->funcid = own_function_here(((FuncExpr *) turned)->funcid);
	return turned;
}

static bool
other_nodes_draw(void)
{
	return metadata_local_group() != COORDINATOR_GROUP || node_active_primaries_remote() != NIL;
}

Query *
sequence_calls_turn(Query *query)
{
	if (!other_nodes_draw() || !query_tree_walker(query, has_sequence_call, NULL, 0))
		return query;
	return query_tree_mutator(query, turn_calls, NULL, 0);
}

Node *
sequence_calls_turn_expression(Node *expr)
{
	return other_nodes_draw() && has_sequence_call(expr, NULL) ? turn_calls(expr, NULL) : expr;
}

bool
sequence_call_is_nextval(Oid funcid)
{
	return funcid == F_NEXTVAL || (funcid >= FirstNormalObjectId && funcid == own_function(0));
}
