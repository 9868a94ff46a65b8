/*-------------------------------------------------------------------------
 *
 * truncate_triggers.c
 *	  Statement-level triggers of TRUNCATE.
 *
 * They fire on the initiator, around the statement on all nodes; the server's
 * own TRUNCATE of the logical tables is kept from firing them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "storage/lockdefs.h"
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
