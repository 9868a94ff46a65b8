/*-------------------------------------------------------------------------
 *
 * modify_plan.c
 *	  Packing a ModifyPlan into a plan node, which must be copyable.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "planner/dist_plan.h"
#include "planner/modify_plan.h"

CustomScanMethods dist_modify_methods = {
	.CustomName = "DistributedModify",
};

List *
modify_plan_pack(const ModifyPlan *plan)
{
	List	   *numbers = NIL;
	List	   *strings = list_make5(plan_string_pack(plan->insert_text), plan_string_pack(plan->update_text),
									 plan_string_pack(plan->delete_text), plan_string_pack(plan->upsert_text),
									 plan_string_pack(plan->again_text));
	List	   *columns = list_make5(plan->update_colnos, plan->attnos, plan->column_attnos,
									 plan->column_resnos, plan->assigned);

	numbers = lappend_int(numbers, (int) plan->relid);
	numbers = lappend_int(numbers, (int) plan->check_as_user);
	numbers = lappend_int(numbers, plan->command);
	numbers = lappend_int(numbers, plan->rights);
	numbers = lappend_int(numbers, plan->can_set_tag);
	numbers = lappend_int(numbers, plan->has_returning);
	numbers = lappend_int(numbers, plan->moves_rows);
	numbers = lappend_int(numbers, plan->replaces_rows);
	numbers = lappend_int(numbers, plan->may_skip);
	numbers = lappend_int(numbers, plan->do_update);
	numbers = lappend_int(numbers, plan->ctid_resno);
	numbers = lappend_int(numbers, plan->dist_resno);
	numbers = lappend_int(numbers, plan->row_resno);
	numbers = lappend_int(numbers, plan->nconflict_params);
	numbers = lappend_int(numbers, plan->triggers);
	numbers = lappend_int(numbers, plan->resolves);
	numbers = lappend_int(numbers, plan->row_by_row);
	numbers = lappend_int(numbers, plan->streams);
	numbers = lappend_int(numbers, plan->reads_first);
	return list_make5(numbers, strings, columns, plan->actions, plan->checks);
}

void
modify_plan_unpack(const CustomScan *node, ModifyPlan *plan)
{
	List	   *numbers = linitial(node->custom_private);
	List	   *strings = lsecond(node->custom_private);
	List	   *columns = lthird(node->custom_private);
	int			i = 0;

	plan->relid = (Oid) list_nth_int(numbers, i++);
	plan->check_as_user = (Oid) list_nth_int(numbers, i++);
	plan->command = list_nth_int(numbers, i++);
	plan->rights = list_nth_int(numbers, i++);
	plan->can_set_tag = list_nth_int(numbers, i++);
	plan->has_returning = list_nth_int(numbers, i++);
	plan->moves_rows = list_nth_int(numbers, i++);
	plan->replaces_rows = list_nth_int(numbers, i++);
	plan->may_skip = list_nth_int(numbers, i++);
	plan->do_update = list_nth_int(numbers, i++);
	plan->ctid_resno = list_nth_int(numbers, i++);
	plan->dist_resno = list_nth_int(numbers, i++);
	plan->row_resno = list_nth_int(numbers, i++);
	plan->nconflict_params = list_nth_int(numbers, i++);
	plan->triggers = list_nth_int(numbers, i++);
	plan->resolves = list_nth_int(numbers, i++);
	plan->row_by_row = list_nth_int(numbers, i++);
	plan->streams = list_nth_int(numbers, i++);
	plan->reads_first = list_nth_int(numbers, i++);
	plan->insert_text = plan_string_unpack(list_nth(strings, 0));
	plan->update_text = plan_string_unpack(list_nth(strings, 1));
	plan->delete_text = plan_string_unpack(list_nth(strings, 2));
	plan->upsert_text = plan_string_unpack(list_nth(strings, 3));
	plan->again_text = plan_string_unpack(list_nth(strings, 4));
	plan->update_colnos = linitial(columns);
	plan->attnos = lsecond(columns);
	plan->column_attnos = lthird(columns);
	plan->column_resnos = lfourth(columns);
	plan->assigned = list_nth(columns, 4);
	plan->actions = lfourth(node->custom_private);
	plan->checks = list_nth(node->custom_private, 4);
}

List *
modify_action_pack(const ModifyAction *action)
{
	return list_concat(list_make4_int(action->matched, action->command, action->qual,
									  action->first_target),
					   list_copy(action->colnos));
}

void
modify_action_unpack(const List *packed, ModifyAction *action)
{
	action->matched = list_nth_int(packed, 0);
	action->command = list_nth_int(packed, 1);
	action->qual = list_nth_int(packed, 2);
	action->first_target = list_nth_int(packed, 3);
	action->colnos = list_copy_tail(packed, 4);
}

bool
is_dist_modify(const Plan *node)
{
	return IsA(node, CustomScan) && ((const CustomScan *) node)->methods == &dist_modify_methods;
}
