/*-------------------------------------------------------------------------
 *
 * task_offer.c
 *	  Starts a task set whose snapshot is offered to the nodes.
 *
 * Each node gets its only task together with the point in time that the
 * initiator has chosen, and accepts it by its first answer
 * (src/txn/SNAPSHOTS.md).  Until all nodes have accepted, no row may be used:
 * the whole set may have to run again, as of another time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/task_set.h"
#include "executor/task_set_private.h"

/* Runs this node's tasks up to their first row, while other nodes work. */
static void
start_local_tasks(TaskSet *set)
{
	TupleTableSlot *slot;
	Task	   *task;

	if (set->local_pending == NIL)
		return;
	slot = task_set_begin_spilling(set);
	if (task_set_next_own(set, slot, &task))
		task_set_spill(set, slot, task);
	ExecDropSingleTupleTableSlot(slot);
}

/* Reads up to the first row of each connection; whether all have answered. */
static bool
read_first_answers(TaskSet *set)
{
	bool		all = !task_set_has_pending(set);

	for (int i = 0; i < set->nworkers && !set->must_ask; i++)
	{
		Worker	   *worker = &set->workers[i];

		if (task_worker_expects(worker) && !worker->row_waits && !worker->just_sent)
			worker->row_waits = task_set_poll(set, worker) == REMOTE_ROW;
		worker->just_sent = false;
		all = all && (worker->row_waits || !task_worker_expects(worker));
	}
	return all;
}

/*
 * Whether each node has one task, which needs no transaction; opens
 * connections.
 */
static bool
can_be_offered(TaskSet *set)
{
	if (set->codec == NULL || task_set_needs_primary(set) || set->alone != NULL)
		return false;
	for (int i = 0; i < set->nqueues; i++)
	{
		if (list_length(set->queues[i]->pending) != 1)
			return false;
	}
	task_set_grow(set);
	for (int i = 0; i < set->nworkers; i++)
	{
		if (set->workers[i].conn->primary || set->workers[i].conn->xact != REMOTE_XACT_NONE)
			return false;
	}
	return true;
}

bool
task_set_offer(TaskSet *set, bool *sent)
{
	MemoryContext old_context = MemoryContextSwitchTo(set->context);

	*sent = set->offering = can_be_offered(set);
	set->must_ask = !set->offering;
	for (bool first = true; !set->must_ask; first = false)
	{
		task_set_grow(set);
		task_set_assign(set);
		if (first)
			start_local_tasks(set);
		if (read_first_answers(set))
			break;
		if (!set->must_ask)
			task_set_wait(set);
	}
	set->offering = false;
	MemoryContextSwitchTo(old_context);
	return !set->must_ask;
}
