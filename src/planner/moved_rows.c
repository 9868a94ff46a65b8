/*-------------------------------------------------------------------------
 *
 * moved_rows.c
 *	  The form, in the nodes' query, of rows that are moved to the nodes.
 *
 * Broadcast rows are arrays of their columns, which the text reads by
 * unnest().  Repartitioned rows are in an exchange, which it reads by
 * exchange_read().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "planner/moved_rows.h"

int
broadcast_nparams(const Broadcast *broadcast)
{
	return broadcast->repartition ? 3 : list_length(broadcast->columns);
}

Oid
moved_rows_function(const char *name, int nargs, const Oid *args)
{
	return LookupFuncName(list_make2(makeString("citus_internal"), makeString(pstrdup(name))), nargs, args, false);
}

/* exchange_read(..): the rows of a relation that a node has received. */
static RangeTblFunction *
make_read_function(const Broadcast *broadcast)
{
	static const Oid args[] = {TEXTOID, TEXTARRAYOID, INT8OID};
	RangeTblFunction *function = makeNode(RangeTblFunction);
	List	   *params = NIL;

	for (int i = 0; i < lengthof(args); i++)
		params = lappend(params, moved_rows_param(broadcast->varno, i + 1, args[i]));
	function->funcexpr = (Node *) makeFuncExpr(moved_rows_function("exchange_read", lengthof(args), args), RECORDOID,
											   params, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	((FuncExpr *) function->funcexpr)->funcretset = true;
	foreach_ptr(const Var, var, broadcast->columns)
	{
		function->funccolnames = lappend(function->funccolnames,
										 makeString(psprintf("c%d", foreach_current_index(var) + 1)));
		function->funccoltypes = lappend_oid(function->funccoltypes, var->vartype);
		function->funccoltypmods = lappend_int(function->funccoltypmods, var->vartypmod);
		function->funccolcollations = lappend_oid(function->funccolcollations, var->varcollid);
		function->funccolcount++;
	}
	return function;
}

Param *
moved_rows_param(Index varno, int number, Oid type)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_SUBLINK;	/* for now; it isn't a parameter of the
										 * task yet */
	param->paramid = number;
	param->paramtype = type;
	param->paramtypmod = -1;
	param->location = (int) varno;
	return param;
}

RangeTblEntry *
moved_rows_entry(const Broadcast *broadcast)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	entry->rtekind = RTE_FUNCTION;
	entry->inFromCl = true;
	entry->alias = makeAlias(psprintf("broadcast_%u", broadcast->varno), NIL);
	if (broadcast->repartition)
		entry->functions = list_make1(make_read_function(broadcast));
	foreach_ptr(const Var, var, broadcast->columns)
	{
		RangeTblFunction *function;
		Param	   *param;

		entry->alias->colnames = lappend(entry->alias->colnames,
										 makeString(psprintf("c%d", foreach_current_index(var) + 1)));
		if (broadcast->repartition)
			continue;
		function = makeNode(RangeTblFunction);
		param = moved_rows_param(broadcast->varno, foreach_current_index(var) + 1, get_array_type(var->vartype));
		param->paramcollid = var->varcollid;
		function->funcexpr = (Node *) makeFuncExpr(F_UNNEST_ANYARRAY, var->vartype, list_make1(param), var->varcollid,
												   var->varcollid, COERCE_EXPLICIT_CALL);
		((FuncExpr *) function->funcexpr)->funcretset = true;
		function->funccolcount = 1;
		entry->functions = lappend(entry->functions, function);
	}
	entry->eref = copyObject(entry->alias);
	return entry;
}
