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
#include "nodes/value.h"

#include "planner/dist_plan.h"

CustomScanMethods dist_scan_methods = {
	.CustomName = "DistributedScan",
};

/* Positions of the numbers in the first member of the packed list. */
enum
{
	NUMBER_KIND,
	NUMBER_COMMAND,
	NUMBER_RELID,
	NUMBER_WRITES,
	NUMBER_RIGHTS,
	NUMBER_NPOLICIES,
	NUMBER_KEEP_NPOLICIES,
	NUMBER_EXCLUSIVE,
	NUMBER_CAN_SET_TAG,
	NUMBER_PARTIAL,
	NUMBER_BY_NODE,
	NUMBER_NPARAMS,
	NUMBER_NARRAYS,
	NUMBER_DIST_PARAM,
	NUMBER_TABLEOID_POSITION,
	NUMBER_CHECK_AS_USER,
	NUMBER_NCOLUMNS,
	NUMBER_KEEP_FIRST,
	NUMBER_KEEP_NPARAMS,
	NUMBER_KEEP_QUALS,
	NUMBER_CURRENT_OF,
	NUMBER_CURRENT_ROW,
};

Node *
plan_string_pack(const char *string)
{
	return (Node *) makeString(pstrdup(string ? string : ""));
}

char *
plan_string_unpack(const Node *node)
{
	return strVal(node)[0] == '\0' ? NULL : strVal(node);
}

List *
dist_plan_pack(const DistPlan *plan)
{
	List	   *numbers = NIL;

	numbers = lappend_int(numbers, plan->kind);
	numbers = lappend_int(numbers, plan->command);
	numbers = lappend_int(numbers, (int) plan->relid);
	numbers = lappend_int(numbers, plan->writes);
	numbers = lappend_int(numbers, plan->rights);
	numbers = lappend_int(numbers, plan->npolicies);
	numbers = lappend_int(numbers, plan->keep_npolicies);
	numbers = lappend_int(numbers, plan->exclusive);
	numbers = lappend_int(numbers, plan->can_set_tag);
	numbers = lappend_int(numbers, plan->partial);
	numbers = lappend_int(numbers, plan->by_node);
	numbers = lappend_int(numbers, plan->nparams);
	numbers = lappend_int(numbers, plan->narrays);
	numbers = lappend_int(numbers, plan->dist_param);
	numbers = lappend_int(numbers, plan->tableoid_position);
	numbers = lappend_int(numbers, (int) plan->check_as_user);
	numbers = lappend_int(numbers, plan->ncolumns);
	numbers = lappend_int(numbers, plan->keep_first);
	numbers = lappend_int(numbers, plan->keep_nparams);
	numbers = lappend_int(numbers, plan->keep_quals);
	numbers = lappend_int(numbers, plan->current_of);
	numbers = lappend_int(numbers, plan->current_row);

	return list_make5(numbers,
					  list_make3(plan_string_pack(plan->text), plan_string_pack(plan->reason),
								 plan_string_pack(plan->keep_text)),
					  list_make2(plan->prune, plan->keep_prune),
					  list_make3(plan->positions, plan->types, plan->relids), plan->typmods);
}

void
dist_plan_unpack(const CustomScan *node, DistPlan *plan)
{
	List	   *packed = node->custom_private;
	List	   *numbers = linitial(packed);
	List	   *strings = lsecond(packed);
	List	   *prune = lthird(packed);
	List	   *columns = lfourth(packed);

	plan->kind = list_nth_int(numbers, NUMBER_KIND);
	plan->command = list_nth_int(numbers, NUMBER_COMMAND);
	plan->relid = (Oid) list_nth_int(numbers, NUMBER_RELID);
	plan->writes = list_nth_int(numbers, NUMBER_WRITES);
	plan->rights = list_nth_int(numbers, NUMBER_RIGHTS);
	plan->npolicies = list_nth_int(numbers, NUMBER_NPOLICIES);
	plan->keep_npolicies = list_nth_int(numbers, NUMBER_KEEP_NPOLICIES);
	plan->exclusive = list_nth_int(numbers, NUMBER_EXCLUSIVE);
	plan->can_set_tag = list_nth_int(numbers, NUMBER_CAN_SET_TAG);
	plan->partial = list_nth_int(numbers, NUMBER_PARTIAL);
	plan->by_node = list_nth_int(numbers, NUMBER_BY_NODE);
	plan->nparams = list_nth_int(numbers, NUMBER_NPARAMS);
	plan->narrays = list_nth_int(numbers, NUMBER_NARRAYS);
	plan->dist_param = list_nth_int(numbers, NUMBER_DIST_PARAM);
	plan->tableoid_position = list_nth_int(numbers, NUMBER_TABLEOID_POSITION);
	plan->check_as_user = (Oid) list_nth_int(numbers, NUMBER_CHECK_AS_USER);
	plan->text = plan_string_unpack(linitial(strings));
	plan->reason = plan_string_unpack(lsecond(strings));
	plan->keep_text = plan_string_unpack(lthird(strings));
	plan->ncolumns = list_nth_int(numbers, NUMBER_NCOLUMNS);
	plan->keep_first = list_nth_int(numbers, NUMBER_KEEP_FIRST);
	plan->keep_nparams = list_nth_int(numbers, NUMBER_KEEP_NPARAMS);
	plan->keep_quals = list_nth_int(numbers, NUMBER_KEEP_QUALS);
	plan->current_of = list_nth_int(numbers, NUMBER_CURRENT_OF);
	plan->current_row = list_nth_int(numbers, NUMBER_CURRENT_ROW);
	plan->prune = linitial(prune);
	plan->keep_prune = lsecond(prune);
	plan->positions = linitial(columns);
	plan->types = lsecond(columns);
	plan->relids = lthird(columns);
	plan->typmods = list_nth(packed, 4);
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
