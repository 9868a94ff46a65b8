/*-------------------------------------------------------------------------
 *
 * query.c
 *	  A tagged query's logical tables become this node's shards.
 *
 * The query has been analysed and rewritten against the logical tables, so
 * views, defaults and row-security policies are theirs.  A shard has the
 * attribute numbers of its table, therefore only the relation's oid changes,
 * and that of the constraint in ON CONFLICT ON CONSTRAINT.
 *
 * A task that is a part of a statement may need other policies than its text shows: the initiator reads the
 * target of a write by a SELECT, for instance, and policies may read what is on other
 * nodes.  So the tag says which policies are part of the text, and which were seen to (tag.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_constraint.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "lib/debug_point.h"
#include "resolve/query.h"
#include "resolve/shard_set.h"
#include "sharding/hash.h"

typedef struct ResolveContext
{
	const TaskTag *tag;
	Query	   *query;			/* the level that the walk is at */
} ResolveContext;

/* The table, if it is in the tag's group; NULL for a reference or local table, say. */
static const DistTable *
tagged_table(Oid relid, const TaskTag *tag)
{
	const DistTable *table = metadata_lookup(relid);

	if (tag->kind != TAG_SHARD || table == NULL || table->kind == DIST_REFERENCE ||
		table->colocation_id != tag->colocation_id)
		return NULL;
	return table;
}

static void
shard_not_here(const DistTable *table, const HashRange *range)
{
	ereport(ERROR,
			(errcode(ERRCODE_SHARD_NOT_HERE),
			 errmsg("the shard of table \"%s\" for the hash values from %d to %d is not on this node",
					get_rel_name(table->relid), range->min, range->max),
			 errdetail("The initiator of the task has old metadata, or the shard is being moved.")));
}

/* A shard's relation on this node. */
static Oid
local_shard(const DistTable *table, const ShardInfo *shard)
{
	Oid			shard_relid = shard_is_here(shard) ? shard_local_relid(table->relid, shard->shardid) : InvalidOid;

	if (!OidIsValid(shard_relid))
		shard_not_here(table, &shard->range);
	return shard_relid;
}

/* The table's shard that the tag means. */
static const ShardInfo *
tagged_shard(const DistTable *table, const TaskTag *tag)
{
	int			index = shard_index_of_range(table, tag->range);

	if (index < 0)
		shard_not_here(table, &tag->range);
	return &table->shards[index];
}

/* Appends the local relations of the shards that a range is made of. */
static List *
add_shards(const DistTable *table, const HashRange *range, List *relids)
{
	int			index = shard_index_of_hash(table, range->min);

	if (table->nshards == 0 || table->shards[index].range.min != range->min)
		shard_not_here(table, range);
	while (index < table->nshards && table->shards[index].range.max <= range->max)
		relids = lappend_oid(relids, local_shard(table, &table->shards[index++]));
	if (index == 0 || table->shards[index - 1].range.max != range->max)
		shard_not_here(table, range);
	return relids;
}

/* The shard's constraint that corresponds to one of the logical table. */
static Oid
resolve_constraint(Oid constraint, Oid relid, const TaskTag *tag)
{
	const DistTable *table = metadata_require(relid);
	const ShardInfo *shard = tagged_shard(table, tag);
	char	   *name = get_constraint_name(constraint);

	return get_relation_constraint_oid(local_shard(table, shard),
									   shard_relation_name(name, shard->shardid), false);
}

/*
 * The initiator has checked the rights to the columns that the user names.  A task may
 * name others: those that tell which row to write, and an INSERT's defaults and what
 * a trigger assigns, which come from the initiator.  Nor does a write that reads
 * no column take the right to read, which its task needs to find the rows.
 */
static void
ask_any_column(Query *query)
{
	int			count = list_length(query->rtable);

	for (int i = 1; i <= count; i++)
	{
		RangeTblEntry *rte = rt_fetch(i, query->rtable);

		if (rte->rtekind == RTE_RELATION && compat_has_permissions(rte) && metadata_lookup(rte->relid) != NULL)
			compat_ask_any_column(query, rte);
	}
}

/* Has an entry of the query's range table be for the shard, or for all shards, that the tag means. */
static void
resolve_entry(Query *query, RangeTblEntry *rte, const TaskTag *tag)
{
	const DistTable *table = tagged_table(rte->relid, tag);
	List	   *relids = NIL;
	ListCell   *cell;

	if (table == NULL)
		return;
	if (tag->ranges == NIL)
	{
		Oid			relid = local_shard(table, tagged_shard(table, tag));

		LockRelationOid(relid, rte->rellockmode);
		rte->relid = relid;
		return;
	}
	foreach(cell, tag->ranges)
		relids = add_shards(table, lfirst(cell), relids);
	foreach(cell, relids)
		LockRelationOid(lfirst_oid(cell), rte->rellockmode);
	shard_set_expand(query, rte, relids);
}

static bool
resolve_walker(Node *node, void *context)
{
	ResolveContext *resolve = context;
	const TaskTag *tag = resolve->tag;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind == RTE_RELATION)
			resolve_entry(resolve->query, rte, resolve->tag);
		return false;
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ResolveContext level = {tag, query};

		ask_any_column(query);

		/* before the relation changes: the constraint is looked up by its name */
		if (query->onConflict && OidIsValid(query->onConflict->constraint))
		{
			Oid			relid = rt_fetch(query->resultRelation, query->rtable)->relid;

			if (tagged_table(relid, tag) != NULL)
				query->onConflict->constraint =
					resolve_constraint(query->onConflict->constraint, relid, tag);
		}
		(void) query_tree_walker(query, resolve_walker, &level, QTW_EXAMINE_RTES_BEFORE);
		compat_permissions_follow(query);
		return false;
	}
	return expression_tree_walker(node, resolve_walker, context);
}

/*
 * Has the rows that a query reads locked for a DELETE or MERGE, whose rights the
 * initiator has checked: neither to read nor to update is among those of a DELETE.
 */
static void
lock_rows(Query *query)
{
	RangeTblEntry *rte = query->rtable != NIL ? rt_fetch(1, query->rtable) : NULL;
	RowMarkClause *mark = makeNode(RowMarkClause);

	if (query->commandType != CMD_SELECT || rte == NULL || rte->rtekind != RTE_RELATION || query->rowMarks != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a task to lock rows is not a query of one table")));
	compat_ask_nothing(query, rte);
	rte->rellockmode = RowShareLock;
	mark->rti = 1;
	mark->strength = LCS_FORUPDATE;
	mark->waitPolicy = LockWaitBlock;
	query->rowMarks = list_make1(mark);
	query->hasForUpdate = true;
}

/*
 * The first conditions are the policies of what a query reads, which is one table, or of what it
 * changes, and have to be met before what may tell of a row is evaluated; the policies that the rewriter has
 * found are not to be added.
 */
static void
take_policies(Query *query, int npolicies)
{
	RangeTblEntry *rte = query->rtable != NIL ? rt_fetch(Max(query->resultRelation, 1), query->rtable) : NULL;
	List	   *conditions = query->jointree ? make_ands_implicit((Expr *) query->jointree->quals) : NIL;

	if (query->commandType == CMD_INSERT || rte == NULL || rte->rtekind != RTE_RELATION ||
		npolicies > list_length(conditions))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("the policies that a task's tag announces are not in its text")));
	rte->securityQuals = list_copy_head(conditions, npolicies);
	if (npolicies > 0)
		query->jointree->quals = npolicies == list_length(conditions) ? NULL :
			(Node *) make_ands_explicit(list_copy_tail(conditions, npolicies));
}

void
resolve_query(Query *query, const TaskTag *tag)
{
	ResolveContext context = {tag, query};

	if (tag->rights & TASK_FILTERED)
		take_policies(query, tag->npolicies);
	if (tag->rights & TASK_LOCKS)
		lock_rows(query);
	if (tag->rights & TASK_UNCHECKED)
		query->withCheckOptions = NIL;
	resolve_walker((Node *) query, &context);
	DEBUG_POINT("task-resolved");
}
