/*-------------------------------------------------------------------------
 *
 * modify_check.c
 *	  Conditions that the initiator checks for the rows that a
 *	  DistributedModify writes.
 *
 * As on a single server, policies are checked before a row is sent, so that
 * neither constraints nor unique indexes tell of rows that a policy hides.
 * Check options of views are checked for the rows as they were stored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "utils/rel.h"

#include "executor/modify.h"
#include "lib/plan_fields.h"

/* Whether a condition (ModifyPlan.checks) is for rows as they were stored. */
static bool
is_view_check(List *check)
{
	return intVal(linitial(check)) == WCO_VIEW_CHECK;
}

/* Reports that a row violates a condition. */
static void
complain_of_row(List *check)
{
	const char *name = strVal(lsecond(check));
	const char *policy = plan_string_unpack(lthird(check));

	if (is_view_check(check))
		ereport(ERROR,
				(errcode(ERRCODE_WITH_CHECK_OPTION_VIOLATION),
				 errmsg("new row violates check option for view \"%s\"", name)));
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 policy != NULL ?
			 errmsg("new row violates row-level security policy \"%s\" for table \"%s\"", policy, name) :
			 errmsg("new row violates row-level security policy for table \"%s\"", name)));
}

/* Checks the row in the scan slot. */
static void
check_scan_slot(DistModifyState *state, bool view_checks)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int			n = state->plan.first_check;

	econtext->ecxt_scantuple = state->css.ss.ss_ScanTupleSlot;
	foreach_node(List, check, state->plan.checks)
	{
		if (is_view_check(check) == view_checks && !modify_is_true(state, n, econtext))
			complain_of_row(check);
		n++;
	}
}

void
modify_check_begin(DistModifyState *state)
{
	foreach_node(List, check, state->plan.checks)
		state->checks_new_rows = state->checks_new_rows || !is_view_check(check);
	if (!state->checks_new_rows || state->row_desc->constr == NULL || !state->row_desc->constr->has_generated_stored)
		return;
	state->generator = makeNode(ResultRelInfo);
	InitResultRelInfo(state->generator, table_open(state->plan.relid, NoLock), 1, NULL, 0);
	state->generated = MakeSingleTupleTableSlot(state->row_desc, &TTSOpsVirtual);
}

void
modify_check_end(DistModifyState *state)
{
	if (state->generator == NULL)
		return;
	ExecDropSingleTupleTableSlot(state->generated);
	table_close(state->generator->ri_RelationDesc, NoLock);
}

/* Stores a new row, with its generated columns, in generated. */
static void
compute_generated(DistModifyState *state, Datum *values, bool *nulls)
{
	EState	   *estate = state->css.ss.ps.state;
	TupleTableSlot *slot = state->generated;
	int			natts = state->row_desc->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);
	ResetPerTupleExprContext(estate);
	ExecComputeStoredGenerated(state->generator, estate, slot, CMD_INSERT);
}

/*
 * Stores a new row in the scan slot.  Policies don't use the slot's columns of
 * other tables.  A row that isn't stored yet has system columns, as on a
 * single server, though only tableoid says something.
 */
static void
store_scan_slot(DistModifyState *state, Datum *values, bool *nulls)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		AttrNumber	attno = list_nth_int(state->plan.column_attnos, i);

		slot->tts_isnull[i] = list_nth_int(state->plan.column_resnos, i) != 0;
		if (slot->tts_isnull[i])
			continue;
		if (attno >= 0)
			slot->tts_values[i] = modify_row_column(state, attno, values, nulls, &slot->tts_isnull[i]);
		else if (attno == TableOidAttributeNumber)
			slot->tts_values[i] = ObjectIdGetDatum(state->plan.relid);
		else if (attno == SelfItemPointerAttributeNumber)
			slot->tts_values[i] = PointerGetDatum(&slot->tts_tid);
		else
			slot->tts_values[i] = TransactionIdGetDatum(InvalidTransactionId);
	}
	ExecStoreVirtualTuple(slot);
}

void
modify_check_new_row(DistModifyState *state, Datum *values, bool *nulls)
{
	if (!state->checks_new_rows)
		return;
	if (state->generator != NULL)
	{
		compute_generated(state, values, nulls);
		values = state->generated->tts_values;
		nulls = state->generated->tts_isnull;
	}
	store_scan_slot(state, values, nulls);
	check_scan_slot(state, false);
}

void
modify_check_stored_row(DistModifyState *state)
{
	check_scan_slot(state, true);
}
