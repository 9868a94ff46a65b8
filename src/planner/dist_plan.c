/*-------------------------------------------------------------------------
 *
 * dist_plan.c
 *	  Packing a DistPlan into a plan node, which must be copyable.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"

#include "lib/plan_fields.h"
#include "planner/dist_plan.h"
#include "sharding/prune.h"

CustomScanMethods dist_scan_methods = {
	.CustomName = "DistributedScan",
};

static const PlanField dist_plan_fields[] = {
	PLAN_FIELD(PLAN_STRING, DistPlan, text),
	PLAN_FIELD(PLAN_STRING, DistPlan, keep_text),
	PLAN_FIELD(PLAN_STRING, DistPlan, batch_text),
	PLAN_FIELD(PLAN_STRING, DistPlan, refusal),
	PLAN_FIELD(PLAN_LIST, DistPlan, prune),
	PLAN_FIELD(PLAN_LIST, DistPlan, keep_prune),
	PLAN_FIELD(PLAN_LIST, DistPlan, relids),
	PLAN_FIELD(PLAN_LIST, DistPlan, positions),
	PLAN_FIELD(PLAN_LIST, DistPlan, types),
	PLAN_FIELD(PLAN_LIST, DistPlan, typmods),
};

void
dist_plan_unpack(const CustomScan *node, DistPlan *plan)
{
	plan_fields_unpack(dist_plan_fields, lengthof(dist_plan_fields), node->custom_private, plan, sizeof(DistPlan));
}

const DistPlan *
dist_plan_peek(const CustomScan *node)
{
	return plan_fields_peek(node->custom_private);
}

void
dist_plan_look_ahead(CustomScan *node, int param)
{
	((DistPlan *) unconstify(DistPlan *, dist_plan_peek(node)))->look_ahead = param;
}

bool
dist_plan_reads_as_of(const DistPlan *plan)
{
	return plan->reads || (plan->kind == DIST_PLAN_SCAN && !plan->writes);
}

/* Whether a parameter has just this value. */
static bool
is_constant(const ParamExternData *param, const Const *constant)
{
	return param->ptype == constant->consttype && !param->isnull && !constant->constisnull &&
		datumIsEqual(param->value, constant->constvalue, constant->constbyval, constant->constlen);
}

/*
 * The single distribution value of a plan, without coercions; NULL if there is
 * none.
 */
static const Node *
tenant_value(const DistPlan *plan, const List *exprs, int *position)
{
	*position = plan->dist_param;
	if (*position < 0)
	{
		const PrunePlanTerm *term = prune_plan_only_value(plan->prune);

		if (term == NULL || !OidIsValid(term->type))
			return NULL;
		*position = term->expr;
	}
	return strip_implicit_coercions(list_nth(exprs, *position));
}

/* DistPlan.traits.tenant. */
static int
tenant_parameter(const DistPlan *plan, const List *exprs)
{
	int			position;
	const Node *value = tenant_value(plan, exprs, &position);

	if (value == NULL)
		return 0;
	for (int i = 0; i < plan->nparams - plan->narrays; i++)
	{
		if (i == position || equal(strip_implicit_coercions(list_nth(exprs, i)), value))
			return i + 1;
	}
	return IsA(value, Const) ? -1 : 0;
}

int
dist_plan_tenant(const DistPlan *plan, const List *exprs, ParamListInfo params)
{
	const Const *value;
	int			position;

	if (plan->traits.tenant >= 0)
		return plan->traits.tenant;
	value = (const Const *) tenant_value(plan, exprs, &position);
	for (int i = 0; i < plan->nparams - plan->narrays; i++)
	{
		if (is_constant(&params->params[i], value))
			return i + 1;
	}
	return 0;
}

List *
dist_plan_pack(DistPlan *plan, const List *exprs)
{
	plan->traits.tenant = tenant_parameter(plan, exprs);
	return plan_fields_pack(dist_plan_fields, lengthof(dist_plan_fields), plan, sizeof(DistPlan));
}

const char *
dist_plan_kind_name(DistPlanKind kind)
{
	switch (kind)
	{
		case DIST_PLAN_FAST_PATH:
			return "Fast Path";
		case DIST_PLAN_ROUTER:
			return "Router";
		case DIST_PLAN_PUSHED_WRITE:
			return "Pushdown";
		case DIST_PLAN_REFERENCE_WRITE:
			return "Reference Table Write";
		case DIST_PLAN_SCAN:
			return "Distributed Scan";
	}
	return "";
}

bool
needs_exec_params(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	return expression_tree_walker(node, needs_exec_params, context);
}

bool
is_dist_scan(const Plan *node)
{
	return node != NULL && IsA(node, CustomScan) &&
		((const CustomScan *) node)->methods == &dist_scan_methods;
}
