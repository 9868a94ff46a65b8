/*-------------------------------------------------------------------------
 *
 * task_set.c
 *	  The adaptive executor: runs a set of tasks and streams the rows back.
 *
 * Each node has a queue of tasks.  One connection per node starts at once;
 * while a queue is not empty, one more may open every slow-start interval if
 * the transaction's state allows it (remote_acquire_extra decides).  A
 * connection takes the next task of its node when it has finished one.  Tasks
 * for this node run in this backend, one after the other, whenever no remote
 * row is waiting.
 *
 * Rows are decoded straight from the wire into the caller's slot; nothing is
 * collected, so back-pressure is the socket's.  Only when another owner needs
 * one of our connections the rest of its task's rows goes to a tuplestore.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "executor/local_task.h"
#include "executor/row_codec.h"
#include "executor/task_set.h"
#include "lib/catch_error.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "sharding/hash.h"
#include "txn/transaction.h"

/* How often, and how long, a task waits for news of its shard. */
#define STALE_RETRIES 200
#define STALE_RETRY_MS 10

int			citus_slow_start_interval = 10; /* ms */

/* One connection at work for the set. */
typedef struct Worker
{
	RemoteConn *conn;
	Task	   *task;			/* in progress; NULL when idle */
	bool		lost;			/* the connection, and the task is in the queue again */
	bool		just_sent;		/* no answer can be here yet */
	bool		answered;		/* the task has returned something */
	bool		refused;		/* can't read as of the statement's snapshot */
} Worker;

/* The tasks for one node that have not begun. */
typedef struct NodeQueue
{
	int32		groupid;
	List	   *pending;
	int			nworkers;		/* connections we hold */
} NodeQueue;

struct TaskSet
{
	RemoteOwner owner;			/* must be first */
	const TaskSetSpec *spec;
	RowCodec   *codec;			/* NULL if no rows are expected */
	MemoryContext context;
	MemoryContext row_context;

	NodeQueue  *queues;
	int			nqueues;
	Worker	   *workers;
	int			nworkers;
	int			max_workers;
	int			last_ready;		/* worker whose row came last */
	TimestampTz last_growth;

	List	   *local_pending;	/* tasks of this node */
	LocalTask  *local;			/* running */
	Task	   *local_current;

	Tuplestorestate *spilled;	/* rows of connections given up */
	TupleTableSlot *spill_slot;
	List	   *spilled_tasks;	/* task of each spilled row, in order */
	int			spilled_read;	/* rows read back */
	ResourceOwner resowner;		/* of their file; NULL when nobody will read them */

	Task	   *alone;			/* runs before any other; NULL when done */
};

static void task_set_yield(RemoteOwner *owner, RemoteConn *conn);

Task *
task_make(const DistTable *table, int shard_index, const char *text, ParamListInfo params)
{
	Task	   *task = palloc0(sizeof(Task));

	task->shard_index = shard_index;
	task->groupid = table->shards[shard_index].groupid;
	task->text = text;
	task->params = params;
	task->keep_rows = true;
	return task;
}

/* Adds a task for one shard: to the one for its node, if there is one. */
static List *
add_to_node(List *tasks, Task *added)
{
	ListCell   *cell;

	foreach(cell, tasks)
	{
		Task	   *task = lfirst(cell);

		if (task->groupid != added->groupid)
			continue;
		if (task->shards == NULL)
			task->shards = bms_make_singleton(task->shard_index);
		task->shards = bms_add_member(task->shards, added->shard_index);
		return tasks;
	}
	return lappend(tasks, added);
}

List *
tasks_make_by_node(const DistTable *table, const Bitmapset *shards, const char *text, ParamListInfo params)
{
	List	   *tasks = NIL;
	int			shard = -1;

	while ((shard = bms_next_member(shards, shard)) >= 0)
		tasks = add_to_node(tasks, task_make(table, shard, text, params));
	return tasks;
}

/* The ranges of a task for several shards; neighbours make one. */
static List *
task_ranges(const DistTable *table, const Task *task)
{
	List	   *ranges = NIL;
	HashRange  *range = NULL;
	int			last = -1;
	int			shard = -1;

	while ((shard = bms_next_member(task->shards, shard)) >= 0)
	{
		if (range != NULL && shard == last + 1)
			range->max = table->shards[shard].range.max;
		else
		{
			range = palloc(sizeof(HashRange));
			*range = table->shards[shard].range;
			ranges = lappend(ranges, range);
		}
		last = shard;
	}
	return ranges;
}

TaskTag
task_tag(const TaskSetSpec *spec, const Task *task)
{
	TaskTag		tag = {
		.kind = task->shard_index < 0 ? TAG_NODE : TAG_SHARD,
		.colocation_id = spec->table->colocation_id,
		.partial = spec->partial,
		.rights = spec->rights,
		.npolicies = spec->npolicies,
	};

	if (task->shards != NULL)
	{
		tag.ranges = task_ranges(spec->table, task);
		tag.range = *(HashRange *) linitial(tag.ranges);
	}
	else if (task->shard_index >= 0)
		tag.range = spec->table->shards[task->shard_index].range;
	return tag;
}

/* The text of a task's tag; remote if another node gets it. */
static char *
write_tag(TaskSet *set, Task *task, bool remote)
{
	TaskTag		tag = task_tag(set->spec, task);

	tag.snapshot = remote && set->spec->snapshot != NULL;
	tag.explain = set->spec->explain;
	task_tag_set_as(&tag, set->spec->check_as);
	return task_tag_write(&tag);
}

/* Whether the node's primary connection, inside its transaction, must do all. */
static bool
needs_primary(TaskSet *set)
{
	return set->spec->write || set->spec->explain != 0;
}

static NodeQueue *
queue_of_group(TaskSet *set, int32 groupid)
{
	for (int i = 0; i < set->nqueues; i++)
	{
		if (set->queues[i].groupid == groupid)
			return &set->queues[i];
	}
	set->queues[set->nqueues].groupid = groupid;
	return &set->queues[set->nqueues++];
}

/* Puts a task into the queue of its node. */
static void
enqueue(TaskSet *set, Task *task)
{
	if (task->groupid == metadata_local_group())
		set->local_pending = lappend(set->local_pending, task);
	else
	{
		NodeQueue  *queue = queue_of_group(set, task->groupid);

		queue->pending = lappend(queue->pending, task);
	}
}

static void
dispatch(TaskSet *set, Worker *worker, Task *task)
{
	MemoryContext old_context = MemoryContextSwitchTo(set->row_context);
	bool		in_xact = !set->spec->commits && (needs_primary(set) || txn_reads_in_xact());

	worker->task = task;
	worker->just_sent = true;
	worker->answered = false;
	if (set->spec->snapshot != NULL)
		dist_snapshot_queue(set->spec->snapshot, worker->conn);
	remote_send_task(worker->conn, write_tag(set, task, true), task->text, row_codec_params(task->params), set->spec->check_as,
					 set->codec ? row_codec_is_binary(set->codec) : true, in_xact,
					 set->spec->write);
	MemoryContextSwitchTo(old_context);
}

/* Whether something is under way on a worker's connection. */
static bool
expects_something(const Worker *worker)
{
	return worker->task != NULL || worker->conn->state == REMOTE_CONNECTING;
}

/* Takes the next task of a queue; NULL if there is none, or if it must wait. */
static Task *
next_task(TaskSet *set, NodeQueue *queue)
{
	Task	   *task;

	if (queue->pending == NIL)
		return NULL;
	task = linitial(queue->pending);
	if (set->alone != NULL && task != set->alone)
		return NULL;
	queue->pending = list_delete_first(queue->pending);
	return task;
}

static void
add_worker(TaskSet *set, NodeQueue *queue, RemoteConn *conn)
{
	Worker	   *worker;

	if (set->nworkers == set->max_workers)
	{
		set->max_workers = set->max_workers ? set->max_workers * 2 : 8;
		set->workers = set->workers ?
			repalloc(set->workers, sizeof(Worker) * set->max_workers) :
			MemoryContextAlloc(set->context, sizeof(Worker) * set->max_workers);
	}
	worker = &set->workers[set->nworkers++];
	worker->conn = conn;
	worker->task = NULL;
	worker->lost = false;
	worker->refused = false;
	queue->nworkers++;
}

/* Removes a worker of a queue; the caller deals with its connection. */
static void
remove_worker(TaskSet *set, NodeQueue *queue, int index)
{
	queue->nworkers--;
	set->workers[index] = set->workers[--set->nworkers];
}

/* Whether tasks for other nodes have not begun. */
static bool
has_pending(TaskSet *set)
{
	for (int i = 0; i < set->nqueues; i++)
	{
		if (set->queues[i].pending != NIL)
			return true;
	}
	return false;
}

/* Opens the first connection to each node that has tasks, and more when it is time. */
static void
grow(TaskSet *set)
{
	bool		first_round = set->last_growth == 0;
	TimestampTz now;
	bool		due;

	if (!has_pending(set))
		return;
	now = GetCurrentTimestamp();
	due = !first_round &&
		TimestampDifferenceExceeds(set->last_growth, now, citus_slow_start_interval);
	if (first_round || due)
		set->last_growth = now;

	for (int i = 0; i < set->nqueues; i++)
	{
		NodeQueue  *queue = &set->queues[i];
		RemoteConn *conn = NULL;

		if (queue->pending == NIL ||
			(set->alone != NULL && linitial(queue->pending) != set->alone))
			continue;
		if (queue->nworkers == 0)
			conn = remote_acquire(queue->groupid, &set->owner, needs_primary(set));
		else if (due && !needs_primary(set))
			conn = remote_acquire_extra(queue->groupid, &set->owner, queue->nworkers);
		if (conn != NULL)
			add_worker(set, queue, conn);
	}
}

/* Whether an idle worker must be there in case a task of an extra connection is refused. */
static bool
may_be_needed(const NodeQueue *queue, const Worker *worker)
{
	return worker->conn->snapshot_held && queue->nworkers > 1;
}

/* Gives idle workers a task, or their connection back. */
static void
assign(TaskSet *set)
{
	for (int i = set->nworkers - 1; i >= 0; i--)
	{
		Worker	   *worker = &set->workers[i];
		NodeQueue  *queue;
		Task	   *task;

		if (expects_something(worker))
			continue;
		queue = queue_of_group(set, worker->conn->groupid);

		/*
		 * An extra connection that could not be made, or comes too late, is no error; nor is one that was
		 * lost before it answered.
		 */
		if ((worker->conn->state == REMOTE_DEAD && (queue->nworkers > 1 || worker->lost)) ||
			(worker->refused && queue->nworkers > 1))
		{
			RemoteConn *conn = worker->conn;

			remove_worker(set, queue, i);
			remote_release(conn, &set->owner);
			continue;
		}
		if (queue->nworkers > 1 && remote_give_up_extra(worker->conn))
		{
			remove_worker(set, queue, i);
			continue;
		}
		task = next_task(set, queue);
		if (task != NULL)
			dispatch(set, worker, task);
		else if (queue->pending == NIL && !may_be_needed(queue, worker))
		{
			RemoteConn *conn = worker->conn;

			remove_worker(set, queue, i);
			remote_release(conn, &set->owner);
		}
	}
}

static void
task_done(TaskSet *set, Task *task)
{
	if (set->alone == task)
		set->alone = NULL;
}

/* Where a shard of the spec's table is now, by its range; -1 if there is no such shard any more. */
static int32
present_group(TaskSet *set, const DistTable *now, int shard)
{
	int			index = shard_index_of_range(now, set->spec->table->shards[shard].range);

	return index < 0 ? -1 : now->shards[index].groupid;
}

/* Queues a task again whose only shard is on another node now; false if it isn't. */
static bool
follow_shard(TaskSet *set, const DistTable *now, Task *task)
{
	int32		groupid = present_group(set, now, task->shard_index);

	if (groupid < 0 || groupid == task->groupid)
		return false;
	task->groupid = groupid;
	enqueue(set, task);
	return true;
}

/* The same for several shards: a task for each node that has some of them. */
static bool
follow_shards(TaskSet *set, const DistTable *now, Task *task)
{
	List	   *tasks = NIL;
	bool		moved = false;
	int			shard = -1;
	ListCell   *cell;

	while ((shard = bms_next_member(task->shards, shard)) >= 0)
	{
		Task	   *again = task_make(set->spec->table, shard, task->text, task->params);

		again->groupid = present_group(set, now, shard);
		again->retries = task->retries;
		if (again->groupid < 0)
			return false;
		moved = moved || again->groupid != task->groupid;
		tasks = add_to_node(tasks, again);
	}
	foreach(cell, tasks)
	{
		if (moved)
			enqueue(set, lfirst(cell));
	}
	return moved;
}

/*
 * The shard of a task was not on the node that got it: waits, briefly, until
 * our metadata says that it is elsewhere, and queues the task again.  False if it
 * doesn't.
 */
static bool
requeue_task(TaskSet *set, Task *task)
{
	Oid			relid = set->spec->table->relid;

	while (task->retries++ < STALE_RETRIES)
	{
		MemoryContext old_context;
		const DistTable *now;
		bool		moved;

		AcceptInvalidationMessages();
		now = metadata_require(relid);
		old_context = MemoryContextSwitchTo(set->context);
		moved = task->shards == NULL ? follow_shard(set, now, task) : follow_shards(set, now, task);
		MemoryContextSwitchTo(old_context);
		if (moved)
			return true;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 STALE_RETRY_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/*
 * Whether an error came before the task did anything: its node doesn't have
 * the shard, or has lost the prepared statement, or the connection was lost
 * while a read by itself was on it.  Then it can be sent again, unless the error
 * has spoilt earlier work in the node's transaction.
 */
static bool
may_send_again(TaskSet *set, Worker *worker, const ErrorData *error)
{
	bool		gone = error->sqlerrcode == ERRCODE_SHARD_NOT_HERE && worker->task->shard_index >= 0;

	if (worker->conn->state == REMOTE_DEAD)
		return !needs_primary(set) && worker->conn->xact_depth == 0 && worker->task->retries == 0;
	if (!gone && !remote_prepared_lost(worker->conn, error))
		return false;
	return worker->task->retries < STALE_RETRIES && txn_restart(worker->conn);
}

/* Whether an error only means that an extra connection has come too late for the statement's snapshot. */
static bool
is_refused(TaskSet *set, Worker *worker, const ErrorData *error)
{
	return set->spec->snapshot != NULL && dist_snapshot_refused(worker->conn, error) &&
		queue_of_group(set, worker->conn->groupid)->nworkers > 1;
}

/* remote_poll for a task that has not answered yet. */
static RemotePoll
poll_first(TaskSet *set, Worker *worker)
{
	const CatchPoint point = catch_point();
	volatile RemotePoll found = REMOTE_DONE;

	PG_TRY();
	{
		found = remote_poll(worker->conn);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		worker->refused = is_refused(set, worker, error);
		if (!worker->refused && !may_send_again(set, worker, error))
			PG_RE_THROW();
		catch_end(&point);
		remote_release_failed_write();
		worker->lost = worker->conn->state == REMOTE_DEAD;
		if (error->sqlerrcode != ERRCODE_SHARD_NOT_HERE)
		{
			worker->task->retries++;
			enqueue(set, worker->task);
		}
		else if (!requeue_task(set, worker->task))
			catch_rethrow(error);
		FreeErrorData(error);
		worker->task = NULL;
	}
	PG_END_TRY();
	worker->answered = found == REMOTE_ROW;
	return found;
}

/*
 * Reads what a worker's connection has now.  True if it was a row of the
 * kept kind, then stored in slot.
 */
static bool
poll_worker(TaskSet *set, Worker *worker, TupleTableSlot *slot)
{
	for (;;)
	{
		RemotePoll	found;

		/* data that are here already keep us from waiting */
		CHECK_FOR_INTERRUPTS();
		found = worker->task != NULL && !worker->answered ?
			poll_first(set, worker) : remote_poll(worker->conn);

		if (found == REMOTE_DONE && worker->task != NULL)
		{
			worker->task->processed += worker->conn->processed;
			task_done(set, worker->task);
			worker->task = NULL;
		}
		if (found != REMOTE_ROW)
			return false;
		if (set->codec != NULL && worker->task->keep_rows)
		{
			row_codec_store(set->codec, &worker->conn->row, slot, set->row_context);
			return true;
		}
	}
}

/* A row from any connection that has one; the last one first, its rows are likely buffered. */
static bool
poll_workers(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	for (int i = 0; i < set->nworkers; i++)
	{
		int			index = (set->last_ready + i) % set->nworkers;
		Worker	   *worker = &set->workers[index];
		Task	   *current = worker->task;

		if (!expects_something(worker))
			continue;
		if (worker->just_sent)
		{
			worker->just_sent = false;
			continue;
		}
		if (poll_worker(set, worker, slot))
		{
			set->last_ready = index;
			if (task)
				*task = current;
			return true;
		}
	}
	return false;
}

/* Starts a task of this node, under the statement's snapshot. */
static LocalTask *
start_local(TaskSet *set, Task *task)
{
	DistSnapshot *snapshot = set->spec->snapshot;
	LocalTask  *local;
	char	   *tag = write_tag(set, task, false);

	if (snapshot != NULL)
		PushActiveSnapshot(snapshot->snapshot);
	local = local_task_start(psprintf("%s%s", tag, task->text), task->params, set->spec->check_as, set->spec->write,
							 set->spec->latest);
	if (snapshot != NULL)
		PopActiveSnapshot();
	return local;
}

/* A row of this node's own tasks. */
static bool
next_local(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	MemoryContext old_context = MemoryContextSwitchTo(set->context);
	bool		found = false;

	while (!found)
	{
		TupleTableSlot *row;

		if (set->local == NULL)
		{
			Task	   *next = set->local_pending ? linitial(set->local_pending) : NULL;

			if (next == NULL || (set->alone != NULL && next != set->alone))
				break;
			set->local_pending = list_delete_first(set->local_pending);
			set->local_current = next;
			set->local = start_local(set, next);
		}
		row = local_task_next(set->local);
		if (row == NULL)
		{
			LocalTask  *ended = set->local;

			set->local = NULL;
			set->local_current->processed = local_task_end(ended);
			task_done(set, set->local_current);
			continue;
		}
		if (set->codec != NULL && set->local_current->keep_rows)
		{
			row_codec_copy(set->codec, row, slot);
			if (task)
				*task = set->local_current;
			found = true;
		}
	}
	MemoryContextSwitchTo(old_context);
	return found;
}

/* A row that another owner's need had us put aside. */
static bool
next_spilled(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	if (set->spilled_read == list_length(set->spilled_tasks))
		return false;
	if (!tuplestore_gettupleslot(set->spilled, true, false, set->spill_slot))
		return false;
	if (task)
		*task = list_nth(set->spilled_tasks, set->spilled_read);
	set->spilled_read++;
	row_codec_restore(set->codec, set->spill_slot, slot);
	return true;
}

/* How many nodes tasks may be sent to at most, but for retries. */
static int
count_shards(List *tasks)
{
	int			count = list_length(tasks);
	ListCell   *cell;

	foreach(cell, tasks)
		count += bms_num_members(((Task *) lfirst(cell))->shards);
	return count;
}

TaskSet *
task_set_start(const TaskSetSpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus task set",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	TaskSet    *set = palloc0(sizeof(TaskSet));
	ListCell   *cell;

	set->owner.yield = task_set_yield;
	set->owner.resends = true;
	set->spec = spec;
	set->context = context;
	set->row_context = AllocSetContextCreate(context, "citus task row", ALLOCSET_DEFAULT_SIZES);
	set->resowner = CurrentResourceOwner;
	if (spec->columns != NULL && spec->columns->natts > 0)
		set->codec = row_codec_create(spec->columns, spec->positions);
	else if (spec->columns != NULL)
		set->codec = row_codec_create(spec->columns, NULL);
	set->queues = palloc0(sizeof(NodeQueue) * (2 * count_shards(spec->tasks) + 1));
	foreach(cell, spec->tasks)
		enqueue(set, lfirst(cell));
	if (spec->first_alone && spec->tasks != NIL)
		set->alone = linitial(spec->tasks);
	MemoryContextSwitchTo(old_context);
	return set;
}

/* Whether remote work is left or in progress. */
static bool
has_remote_work(TaskSet *set)
{
	if (has_pending(set))
		return true;
	for (int i = 0; i < set->nworkers; i++)
	{
		if (set->workers[i].task != NULL)
			return true;
	}
	return false;
}

/* Waits for the network; wakes up in time to grow if tasks are waiting. */
static void
wait_for_rows(TaskSet *set)
{
	RemoteConn **conns = MemoryContextAlloc(set->row_context, sizeof(RemoteConn *) * set->nworkers);
	int			nconns = 0;

	for (int i = 0; i < set->nworkers; i++)
	{
		if (expects_something(&set->workers[i]))
			conns[nconns++] = set->workers[i].conn;
	}
	if (nconns > 0)
		(void) remote_wait(conns, nconns,
						   has_pending(set) && !needs_primary(set) ? citus_slow_start_interval : -1, NULL);
}

/* The next row from a connection, or from a task of this node. */
static bool
next_fresh(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	ExecClearTuple(slot);
	MemoryContextReset(set->row_context);

	for (;;)
	{
		if (has_remote_work(set))
		{
			/* finished workers take their next task before we look for rows */
			grow(set);
			assign(set);
			if (poll_workers(set, slot, task))
				return true;
			assign(set);
		}
		if (next_local(set, slot, task))
			return true;
		if (!has_remote_work(set))
		{
			if (set->local_pending == NIL)
				break;
			continue;
		}
		wait_for_rows(set);
	}
	assign(set);
	return false;
}

bool
task_set_next(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	ExecClearTuple(slot);
	if (next_spilled(set, slot, task) || next_fresh(set, slot, task))
		return true;

	/* while we waited, another owner may have had us put rows aside */
	return next_spilled(set, slot, task);
}

/*
 * The place for rows that are put aside, and a slot for one of them.  That happens in subtransactions too, which
 * the rows may outlive.
 */
static TupleTableSlot *
begin_spilling(TaskSet *set)
{
	if (set->spilled == NULL && set->resowner != NULL)
	{
		ResourceOwner current = CurrentResourceOwner;

		CurrentResourceOwner = set->resowner;
		set->spilled = tuplestore_begin_heap(true, false, work_mem);
		CurrentResourceOwner = current;
		set->spill_slot = MakeSingleTupleTableSlot(row_codec_spill_desc(set->codec),
												   &TTSOpsMinimalTuple);
	}
	return MakeSingleTupleTableSlot(row_codec_slot_desc(set->codec), &TTSOpsVirtual);
}

/* Puts a row aside, if anybody will ever ask for it. */
static void
spill(TaskSet *set, TupleTableSlot *slot, Task *task)
{
	if (set->resowner == NULL)
		return;
	row_codec_spill(set->codec, slot, set->spilled);
	set->spilled_tasks = lappend(set->spilled_tasks, task);
}

void
task_set_abandon(TaskSet *set)
{
	set->resowner = NULL;
}

bool
task_set_prefetch(TaskSet *set, int most)
{
	MemoryContext old_context = MemoryContextSwitchTo(set->context);
	TupleTableSlot *slot = begin_spilling(set);
	bool		more = true;
	Task	   *task;

	while (list_length(set->spilled_tasks) < most && (more = next_fresh(set, slot, &task)))
		spill(set, slot, task);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(old_context);
	return !more;
}

void
task_set_rewind(TaskSet *set)
{
	if (set->spilled != NULL)
		tuplestore_rescan(set->spilled);
	set->spilled_read = 0;
}

uint64
task_set_finish(TaskSet *set)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(set->codec ? row_codec_slot_desc(set->codec) :
													CreateTemplateTupleDesc(0), &TTSOpsVirtual);
	uint64		processed = 0;
	ListCell   *cell;

	while (task_set_next(set, slot, NULL))
		;
	ExecDropSingleTupleTableSlot(slot);
	foreach(cell, set->spec->tasks)
		processed += ((Task *) lfirst(cell))->processed;
	return processed;
}

void
task_set_lose_connections(TaskSet *set)
{
	set->nworkers = 0;
}

void
task_set_end(TaskSet *set)
{
	while (set->nworkers > 0)
	{
		RemoteConn *conn = set->workers[set->nworkers - 1].conn;

		set->nworkers--;
		remote_release(conn, &set->owner);
	}
	if (set->local != NULL)
	{
		LocalTask  *local = set->local;

		set->local = NULL;
		(void) local_task_end(local);
	}
	if (set->spilled != NULL)
		tuplestore_end(set->spilled);
	MemoryContextDelete(set->context);
}

/* Another owner needs the connection: keep the rest of its task's rows. */
static void
task_set_yield(RemoteOwner *owner, RemoteConn *conn)
{
	TaskSet    *set = (TaskSet *) owner;
	MemoryContext old_context = MemoryContextSwitchTo(set->context);
	TupleTableSlot *slot = NULL;
	int			index = 0;

	while (index < set->nworkers && set->workers[index].conn != conn)
		index++;
	Assert(index < set->nworkers);

	if (set->codec != NULL)
		slot = begin_spilling(set);
	while (set->workers[index].task != NULL)
	{
		Task	   *task = set->workers[index].task;

		if (poll_worker(set, &set->workers[index], slot))
			spill(set, slot, task);
		else if (set->workers[index].task != NULL)
			(void) remote_wait(&conn, 1, -1, NULL);
	}
	remove_worker(set, queue_of_group(set, conn->groupid), index);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(old_context);
}
