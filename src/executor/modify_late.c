/*-------------------------------------------------------------------------
 *
 * modify_late.c
 *	  Deletes whose foreign keys act on tables that the statement writes, too.
 *
 * A server executes ON DELETE CASCADE, SET NULL and SET DEFAULT at the end of
 * the statement, after all writes of its WITH.  Here the nodes execute such an
 * action together with the DELETE.  So if another part of the statement writes
 * a table that the action reaches, the DELETE only collects its changes, with
 * the rows of RETURNING, and applies them when all other parts have run: the
 * server calls the members of es_auxmodifytables in their order, and a member
 * of this file's is behind all others.
 *
 * Other writes with such actions (UPDATE of a referenced key, MERGE, a DELETE
 * that fires triggers) are refused then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "compat/result_relations.h"
#include "executor/modify.h"
#include "executor/read_ahead.h"
#include "planner/dist_plan.h"
#include "planner/foreign_key.h"

/* The member of es_auxmodifytables: applies the changes of its owner. */
typedef struct LateApply
{
	PlanState	ps;				/* must be first */
	DistModifyState *owner;
} LateApply;

/* The table that a plan node writes, or InvalidOid. */
static Oid
table_written_by(Plan *node)
{
	ModifyPlan	plan;

	if (node == NULL)
		return InvalidOid;
	if (is_dist_scan(node))
	{
		const DistPlan *scan = dist_plan_peek((CustomScan *) node);

		return scan->command == CMD_SELECT ? InvalidOid : scan->relid;
	}
	if (!is_dist_modify(node))
		return InvalidOid;
	modify_plan_unpack((CustomScan *) node, &plan);
	return plan.relid;
}

/*
 * The first of some tables that another part of the statement than own writes;
 * InvalidOid if there is none.
 */
static Oid
find_other_write(const PlannedStmt *statement, const Plan *own, List *tables)
{
	Bitmapset  *written_tables = compat_result_relations(statement);

	foreach_ptr(Plan, part, lcons(statement->planTree, list_copy(statement->subplans)))
	{
		Oid			written = part == own ? InvalidOid : table_written_by(part);

		if (list_member_oid(tables, written))
			return written;
	}
	for (int rti = -1; (rti = bms_next_member(written_tables, rti)) >= 0;)
	{
		Oid			written = rt_fetch(rti, statement->rtable)->relid;

		if (list_member_oid(tables, written))
			return written;
	}
	return InvalidOid;
}

/* Whether an UPDATE assigns a column that a foreign key may reference. */
static bool
assigns_key(const DistModifyState *state)
{
	Relation	relation = table_open(state->plan.relid, NoLock);
	Bitmapset  *keys = RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_KEY);
	bool		assigns = false;

	table_close(relation, NoLock);
	foreach_int(attno, state->plan.assigned)
		assigns = assigns || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, keys);
	return assigns;
}

/* Whether the write may make foreign keys act on other rows. */
static bool
may_act(const DistModifyState *state)
{
	return (state->plan.commands & COMMAND_BIT(CMD_DELETE)) != 0 ||
		((state->plan.commands & COMMAND_BIT(CMD_UPDATE)) != 0 && assigns_key(state));
}

static void
refuse_late(const DistModifyState *state, Oid other)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot write tables \"%s\" and \"%s\" in one statement", get_rel_name(state->plan.relid),
					get_rel_name(other)),
			 errdetail("A foreign key's action would write \"%s\" before the statement's other parts do.", get_rel_name(other)),
			 errhint("Use separate statements in a transaction.")));
}

/* ExecProcNode of the last member: no rows. */
static TupleTableSlot *
apply_late(PlanState *node)
{
	DistModifyState *state = ((LateApply *) node)->owner;
	MemoryContext old_context;

	if (!state->late || !state->done)
		return NULL;
	state->late = false;
	old_context = MemoryContextSwitchTo(state->context);
	read_ahead_all(state->css.ss.ps.state);
	modify_apply_all(state);
	MemoryContextSwitchTo(old_context);
	return NULL;
}

/*
 * Where the state's member is put: behind all others, but before members whose
 * changes act on its table, since the rows would be gone then.
 */
static int
late_position(const DistModifyState *state)
{
	int			position = 0;

	foreach_ptr(PlanState, other, state->css.ss.ps.state->es_auxmodifytables)
	{
		if (other->ExecProcNode == apply_late)
		{
			const DistModifyState *owner = ((LateApply *) other)->owner;

			if (list_member_oid(foreign_key_acts_on(owner->plan.relid, owner->plan.commands), state->plan.relid))
				break;
		}
		position++;
	}
	return position;
}

void
modify_late_begin(DistModifyState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	LateApply  *apply;
	Oid			other;

	if (!estate->es_plannedstmt->hasModifyingCTE || !may_act(state))
		return;
	other = find_other_write(estate->es_plannedstmt, state->css.ss.ps.plan, foreign_key_acts_on(state->plan.relid, state->plan.commands));
	if (!OidIsValid(other))
		return;
	if (state->plan.command != CMD_DELETE || state->plan.triggers != 0)
		refuse_late(state, other);
	state->late = true;
	state->pending.deletes.returns = false;
	state->pending.deletes.counts = false;
	apply = palloc0(sizeof(LateApply));
	NodeSetTag(apply, T_ResultState);
	apply->ps.plan = (Plan *) makeNode(Result);
	apply->ps.state = estate;
	apply->ps.ExecProcNode = apply_late;
	apply->owner = state;
	estate->es_auxmodifytables = list_insert_nth(estate->es_auxmodifytables, late_position(state), apply);
}
