/*-------------------------------------------------------------------------
 *
 * modify.c
 *	  The executor node of a DistributedModify.
 *
 * The first call reads the child to its end, so that no row that the
 * statement writes can be seen by it, and turns each row into changes:
 * INSERT, UPDATE or DELETE of a row of a shard.  Changes wait in tuplestores,
 * one per kind and shard.  Then they are applied (modify_apply.c), deletes
 * first; an UPDATE that moves a row is a DELETE and an INSERT.
 *
 * The rows to be updated or deleted were locked when the child's scan read
 * them, so they are as the child saw them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "executor/modify.h"
#include "executor/scan.h"
#include "sharding/hash.h"

/* A row of the target that the statement has already changed. */
typedef struct RowIdentity
{
	int			shard;
	ItemPointerData ctid;
} RowIdentity;

static void modify_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *modify_exec(CustomScanState *node);
static void modify_end(CustomScanState *node);
static void modify_rescan(CustomScanState *node);
static void modify_explain(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomExecMethods modify_exec_methods = {
	.CustomName = "DistributedModify",
	.BeginCustomScan = modify_begin,
	.ExecCustomScan = modify_exec,
	.EndCustomScan = modify_end,
	.ReScanCustomScan = modify_rescan,
	.ExplainCustomScan = modify_explain,
};

static Node *
modify_create(CustomScan *node)
{
	DistModifyState *state = (DistModifyState *) newNode(sizeof(DistModifyState),
														 T_CustomScanState);

	state->css.methods = &modify_exec_methods;
	modify_plan_unpack(node, &state->plan);
	return (Node *) state;
}

/* The descriptor of changes: fixed columns, and those that RETURNING takes from the child. */
static TupleDesc
make_change_desc(DistModifyState *state, TupleDesc child_desc)
{
	List	   *resnos = state->plan.column_resnos;
	TupleDesc	desc = CreateTemplateTupleDesc(CHANGE_OTHERS + list_length(resnos));

	TupleDescInitEntry(desc, CHANGE_SEQUENCE + 1, "sequence", INT8OID, -1, 0);
	TupleDescInitEntry(desc, CHANGE_IDENTITY + 1, "identity",
					   state->table->kind == DIST_REFERENCE ? TEXTOID : TIDOID, -1, 0);
	TupleDescInitEntry(desc, CHANGE_NEW_ROW + 1, "new_row", state->row_type, -1, 0);
	for (int i = 0; i < list_length(resnos); i++)
	{
		int			resno = list_nth_int(resnos, i);

		/* columns that do not come from the child take a place all the same */
		TupleDescInitEntry(desc, CHANGE_OTHERS + i + 1, NULL,
						   resno ? TupleDescAttr(child_desc, resno - 1)->atttypid : INT4OID, -1, 0);
	}
	return desc;
}

/* The scan tuple followed by the sequence number. */
static TupleDesc
make_output_desc(TupleDesc scan_desc)
{
	TupleDesc	desc = CreateTemplateTupleDesc(scan_desc->natts + 1);

	for (int i = 0; i < scan_desc->natts; i++)
		TupleDescCopyEntry(desc, i + 1, scan_desc, i + 1);
	TupleDescInitEntry(desc, scan_desc->natts + 1, "sequence", INT8OID, -1, 0);
	return desc;
}

static void
init_changes(DistModifyState *state, ChangeList *changes, const char *text)
{
	changes->text = text;
	changes->has_ordinal = true;
	changes->returns = state->plan.has_returning;
	changes->counts = true;
	changes->stores = palloc0(sizeof(Tuplestorestate *) * Max(state->table->nshards, 1));
}

static void
init_merge_actions(DistModifyState *state)
{
	ListCell   *cell;

	foreach(cell, state->plan.actions)
	{
		ModifyAction *action = palloc0(sizeof(ModifyAction));

		modify_action_unpack(lfirst(cell), action);
		state->actions = lappend(state->actions, action);
	}
}

static void
modify_begin(CustomScanState *node, EState *estate, int eflags)
{
	DistModifyState *state = (DistModifyState *) node;
	CustomScan *plan_node = (CustomScan *) node->ss.ps.plan;
	Relation	relation = table_open(state->plan.relid, NoLock);
	HASHCTL		control = {.keysize = sizeof(RowIdentity),.entrysize = sizeof(RowIdentity)};

	state->context = CurrentMemoryContext;
	state->table = metadata_require(state->plan.relid);
	state->row_desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	state->row_type = relation->rd_rel->reltype;
	table_close(relation, NoLock);

	state->child = ExecInitNode(linitial(plan_node->custom_plans), estate, eflags);
	node->custom_ps = list_make1(state->child);
	state->expr_states = ExecInitExprList(plan_node->custom_exprs, &node->ss.ps);
	state->change_desc = make_change_desc(state, ExecGetResultType(state->child));
	state->output_desc = make_output_desc(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
	init_changes(state, &state->inserts, state->plan.insert_text);
	init_changes(state, &state->updates, state->plan.update_text);
	init_changes(state, &state->deletes, state->plan.delete_text);
	state->inserts.has_ordinal = false;
	if (state->plan.moves_rows)
		state->deletes.returns = false;
	init_merge_actions(state);
	control.hcxt = CurrentMemoryContext;
	state->seen = hash_create("citus rows changed", 256, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	/* a write in a CTE runs to its end even if its rows are not read */
	if (!state->plan.can_set_tag && !(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		estate->es_auxmodifytables = lcons(node, estate->es_auxmodifytables);
}

/* The shard of a distribution value, which must not be null. */
static int
shard_of_value(DistModifyState *state, Datum value, bool isnull)
{
	if (state->table->kind != DIST_HASH)
		return 0;
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in distribution column \"%s\" of table \"%s\"",
						get_attname(state->plan.relid, state->table->dist_attno, false),
						get_rel_name(state->plan.relid)),
				 errdetail("The value of the distribution column decides which shard a row belongs to.")));
	return shard_index_of_value(state->table, value);
}

/* Keeps a change until all of the child's rows are read.  values and nulls are of the new row; NULL for a DELETE. */
static void
add_change(DistModifyState *state, ChangeList *changes, int shard, Datum identity,
		   bool has_identity, Datum *values, bool *nulls, TupleTableSlot *child)
{
	int			natts = state->change_desc->natts;
	Datum	   *change = palloc0(sizeof(Datum) * natts);
	bool	   *change_nulls = palloc(sizeof(bool) * natts);
	MemoryContext old_context;

	memset(change_nulls, true, sizeof(bool) * natts);
	change[CHANGE_SEQUENCE] = Int64GetDatum(state->sequence);
	change_nulls[CHANGE_SEQUENCE] = false;
	change[CHANGE_IDENTITY] = identity;
	change_nulls[CHANGE_IDENTITY] = !has_identity;
	if (values != NULL)
	{
		change[CHANGE_NEW_ROW] = heap_copy_tuple_as_datum(heap_form_tuple(state->row_desc, values, nulls),
														  state->row_desc);
		change_nulls[CHANGE_NEW_ROW] = false;
	}
	for (int i = CHANGE_OTHERS; i < natts; i++)
	{
		int			resno = list_nth_int(state->plan.column_resnos, i - CHANGE_OTHERS);

		if (resno > 0)
			change[i] = slot_getattr(child, resno, &change_nulls[i]);
	}

	old_context = MemoryContextSwitchTo(state->context);
	if (changes->stores[shard] == NULL)
		changes->stores[shard] = tuplestore_begin_heap(false, false, work_mem);
	tuplestore_putvalues(changes->stores[shard], state->change_desc, change, change_nulls);
	changes->nchanges++;
	MemoryContextSwitchTo(old_context);
}

/* False if the row was already changed by this statement. */
static bool
first_change(DistModifyState *state, int shard, ItemPointer ctid)
{
	RowIdentity identity;
	bool		found;

	memset(&identity, 0, sizeof(identity));
	identity.shard = shard;
	ItemPointerCopy(ctid, &identity.ctid);
	(void) hash_search(state->seen, &identity, HASH_ENTER, &found);
	return !found;
}

/* How the row's node finds the row: by ctid, or as text in a reference table. */
static Datum
row_identity(DistModifyState *state, TupleTableSlot *child, Datum ctid)
{
	bool		isnull;

	if (state->table->kind != DIST_REFERENCE)
		return ctid;
	return CStringGetTextDatum(OidOutputFunctionCall(F_RECORD_OUT,
													 slot_getattr(child, state->plan.row_resno,
																  &isnull)));
}

/* The old row's columns, all null if it isn't known. */
static void
deform_old_row(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	bool		isnull = true;
	Datum		row = 0;
	HeapTupleHeader header;
	HeapTupleData tuple;

	memset(nulls, true, sizeof(bool) * state->row_desc->natts);
	if (state->plan.row_resno > 0)
		row = slot_getattr(child, state->plan.row_resno, &isnull);
	if (isnull)
		return;
	header = DatumGetHeapTupleHeader(row);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, state->row_desc, values, nulls);
}

/* An updated row goes to its shard, or moves to another. */
static void
add_update(DistModifyState *state, TupleTableSlot *child, int shard, Datum ctid,
		   Datum *values, bool *nulls)
{
	int			new_shard = shard;
	Datum		identity = row_identity(state, child, ctid);

	if (state->plan.moves_rows)
		new_shard = shard_of_value(state, values[state->table->dist_attno - 1],
								   nulls[state->table->dist_attno - 1]);
	if (new_shard == shard && !state->plan.replaces_rows)
		add_change(state, &state->updates, shard, identity, true, values, nulls, child);
	else
	{
		add_change(state, &state->deletes, shard, identity, true, NULL, NULL, child);
		add_change(state, &state->inserts, new_shard, 0, false, values, nulls, child);
	}
}

/* Where the child's row stands: shard and ctid of the target's row.  False if there is none. */
static bool
locate_row(DistModifyState *state, TupleTableSlot *child, int *shard, Datum *ctid)
{
	bool		isnull;
	Datum		value = 0;

	*ctid = slot_getattr(child, state->plan.ctid_resno, &isnull);
	if (isnull)
		return false;
	if (state->plan.dist_resno > 0)
		value = slot_getattr(child, state->plan.dist_resno, &isnull);
	*shard = shard_of_value(state, value, isnull);
	return true;
}

static void
collect_insert(DistModifyState *state, TupleTableSlot *child)
{
	int			natts = state->row_desc->natts;
	AttrNumber	dist = state->table->dist_attno;
	int			shard;

	slot_getallattrs(child);
	shard = shard_of_value(state, dist ? child->tts_values[dist - 1] : 0,
						   dist ? child->tts_isnull[dist - 1] : false);
	Assert(child->tts_tupleDescriptor->natts >= natts);
	for (int i = 0; i < natts; i++)
	{
		if (TupleDescAttr(state->row_desc, i)->attisdropped)
			child->tts_isnull[i] = true;
	}
	add_change(state, &state->inserts, shard, 0, false, child->tts_values, child->tts_isnull, child);
}

static void
collect_update(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	int			shard;
	Datum		ctid;
	int			resno = 0;
	ListCell   *cell;

	if (!locate_row(state, child, &shard, &ctid) ||
		!first_change(state, shard, (ItemPointer) DatumGetPointer(ctid)))
		return;
	deform_old_row(state, child, values, nulls);
	foreach(cell, state->plan.update_colnos)
	{
		AttrNumber	attno = lfirst_int(cell);

		values[attno - 1] = slot_getattr(child, ++resno, &nulls[attno - 1]);
	}
	add_update(state, child, shard, ctid, values, nulls);
}

static void
collect_delete(DistModifyState *state, TupleTableSlot *child)
{
	int			shard;
	Datum		ctid;

	if (locate_row(state, child, &shard, &ctid) &&
		first_change(state, shard, (ItemPointer) DatumGetPointer(ctid)))
		add_change(state, &state->deletes, shard, row_identity(state, child, ctid), true,
				   NULL, NULL, child);
}

/* Evaluates an action's values over the child's row, into values and nulls. */
static void
evaluate_action(DistModifyState *state, ModifyAction *action, ExprContext *econtext,
				Datum *values, bool *nulls)
{
	int			position = action->first_target;
	ListCell   *cell;

	foreach(cell, action->colnos)
	{
		AttrNumber	attno = lfirst_int(cell);

		values[attno - 1] = ExecEvalExpr((ExprState *) list_nth(state->expr_states, position++),
										 econtext, &nulls[attno - 1]);
	}
}

/* Does what a MERGE action says about the child's row. */
static void
run_action(DistModifyState *state, ModifyAction *action, TupleTableSlot *child,
		   ExprContext *econtext, Datum *values, bool *nulls)
{
	int			shard;
	Datum		ctid;

	if (action->command == CMD_NOTHING)
		return;
	if (action->command == CMD_INSERT)
	{
		AttrNumber	dist = state->table->dist_attno;

		memset(nulls, true, sizeof(bool) * state->row_desc->natts);
		evaluate_action(state, action, econtext, values, nulls);
		shard = shard_of_value(state, dist ? values[dist - 1] : 0, dist ? nulls[dist - 1] : false);
		add_change(state, &state->inserts, shard, 0, false, values, nulls, child);
		return;
	}

	(void) locate_row(state, child, &shard, &ctid);
	if (!first_change(state, shard, (ItemPointer) DatumGetPointer(ctid)))
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("MERGE command cannot affect row a second time"),
				 errhint("Ensure that not more than one source row matches any one target row.")));
	if (action->command == CMD_DELETE)
	{
		add_change(state, &state->deletes, shard, row_identity(state, child, ctid), true,
				   NULL, NULL, child);
		return;
	}
	deform_old_row(state, child, values, nulls);
	evaluate_action(state, action, econtext, values, nulls);
	add_update(state, child, shard, ctid, values, nulls);
}

/* Whether the n-th expression is true, not false or null. */
static bool
is_true(DistModifyState *state, int n, ExprContext *econtext)
{
	bool		isnull;
	Datum		value = ExecEvalExpr((ExprState *) list_nth(state->expr_states, n), econtext, &isnull);

	return !isnull && DatumGetBool(value);
}

static void
collect_merge(DistModifyState *state, TupleTableSlot *child, Datum *values, bool *nulls)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *scan_slot = state->css.ss.ss_ScanTupleSlot;
	bool		not_matched;
	ListCell   *cell;

	/* expressions are compiled for the node's own, virtual, scan slot */
	slot_getallattrs(child);
	ExecClearTuple(scan_slot);
	memcpy(scan_slot->tts_values, child->tts_values, sizeof(Datum) * child->tts_nvalid);
	memcpy(scan_slot->tts_isnull, child->tts_isnull, sizeof(bool) * child->tts_nvalid);
	ExecStoreVirtualTuple(scan_slot);
	econtext->ecxt_scantuple = scan_slot;

	(void) slot_getattr(child, state->plan.ctid_resno, &not_matched);
	foreach(cell, state->actions)
	{
		ModifyAction *action = lfirst(cell);

		if (action->matched == not_matched)
			continue;
		if (action->qual >= 0 && !is_true(state, action->qual, econtext))
			continue;
		run_action(state, action, child, econtext, values, nulls);
		break;
	}
}

/* Reads the child to its end. */
static void
collect_changes(DistModifyState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	Datum	   *values = palloc0(sizeof(Datum) * Max(state->row_desc->natts, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(state->row_desc->natts, 1));

	for (;;)
	{
		TupleTableSlot *child = ExecProcNode(state->child);
		MemoryContext old_context;

		if (TupIsNull(child))
			break;
		ResetExprContext(econtext);
		old_context = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		switch (state->plan.command)
		{
			case CMD_INSERT:
				collect_insert(state, child);
				break;
			case CMD_UPDATE:
				collect_update(state, child, values, nulls);
				break;
			case CMD_DELETE:
				collect_delete(state, child);
				break;
			default:
				collect_merge(state, child, values, nulls);
				break;
		}
		state->sequence++;
		MemoryContextSwitchTo(old_context);
	}
}

/* Sorts RETURNING's rows as the child's rows came. */
static void
begin_output(DistModifyState *state)
{
	AttrNumber	column = state->output_desc->natts;
	Oid			operator = Int8LessOperator;
	Oid			collation = InvalidOid;
	bool		nulls_first = false;

	state->output = tuplesort_begin_heap(state->output_desc, 1, &column, &operator, &collation,
										 &nulls_first, work_mem, NULL, TUPLESORT_NONE);
	state->output_slot = MakeSingleTupleTableSlot(state->output_desc, &TTSOpsMinimalTuple);
}

/* Does all the work. */
static void
run_modify(DistModifyState *state)
{
	MemoryContext old_context = MemoryContextSwitchTo(state->context);

	if (state->table->kind == DIST_REFERENCE)
		reference_lock(state->plan.relid,
					   state->plan.command != CMD_INSERT || state->plan.one_batch);
	if (state->plan.has_returning)
		begin_output(state);
	collect_changes(state);
	if (state->css.ss.ps.state->es_plannedstmt->hasModifyingCTE)
		scan_prefetch_all(state->css.ss.ps.state);
	state->deletes.counts = !state->plan.moves_rows || state->plan.command == CMD_MERGE;
	modify_apply(state, &state->deletes);
	modify_apply(state, &state->updates);
	modify_apply(state, &state->inserts);
	if (state->output != NULL)
		tuplesort_performsort(state->output);
	state->done = true;
	MemoryContextSwitchTo(old_context);
}

/* The written row, in the scan slot, must satisfy the check options of the views it was written through. */
static void
check_row(DistModifyState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int			n = state->plan.nconflict_params;
	ListCell   *cell;

	econtext->ecxt_scantuple = state->css.ss.ss_ScanTupleSlot;
	foreach(cell, state->plan.check_views)
	{
		if (!is_true(state, n++, econtext))
			ereport(ERROR,
					(errcode(ERRCODE_WITH_CHECK_OPTION_VIOLATION),
					 errmsg("new row violates check option for view \"%s\"",
							strVal(lfirst(cell)))));
	}
}

static TupleTableSlot *
modify_next(ScanState *node)
{
	DistModifyState *state = (DistModifyState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	int			natts = slot->tts_tupleDescriptor->natts;

	if (!state->done)
		run_modify(state);
	ExecClearTuple(slot);
	if (state->output == NULL ||
		!tuplesort_gettupleslot(state->output, true, false, state->output_slot, NULL))
		return slot;

	slot_getallattrs(state->output_slot);
	memcpy(slot->tts_values, state->output_slot->tts_values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, state->output_slot->tts_isnull, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);
	if (state->plan.check_views != NIL)
		check_row(state);
	return slot;
}

static bool
modify_recheck(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
modify_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, modify_next, modify_recheck);
}

static void
end_stores(DistModifyState *state, ChangeList *changes)
{
	for (int i = 0; i < Max(state->table->nshards, 1); i++)
	{
		if (changes->stores[i] != NULL)
			tuplestore_end(changes->stores[i]);
		changes->stores[i] = NULL;
	}
}

static void
modify_end(CustomScanState *node)
{
	DistModifyState *state = (DistModifyState *) node;

	end_stores(state, &state->inserts);
	end_stores(state, &state->updates);
	end_stores(state, &state->deletes);
	if (state->output != NULL)
		tuplesort_end(state->output);
	if (state->output_slot != NULL)
		ExecDropSingleTupleTableSlot(state->output_slot);
	ExecEndNode(state->child);
}

static void
modify_rescan(CustomScanState *node)
{
	/* like ModifyTable: a write is never executed twice */
	elog(ERROR, "DistributedModify can't be rescanned");
}

static void
modify_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	DistModifyState *state = (DistModifyState *) node;
	static const char *const names[] = {"Unknown", "Select", "Update", "Insert", "Delete", "Merge"};

	ExplainPropertyText("Operation",
						state->plan.command <= CMD_MERGE ? names[state->plan.command] : names[0], es);
	ExplainPropertyText("Target", get_rel_name(state->plan.relid), es);
}

void
modify_init(void)
{
	dist_modify_methods.CreateCustomScanState = modify_create;
	RegisterCustomScanMethods(&dist_modify_methods);
}
