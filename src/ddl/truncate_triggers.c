/*-------------------------------------------------------------------------
 *
 * truncate_triggers.c
 *	  Statement-level triggers of TRUNCATE.
 *
 * They fire on the initiator, around the statement on all nodes; the server's
 * own TRUNCATE of the logical tables, on every node, is kept from firing them: it is
 * told that it replays what others do.  Triggers that fire even then are disabled
 * while it runs, in the catalog, which nobody else sees.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "ddl/trigger.h"

List *
truncated_tables(List *relations, bool cascade)
{
	List	   *relids = NIL;
	List	   *more;
	ListCell   *cell;

	foreach(cell, relations)
		relids = list_append_unique_oid(relids, RangeVarGetRelid(lfirst_node(RangeVar, cell), NoLock, true));
	relids = list_delete_oid(relids, InvalidOid);
	while (cascade && (more = heap_truncate_find_FKs(relids)) != NIL)
		relids = list_concat_unique_oid(relids, more);
	return relids;
}

bool
have_truncate_triggers(List *relids)
{
	bool		found = false;
	ListCell   *cell;

	foreach(cell, relids)
	{
		Relation	rel = table_open(lfirst_oid(cell), AccessShareLock);

		found = found || (rel->trigdesc != NULL &&
						  (rel->trigdesc->trig_truncate_before_statement ||
						   rel->trigdesc->trig_truncate_after_statement));
		table_close(rel, NoLock);
	}
	return found;
}

typedef void (*TriggerFunction) (EState *estate, ResultRelInfo *info);

/* Calls the function for each table; what it queues is fired at the end.  No table stays open: none may be when it is truncated. */
static void
fire(List *relids, TriggerFunction function)
{
	EState	   *estate = CreateExecutorState();
	ListCell   *cell;

	foreach(cell, relids)
	{
		ResultRelInfo *info = makeNode(ResultRelInfo);

		InitResultRelInfo(info, table_open(lfirst_oid(cell), AccessExclusiveLock), 0, NULL, 0);
		estate->es_opened_result_relations = lappend(estate->es_opened_result_relations, info);
	}
	AfterTriggerBeginQuery();
	foreach(cell, estate->es_opened_result_relations)
		function(estate, lfirst(cell));
	AfterTriggerEndQuery(estate);
	foreach(cell, estate->es_opened_result_relations)
		table_close(((ResultRelInfo *) lfirst(cell))->ri_RelationDesc, NoLock);
	FreeExecutorState(estate);
}

void
truncate_triggers_before(List *relids)
{
	fire(relids, ExecBSTruncateTriggers);
}

void
truncate_triggers_after(List *relids)
{
	fire(relids, ExecASTruncateTriggers);
}

/* A trigger that fires also when the server replays. */
typedef struct SilencedTrigger
{
	Oid			trigger;
	char		enabled;		/* as in tgenabled */
} SilencedTrigger;

/* Changes when a trigger fires. */
static void
set_enabled(Relation catalog, HeapTuple tuple, char enabled)
{
	HeapTuple	copy = heap_copytuple(tuple);

	((Form_pg_trigger) GETSTRUCT(copy))->tgenabled = enabled;
	CatalogTupleUpdate(catalog, &copy->t_self, copy);
	CacheInvalidateRelcacheByRelid(((Form_pg_trigger) GETSTRUCT(copy))->tgrelid);
	heap_freetuple(copy);
}

/* Disables a table's triggers of that kind; they are appended to silenced. */
static List *
silence_table(Relation catalog, Oid relid, List *silenced)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		SilencedTrigger *trigger;

		if (!TRIGGER_FOR_TRUNCATE(form->tgtype) ||
			(form->tgenabled != TRIGGER_FIRES_ALWAYS && form->tgenabled != TRIGGER_FIRES_ON_REPLICA))
			continue;
		trigger = palloc(sizeof(SilencedTrigger));
		trigger->trigger = form->oid;
		trigger->enabled = form->tgenabled;
		silenced = lappend(silenced, trigger);
		set_enabled(catalog, tuple, TRIGGER_DISABLED);
	}
	systable_endscan(scan);
	return silenced;
}

List *
truncate_triggers_silence(List *relids)
{
	Relation	catalog = table_open(TriggerRelationId, RowExclusiveLock);
	List	   *silenced = NIL;
	ListCell   *cell;

	foreach(cell, relids)
	{
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		silenced = silence_table(catalog, lfirst_oid(cell), silenced);
	}
	table_close(catalog, NoLock);
	CommandCounterIncrement();
	return silenced;
}

void
truncate_triggers_restore(List *silenced)
{
	Relation	catalog = table_open(TriggerRelationId, RowExclusiveLock);
	ListCell   *cell;

	foreach(cell, silenced)
	{
		SilencedTrigger *trigger = lfirst(cell);
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	tuple;

		ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger->trigger));
		scan = systable_beginscan(catalog, TriggerOidIndexId, true, NULL, 1, &key);
		tuple = systable_getnext(scan);
		if (HeapTupleIsValid(tuple))
			set_enabled(catalog, tuple, trigger->enabled);
		systable_endscan(scan);
	}
	table_close(catalog, NoLock);
	CommandCounterIncrement();
}
