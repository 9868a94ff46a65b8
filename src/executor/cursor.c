/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  The executor node of a DistributedCursor, which keeps the current row of
 *	  its cursor.
 *
 * It returns the rows of the plan below it, and stores the identity of the
 * last row in each table that it locks.  The locks keep other sessions from
 * removing that row, and from moving it to another place (VACUUM FULL).  The
 * rollback of a savepoint releases locks taken since; a cursor that was read
 * after the savepoint was set has no current row from then on.
 *
 * Running cursors are in a list, from which a memory context callback removes
 * them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/cursor.h"
#include "lib/plan_fields.h"
#include "planner/cursor_plan.h"
#include "sharding/hash.h"

typedef struct DistCursorState
{
	CustomScanState css;		/* must be first */
	List	   *tables;			/* of IntList, see cursor_plan.h */
	CursorRow  *rows;			/* of the last row returned, for each table */
	bool		on_row;
	bool		lost;			/* locks of rows have been released */
	List	   *moved;			/* OidList: tables of which rows have moved */
	MemoryContext context;
	SubTransactionId last_read; /* where the plan was run last */
	struct DistCursorState *next;
} DistCursorState;

static DistCursorState *known_cursors = NULL;

static Node *cursor_create(CustomScan *node);
static void cursor_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *cursor_exec(CustomScanState *node);
static void cursor_end(CustomScanState *node);
static void cursor_rescan(CustomScanState *node);

static const CustomExecMethods cursor_exec_methods = {
	.CustomName = "DistributedCursor",
	.BeginCustomScan = cursor_begin,
	.ExecCustomScan = cursor_exec,
	.EndCustomScan = cursor_end,
	.ReScanCustomScan = cursor_rescan,
};

static Node *
cursor_create(CustomScan *node)
{
	DistCursorState *state = (DistCursorState *) newNode(sizeof(DistCursorState), T_CustomScanState);

	state->css.methods = &cursor_exec_methods;
	state->tables = node->custom_private;
	return (Node *) state;
}

/* A cursor's memory goes. */
static void
forget_cursor(void *arg)
{
	for (DistCursorState **link = &known_cursors; *link != NULL; link = &(*link)->next)
	{
		if (*link == arg)
		{
			*link = (*link)->next;
			return;
		}
	}
}

static void
cursor_begin(CustomScanState *node, EState *estate, int eflags)
{
	DistCursorState *state = (DistCursorState *) node;
	MemoryContextCallback *callback = MemoryContextAllocZero(estate->es_query_cxt, sizeof(MemoryContextCallback));

	outerPlanState(node) = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);
	state->rows = palloc0(sizeof(CursorRow) * Max(list_length(state->tables), 1));
	state->context = estate->es_query_cxt;
	state->next = known_cursors;
	known_cursors = state;
	callback->func = forget_cursor;
	callback->arg = state;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, callback);
}

/* Stores the identity of a row in one of the tables. */
static void
note_row(TupleTableSlot *slot, const CursorTable *columns, CursorRow *row)
{
	const DistTable *table = metadata_require(columns->relid);
	bool		isnull;
	Datum		value;

	row->shard = 0;
	ItemPointerSetInvalid(&row->ctid);
	value = slot_getattr(slot, columns->xmin, &isnull);
	row->xmin = isnull ? InvalidTransactionId : DatumGetTransactionId(value);
	if (columns->dist != 0)
	{
		value = slot_getattr(slot, columns->dist, &isnull);
		row->shard = shard_index_of_stored(table, value, isnull);
	}
	value = slot_getattr(slot, columns->ctid, &isnull);
	if (!isnull)
		ItemPointerCopy((ItemPointer) DatumGetPointer(value), &row->ctid);
}

static TupleTableSlot *
cursor_exec(CustomScanState *node)
{
	DistCursorState *state = (DistCursorState *) node;
	TupleTableSlot *slot;
	ListCell   *cell;

	state->on_row = false;
	state->last_read = GetCurrentSubTransactionId();
	slot = ExecProcNode(outerPlanState(node));
	if (TupIsNull(slot))
		return slot;
	foreach(cell, state->tables)
		note_row(slot, plan_struct_peek(lfirst(cell)), &state->rows[foreach_current_index(cell)]);
	state->on_row = true;
	return slot;
}

static void
cursor_end(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

static void
cursor_rescan(CustomScanState *node)
{
	((DistCursorState *) node)->on_row = false;
	ExecReScan(outerPlanState(node));
}

/*
 * The cursor's table of an Oid, as a position in its list; -1 if it has none.
 */
static int
table_position(DistCursorState *state, Oid relid, const char *cursor)
{
	int			position = -1;
	ListCell   *cell;

	foreach(cell, state->tables)
	{
		if (((const CursorTable *) plan_struct_peek(lfirst(cell)))->relid != relid)
			continue;
		if (position >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_CURSOR_STATE),
					 errmsg("cursor \"%s\" has multiple FOR UPDATE/SHARE references to table \"%s\"",
							cursor, get_rel_name(relid))));
		position = foreach_current_index(cell);
	}
	return position;
}

bool
cursor_row(Portal portal, const DistTable *table, CursorRow *row)
{
	PlanState  *top = portal->queryDesc->planstate;
	DistCursorState *state = (DistCursorState *) top;
	int			position;

	if (!IsA(top, CustomScanState) || state->css.methods != &cursor_exec_methods)
		return false;
	position = table_position(state, table->relid, portal->name);
	if (position < 0)
		return false;
	if (portal->atStart || portal->atEnd || !state->on_row || !ItemPointerIsValid(&state->rows[position].ctid))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("cursor \"%s\" is not positioned on a row", portal->name)));
	if (state->lost)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("rows of cursor \"%s\" are not locked any more", portal->name),
				 errdetail("A savepoint has been rolled back after which the cursor was read."),
				 errhint("Open the cursor again.")));
	*row = state->rows[position];
	return true;
}

void
cursor_row_moves(Oid relid)
{
	for (DistCursorState *state = known_cursors; state != NULL; state = state->next)
	{
		MemoryContext old_context = MemoryContextSwitchTo(state->context);

		state->moved = list_append_unique_oid(state->moved, relid);
		MemoryContextSwitchTo(old_context);
	}
}

bool
cursor_rows_moved(Portal portal, Oid relid)
{
	return list_member_oid(((DistCursorState *) portal->queryDesc->planstate)->moved, relid);
}

/* Subtransactions are numbered in the order in which they begin. */
static void
subtransaction_ended(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	for (DistCursorState *state = known_cursors; state != NULL; state = state->next)
		state->lost = state->lost || state->last_read >= subid;
}

void
cursor_init(void)
{
	dist_cursor_methods.CreateCustomScanState = cursor_create;
	RegisterCustomScanMethods(&dist_cursor_methods);
	RegisterSubXactCallback(subtransaction_ended, NULL);
}
