/*-------------------------------------------------------------------------
 *
 * modify_plan.c
 *	  Packing a ModifyPlan into a plan node, which must be copyable.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/plan_fields.h"
#include "planner/modify_plan.h"

CustomScanMethods dist_modify_methods = {
	.CustomName = "DistributedModify",
};

static const PlanField modify_plan_fields[] = {
	PLAN_FIELD(PLAN_STRING, ModifyPlan, insert_text),
	PLAN_FIELD(PLAN_STRING, ModifyPlan, update_text),
	PLAN_FIELD(PLAN_STRING, ModifyPlan, delete_text),
	PLAN_FIELD(PLAN_STRING, ModifyPlan, move_text),
	PLAN_FIELD(PLAN_STRING, ModifyPlan, upsert_text),
	PLAN_FIELD(PLAN_STRING, ModifyPlan, again_text),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, update_colnos),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, attnos),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, old_attnos),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, column_attnos),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, column_resnos),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, assigned),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, arbiters),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, key_attnos),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, actions),
	PLAN_FIELD(PLAN_LIST, ModifyPlan, checks),
};

List *
modify_plan_pack(const ModifyPlan *plan)
{
	return plan_fields_pack(modify_plan_fields, lengthof(modify_plan_fields), plan, sizeof(ModifyPlan));
}

void
modify_plan_unpack(const CustomScan *node, ModifyPlan *plan)
{
	plan_fields_unpack(modify_plan_fields, lengthof(modify_plan_fields), node->custom_private, plan, sizeof(ModifyPlan));
}

static const PlanField modify_action_fields[] = {
	PLAN_FIELD(PLAN_LIST, ModifyAction, colnos),
};

List *
modify_action_pack(const ModifyAction *action)
{
	return plan_fields_pack(modify_action_fields, lengthof(modify_action_fields), action, sizeof(ModifyAction));
}

void
modify_action_unpack(const List *packed, ModifyAction *action)
{
	plan_fields_unpack(modify_action_fields, lengthof(modify_action_fields), packed, action, sizeof(ModifyAction));
}

bool
is_dist_modify(const Plan *node)
{
	return IsA(node, CustomScan) && ((const CustomScan *) node)->methods == &dist_modify_methods;
}
