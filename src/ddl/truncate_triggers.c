/*-------------------------------------------------------------------------
 *
 * truncate_triggers.c
 *	  Statement-level triggers of TRUNCATE.
 *
 * They fire on the initiator, before and after the statement on all nodes.
 * The server's own TRUNCATE of the logical tables must not fire them, on any
 * node.  So two flags in a table's relcache entry, by which the server knows
 * of such triggers, are cleared after the server has checked the table, right
 * before it opens it (object_access_hook), and again if the entry is rebuilt
 * before the server copies them.  The transaction has the table locked and has
 * sent itself an invalidation of the entry beforehand, so no other session
 * sees the flags, and an error discards them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "ddl/truncate_triggers.h"

List *
truncated_tables(List *relations, bool cascade, List **all)
{
	List	   *relids = NIL;
	List	   *more;

	*all = NIL;
	foreach_node(RangeVar, relation, relations)
	{
		Oid			relid = RangeVarGetRelid(relation, NoLock, true);

		if (!OidIsValid(relid))
			continue;
		relids = list_append_unique_oid(relids, relid);
		*all = list_concat_unique_oid(*all, find_all_inheritors(relid, NoLock, NULL));
	}
	while (cascade && (more = heap_truncate_find_FKs(*all)) != NIL)
	{
		relids = list_concat_unique_oid(relids, more);
		*all = list_concat_unique_oid(*all, more);
	}
	return relids;
}

bool
have_truncate_triggers(List *relids)
{
	bool		found = false;

	foreach_oid(relid, relids)
	{
		Relation	rel = table_open(relid, AccessShareLock);

		found = found || (rel->trigdesc != NULL &&
						  (rel->trigdesc->trig_truncate_before_statement ||
						   rel->trigdesc->trig_truncate_after_statement));
		table_close(rel, NoLock);
	}
	return found;
}

typedef void (*TriggerFunction) (EState *estate, ResultRelInfo *info);

/*
 * Calls the function for each table; queued triggers are fired at the end.
 * All tables are closed again, since an open table can't be truncated.
 */
static void
fire_truncate_triggers(List *relids, TriggerFunction function)
{
	EState	   *estate = CreateExecutorState();
	ListCell   *cell;

	foreach_oid(relid, relids)
	{
		ResultRelInfo *info = makeNode(ResultRelInfo);

		InitResultRelInfo(info, table_open(relid, AccessExclusiveLock), 0, NULL, 0);
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
	fire_truncate_triggers(relids, ExecBSTruncateTriggers);
}

void
truncate_triggers_after(List *relids)
{
	fire_truncate_triggers(relids, ExecASTruncateTriggers);
}

/*
 * Tables whose triggers the server must not see; NIL unless it truncates them.
 */
static List *hiding_triggers = NIL;

/*
 * Their entries of the relcache, between the server's check of a table and its
 * first change of any: of Relation.
 */
static List *rels_without_triggers = NIL;

/* Clears the flags that the server copies when all tables are open. */
static void
hide_in_entry(Relation rel)
{
	if (rel->trigdesc == NULL)
		return;
	rel->trigdesc->trig_truncate_before_statement = false;
	rel->trigdesc->trig_truncate_after_statement = false;
}

/*
 * Rebuilds the tables' relcache entries now, and again if the following
 * commands are rolled back.
 */
static void
renew_entries(List *relids)
{
	foreach_oid(relid, relids)
		CacheInvalidateRelcacheByRelid(relid);
	(void) GetCurrentCommandId(true);
	CommandCounterIncrement();
}

void
truncate_triggers_hide(List *relids)
{
	foreach_oid(relid, relids)
		LockRelationOid(relid, AccessExclusiveLock);
	renew_entries(relids);
	hiding_triggers = relids;
}

void
truncate_triggers_forget(void)
{
	hiding_triggers = rels_without_triggers = NIL;
}

void
truncate_triggers_show(List *relids)
{
	truncate_triggers_forget();
	renew_entries(relids);
}

void
truncate_triggers_checked(Oid relid)
{
	Relation	rel;

	if (!list_member_oid(hiding_triggers, relid))
		return;
	rel = table_open(relid, NoLock);
	hide_in_entry(rel);
	rels_without_triggers = list_append_unique_ptr(rels_without_triggers, rel);
	table_close(rel, NoLock);	/* the server opens it next */
}

/*
 * A relcache callback.  An invalidation of one table comes from this
 * transaction, which has it locked, after the server has copied the flags.
 * Otherwise all entries were rebuilt.
 */
static void
entry_renewed(Datum arg, Oid relid)
{
	ListCell   *cell;

	if (OidIsValid(relid) && list_member_oid(hiding_triggers, relid))
		rels_without_triggers = NIL;
	if (OidIsValid(relid))
		return;
	foreach(cell, rels_without_triggers)
		hide_in_entry(lfirst(cell));
}

void
truncate_triggers_init(void)
{
	CacheRegisterRelcacheCallback(entry_renewed, (Datum) 0);
}
