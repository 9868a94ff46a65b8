/*-------------------------------------------------------------------------
 *
 * partition_triggers.c
 *	  The triggers of a partitioned table's partitions, for one statement.
 *
 * Triggers for each row are those of the row's partition.  The server's tuple
 * routing finds a new row's partition; the scan that has found an old row
 * returns its partition.  Rows are converted to the partition's type, whose
 * columns may have another order, and back.  A row that an UPDATE moves to
 * another partition fires what the server fires: BEFORE UPDATE triggers of the
 * old partition, then those of a DELETE there and of an INSERT in the new one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tupconvert.h"
#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "executor/partition_routing.h"
#include "executor/partition_triggers.h"
#include "executor/trigger_run.h"

/* A partition that rows have been in. */
typedef struct TriggerPartition
{
	Oid			relid;
	TriggerRun *run;
	TupleConversionMap *map;	/* from the partitioned table's rows to its
								 * own; NULL if they are the same */
	Datum	   *values;			/* a row of its own */
	bool	   *nulls;
} TriggerPartition;

struct PartitionTriggers
{
	TriggerRun *root;
	Relation	rel;			/* the partitioned table */
	List	   *columns;		/* that an UPDATE assigns */
	List	   *partitions;		/* TriggerPartition *, the last one used
								 * first */
	MemoryContext context;
	PartitionRouting *routing;
};

PartitionTriggers *
partition_triggers_begin(TriggerRun *root, Relation rel, List *columns)
{
	PartitionTriggers *partitions = palloc0(sizeof(PartitionTriggers));

	partitions->root = root;
	partitions->rel = rel;
	partitions->columns = columns;
	partitions->context = CurrentMemoryContext;
	partitions->routing = partition_routing_begin(rel);
	return partitions;
}

void
partition_triggers_end(PartitionTriggers *partitions)
{
	foreach_ptr(TriggerPartition, partition, partitions->partitions)
		triggers_end(partition->run);
	partition_routing_end(partitions->routing);
}

/*
 * The columns of a partition that an UPDATE of the partitioned table assigns.
 */
static List *
columns_of_partition(const PartitionTriggers *partitions, Oid relid)
{
	List	   *result = NIL;

	foreach_int(column, partitions->columns)
		result = lappend_int(result, get_attnum(relid, get_attname(RelationGetRelid(partitions->rel), column, false)));
	return result;
}

static TriggerPartition *
partition_of_oid(PartitionTriggers *partitions, Oid relid)
{
	MemoryContext old_context;
	TriggerPartition *partition;
	Relation	rel;
	ListCell   *cell;

	foreach(cell, partitions->partitions)
	{
		if (((TriggerPartition *) lfirst(cell))->relid == relid)
			return lfirst(cell);
	}
	old_context = MemoryContextSwitchTo(partitions->context);
	partition = palloc0(sizeof(TriggerPartition));
	partition->relid = relid;
	partition->run = triggers_begin_for_partition(partitions->root, relid, columns_of_partition(partitions, relid));
	rel = table_open(relid, NoLock);
	partition->map = convert_tuples_by_name(RelationGetDescr(partitions->rel), RelationGetDescr(rel));
	partition->values = palloc0(sizeof(Datum) * RelationGetDescr(rel)->natts);
	partition->nulls = palloc0(sizeof(bool) * RelationGetDescr(rel)->natts);
	table_close(rel, NoLock);
	partitions->partitions = lcons(partition, partitions->partitions);
	MemoryContextSwitchTo(old_context);
	return partition;
}

/* The partition of a new row; errors if there is none, as the server does. */
static TriggerPartition *
partition_of_row(PartitionTriggers *partitions, Datum *values, bool *nulls)
{
	return partition_of_oid(partitions, partition_routing_find(partitions->routing, values, nulls));
}

/*
 * Copies a row's values into memory that lives until the next call of BEFORE
 * ROW triggers for the partitioned table.
 */
static void
keep_values(PartitionTriggers *partitions, Datum *values, const bool *nulls)
{
	TupleDesc	desc = RelationGetDescr(partitions->rel);
	MemoryContext old_context = MemoryContextSwitchTo(GetPerTupleMemoryContext(partitions->routing->estate));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!nulls[i])
			values[i] = datumCopy(values[i], attribute->attbyval, attribute->attlen);
	}
	MemoryContextSwitchTo(old_context);
}

/* Makes values and nulls those of a row of the partition. */
static void
to_partition(TriggerPartition *partition, Datum **values, bool **nulls)
{
	AttrMap    *map;

	if (partition->map == NULL)
		return;
	map = partition->map->attrMap;
	for (int i = 0; i < map->maplen; i++)
	{
		int			attno = map->attnums[i];

		partition->values[i] = attno == 0 ? (Datum) 0 : (*values)[attno - 1];
		partition->nulls[i] = attno == 0 || (*nulls)[attno - 1];
	}
	*values = partition->values;
	*nulls = partition->nulls;
}

/* Converts a row of the partition, which triggers may have changed, back. */
static void
from_partition(TriggerPartition *partition, Datum *values, bool *nulls)
{
	AttrMap    *map;

	if (partition->map == NULL)
		return;
	map = partition->map->attrMap;
	for (int i = 0; i < map->maplen; i++)
	{
		int			attno = map->attnums[i];

		if (attno == 0)
			continue;
		values[attno - 1] = partition->values[i];
		nulls[attno - 1] = partition->nulls[i];
	}
}

static HeapTuple
old_in_partition(TriggerPartition *partition, HeapTuple old)
{
	if (partition->map != NULL)
		old = execute_attr_map_tuple(old, partition->map);
	old->t_tableOid = partition->relid;
	return old;
}

/* BEFORE INSERT triggers of a partition. */
static bool
insert_into_partition(TriggerPartition *partition, Datum *values, bool *nulls)
{
	Datum	   *own_values = values;
	bool	   *own_nulls = nulls;

	to_partition(partition, &own_values, &own_nulls);
	if (!triggers_before_insert(partition->run, own_values, own_nulls))
		return false;
	from_partition(partition, values, nulls);
	return true;
}

bool
partition_before_insert(PartitionTriggers *partitions, Datum *values, bool *nulls)
{
	ResetPerTupleExprContext(partitions->routing->estate);
	return insert_into_partition(partition_of_row(partitions, values, nulls), values, nulls);
}

bool
partition_before_update(PartitionTriggers *partitions, HeapTuple old, Datum *values, bool *nulls)
{
	TriggerPartition *from = partition_of_oid(partitions, old->t_tableOid);
	TriggerPartition *to;
	Datum	   *own_values = values;
	bool	   *own_nulls = nulls;

	ResetPerTupleExprContext(partitions->routing->estate);
	old = old_in_partition(from, old);
	to_partition(from, &own_values, &own_nulls);
	if (!triggers_before_update(from->run, old, own_values, own_nulls))
		return false;
	from_partition(from, values, nulls);
	to = partition_of_row(partitions, values, nulls);
	if (to == from)
		return true;
	keep_values(partitions, values, nulls);
	if (!triggers_before_delete(from->run, old))
		return false;
	if (!insert_into_partition(to, values, nulls))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a BEFORE INSERT trigger of partition \"%s\" has skipped a row that was moved there",
						get_rel_name(to->relid)),
				 errhint("Use a BEFORE UPDATE trigger, or DELETE.")));
	return true;
}

bool
partition_before_delete(PartitionTriggers *partitions, HeapTuple old)
{
	TriggerPartition *partition = partition_of_oid(partitions, old->t_tableOid);

	ResetPerTupleExprContext(partitions->routing->estate);
	return triggers_before_delete(partition->run, old_in_partition(partition, old));
}

void
partition_after_insert(PartitionTriggers *partitions, Datum *values, bool *nulls)
{
	TriggerPartition *partition = partition_of_row(partitions, values, nulls);

	to_partition(partition, &values, &nulls);
	triggers_after_insert(partition->run, values, nulls);
}

void
partition_after_update(PartitionTriggers *partitions, HeapTuple old, Datum *values, bool *nulls)
{
	TriggerPartition *from = partition_of_oid(partitions, old->t_tableOid);
	TriggerPartition *to = partition_of_row(partitions, values, nulls);
	Datum	   *left_values = values;
	bool	   *left_nulls = nulls;

	old = old_in_partition(from, old);
	to_partition(from, &left_values, &left_nulls);
	to_partition(to, &values, &nulls);
	if (to == from)
		triggers_after_update(from->run, old, values, nulls);
	else
		triggers_after_move(from->run, old, left_values, left_nulls, to->run, values, nulls);
}

void
partition_after_delete(PartitionTriggers *partitions, HeapTuple old)
{
	TriggerPartition *partition = partition_of_oid(partitions, old->t_tableOid);

	triggers_after_delete(partition->run, old_in_partition(partition, old));
}

void
partition_queue_checks(PartitionTriggers *partitions)
{
	foreach_ptr(TriggerPartition, partition, partitions->partitions)
		triggers_queue_checks(partition->run);
}

void
partition_write_entries(PartitionTriggers *partitions)
{
	foreach_ptr(TriggerPartition, partition, partitions->partitions)
		triggers_write_entries(partition->run);
}
