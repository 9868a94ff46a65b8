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

typedef struct ResolveContext
{
	const TaskTag *tag;
	Query	   *query;			/* the level that the walk is at */
} ResolveContext;

/*
 * The local shard of a table at an index, or InvalidOid if the table
 * isn't in the tag's group (a reference or local table, say).
 */
static Oid
resolve_relation(Oid relid, const TaskTag *tag, int shard_index)
{
	const DistTable *table = metadata_lookup(relid);
	Oid			shard_relid = InvalidOid;

	if (tag->kind != TAG_SHARD || table == NULL || table->kind == DIST_REFERENCE ||
		table->colocation_id != tag->colocation_id)
		return InvalidOid;

	/* a shard that has moved away may wait here to be dropped */
	if (shard_index < table->nshards && table->shards[shard_index].groupid == metadata_local_group())
		shard_relid = shard_local_relid(relid, table->shards[shard_index].shardid);
	if (!OidIsValid(shard_relid))
		ereport(ERROR,
				(errcode(ERRCODE_SHARD_NOT_HERE),
				 errmsg("shard %d of table \"%s\" is not on this node",
						shard_index, get_rel_name(relid)),
				 errdetail("The initiator of the task has old metadata, or the shard is being moved.")));
	return shard_relid;
}

/* The shard's constraint that corresponds to one of the logical table. */
static Oid
resolve_constraint(Oid constraint, Oid relid, const TaskTag *tag)
{
	const DistTable *table = metadata_require(relid);
	const ShardInfo *shard = &table->shards[tag->shard_index];
	char	   *name = get_constraint_name(constraint);

	return get_relation_constraint_oid(shard_local_relid(relid, shard->shardid),
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
	Oid			shard_relid = resolve_relation(rte->relid, tag, tag->shard_index);
	List	   *relids = NIL;
	int			shard = -1;

	if (!OidIsValid(shard_relid))
		return;
	if (tag->shards == NULL)
	{
		LockRelationOid(shard_relid, rte->rellockmode);
		rte->relid = shard_relid;
		return;
	}
	while ((shard = bms_next_member(tag->shards, shard)) >= 0)
	{
		shard_relid = resolve_relation(rte->relid, tag, shard);
		LockRelationOid(shard_relid, rte->rellockmode);
		relids = lappend_oid(relids, shard_relid);
	}
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

			if (OidIsValid(resolve_relation(relid, tag, tag->shard_index)))
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
