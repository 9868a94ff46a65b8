/*-------------------------------------------------------------------------
 *
 * reference_write.c
 *	  Writing a reference table on every node.
 *
 * The node with the lowest group id comes first, alone: row locks and unique
 * keys there put concurrent writers in one order.  Writes that don't commute with
 * an INSERT (UPDATE, DELETE, upsert) take a SHARE ROW EXCLUSIVE lock on the table of
 * that node, held to the end of the transaction, which conflicts with the ROW
 * EXCLUSIVE lock that every writer takes there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/node.h"
#include "executor/scan.h"
#include "remote/connection.h"
#include "resolve/tag.h"

/* Groups of all nodes, this one included, ascending. */
static List *
all_groups(void)
{
	List	   *groups = list_make1_int(metadata_local_group());
	ListCell   *cell;

	foreach(cell, node_active_primaries())
		groups = list_append_unique_int(groups, ((ClusterNode *) lfirst(cell))->groupid);
	list_sort(groups, list_int_cmp);
	return groups;
}

List *
reference_tasks(const DistTable *table, const char *text, ParamListInfo params)
{
	List	   *tasks = NIL;
	ListCell   *cell;

	foreach(cell, all_groups())
	{
		Task	   *task = palloc0(sizeof(Task));

		task->shard_index = -1;
		task->groupid = lfirst_int(cell);
		task->text = text;
		task->params = params;
		task->keep_rows = task->groupid == metadata_local_group();
		tasks = lappend(tasks, task);
	}
	return tasks;
}

void
reference_lock(Oid relid)
{
	int32		lowest = linitial_int(all_groups());

	if (lowest == metadata_local_group())
		LockRelationOid(relid, ShareRowExclusiveLock);
	else
		remote_exec(lowest,
					psprintf(TASK_TAG_NODE "LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE",
							 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
														get_rel_name(relid))));
}
