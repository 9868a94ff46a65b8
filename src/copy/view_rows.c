/*-------------------------------------------------------------------------
 *
 * view_rows.c
 *	  The rows of a materialized view, which all nodes have.
 *
 * A view's rows are computed once, by the server's own CREATE or REFRESH
 * MATERIALIZED VIEW on the initiator, and then copied to the other nodes in
 * the same transaction (table_copy.c).  A node that gets them does what
 * REFRESH does with the rows of the view's query: they fill a new heap, which
 * replaces the view's.  Readers of the view are blocked only during the
 * replacement, even if the initiator doesn't refresh CONCURRENTLY: the lock is
 * raised from ExclusiveLock, which conflicts only with commands that change
 * the view.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/multixact.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/copy.h"
#include "commands/matview.h"
#include "executor/executor.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/node.h"
#include "compat/maintains_table.h"
#include "compat/repack.h"
#include "copy/table_copy.h"
#include "copy/view_rows.h"
#include "lib/run_as.h"

void
view_rows_send(Oid relid, int32 groupid)
{
	Relation	rel = table_open(relid, ShareLock);

	if (RelationIsPopulated(rel))
		table_copy_end(table_copy_begin(relid, groupid));
	table_close(rel, NoLock);
}

void
view_rows_send_to_all(Oid relid)
{
	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
		view_rows_send(relid, node->groupid);
}

/* Fills a new heap with the rows that come; returns their number. */
static uint64
fill_heap(ParseState *pstate, CopyStmt *stmt, Relation view, Oid heap)
{
	CopyFromState cstate = BeginCopyFrom(pstate, view, NULL, NULL, false, NULL, stmt->attlist, stmt->options);
	DestReceiver *dest = CreateTransientRelDestReceiver(heap);
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(view), &TTSOpsVirtual);
	uint64		rows = 0;

	dest->rStartup(dest, CMD_SELECT, RelationGetDescr(view));
	for (;;)
	{
		MemoryContext old_context;
		bool		found;

		CHECK_FOR_INTERRUPTS();
		ResetPerTupleExprContext(estate);
		ExecClearTuple(slot);
		old_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		found = NextCopyFrom(cstate, econtext, slot->tts_values, slot->tts_isnull);
		MemoryContextSwitchTo(old_context);
		if (!found)
			break;
		dest->receiveSlot(ExecStoreVirtualTuple(slot), dest);
		rows++;
	}
	dest->rShutdown(dest);
	dest->rDestroy(dest);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	EndCopyFrom(cstate);
	return rows;
}

uint64
view_rows_receive(ParseState *pstate, CopyStmt *stmt)
{
	Oid			relid = RangeVarGetRelidExtended(stmt->relation, ExclusiveLock, 0, RangeVarCallbackMaintainsTable, NULL);
	Relation	view = table_open(relid, NoLock);
	RunAs		caller = run_as_owner_begin(relid);
	char		persistence = view->rd_rel->relpersistence;
	Oid			heap;
	uint64		rows;

	if (view->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a materialized view", RelationGetRelationName(view))));
	CheckTableNotInUse(view, "REFRESH MATERIALIZED VIEW");
	heap = make_new_heap(relid, view->rd_rel->reltablespace, view->rd_rel->relam, persistence, ExclusiveLock);
	LockRelationOid(heap, AccessExclusiveLock);
	rows = fill_heap(pstate, stmt, view, heap);

	LockRelationOid(relid, AccessExclusiveLock);
	SetMatViewPopulatedState(view, true);
	finish_heap_swap(relid, heap, false, false, true, true, true, RecentXmin, ReadNextMultiXactId(), persistence);
	pgstat_count_truncate(view);
	pgstat_count_heap_insert(view, rows);
	table_close(view, NoLock);
	run_as_end(caller);
	return rows;
}
