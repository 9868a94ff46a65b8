/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Replaces a tagged query's logical tables by this node's shards.
 *
 * The query has been analysed and rewritten against the logical tables, so
 * views, defaults and row-security policies are theirs.  A shard has the
 * attribute numbers of its table, therefore only the relation's oid changes,
 * and that of the constraint in ON CONFLICT ON CONSTRAINT.
 *
 * A task that is a part of a statement may need other policies than its text
 * implies: for instance, the initiator reads the target of a write by a
 * SELECT, and policies may read tables on other nodes.  So the tag says which
 * policies are part of the text, and which the initiator checks (tag.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_constraint.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "lib/debug_point.h"
#include "resolve/ctid.h"
#include "resolve/query.h"
#include "resolve/set_arms.h"
#include "resolve/shard_set.h"
#include "sharding/hash.h"
#include "sharding/hash_condition.h"

typedef struct ResolveContext
{
	const TaskTag *tag;
	Query	   *query;			/* the level that the walk is at */
	bool		uses_ctid;
	List	  **entries;		/* ResolvedEntry *, of all levels */
	ParamListInfo params;		/* of the task; may be NULL */
} ResolveContext;

/*
 * The table, if it is in the tag's group; NULL for a reference or local table,
 * say.
 */
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

/* A relation of this node; errors if it isn't there (any more). */
static ShardPart *
make_part(const DistTable *table, const ShardInfo *shard, HashRange wanted)
{
	ShardPart  *part = palloc(sizeof(ShardPart));

	part->relid = shard_local_relid(table->relid, shard->shardid);
	if (!OidIsValid(part->relid))
		shard_not_here(table, &shard->range);
	part->range = shard->range;
	(void) hash_range_intersect(&part->range, wanted);
	part->clipped = part->range.min != shard->range.min || part->range.max != shard->range.max;
	return part;
}

static int64
range_width(HashRange range)
{
	return (int64) range.max - range.min + 1;
}

/*
 * The relations on this node with a range's rows from before shards were moved
 * away, split or merged.  Some shards of the range may be unchanged, if the
 * initiator didn't know yet that others had changed.
 */
static List *
former_parts(const DistTable *table, HashRange wanted, bool some_stayed)
{
	int32		here = metadata_local_group();
	int64		missing = range_width(wanted);
	List	   *parts = NIL;

	for (int i = 0; i < table->nshards + table->nidle; i++)
	{
		const ShardInfo *shard = i < table->nshards ? &table->shards[i] : &table->idle[i - table->nshards];
		HashRange	common = wanted;

		if (shard->reshaped || !hash_range_intersect(&common, shard->range) ||
			(shard->former_group != here && !(some_stayed && shard_is_here(shard))))
			continue;
		parts = lappend(parts, make_part(table, shard, wanted));
		missing -= range_width(common);
	}
	if (missing != 0)
		shard_not_here(table, &wanted);
	return parts;
}

/*
 * The relations on this node with the rows of neighbouring shards; NIL if they
 * are not here, or may be newer than the initiator's snapshot: made from
 * others later.
 */
static List *
present_parts(const DistTable *table, const ShardRun *run)
{
	int			first = shard_index_of_hash(table, run->range.min);
	int			last = first;
	bool		reshaped = false;
	List	   *parts = NIL;

	if (table->nshards == 0 || table->shards[first].range.min != run->range.min)
		return NIL;
	while (table->shards[last].range.max < run->range.max)
		last++;
	for (int i = first; i <= last; i++)
	{
		if (!shard_is_here(&table->shards[i]))
			return NIL;
		reshaped = reshaped || table->shards[i].reshaped;
		parts = lappend(parts, make_part(table, &table->shards[i], run->range));
	}
	if (table->shards[last].range.max != run->range.max)
		return NIL;
	return reshaped && shard_cuts(table, first, last) != run->cuts ? NIL : parts;
}

/* The parts of neighbouring shards, or of one, that the tag means. */
static List *
run_parts(const DistTable *table, const ShardRun *run, const TaskTag *tag)
{
	bool		is_named = tag->runs != NIL || shard_index_of_range(table, run->range) >= 0;
	List	   *parts = tag->reads == TASK_READS_FORMER || !is_named ? NIL : present_parts(table, run);

	if (parts == NIL && tag->reads != TASK_READS_PRESENT)
		return former_parts(table, run->range, tag->reads == TASK_READS_LATE);
	if (parts == NIL)
		shard_not_here(table, &run->range);
	return parts;
}

/* The relations of a table that the tag means (ShardPart *). */
static List *
tagged_parts(const DistTable *table, const TaskTag *tag)
{
	ShardRun	only = {tag->range, 0};
	List	   *parts = NIL;
	ListCell   *cell;

	foreach(cell, tag->runs)
		parts = list_concat(parts, run_parts(table, lfirst(cell), tag));
	if (tag->runs != NIL)
		return parts;
	parts = run_parts(table, &only, tag);
	foreach(cell, tag->part != NULL ? parts : NIL)
	{
		ShardPart  *part = lfirst(cell);

		if (!hash_range_intersect(&part->range, *tag->part))
			parts = foreach_delete_current(parts, cell);
		else
			part->clipped = true;
	}
	return parts;
}

/* The shard's constraint that corresponds to one of the logical table. */
static Oid
resolve_constraint(Oid constraint, Oid relid, const TaskTag *tag)
{
	const DistTable *table = metadata_require(relid);
	int			index = shard_index_of_range(table, tag->range);
	char	   *name = get_constraint_name(constraint);

	if (index < 0 || !shard_is_here(&table->shards[index]))
		shard_not_here(table, &tag->range);
	return get_relation_constraint_oid(shard_local_relid(relid, table->shards[index].shardid),
									   shard_relation_name(name, table->shards[index].shardid), false);
}

/* Whether a role has rights to a relation, each to any column at least. */
static bool
has_rights_to_any_column(Oid relid, Oid role, AclMode rights)
{
	static const AclMode of_columns[] = {ACL_SELECT, ACL_INSERT, ACL_UPDATE};
	AclMode		missing = rights & ~pg_class_aclmask(relid, role, rights, ACLMASK_ALL);

	for (int i = 0; i < lengthof(of_columns); i++)
	{
		if ((missing & of_columns[i]) != 0 &&
			pg_attribute_aclcheck_all(relid, role, of_columns[i], ACLMASK_ANY) == ACLCHECK_OK)
			missing &= ~of_columns[i];
	}
	return missing == 0;
}

/*
 * The relation that the rights asked for an entry are to.  The initiator has
 * checked those to the table that its statement names; a task may name a
 * partition of it.  So, if the role has no right to the partition, this is an
 * ancestor to which it has.
 */
static Oid
relation_to_ask_for(Query *query, RangeTblEntry *rte)
{
	Oid			role = compat_check_as_user(query, rte);
	AclMode		rights = compat_permissions_of(query, rte)->requiredPerms;

	if (!get_rel_relispartition(rte->relid))
		return rte->relid;
	role = OidIsValid(role) ? role : GetUserId();
	if ((rights & (ACL_INSERT | ACL_UPDATE | ACL_DELETE)) != 0)
		rights &= ~ACL_SELECT;
	if (has_rights_to_any_column(rte->relid, role, rights))
		return rte->relid;
	foreach_oid(ancestor, get_partition_ancestors(rte->relid))
	{
		if (has_rights_to_any_column(ancestor, role, rights))
			return ancestor;
	}
	return rte->relid;
}

/*
 * The initiator has checked the rights to the columns that the user names.  A
 * task may use others: those that identify a row, and those with an INSERT's
 * defaults or a trigger's assignments, which come from the initiator.  And a
 * write that reads no column doesn't require the right to read, although its
 * task reads columns to find the rows.
 */
static void
ask_any_column(Query *query)
{
	int			count = list_length(query->rtable);

	for (int i = 1; i <= count; i++)
	{
		RangeTblEntry *rte = rt_fetch(i, query->rtable);

		if (rte->rtekind == RTE_RELATION && compat_has_permissions(rte) && metadata_lookup(rte->relid) != NULL)
			compat_ask_any_column(query, rte, relation_to_ask_for(query, rte));
	}
}

/*
 * The same, locked.  While waiting for the lock, the shard may have moved to
 * another node.
 */
static List *
lock_tagged(Oid relid, const TaskTag *tag, LOCKMODE mode)
{
	uint64		generation;
	List	   *parts;

	do
	{
		generation = metadata_generation();
		parts = tagged_parts(metadata_require(relid), tag);
		foreach_ptr(ShardPart, part, parts)
			LockRelationOid(part->relid, mode);
	} while (generation != metadata_generation());
	return parts;
}

static Index
entry_number(const Query *query, const RangeTblEntry *rte)
{
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		if (lfirst(cell) == rte)
			return foreach_current_index(cell) + 1;
	}
	elog(ERROR, "range table entry is not in its query");
}

/*
 * Changes an entry of the query's range table to the shard, or all shards,
 * that the tag means.
 */
static void
resolve_entry(ResolveContext *context, RangeTblEntry *rte)
{
	Query	   *query = context->query;
	const TaskTag *tag = context->tag;
	const DistTable *table = tagged_table(rte->relid, tag);
	ResolvedEntry *entry;
	List	   *parts;
	ShardPart  *first;

	if (table == NULL)
		return;
	parts = lock_tagged(rte->relid, tag, rte->rellockmode);
	first = linitial(parts);
	entry = palloc0(sizeof(ResolvedEntry));
	entry->rte = rte;
	entry->shard_relid = first->relid;
	*context->entries = lappend(*context->entries, entry);
	if (list_length(parts) > 1)
	{
		entry->set_columns = list_length(rte->eref->colnames);
		shard_set_expand(query, rte, parts, context->uses_ctid,
						 !context->uses_ctid && set_arms_assign(query, rte, parts, context->params));
		return;
	}
	if (first->clipped)
		rte->securityQuals = lappend(rte->securityQuals,
									 hash_condition(metadata_require(rte->relid), entry_number(query, rte), first->range));
	rte->relid = first->relid;
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
			resolve_entry(resolve, rte);
		return false;
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ResolveContext level = {tag, query, resolve->uses_ctid, resolve->entries, resolve->params};

		ask_any_column(query);

		/*
		 * before the relation changes: the constraint is looked up by its name
		 */
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
 * Makes a query lock the rows that it reads for a DELETE or MERGE, whose
 * rights the initiator has checked: DELETE requires neither the right to read
 * nor to update.
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
 * The first conditions are the policies of the table that a query reads or
 * changes, and must be evaluated before conditions that aren't leakproof; the
 * policies that the rewriter has found must not be added.
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

/* Reference tables are written by tasks for nodes: these fire no triggers. */
static void
check_target(Oid relid)
{
	const DistTable *table = metadata_lookup(relid);

	if (table != NULL && table->kind == DIST_REFERENCE)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("a task for a shard changes reference table \"%s\"", get_rel_name(relid))));
}

void
resolve_query(Query *query, const TaskTag *tag, ParamListInfo params)
{
	List	   *entries = NIL;
	ResolveContext context = {tag, query, tag->kind == TAG_SHARD && ctid_is_used(query), &entries, params};

	if ((tag->reads != TASK_READS_PRESENT || tag->part != NULL) && (query->commandType != CMD_SELECT || query->rowMarks != NIL))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("a task to change shards that were moved away")));
	if (tag->kind == TAG_SHARD && query->resultRelation != 0)
		check_target(rt_fetch(query->resultRelation, query->rtable)->relid);
	if (tag->traits.flags & TASK_FILTERED)
		take_policies(query, tag->traits.npolicies);
	if (tag->traits.flags & TASK_LOCKS)
		lock_rows(query);
	if (tag->traits.flags & TASK_UNCHECKED)
		query->withCheckOptions = NIL;
	if ((tag->traits.flags & TASK_ALLOWED) && query->resultRelation != 0)
		compat_ask_nothing(query, rt_fetch(query->resultRelation, query->rtable));
	resolve_walker((Node *) query, &context);
	if (context.uses_ctid && entries != NIL)
		resolve_ctid(query, entries);
	DEBUG_POINT("task-resolved");
}
