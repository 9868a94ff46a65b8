/*-------------------------------------------------------------------------
 *
 * task_set.c
 *	  The adaptive executor: runs a set of tasks and streams the rows back.
 *
 * Each node has a queue of tasks.  Each node starts with one connection; while
 * its queue has more tasks than free connections, one more may open every
 * slow-start interval if the transaction's state allows it
 * (remote_acquire_extra).  When a connection has finished a task, it takes the
 * next one of its node.  Tasks for this node run in this backend, one after
 * another, whenever no remote row is available.
 *
 * Rows are decoded from the wire into the caller's slot; nothing is collected,
 * so the socket provides back-pressure.  Only when another owner needs one of
 * our connections are the remaining rows of its task stored in a tuplestore.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat/tuple_desc.h"
#include "executor/task_follow.h"
#include "executor/task_set.h"
#include "executor/task_set_private.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "lib/wait_event.h"
#include "resolve/tag.h"
#include "sharding/hash.h"
#include "txn/serializable.h"
#include "remote/command_log.h"
#include "txn/transaction.h"

/*
 * How often, and how long, a task is retried while the metadata of its shard
 * are outdated: frequently for two seconds, then less often for half a minute.
 * Metadata are late if a node was down when the switch of a move or split was
 * committed, and recovery has to commit it on a busy machine.
 */
#define STALE_RETRIES 500
#define STALE_RETRY_MS 10
#define STALE_EAGER_RETRIES 200
#define STALE_LATE_MS 100

/* A task of so many shards takes long to plan. */
#define MANY_SHARDS 64

int			citus_slow_start_interval = 10; /* ms */

static void task_set_yield(RemoteOwner *owner, RemoteConn *conn);

/*
 * The text of a task's tag; remote if another node gets it, which measures
 * it for the trace of span.
 */
static char *
write_tag(TaskSet *set, Task *task, bool remote, const TraceSpan *span)
{
	TaskTag		tag = task_tag(set->spec, task);
	TraceContext trace;

	if (unlikely(span->id != 0))
	{
		trace = trace_context_of(span);
		tag.trace = remote ? &trace : NULL;
	}

	if (remote && set->spec->snapshot != NULL)
		tag.traits.flags |= TASK_AS_OF;
	/* a move may end now, later than the time that we read as of */
	if (tag.reads == TASK_READS_PRESENT && !remote && !set->spec->write)
		tag.reads = TASK_READS_LATE;
	return task_tag_write(&tag);
}

bool
task_set_needs_primary(TaskSet *set)
{
	return set->spec->write || set->spec->traits.explain != 0;
}

static NodeQueue *
queue_of_group(TaskSet *set, int32 groupid)
{
	NodeQueue  *queue;

	for (int i = 0; i < set->nqueues; i++)
	{
		if (set->queues[i]->groupid == groupid)
			return set->queues[i];
	}
	if (set->nqueues == set->max_queues)
	{
		set->max_queues *= 2;
		set->queues = repalloc(set->queues, sizeof(NodeQueue *) * set->max_queues);
	}
	queue = MemoryContextAllocZero(set->context, sizeof(NodeQueue));
	queue->groupid = groupid;
	set->queues[set->nqueues++] = queue;
	return queue;
}

/*
 * Puts a task into the queue of its node.  All texts for nodes pass here,
 * those for this node too: one that is missing is a bug of the planner's.
 */
static void
enqueue_task(TaskSet *set, Task *task)
{
	if (task->text == NULL || task->text[0] == '\0')
		elog(ERROR, "a task has no text");
	if (task->groupid == metadata_local_group())
		set->local_pending = lappend(set->local_pending, task);
	else
	{
		NodeQueue  *queue = queue_of_group(set, task->groupid);

		queue->pending = lappend(queue->pending, task);
	}
}

/*
 * Whether a shard of the task may be moved away before the task gets to its
 * node, or has just been.
 */
static bool
may_be_refused(TaskSet *set, const Task *task)
{
	const ShardInfo *shards;
	int			shard = -1;

	if (task->retries > 0)
		return true;
	if (task->shard_index < 0)
		return false;
	shards = task->table->shards;
	if (task->shards == NULL)
		return shards[task->shard_index].leaving;
	while ((shard = bms_next_member(task->shards, shard)) >= 0)
	{
		if (shards[shard].leaving)
			return true;
	}
	return false;
}

static void
dispatch_task(TaskSet *set, Worker *worker, Task *task)
{
	MemoryContext old_context = MemoryContextSwitchTo(set->row_context);
	bool		in_xact = !set->spec->commits && (task_set_needs_primary(set) || txn_reads_in_xact());

	worker->task = task;
	worker->guarded = in_xact && unlikely(may_be_refused(set, task));
	if (worker->guarded)
		txn_guard(worker->conn);
	worker->just_sent = true;
	worker->answered = false;
	worker->time = task_time_begin(set, task);
	if (set->offering)
		dist_snapshot_queue_offer(set->spec->snapshot, worker->conn);
	else if (set->spec->snapshot != NULL)
		dist_snapshot_queue(set->spec->snapshot, worker->conn);
	remote_send_task(worker->conn, write_tag(set, task, true, &worker->time.span), task->text, row_codec_params(task->params), set->spec->traits.check_as,
					 (in_xact ? SEND_IN_XACT : 0) | (set->spec->write ? SEND_WRITE : 0) |
					 (set->spec->commits && (set->spec->traits.flags & TASK_PROCEDURE) != 0 ? SEND_APART : 0) |
					 (bms_num_members(task->shards) >= MANY_SHARDS ? SEND_PREPARED : 0) |
					 (set->codec == NULL || row_codec_is_binary(set->codec) ? SEND_BINARY : 0));
	MemoryContextSwitchTo(old_context);
}

bool
task_worker_expects(const Worker *worker)
{
	return worker->task != NULL || worker->conn->state == REMOTE_CONNECTING;
}

/*
 * Takes the next task of a queue; NULL if there is none, or if it must wait.
 */
static Task *
next_task_of_queue(TaskSet *set, NodeQueue *queue)
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
	worker->row_waits = false;
	queue->nworkers++;
}

/* Removes a worker of a queue; the caller deals with its connection. */
static void
remove_worker(TaskSet *set, NodeQueue *queue, int index)
{
	queue->nworkers--;
	set->workers[index] = set->workers[--set->nworkers];
}

bool
task_set_has_pending(TaskSet *set)
{
	for (int i = 0; i < set->nqueues; i++)
	{
		if (set->queues[i]->pending != NIL)
			return true;
	}
	return false;
}

/*
 * How many workers of a queue could take a task now, or when they have
 * connected.
 */
static int
free_workers(const TaskSet *set, const NodeQueue *queue)
{
	int			n = 0;

	for (int i = 0; i < set->nworkers; i++)
		if (set->workers[i].conn->groupid == queue->groupid && set->workers[i].task == NULL)
			n++;
	return n;
}

void
task_set_grow(TaskSet *set)
{
	bool		first_round = set->last_growth == 0;
	TimestampTz now;
	bool		due;

	if (!task_set_has_pending(set))
		return;
	now = GetCurrentTimestamp();
	due = !first_round &&
		TimestampDifferenceExceeds(set->last_growth, now, citus_slow_start_interval);
	if (first_round || due)
		set->last_growth = now;

	for (int i = 0; i < set->nqueues; i++)
	{
		NodeQueue  *queue = set->queues[i];
		RemoteConn *conn = NULL;

		if (queue->pending == NIL ||
			(set->alone != NULL && linitial(queue->pending) != set->alone))
			continue;
		if (queue->nworkers == 0)
		{
			TraceSpan	span = trace_begin();

			conn = set->spec->traits.explain != 0 && !set->spec->write ? remote_acquire_primary(queue->groupid, &set->owner) :
				remote_acquire(queue->groupid, &set->owner, set->spec->write);
			trace_end_wait(&span, TRACE_CONNECT, queue->groupid, NULL);
		}
		else if (due && !task_set_needs_primary(set) && !dist_snapshot_is_closed(queue->groupid) && list_length(queue->pending) > free_workers(set, queue))
			conn = remote_acquire_extra(queue->groupid, &set->owner, queue->nworkers);
		if (conn != NULL)
			add_worker(set, queue, conn);
	}
}

/*
 * Whether an idle worker must be there in case a task of an extra connection
 * is refused.
 */
static bool
may_be_needed(const NodeQueue *queue, const Worker *worker)
{
	return dist_snapshot_held(worker->conn) && queue->nworkers > 1;
}

void
task_set_assign(TaskSet *set)
{
	for (int i = set->nworkers - 1; i >= 0; i--)
	{
		Worker	   *worker = &set->workers[i];
		NodeQueue  *queue;
		Task	   *task;

		if (task_worker_expects(worker))
			continue;
		queue = queue_of_group(set, worker->conn->groupid);

		/*
		 * It is not an error if an extra connection can't be opened, is too
		 * late, or is lost before it has answered.
		 */
		if ((worker->conn->state == REMOTE_DEAD && (queue->nworkers > 1 || worker->lost)) ||
			(worker->refused && queue->nworkers > 1))
		{
			RemoteConn *conn = worker->conn;

			remove_worker(set, queue, i);
			remote_release(conn, &set->owner);
			continue;
		}
		if (queue->nworkers > 1 && !may_be_needed(queue, worker) && remote_give_up_extra(worker->conn))
		{
			remove_worker(set, queue, i);
			continue;
		}
		task = next_task_of_queue(set, queue);
		if (task != NULL)
			dispatch_task(set, worker, task);
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

/* Puts a task for one shard, or its followers, into queues again. */
static void
follow_task(TaskSet *set, const DistTable *now, Task *task)
{
	List	   *tasks = task_followers(set->spec, now, task);
	ListCell   *cell;

	if (task->shards == NULL && list_length(tasks) == 1)
	{
		const Task *again = linitial(tasks);

		/* rows are identified by their task */
		task->table = again->table;
		task->shard_index = again->shard_index;
		task->part = again->part;
		task->groupid = again->groupid;
		task->reads = again->reads;
		enqueue_task(set, task);
		return;
	}
	foreach(cell, tasks)
		enqueue_task(set, lfirst(cell));
}

/*
 * The shard of a task was not on its node: queues the task again, placed by
 * the present metadata, at first at once and then with a delay, since a node
 * may not have learned of the move yet.  False if there were too many retries.
 */
static bool
requeue_task(TaskSet *set, Task *task)
{
	MemoryContext old_context;
	const DistTable *now;

	if (task->retries++ >= STALE_RETRIES)
		return false;
	if (task->retries > 1)
	{
		wait_pause(task->retries > STALE_EAGER_RETRIES ? STALE_LATE_MS : STALE_RETRY_MS, WAIT_SHARD_RETRY);
	}
	AcceptInvalidationMessages();
	now = metadata_require(set->spec->table->relid);
	old_context = MemoryContextSwitchTo(set->context);
	follow_task(set, now, task);
	MemoryContextSwitchTo(old_context);
	return true;
}

/*
 * Whether an error came before the task did anything: its node doesn't have
 * the shard, or has lost the prepared statement, or the connection was lost
 * while a read by itself was on it.  Then it can be sent again, unless the
 * error has aborted earlier work in the node's transaction.
 */
static bool
may_send_again(TaskSet *set, Worker *worker, const ErrorData *error)
{
	bool		gone = error->sqlerrcode == ERRCODE_SHARD_NOT_HERE && worker->task->shard_index >= 0;

	if (worker->conn->state == REMOTE_DEAD)
		return !task_set_needs_primary(set) && worker->conn->xact == REMOTE_XACT_NONE && worker->task->retries == 0;
	if (!gone && !remote_prepared_lost(worker->conn, error))
		return false;
	if (worker->task->retries >= STALE_RETRIES)
		return false;
	return worker->guarded ? txn_restart_guarded(worker->conn) : txn_restart(worker->conn);
}

/*
 * Whether an error only means that an extra connection has come too late for
 * the statement's snapshot.
 */
static bool
is_refused(TaskSet *set, Worker *worker, const ErrorData *error)
{
	return set->spec->snapshot != NULL && dist_snapshot_refused(worker->conn, error) &&
		queue_of_group(set, worker->conn->groupid)->nworkers > 1;
}

/*
 * Whether an error in the place of a task's first answer only means that a
 * snapshot can't be offered: the node's clock is later, the node lacks the
 * shard or the prepared statement, or the connection was lost.
 */
static bool
refuses_offer(Worker *worker, const ErrorData *error)
{
	return worker->conn->state == REMOTE_DEAD || error->sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		error->sqlerrcode == ERRCODE_SHARD_NOT_HERE || remote_prepared_lost(worker->conn, error);
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

		if (set->offering)
		{
			if (!refuses_offer(worker, error))
				PG_RE_THROW();
			catch_end(&point);
			FreeErrorData(error);
			set->must_ask = true;
			return REMOTE_NOT_YET;
		}
		worker->refused = is_refused(set, worker, error);
		if (!worker->refused && !may_send_again(set, worker, error))
		{
			if (error->sqlerrcode != ERRCODE_SHARD_NOT_HERE || worker->conn->state == REMOTE_DEAD)
				PG_RE_THROW();
			catch_end(&point);
			task_report_moved(error->message);
		}
		catch_end(&point);
		remote_release_failed_write();
		worker->lost = worker->conn->state == REMOTE_DEAD;
		if (error->sqlerrcode != ERRCODE_SHARD_NOT_HERE)
		{
			worker->task->retries++;
			enqueue_task(set, worker->task);
		}
		else if (!requeue_task(set, worker->task))
			task_report_moved(error->message);
		FreeErrorData(error);
		worker->task = NULL;
	}
	PG_END_TRY();
	worker->answered = found == REMOTE_ROW;
	return found;
}

RemotePoll
task_set_poll(TaskSet *set, Worker *worker)
{
	RemotePoll	found;

	/*
	 * if data have already arrived, there is no wait that checks for
	 * interrupts
	 */
	CHECK_FOR_INTERRUPTS();
	if (worker->row_waits)
	{
		worker->row_waits = false;
		return REMOTE_ROW;
	}
	found = worker->task != NULL && !worker->answered ?
		poll_first(set, worker) : remote_poll(worker->conn);
	if (found == REMOTE_DONE && worker->task != NULL)
	{
		worker->task->processed += worker->conn->processed;
		task_time_end(&worker->time, worker->task);
		task_done(set, worker->task);
		worker->task = NULL;
	}
	return found;
}

static void
count_received(uint64 *received, const RemoteRow *row)
{
	for (int i = 0; i < row->ncolumns; i++)
		*received += row->values[i].len;
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
		if (task_set_poll(set, worker) != REMOTE_ROW)
			return false;
		if (set->codec != NULL && worker->task->keep_rows)
		{
			row_codec_store(set->codec, &worker->conn->row, slot, set->row_context);
			if (set->spec->received != NULL)
				count_received(set->spec->received, &worker->conn->row);
			return true;
		}
	}
}

/*
 * A row from any connection that has one; the last one first, its rows are
 * likely buffered.
 */
static bool
poll_workers(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	for (int i = 0; i < set->nworkers; i++)
	{
		int			index = (set->last_ready + i) % set->nworkers;
		Worker	   *worker = &set->workers[index];
		Task	   *current = worker->task;

		if (!task_worker_expects(worker))
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

/* Whether this node has a shard, by the present metadata; locks it. */
static bool
lock_own_shards(TaskSet *set, const Task *task, int shard)
{
	const DistTable *table = task->table;
	Oid			relid = shard_local_relid(table->relid, table->shards[shard].shardid);
	const ShardInfo *now;
	int			index;

	if (OidIsValid(relid))
		LockRelationOid(relid, set->spec->write ? RowExclusiveLock : AccessShareLock);
	table = metadata_require(table->relid);
	index = shard_index_of_range(table, task->table->shards[shard].range);
	now = index < 0 ? NULL : &table->shards[index];
	return OidIsValid(relid) && now != NULL && shard_is_here(now);
}

/*
 * Whether this node still has the shard of a local task.  Locks it, as the
 * task will: after a wait for the lock, the shard may have moved.
 */
static bool
is_still_here(TaskSet *set, const Task *task)
{
	int			shard = -1;

	if (task->shard_index < 0 || task->reads == TASK_READS_FORMER)
		return true;
	if (task->shards == NULL)
		return lock_own_shards(set, task, task->shard_index);
	while ((shard = bms_next_member(task->shards, shard)) >= 0)
	{
		if (!lock_own_shards(set, task, shard))
			return false;
	}
	return true;
}

/*
 * The snapshot that a task of this node runs under, other than the active one;
 * NULL: the active one.  In a REPEATABLE READ transaction, the active snapshot
 * is for local and reference tables, and the returned one, as of the time that
 * all nodes share, for shards.
 */
static Snapshot
local_snapshot(TaskSet *set, const Task *task)
{
	if (task->shard_index < 0 && set->spec->write)
		return NULL;
	if (set->spec->as_of != NULL)
		return set->spec->as_of;
	if (!may_be_refused(set, task))
		return NULL;

	/* its shard may have arrived here since the statement began */
	return IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot();
}

static LocalTask *
start_local(TaskSet *set, Task *task)
{
	Snapshot	snapshot = local_snapshot(set, task);
	LocalTask  *local;
	char	   *tag = write_tag(set, task, false, &set->local_time.span);

	DEBUG_POINT("local-task-locked");
	if (snapshot != NULL && set->spec->as_of == NULL)
	{
		PushCopiedSnapshot(snapshot);
		UpdateActiveSnapshotCommandId();
	}
	else if (snapshot != NULL)
		PushActiveSnapshot(snapshot);
	if (unlikely(log_local_commands))
		command_log_report(NULL, task->text);
	local = local_task_start(psprintf("%s%s", tag, task->text), task->params, set->spec->traits.check_as, set->spec->write,
							 set->spec->latest);
	if (snapshot != NULL)
		PopActiveSnapshot();
	return local;
}

bool
task_set_next_own(TaskSet *set, TupleTableSlot *slot, Task **task)
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
			if (!is_still_here(set, next) && requeue_task(set, next))
				continue;
			set->local_current = next;
			set->local_time = task_time_begin(set, next);
			set->local = start_local(set, next);
		}
		row = local_task_next(set->local);
		if (row == NULL)
		{
			LocalTask  *ended = set->local;

			set->local = NULL;
			set->local_current->processed = local_task_end(ended);
			task_time_end(&set->local_time, set->local_current);
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

/* The next row that was stored because another owner needed the connection. */
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

/*
 * Errors if a write is for a shard that it can't see, or where rows that it
 * found have other ctids now.
 */
static void
check_present(const TaskSetSpec *spec)
{
	foreach_ptr(Task, task, spec->write ? spec->tasks : NIL)
	{
		if (task->shard_index >= 0 && task->shards == NULL)
			task_place_checked(spec, task);
	}
}

/* For the limits of SERIALIZABLE, which nodes the tasks use. */
static void
note_nodes(const List *tasks)
{
	Bitmapset  *groups = NULL;

	if (!IsolationIsSerializable())
		return;
	foreach_ptr(const Task, task, tasks)
		groups = bms_add_member(groups, task->groupid);
	serializable_uses(groups);
	bms_free(groups);
}

TaskSet *
task_set_start(const TaskSetSpec *spec)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus task set",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	TaskSet    *set = palloc0(sizeof(TaskSet));
	ListCell   *cell;

	check_present(spec);
	note_nodes(spec->tasks);
	if (unlikely(multi_task_level != 0))
		task_set_announce(spec);
	set->owner.yield = task_set_yield;
	set->owner.resends = true;
	set->spec = spec;
	set->context = context;
	set->row_context = AllocSetContextCreate(context, "citus task row", ALLOCSET_DEFAULT_SIZES);
	set->resowner = CurrentResourceOwner;
	if (unlikely(trace_running || spec->traits.explain != 0))
		set->started = GetCurrentTimestamp();
	if (spec->columns != NULL && spec->columns->natts > 0)
		set->codec = row_codec_create(spec->columns, spec->positions);
	else if (spec->columns != NULL)
		set->codec = row_codec_create(spec->columns, NULL);
	set->max_queues = 8;
	set->queues = palloc(sizeof(NodeQueue *) * set->max_queues);
	foreach(cell, spec->tasks)
		enqueue_task(set, lfirst(cell));
	if (spec->first_alone && spec->tasks != NIL)
		set->alone = linitial(spec->tasks);
	MemoryContextSwitchTo(old_context);
	return set;
}

/* Whether remote work is left or in progress. */
static bool
has_remote_work(TaskSet *set)
{
	if (task_set_has_pending(set))
		return true;
	for (int i = 0; i < set->nworkers; i++)
	{
		if (set->workers[i].task != NULL)
			return true;
	}
	return false;
}

void
task_set_wait(TaskSet *set)
{
	RemoteConn **conns = MemoryContextAlloc(set->row_context, sizeof(RemoteConn *) * set->nworkers);
	int			nconns = 0;

	for (int i = 0; i < set->nworkers; i++)
	{
		if (task_worker_expects(&set->workers[i]) && !set->workers[i].row_waits)
			conns[nconns++] = set->workers[i].conn;
	}
	if (nconns > 0)
		(void) remote_wait(conns, nconns,
						   task_set_has_pending(set) && !task_set_needs_primary(set) ? citus_slow_start_interval : -1);
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
			/* finished workers get their next task before we look for rows */
			task_set_grow(set);
			task_set_assign(set);
			if (poll_workers(set, slot, task))
				return true;
			task_set_assign(set);
		}
		if (task_set_next_own(set, slot, task))
			return true;
		if (!has_remote_work(set))
		{
			if (set->local_pending == NIL)
				break;
			continue;
		}
		task_set_wait(set);
	}
	task_set_assign(set);
	return false;
}

bool
task_set_next(TaskSet *set, TupleTableSlot *slot, Task **task)
{
	ExecClearTuple(slot);
	if (next_spilled(set, slot, task) || next_fresh(set, slot, task))
		return true;

	/* while we waited, another owner may have made us store rows */
	return next_spilled(set, slot, task);
}

/* It may happen in subtransactions, which the rows outlive. */
TupleTableSlot *
task_set_begin_spilling(TaskSet *set)
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

void
task_set_spill(TaskSet *set, TupleTableSlot *slot, Task *task)
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
	TupleTableSlot *slot = task_set_begin_spilling(set);
	bool		more = true;
	Task	   *task;

	while (list_length(set->spilled_tasks) < most && (more = next_fresh(set, slot, &task)))
		task_set_spill(set, slot, task);
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
	TupleDesc	desc = set->codec ? row_codec_slot_desc(set->codec) : CreateTemplateTupleDesc(0);
	TupleTableSlot *slot;
	uint64		processed = 0;
	ListCell   *cell;

	TupleDescFinalize(desc);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
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
		slot = task_set_begin_spilling(set);
	while (set->workers[index].task != NULL)
	{
		Task	   *task = set->workers[index].task;

		if (poll_worker(set, &set->workers[index], slot))
			task_set_spill(set, slot, task);
		else if (set->workers[index].task != NULL)
			(void) remote_wait(&conn, 1, -1);
	}
	remove_worker(set, queue_of_group(set, conn->groupid), index);
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(old_context);
}
