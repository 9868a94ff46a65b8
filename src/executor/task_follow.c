/*-------------------------------------------------------------------------
 *
 * task_follow.c
 *	  Replaces tasks whose shards were moved, split or merged.
 *
 * A task whose node doesn't have its shard is sent to the node that has it
 * now.  If a read is the whole statement, its conditions are evaluated again.
 * Any other read goes to all shards that have some of the old shard's hash
 * values, restricted to these.  Writes aren't affected by splits and merges,
 * which wait for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"

#include "executor/task_follow.h"
#include "sharding/hash.h"

void
task_report_moved(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to a concurrent move of a shard"),
			 detail == NULL ? 0 : errdetail_internal("%s", detail),
			 errhint("The transaction might succeed if retried.")));
}

void
task_place_checked(const TaskSetSpec *spec, Task *task)
{
	task_place(task, spec->write && IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : spec->as_of);
	if (spec->write && (task->reads == TASK_READS_FORMER ||
						shard_is_former_as_of(&task->table->shards[task->shard_index], spec->ctids_of)))
		task_report_moved(NULL);
}

/*
 * A task for a shard of a table as it is now, instead of one that was refused.
 */
static Task *
make_again(const TaskSetSpec *spec, const DistTable *now, int index, const Task *refused)
{
	Task	   *task = task_make(now, index, refused->text, refused->params);

	task->retries = refused->retries;
	task->keep_rows = refused->keep_rows;
	task_place_checked(spec, task);
	return task;
}

/*
 * Adds the present shards for a shard of a refused task: itself, or those that
 * a split or merge has made of it.
 */
static List *
add_followers(const TaskSetSpec *spec, const DistTable *now, const Task *refused, int shard, List *tasks)
{
	HashRange	old = refused->part != NULL ? *refused->part : refused->table->shards[shard].range;
	int			index = shard_index_of_range(now, old);
	Bitmapset  *found;

	if (index >= 0)
		return lappend(tasks, make_again(spec, now, index, refused));
	if (spec->find_shards == NULL)
		task_report_moved(NULL);
	found = spec->find_shards(spec->find_arg, now);
	index = -1;
	while ((index = bms_next_member(found, index)) >= 0)
	{
		HashRange	part = old;
		HashRange	range = now->shards[index].range;
		Task	   *task;

		if (!hash_range_intersect(&part, range) && !spec->whole)
			continue;
		task = make_again(spec, now, index, refused);
		if (!spec->whole && (part.min != range.min || part.max != range.max))
		{
			task->part = palloc(sizeof(HashRange));
			*unconstify(HashRange *, task->part) = part;
		}
		tasks = lappend(tasks, task);
	}
	return tasks;
}

List *
task_followers(const TaskSetSpec *spec, const DistTable *now, const Task *refused)
{
	List	   *tasks = NIL;
	List	   *followers = NIL;
	int			shard = -1;

	if (spec->stays)
		task_report_moved(NULL);
	if (refused->shards == NULL)
		return add_followers(spec, now, refused, refused->shard_index, NIL);
	while ((shard = bms_next_member(refused->shards, shard)) >= 0)
		followers = add_followers(spec, now, refused, shard, followers);
	foreach_ptr(Task, task, followers)
	{
		/* a set's shards are all of its node, so it has all that was merged */
		task->part = NULL;
		tasks = task_add_to_node(tasks, task);
	}
	return tasks;
}
