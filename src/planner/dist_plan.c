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

#include "lib/plan_fields.h"
#include "planner/dist_plan.h"

CustomScanMethods dist_scan_methods = {
	.CustomName = "DistributedScan",
};

static const PlanField dist_plan_fields[] = {
	PLAN_FIELD(PLAN_INT, DistPlan, kind),
	PLAN_FIELD(PLAN_INT, DistPlan, command),
	PLAN_FIELD(PLAN_INT, DistPlan, relid),
	PLAN_FIELD(PLAN_INT, DistPlan, rights),
	PLAN_FIELD(PLAN_INT, DistPlan, npolicies),
	PLAN_FIELD(PLAN_INT, DistPlan, keep_npolicies),
	PLAN_FIELD(PLAN_INT, DistPlan, nparams),
	PLAN_FIELD(PLAN_INT, DistPlan, narrays),
	PLAN_FIELD(PLAN_INT, DistPlan, dist_param),
	PLAN_FIELD(PLAN_INT, DistPlan, tableoid_position),
	PLAN_FIELD(PLAN_INT, DistPlan, check_as_user),
	PLAN_FIELD(PLAN_INT, DistPlan, ncolumns),
	PLAN_FIELD(PLAN_INT, DistPlan, keep_first),
	PLAN_FIELD(PLAN_INT, DistPlan, keep_nparams),
	PLAN_FIELD(PLAN_INT, DistPlan, keep_quals),
	PLAN_FIELD(PLAN_INT, DistPlan, current_of),
	PLAN_FIELD(PLAN_INT, DistPlan, current_row),
	PLAN_FIELD(PLAN_BOOL, DistPlan, writes),
	PLAN_FIELD(PLAN_BOOL, DistPlan, exclusive),
	PLAN_FIELD(PLAN_BOOL, DistPlan, can_set_tag),
	PLAN_FIELD(PLAN_BOOL, DistPlan, partial),
	PLAN_FIELD(PLAN_BOOL, DistPlan, by_node),
	PLAN_FIELD(PLAN_STRING, DistPlan, text),
	PLAN_FIELD(PLAN_STRING, DistPlan, keep_text),
	PLAN_FIELD(PLAN_LIST, DistPlan, prune),
	PLAN_FIELD(PLAN_LIST, DistPlan, keep_prune),
	PLAN_FIELD(PLAN_LIST, DistPlan, relids),
	PLAN_FIELD(PLAN_LIST, DistPlan, positions),
	PLAN_FIELD(PLAN_LIST, DistPlan, types),
	PLAN_FIELD(PLAN_LIST, DistPlan, typmods),
};

List *
dist_plan_pack(const DistPlan *plan)
{
	return plan_fields_pack(dist_plan_fields, lengthof(dist_plan_fields), plan);
}

void
dist_plan_unpack(const CustomScan *node, DistPlan *plan)
{
	plan_fields_unpack(dist_plan_fields, lengthof(dist_plan_fields), node->custom_private, plan);
}

bool
dist_plan_reads_as_of(const DistPlan *plan)
{
	return (plan->kind == DIST_PLAN_SCAN && !plan->writes) ||
		(plan->kind == DIST_PLAN_PUSHED_WRITE && plan->command == CMD_INSERT);
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
