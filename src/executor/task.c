/*-------------------------------------------------------------------------
 *
 * task.c
 *	  Makes tasks: for a shard, or for all shards of a node; and their tags.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/task.h"
#include "sharding/hash.h"

Task *
task_make(const DistTable *table, int shard_index, const char *text, ParamListInfo params)
{
	Task	   *task = palloc0(sizeof(Task));

	task->table = table;
	task->shard_index = shard_index;
	task->groupid = table->shards[shard_index].groupid;
	task->text = text;
	task->params = params;
	task->keep_rows = true;
	return task;
}

void
task_place(Task *task, Snapshot as_of)
{
	const ShardInfo *shard = &task->table->shards[task->shard_index];

	task->reads = shard_is_former_as_of(shard, as_of) ? TASK_READS_FORMER : TASK_READS_PRESENT;
	task->groupid = task->reads == TASK_READS_FORMER ? shard->former_group : shard->groupid;
}

Task *
task_make_as_of(const DistTable *table, int shard_index, const char *text, ParamListInfo params, Snapshot as_of)
{
	Task	   *task = task_make(table, shard_index, text, params);

	task_place(task, as_of);
	return task;
}

List *
task_add_to_node(List *tasks, Task *added)
{
	foreach_ptr(Task, task, tasks)
	{
		if (task->groupid != added->groupid || task->reads != added->reads)
			continue;
		if (task->shards == NULL)
			task->shards = bms_make_singleton(task->shard_index);
		task->shards = bms_add_member(task->shards, added->shard_index);
		return tasks;
	}
	return lappend(tasks, added);
}

List *
tasks_make_by_node(const DistTable *table, const Bitmapset *shards, const char *text, ParamListInfo params,
				   Snapshot as_of)
{
	List	   *tasks = NIL;
	int			shard = -1;

	while ((shard = bms_next_member(shards, shard)) >= 0)
		tasks = task_add_to_node(tasks, task_make_as_of(table, shard, text, params, as_of));
	return tasks;
}

/* The ranges of a task for several shards; neighbours make one. */
static List *
task_runs(const Task *task)
{
	List	   *runs = NIL;
	int			shard = bms_next_member(task->shards, -1);

	while (shard >= 0)
	{
		ShardRun   *run = palloc(sizeof(ShardRun));
		int			last = shard;
		int			next;

		while ((next = bms_next_member(task->shards, last)) == last + 1)
			last = next;
		run->range.min = task->table->shards[shard].range.min;
		run->range.max = task->table->shards[last].range.max;
		run->cuts = shard_cuts(task->table, shard, last);
		runs = lappend(runs, run);
		shard = next;
	}
	return runs;
}

TaskTag
task_tag(const TaskSetSpec *spec, const Task *task)
{
	TaskTag		tag = {
		.kind = task->shard_index < 0 ? TAG_NODE : TAG_SHARD,
		.colocation_id = spec->table->colocation_id,
		.reads = task->reads,
		.part = task->part,
		.traits = spec->traits,
	};

	if (task->shards != NULL)
	{
		tag.runs = task_runs(task);
		tag.range = ((ShardRun *) linitial(tag.runs))->range;
	}
	else if (task->shard_index >= 0)
		tag.range = task->table->shards[task->shard_index].range;
	return tag;
}
