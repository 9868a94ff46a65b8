/*-------------------------------------------------------------------------
 *
 * expr_values.c
 *	  Values of the expressions of a plan node.
 *
 * Most are constants and parameters of the client's statement.  Their values
 * are read directly, which costs less than initializing an expression.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "compat/foreach.h"
#include "lib/expr_values.h"

static bool
is_extern_param(const Expr *expr)
{
	return IsA(expr, Param) && ((const Param *) expr)->paramkind == PARAM_EXTERN;
}

bool
expr_known_value(const Expr *expr, ParamListInfo params, Datum *value, bool *isnull)
{
	if (IsA(expr, Const))
	{
		*value = ((const Const *) expr)->constvalue;
		*isnull = ((const Const *) expr)->constisnull;
		return true;
	}
	if (is_extern_param(expr) && params != NULL)
	{
		int			number = ((const Param *) expr)->paramid;
		ParamExternData workspace;
		ParamExternData *param;

		if (number > params->numParams)
			return false;
		param = params->paramFetch != NULL ?
			params->paramFetch(params, number, false, &workspace) : &params->params[number - 1];
		if (param->ptype != ((const Param *) expr)->paramtype)
			return false;
		*value = param->value;
		*isnull = param->isnull;
		return true;
	}
	return false;
}

ExprValues *
expr_values_init(List *exprs, PlanState *parent)
{
	ExprValues *values = palloc(sizeof(ExprValues));

	values->exprs = exprs;
	values->states = palloc0(sizeof(ExprState *) * Max(list_length(exprs), 1));
	values->parent = parent;
	foreach_ptr(Expr, expr, exprs)
		if (!IsA(expr, Const) && !is_extern_param(expr))
			values->states[foreach_current_index(expr)] = ExecInitExpr(expr, parent);
	return values;
}

Datum
expr_value(const ExprValues *values, int position, ExprContext *econtext, bool *isnull)
{
	Expr	   *expr = list_nth(values->exprs, position);
	ExprState  *state = values->states[position];
	Datum		value;

	if (state == NULL)
	{
		if (expr_known_value(expr, econtext->ecxt_param_list_info, &value, isnull))
			return value;
		state = ExecInitExpr(expr, values->parent);	/* to raise the error about
													 * the parameter */
	}
	return ExecEvalExpr(state, econtext, isnull);
}
