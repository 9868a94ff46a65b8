/*-------------------------------------------------------------------------
 *
 * fire_triggers.c
 *	  The triggers of a distributed or reference table, for one statement.
 *
 * Triggers fire on the initiator, for the logical table, as on a single
 * server: once, in the server's order, in the client's session and
 * transaction.  Shards have no triggers of users, and a task fires none.
 *
 * The server's own functions fire them.  These take a ResultRelInfo, and rows
 * that are either in the table or, for foreign tables, in memory.  Our rows
 * are in memory, so these functions get a copy of the logical table's relcache
 * entry that is marked as a foreign table.  Queued events and transition
 * tables belong to the running statement, whose end fires the queued triggers.
 *
 * Deferrable triggers may fire at the end of the transaction, when the rows in
 * memory have been freed.  For a table with such triggers, the rows for AFTER
 * ROW triggers are inserted into its own storage, which is empty otherwise,
 * and deleted at once.  So no session sees them, and the server fetches them
 * when it fires.  So SET CONSTRAINTS, subtransactions and the order of events
 * are the server's own.
 *
 * Statements in a trigger function must see the effects of earlier rows.  So
 * when a BEFORE ROW trigger starts a statement, pending changes are applied
 * first, and from then on before each call.  (In a subtransaction of the
 * trigger that isn't possible, since its rollback would undo them.)
 *
 * A partitioned table's rows fire the triggers of their partition, most of
 * them clones of its own.  Each partition has its own TriggerRun, which
 * partition_triggers.c chooses.
 *
 * The triggers of global indexes are called before those of users, which may
 * look for rows by their keys.
 *
 * Internal triggers (foreign keys, deferred uniqueness) are left out: each
 * shard or copy of a table has its own.  Those of foreign keys between rows of
 * different nodes fire nowhere: their triggers are those of global indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "catalog/global_key.h"
#include "compat/row_triggers.h"
#include "executor/fire_triggers.h"
#include "executor/partition_triggers.h"

/* Rows that the triggers of global indexes have not got yet; NULL: none. */
typedef struct ChangedRows
{
	Tuplestorestate *old;
	Tuplestorestate *new;
} ChangedRows;

struct TriggerRun
{
	CmdType		command;		/* the statement's */
	int			commands;		/* COMMAND_BITs of what it may do */
	List	   *columns;		/* that its UPDATE assigns */
	EState	   *statement;		/* the statement's, whose end fires what is
								 * queued */
	MemoryContext context;		/* the run's own */
	PartitionTriggers *partitions;	/* of a partitioned table, else NULL */
	Relation	rel;			/* the logical table, open */
	bool		stores_rows;	/* it has deferrable triggers */
	RelationData foreign;		/* else, the relation that triggers see */
	FormData_pg_class form;
	ResultRelInfo *info;
	EState	   *estate;			/* our own: the statement's range table may
								 * lack the table */
	TupleTableSlot *slot;		/* a new row, for BEFORE ROW triggers to
								 * change */
	TupleTableSlot *stored;		/* as it is stored, for AFTER ROW triggers */
	TransitionCaptureState *capture;
	TransitionCaptureState *update_capture; /* of ON CONFLICT DO UPDATE */
	TriggerDesc *indexes;		/* those of global indexes and foreign keys;
								 * NULL: none */
	List	   *noted;			/* of these, those that have noted keys that
								 * others are to check */
	bool		has_entries;	/* for inserted rows, they need not be
								 * called */
	ChangedRows inserted;		/* for these */
	ChangedRows updated;
	ChangedRows deleted;
	ChangedRows moved;			/* to other partitions */
	bool		computes_columns;	/* the table has generated columns */
	bool		calling;		/* BEFORE ROW triggers are being called */
	bool		queries;		/* one of them has run statements */
	int			nest_level;		/* of transactions, where the statement runs */
	TriggerApply apply;
	void	   *apply_arg;
};

/* The run whose BEFORE ROW triggers are being called, or NULL. */
static TriggerRun *called_run = NULL;

/* Whose triggers. */
typedef enum TriggerOwner
{
	TRIGGERS_OF_USERS,
	TRIGGERS_OF_INDEXES,		/* global ones, and global foreign keys */
	TRIGGERS_OF_SERVER,
	TRIGGERS_REPLACED			/* the server's, of global foreign keys */
} TriggerOwner;

static TriggerOwner
owner_of_trigger(const Trigger *trigger)
{
	if (!trigger->tgisinternal)
		return TRIGGERS_OF_USERS;
	if (trigger_is_of_global_index(true, trigger->tgname) || trigger_is_of_global_key(true, trigger->tgname))
		return TRIGGERS_OF_INDEXES;
	return constraint_is_global(trigger->tgconstraint) ? TRIGGERS_REPLACED : TRIGGERS_OF_SERVER;
}

/* Removes other triggers. */
static void
keep_triggers(TriggerDesc *triggers, TriggerOwner owner)
{
	int			count = 0;

	for (int i = 0; i < triggers->numtriggers; i++)
	{
		if (owner_of_trigger(&triggers->triggers[i]) == owner)
			triggers->triggers[count++] = triggers->triggers[i];
	}
	triggers->numtriggers = count;
}

/* Lets only the remaining triggers ask for transition tables. */
static void
note_transition_tables(TriggerDesc *triggers)
{
	triggers->trig_insert_new_table = triggers->trig_update_old_table = false;
	triggers->trig_update_new_table = triggers->trig_delete_old_table = false;
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		bool		old = TRIGGER_USES_TRANSITION_TABLE(trigger->tgoldtable);
		bool		new = TRIGGER_USES_TRANSITION_TABLE(trigger->tgnewtable);

		triggers->trig_insert_new_table |= TRIGGER_FOR_INSERT(trigger->tgtype) && new;
		triggers->trig_update_old_table |= TRIGGER_FOR_UPDATE(trigger->tgtype) && old;
		triggers->trig_update_new_table |= TRIGGER_FOR_UPDATE(trigger->tgtype) && new;
		triggers->trig_delete_old_table |= TRIGGER_FOR_DELETE(trigger->tgtype) && old;
	}
}

/*
 * Adds the triggers that check what others have noted, for the server to find
 * them when it fires, but not when rows change; and notes whether there are
 * triggers for rows that change.
 */
static void
add_checks(TriggerDesc *triggers, const TriggerDesc *indexes)
{
	triggers->trig_insert_after_row = triggers->trig_update_after_row = triggers->trig_delete_after_row = false;
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		int16		type = triggers->triggers[i].tgtype;

		if (!TRIGGER_FOR_ROW(type) || !TRIGGER_FOR_AFTER(type))
			continue;
		triggers->trig_insert_after_row |= TRIGGER_FOR_INSERT(type) != 0;
		triggers->trig_update_after_row |= TRIGGER_FOR_UPDATE(type) != 0;
		triggers->trig_delete_after_row |= TRIGGER_FOR_DELETE(type) != 0;
	}
	for (int i = 0; i < indexes->numtriggers; i++)
	{
		if (!TRIGGER_FOR_ROW(indexes->triggers[i].tgtype))
			continue;
		triggers->triggers[triggers->numtriggers] = indexes->triggers[i];
		triggers->triggers[triggers->numtriggers++].tgtype = 0;
	}
}

static bool
has_deferrable(TriggerDesc *triggers)
{
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		if (triggers->triggers[i].tgdeferrable)
			return true;
	}
	return false;
}

/*
 * Sets the copy of the table's relcache entry, marked as a foreign table, that
 * triggers get.  The relcache may rebuild the table's entry meanwhile, so
 * cached fields must be NULL in the copy, not stale.  The tuple descriptor
 * lives at least until the end of the transaction.
 */
static void
init_foreign(TriggerRun *run)
{
	RelationData *foreign = &run->foreign;
	Relation	rel = run->rel;

	run->form = *rel->rd_rel;
	run->form.relkind = RELKIND_FOREIGN_TABLE;
	foreign->rd_rel = &run->form;
	foreign->rd_att = rel->rd_att;
	foreign->rd_id = rel->rd_id;
	foreign->rd_lockInfo = rel->rd_lockInfo;
	foreign->rd_backend = rel->rd_backend;
	foreign->rd_islocaltemp = rel->rd_islocaltemp;
	foreign->rd_isvalid = true;
	foreign->rd_refcnt = 1;
	foreign->trigdesc = run->info->ri_TrigDesc;
}

/*
 * Sets info, with the triggers of users (there may be none), of the table or
 * of a relation that stands for it.
 */
static void
init_info(TriggerRun *run, ResultRelInfo *root, int instrument)
{
	run->info = makeNode(ResultRelInfo);
	InitResultRelInfo(run->info, run->rel, 1, root, instrument);
	run->indexes = CopyTriggerDesc(run->info->ri_TrigDesc); /* NULL without triggers */
	if (run->info->ri_TrigDesc == NULL)
		run->info->ri_TrigDesc = palloc0(sizeof(TriggerDesc));
	if (run->indexes != NULL)
		keep_triggers(run->indexes, TRIGGERS_OF_INDEXES);
	keep_triggers(run->info->ri_TrigDesc, TRIGGERS_OF_USERS);
	if (run->indexes == NULL || run->indexes->numtriggers == 0)
		run->indexes = NULL;
	else
	{
		note_transition_tables(run->info->ri_TrigDesc);
		add_checks(run->info->ri_TrigDesc, run->indexes);
	}
	run->stores_rows = has_deferrable(run->info->ri_TrigDesc);
	if (run->stores_rows)
		return;
	init_foreign(run);
	run->info->ri_RelationDesc = &run->foreign;
}

/*
 * The end of the statement looks here for the relations of queued events; for
 * partitions, it needs entries without a partitioned table.
 */
static ResultRelInfo *
info_without_root(const ResultRelInfo *info)
{
	ResultRelInfo *result = makeNode(ResultRelInfo);

	*result = *info;
	result->ri_RootResultRelInfo = NULL;
	return result;
}

/*
 * Prepares a run's relation; root is the run of the partitioned table that it
 * is a partition of, or NULL, and columns are those that an UPDATE assigns.
 */
static void
init_run(TriggerRun *run, Oid relid, const TriggerRun *root, List *columns)
{
	TupleConstr *constr;
	Bitmapset  *updated = NULL;
	List	   *assigned = root != NULL && COMPAT_MAPS_UPDATED_COLUMNS ? root->columns : columns;

	run->columns = columns;
	run->rel = table_open(relid, RowExclusiveLock);
	init_info(run, root == NULL ? NULL : root->info, run->statement->es_instrument);
	(void) ExecGetChildToRootMap(run->info);	/* made once, in this memory
												 * context */
	constr = RelationGetDescr(run->rel)->constr;
	run->computes_columns = constr != NULL && constr->has_generated_stored;

	foreach_int(column, assigned)
		updated = bms_add_member(updated, column - FirstLowInvalidHeapAttributeNumber);
	run->estate = CreateExecutorState();
	compat_set_target(run->estate, relid, updated);
	run->slot = ExecInitExtraTupleSlot(run->estate, RelationGetDescr(run->rel), &TTSOpsHeapTuple);
	run->stored = ExecInitExtraTupleSlot(run->estate, RelationGetDescr(run->rel), &TTSOpsHeapTuple);

	/*
	 * finds out which generated columns an UPDATE changes, before anything
	 * else prepares their expressions
	 */
	if (run->computes_columns && (run->commands & COMMAND_BIT(CMD_UPDATE)))
	{
		bool		before_update = run->info->ri_TrigDesc->trig_update_before_row;

		if (run->commands & COMMAND_BIT(CMD_INSERT))
			run->info->ri_TrigDesc->trig_update_before_row = true;
		(void) ExecGetExtraUpdatedCols(run->info, run->estate);
		run->info->ri_TrigDesc->trig_update_before_row = before_update;
	}

	run->statement->es_opened_result_relations = lappend(run->statement->es_opened_result_relations,
														 root == NULL ? run->info : info_without_root(run->info));
}

TriggerRun *
triggers_begin(EState *estate, Oid relid, CmdType command, int commands, bool rows, List *columns, TriggerApply apply,
			   void *apply_arg)
{
	TriggerRun *run = palloc0(sizeof(TriggerRun));

	run->command = command;
	run->commands = commands;
	run->statement = estate;
	run->context = CurrentMemoryContext;
	run->nest_level = GetCurrentTransactionNestLevel();
	run->apply = apply;
	run->apply_arg = apply_arg;
	init_run(run, relid, NULL, columns);
	run->capture = MakeTransitionCaptureState(run->info->ri_TrigDesc, relid, command);
	if (command == CMD_INSERT && (commands & COMMAND_BIT(CMD_UPDATE)))
		run->update_capture = MakeTransitionCaptureState(run->info->ri_TrigDesc, relid, CMD_UPDATE);
	if (rows && run->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		run->partitions = partition_triggers_begin(run, run->rel, columns);
	return run;
}

TriggerRun *
triggers_begin_for_partition(const TriggerRun *root, Oid relid, List *columns)
{
	MemoryContext old_context = MemoryContextSwitchTo(root->context);
	TriggerRun *run = palloc0(sizeof(TriggerRun));

	run->command = root->command;
	run->commands = root->commands;
	run->statement = root->statement;
	run->context = root->context;
	run->nest_level = root->nest_level;
	run->has_entries = root->has_entries;
	run->apply = root->apply;
	run->apply_arg = root->apply_arg;
	init_run(run, relid, root, columns);
	run->capture = root->capture;
	run->update_capture = root->update_capture;
	MemoryContextSwitchTo(old_context);
	return run;
}

void
triggers_end(TriggerRun *run)
{
	if (run->partitions != NULL)
		partition_triggers_end(run->partitions);
	ExecResetTupleTable(run->estate->es_tupleTable, false);
	run->estate->es_tupleTable = NIL;
	list_free(run->foreign.rd_indexlist);	/* a function in C may have asked
											 * for it */
	if (run->foreign.rd_partcheckcxt != NULL)
		MemoryContextDelete(run->foreign.rd_partcheckcxt);
	table_close(run->rel, NoLock);
}

void
triggers_before_statement(TriggerRun *run)
{
	if (run->commands & COMMAND_BIT(CMD_INSERT))
		ExecBSInsertTriggers(run->estate, run->info);
	if (run->commands & COMMAND_BIT(CMD_UPDATE))
		ExecBSUpdateTriggers(run->estate, run->info);
	if (run->commands & COMMAND_BIT(CMD_DELETE))
		ExecBSDeleteTriggers(run->estate, run->info);
}

/* Remembers a trigger that has noted keys; rows have memory of their own. */
static void
note_trigger(TriggerRun *run, Trigger *trigger)
{
	MemoryContext old_context = MemoryContextSwitchTo(run->context);

	run->noted = list_append_unique_ptr(run->noted, trigger);
	MemoryContextSwitchTo(old_context);
}

/*
 * Whether a row that moves to another partition is one that is updated to a
 * trigger: to those of foreign keys to the partitioned table.
 */
static bool
trigger_follows_row(const Trigger *trigger)
{
	return trigger_is_of_global_key(true, trigger->tgname) &&
		foreign_key_whole(trigger->tgconstraint) != trigger->tgconstraint;
}

/*
 * Calls the triggers of global indexes and foreign keys for a command, and
 * forgets its rows.
 */
static void
call_index_triggers(TriggerRun *run, ChangedRows *rows, TriggerEvent event, int16 type)
{
	if (rows->old == NULL && rows->new == NULL)
		return;
	for (int i = 0; i < run->indexes->numtriggers; i++)
	{
		Trigger    *trigger = &run->indexes->triggers[i];
		bool		follows = rows == &run->moved && trigger_follows_row(trigger);
		TriggerData data = {.type = T_TriggerData, .tg_event = (follows ? TRIGGER_EVENT_UPDATE : event) | TRIGGER_EVENT_AFTER,
							.tg_relation = run->rel, .tg_trigger = trigger, .tg_oldtable = rows->old,
							.tg_newtable = type == TRIGGER_TYPE_DELETE && !follows ? NULL : rows->new};
		FmgrInfo	function;

		LOCAL_FCINFO(call, 0);

		if (!TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_STATEMENT, TRIGGER_TYPE_AFTER, follows ? TRIGGER_TYPE_UPDATE : type) ||
			trigger->tgenabled == TRIGGER_DISABLED ||
			(run->has_entries && rows == &run->inserted && !trigger_is_of_global_key(true, trigger->tgname)))
			continue;
		fmgr_info(trigger->tgfoid, &function);
		InitFunctionCallInfoData(*call, &function, 0, InvalidOid, (void *) &data, NULL);
		if (FunctionCallInvoke(call) != (Datum) 0)
			note_trigger(run, trigger);
	}
	if (rows->old != NULL)
		tuplestore_end(rows->old);
	if (rows->new != NULL)
		tuplestore_end(rows->new);
	rows->old = rows->new = NULL;
}

/* Before the triggers of users fire, which may look for rows by their keys. */
void
triggers_write_entries(TriggerRun *run)
{
	if (run->partitions != NULL)
		partition_write_entries(run->partitions);
	if (run->indexes == NULL)
		return;
	call_index_triggers(run, &run->deleted, TRIGGER_EVENT_DELETE, TRIGGER_TYPE_DELETE);
	call_index_triggers(run, &run->moved, TRIGGER_EVENT_DELETE, TRIGGER_TYPE_DELETE);
	call_index_triggers(run, &run->updated, TRIGGER_EVENT_UPDATE, TRIGGER_TYPE_UPDATE);
	call_index_triggers(run, &run->inserted, TRIGGER_EVENT_INSERT, TRIGGER_TYPE_INSERT);
}

void
triggers_has_entries(TriggerRun *run)
{
	run->has_entries = true;
}

/* A store of rows for them. */
static Tuplestorestate *
row_store(TriggerRun *run, Tuplestorestate **store)
{
	MemoryContext old_context;

	if (*store == NULL)
	{
		old_context = MemoryContextSwitchTo(run->context);
		*store = tuplestore_begin_heap(true, false, work_mem);
		MemoryContextSwitchTo(old_context);
	}
	return *store;
}

/* Applies the changes that wait, and writes their entries. */
static bool
apply_changes(TriggerRun *run)
{
	bool		applied = run->apply(run->apply_arg);

	triggers_write_entries(run);
	return applied;
}

static ItemPointerData lend_storage(TriggerRun *run, HeapTuple row);

/* Whether a trigger is to check keys that others have noted. */
static bool
is_to_check(const TriggerRun *run, const Trigger *trigger)
{
	foreach_ptr(Trigger, noted, run->noted)
		if (TRIGGER_FOR_ROW(trigger->tgtype) && trigger->tgconstraint == noted->tgconstraint &&
			strcmp(trigger->tgargs[0], noted->tgargs[0]) == 0)
			return true;
	return false;
}

/*
 * Queues the triggers that check noted keys, for an empty row: the server
 * fires them at the end of the statement, or when their constraint's mode says
 * so.
 */
static void
queue_checks(TriggerRun *run)
{
	TupleDesc	desc = RelationGetDescr(run->rel);
	ResultRelInfo *info = makeNode(ResultRelInfo);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);
	HeapTuple	row;

	memset(nulls, true, sizeof(bool) * desc->natts);
	row = heap_form_tuple(desc, palloc0(sizeof(Datum) * desc->natts), nulls);
	*info = *run->info;
	info->ri_TrigDesc = palloc0(sizeof(TriggerDesc));
	info->ri_TrigDesc->trig_insert_after_row = true;
	info->ri_TrigDesc->triggers = palloc(sizeof(Trigger) * run->indexes->numtriggers);
	for (int i = 0; i < run->indexes->numtriggers; i++)
		if (is_to_check(run, &run->indexes->triggers[i]))
			info->ri_TrigDesc->triggers[info->ri_TrigDesc->numtriggers++] = run->indexes->triggers[i];
	ExecForceStoreHeapTuple(row, run->stored, false);
	run->stored->tts_tid = lend_storage(run, row);
	ExecARInsertTriggers(run->estate, info, run->stored, NIL, NULL);
	run->noted = NIL;
}

void
triggers_queue_checks(TriggerRun *run)
{
	if (run->partitions != NULL)
		partition_queue_checks(run->partitions);
	if (run->noted != NIL)
		queue_checks(run);
}

void
triggers_after_statement(TriggerRun *run)
{
	triggers_write_entries(run);
	triggers_queue_checks(run);
	if (run->commands & COMMAND_BIT(CMD_DELETE))
		ExecASDeleteTriggers(run->estate, run->info, run->capture);
	if (run->commands & COMMAND_BIT(CMD_UPDATE))
		ExecASUpdateTriggers(run->estate, run->info,
							 run->command == CMD_INSERT ? run->update_capture : run->capture);
	if (run->commands & COMMAND_BIT(CMD_INSERT))
		ExecASInsertTriggers(run->estate, run->info, run->capture);
}

/* Puts a row into a slot. */
static void
store_trigger_row(TriggerRun *run, TupleTableSlot *slot, Datum *values, bool *nulls)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(run->rel);
	ExecMaterializeSlot(slot);
}

/* Copies the new row from the slot that BEFORE ROW triggers have changed. */
static void
fetch_row(TriggerRun *run, Datum *values, bool *nulls)
{
	int			natts = run->slot->tts_tupleDescriptor->natts;

	slot_getallattrs(run->slot);
	memcpy(values, run->slot->tts_values, sizeof(Datum) * natts);
	memcpy(nulls, run->slot->tts_isnull, sizeof(bool) * natts);
}

/*
 * Prepares a call of BEFORE ROW triggers, if there are any.  Frees the memory
 * of the last row's call.  A statement of a trigger may recursively fire
 * triggers for earlier rows.
 */
static bool
begin_trigger_row(TriggerRun *run, bool has_triggers)
{
	if (!run->calling)
		ResetPerTupleExprContext(run->estate);
	return has_triggers;
}

/*
 * Calls the BEFORE ROW triggers of a command, with the new row in run->slot;
 * false if the row is to be skipped.
 */
static bool
call_before(TriggerRun *run, CmdType command, HeapTuple old)
{
	TriggerRun *outer = called_run;
	volatile bool proceed = true;

	CHECK_FOR_INTERRUPTS();
	if (run->queries)
		(void) apply_changes(run);
	called_run = run;
	run->calling = true;
	PG_TRY();
	{
		if (command == CMD_INSERT)
			proceed = ExecBRInsertTriggers(run->estate, run->info, run->slot);
		else if (command == CMD_UPDATE)
			proceed = compat_before_update(run->estate, run->info, old, run->slot);
		else
			proceed = compat_before_delete(run->estate, run->info, old);
	}
	PG_FINALLY();
	{
		called_run = outer;
		run->calling = false;
	}
	PG_END_TRY();
	return proceed;
}

bool
triggers_before_insert(TriggerRun *run, Datum *values, bool *nulls)
{
	if (run->partitions != NULL)
		return partition_before_insert(run->partitions, values, nulls);
	if (!begin_trigger_row(run, run->info->ri_TrigDesc->trig_insert_before_row))
		return true;
	store_trigger_row(run, run->slot, values, nulls);
	if (!call_before(run, CMD_INSERT, NULL))
		return false;
	fetch_row(run, values, nulls);
	return true;
}

bool
triggers_before_update(TriggerRun *run, HeapTuple old, Datum *values, bool *nulls)
{
	if (run->partitions != NULL)
		return partition_before_update(run->partitions, old, values, nulls);
	if (!begin_trigger_row(run, run->info->ri_TrigDesc->trig_update_before_row))
		return true;
	store_trigger_row(run, run->slot, values, nulls);
	if (!call_before(run, CMD_UPDATE, old))
		return false;
	fetch_row(run, values, nulls);
	return true;
}

bool
triggers_before_delete(TriggerRun *run, HeapTuple old)
{
	if (run->partitions != NULL)
		return partition_before_delete(run->partitions, old);
	return !begin_trigger_row(run, run->info->ri_TrigDesc->trig_delete_before_row) || call_before(run, CMD_DELETE, old);
}

void
triggers_statement_starts(Snapshot snapshot)
{
	TriggerRun *run = called_run;
	volatile bool applied = false;

	run->queries = true;
	if (GetCurrentTransactionNestLevel() != run->nest_level)
		return;
	called_run = NULL;
	PG_TRY();
	{
		applied = apply_changes(run);
	}
	PG_FINALLY();
	{
		called_run = run;
	}
	PG_END_TRY();

	/* the statement's own copy: it was taken before */
	if (applied && snapshot != NULL)
		snapshot->curcid = GetCurrentCommandId(false);
}

bool
triggers_are_called(void)
{
	return called_run != NULL;
}

/*
 * Deletes a row of the table's own storage.  Those that decode changes weren't
 * told of it, and its identity may be NULL.
 */
static void
delete_unnoticed(Relation rel, ItemPointer tid)
{
	char		identity = rel->rd_rel->relreplident;

	rel->rd_rel->relreplident = REPLICA_IDENTITY_NOTHING;
	PG_TRY();
	{
		simple_heap_delete(rel, tid);
	}
	PG_FINALLY();
	{
		rel->rd_rel->relreplident = identity;
	}
	PG_END_TRY();
}

/*
 * Inserts a row into the table's own storage and deletes it, if triggers are
 * to find it there.
 */
static ItemPointerData
lend_storage(TriggerRun *run, HeapTuple row)
{
	HeapTuple	copy;
	ItemPointerData tid;

	ItemPointerSetInvalid(&tid);
	if (!run->stores_rows)
		return tid;
	copy = heap_copytuple(row);
	heap_insert(run->rel, copy, GetCurrentCommandId(true), HEAP_INSERT_NO_LOGICAL, NULL);
	tid = copy->t_self;
	CommandCounterIncrement();
	delete_unnoticed(run->rel, &tid);
	CommandCounterIncrement();
	heap_freetuple(copy);
	return tid;
}

/* A new row as it will be stored: with generated columns. */
static TupleTableSlot *
stored_row(TriggerRun *run, CmdType command, Datum *values, bool *nulls)
{
	store_trigger_row(run, run->stored, values, nulls);
	if (run->computes_columns)
		ExecComputeStoredGenerated(run->info, run->estate, run->stored, command);
	return run->stored;
}

void
triggers_compute_columns(TriggerRun *run, Datum *values, bool *nulls)
{
	TupleTableSlot *slot;

	if (!run->computes_columns)
		return;
	slot = stored_row(run, CMD_INSERT, values, nulls);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(slot->tts_tupleDescriptor, i);

		if (attribute->attisdropped || !attribute->attgenerated)
			continue;
		values[i] = slot_getattr(slot, i + 1, &nulls[i]);
		if (!nulls[i])
			values[i] = datumCopy(values[i], attribute->attbyval, attribute->attlen);
	}
}

/* A new row for AFTER ROW triggers. */
static TupleTableSlot *
new_row(TriggerRun *run, CmdType command, bool fires, Datum *values, bool *nulls)
{
	TupleTableSlot *slot = stored_row(run, command, values, nulls);

	if (fires)
		slot->tts_tid = lend_storage(run, ExecFetchSlotHeapTuple(slot, true, NULL));
	return slot;
}

void
triggers_after_insert(TriggerRun *run, Datum *values, bool *nulls)
{
	bool		fires = run->info->ri_TrigDesc->trig_insert_after_row;
	TupleTableSlot *slot;

	if (run->partitions != NULL)
		partition_after_insert(run->partitions, values, nulls);
	else if (fires || run->capture != NULL || run->indexes != NULL)
	{
		slot = new_row(run, CMD_INSERT, fires, values, nulls);
		if (run->indexes != NULL)
			tuplestore_puttupleslot(row_store(run, &run->inserted.new), slot);
		ExecARInsertTriggers(run->estate, run->info, slot, NIL, run->capture);
	}
}

static void
store_update(TriggerRun *run, ChangedRows *rows, HeapTuple old, TupleTableSlot *new)
{
	tuplestore_puttuple(row_store(run, &rows->old), old);
	tuplestore_puttupleslot(row_store(run, &rows->new), new);
}

void
triggers_after_update(TriggerRun *run, HeapTuple old, Datum *values, bool *nulls)
{
	TransitionCaptureState *capture = run->command == CMD_INSERT ? run->update_capture : run->capture;
	bool		fires = run->info->ri_TrigDesc->trig_update_after_row;
	ItemPointerData tid;
	TupleTableSlot *slot;

	if (run->partitions != NULL)
	{
		partition_after_update(run->partitions, old, values, nulls);
		return;
	}
	if (!fires && capture == NULL && run->indexes == NULL)
		return;
	ItemPointerSetInvalid(&tid);
	if (fires)
		tid = lend_storage(run, old);
	slot = new_row(run, CMD_UPDATE, fires, values, nulls);
	if (run->indexes != NULL)
		store_update(run, &run->updated, old, slot);
	ExecARUpdateTriggers(run->estate, run->info, NULL, NULL, ItemPointerIsValid(&tid) ? &tid : NULL,
						 ItemPointerIsValid(&tid) ? NULL : old, slot, NIL, capture, false);
}

/* Queues the AFTER DELETE triggers of users. */
static void
queue_after_delete(TriggerRun *run, HeapTuple old)
{
	ItemPointerData tid;

	ItemPointerSetInvalid(&tid);
	if (run->info->ri_TrigDesc->trig_delete_after_row)
		tid = lend_storage(run, old);
	ExecARDeleteTriggers(run->estate, run->info, ItemPointerIsValid(&tid) ? &tid : NULL,
						 ItemPointerIsValid(&tid) ? NULL : old, run->capture, false);
}

void
triggers_after_delete(TriggerRun *run, HeapTuple old)
{
	if (run->partitions != NULL)
	{
		partition_after_delete(run->partitions, old);
		return;
	}
	if (run->indexes != NULL)
		tuplestore_puttuple(row_store(run, &run->deleted.old), old);
	queue_after_delete(run, old);
}

/*
 * Transition tables and foreign keys to the partitioned table get the row as
 * one that is updated; other triggers of the two partitions see one that is
 * deleted and one that is inserted.
 */
void
triggers_after_move(TriggerRun *from, HeapTuple old, Datum *left_values, bool *left_nulls, TriggerRun *to, Datum *values,
					bool *nulls)
{
	TransitionCaptureState *capture = from->command == CMD_INSERT ? from->update_capture : from->capture;
	TransitionCaptureState *saved = from->capture;

	if (capture != NULL)
	{
		ExecARUpdateTriggers(from->estate, from->info, NULL, NULL, NULL, old, NULL, NIL, capture, false);
		ExecARUpdateTriggers(to->estate, to->info, NULL, NULL, NULL, NULL, stored_row(to, CMD_INSERT, values, nulls), NIL,
							 capture, false);
	}
	from->capture = to->capture = NULL;
	if (from->indexes != NULL)
		store_update(from, &from->moved, old, stored_row(from, CMD_UPDATE, left_values, left_nulls));
	queue_after_delete(from, old);
	triggers_after_insert(to, values, nulls);
	from->capture = to->capture = saved;
}

void
triggers_refuse_delete(QueryDesc *query_desc)
{
	foreach_ptr(ResultRelInfo, info, query_desc->estate->es_opened_result_relations)
	{
		TriggerDesc *desc = info->ri_TrigDesc;

		for (int i = 0; desc != NULL && i < desc->numtriggers; i++)
		{
			Oid		   *function = &desc->triggers[i].tgfoid;

			if (*function == F_RI_FKEY_CASCADE_DEL || *function == F_RI_FKEY_SETNULL_DEL ||
				*function == F_RI_FKEY_SETDEFAULT_DEL)
				*function = F_RI_FKEY_NOACTION_DEL;
		}
	}
}

void
triggers_suppress(QueryDesc *query_desc)
{
	foreach_ptr(ResultRelInfo, info, query_desc->estate->es_opened_result_relations)
		if (info->ri_TrigDesc != NULL)
			keep_triggers(info->ri_TrigDesc, TRIGGERS_OF_SERVER);
}

TriggerDesc *
triggers_hide(Relation rel)
{
	TriggerDesc *all = rel->trigdesc;

	if (all != NULL)
	{
		rel->trigdesc = CopyTriggerDesc(all);
		keep_triggers(rel->trigdesc, TRIGGERS_OF_SERVER);
		rel->trigdesc->trig_insert_new_table = false;
	}
	return all;
}

void
triggers_show(Relation rel, TriggerDesc *all)
{
	if (all == NULL)
		return;
	FreeTriggerDesc(rel->trigdesc);
	rel->trigdesc = all;
}
