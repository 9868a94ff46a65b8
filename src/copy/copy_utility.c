/*-------------------------------------------------------------------------
 *
 * copy_utility.c
 *	  Decides which COPY statements are ours; COPY TO of distributed tables.
 *
 * COPY TO of a distributed table is the server's COPY (SELECT ..) TO, with the
 * columns that COPY would write.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/copy.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/new_storage.h"
#include "copy/copy.h"
#include "copy/copy_from.h"
#include "copy/row_router.h"
#include "copy/shard_sink.h"
#include "copy/view_rows.h"
#include "executor/read_ahead.h"
#include "lib/run_as.h"
#include "resolve/tag.h"
#include "txn/commit_ring.h"
#include "txn/serializable.h"
#include "txn/snapshot.h"

void
copy_init(void)
{
	shard_sink_init();
	row_router_init();
}

/* SELECT of the columns that COPY of the relation writes, in that order. */
static SelectStmt *
select_for_copy(Relation rel, List *attlist)
{
	SelectStmt *select = makeNode(SelectStmt);
	RangeVar   *from = makeRangeVar(get_namespace_name(RelationGetNamespace(rel)),
									pstrdup(RelationGetRelationName(rel)), -1);

	foreach_int(attnum, CopyGetAttnums(RelationGetDescr(rel), rel, attlist))
	{
		Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
		ColumnRef  *column = makeNode(ColumnRef);
		ResTarget  *target = makeNode(ResTarget);

		column->fields = list_make1(makeString(pstrdup(NameStr(attr->attname))));
		column->location = -1;
		target->val = (Node *) column;
		target->location = -1;
		select->targetList = lappend(select->targetList, target);
	}
	from->inh = false;
	select->fromClause = list_make1(from);
	return select;
}

/* Runs COPY .. TO for a distributed table as COPY (query) TO. */
static uint64
copy_to(ParseState *pstate, PlannedStmt *pstmt, CopyStmt *stmt, Relation rel)
{
	uint64		rows;

	stmt->query = (Node *) select_for_copy(rel, stmt->attlist);
	stmt->relation = NULL;
	stmt->attlist = NIL;
	DoCopy(pstate, stmt, pstmt->stmt_location, pstmt->stmt_len, &rows);
	return rows;
}

/*
 * The distributed or reference table that the statement names, now locked, or
 * NULL.
 */
static const DistTable *
lock_named_table(const CopyStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->relation, stmt->is_from ? RowExclusiveLock : AccessShareLock, true);

	return OidIsValid(relid) ? metadata_lookup(relid) : NULL;
}

/*
 * The table that another node sends frames for, locked.  If it isn't here, the
 * transaction that creates or distributes it has committed there and will
 * commit here soon.
 */
static const DistTable *
lock_table_of_frames(const CopyStmt *stmt)
{
	const DistTable *table = stmt->is_from ? lock_named_table(stmt) : NULL;

	if (table == NULL && stmt->is_from)
	{
		commit_ring_await(commit_ring_clock());
		table = lock_named_table(stmt);
	}
	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SHARD_NOT_HERE),
				 errmsg("table \"%s\" is not a distributed table on this node", stmt->relation->relname)));
	return table;
}

/*
 * The table of a client's statement, locked, if COPY of it is ours, else NULL.
 * For COPY FROM of a reference table the set of nodes is locked before the
 * table.
 */
static const DistTable *
lock_table_of_client(const CopyStmt *stmt)
{
	bool		nodes_locked = !stmt->is_from;

	for (;;)
	{
		Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
		const DistTable *table = OidIsValid(relid) ? metadata_lookup(relid) : NULL;

		if (table != NULL && table->kind == DIST_REFERENCE && !nodes_locked)
		{
			node_share_replicas_local();
			nodes_locked = true;
		}
		table = lock_named_table(stmt);
		if (table == NULL || (!stmt->is_from && (table->kind == DIST_REFERENCE ||
												 get_rel_relkind(table->relid) != RELKIND_RELATION)))
		{
			if (table != NULL && table->kind == DIST_REFERENCE)
				snapshot_await_left(table->relid);
			return NULL;
		}
		if (table->kind != DIST_REFERENCE || nodes_locked)
			return table;
		UnlockRelationOid(table->relid, RowExclusiveLock);
	}
}

/*
 * Errors as the server does if COPY FROM asks for frozen rows of a table that
 * others may see as it was.  Shards get ordinary rows nevertheless, as some
 * may be of a transaction that sees others' rows.
 */
static void
check_freeze(ParseState *pstate, const CopyStmt *stmt, Relation rel)
{
	CopyFormatOptions options = {0};

	ProcessCopyOptions(pstate, &options, true, stmt->options);
	if (!options.freeze)
		return;
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("cannot perform COPY FREEZE on a partitioned table")));
	if (rel->rd_createSubid != GetCurrentSubTransactionId() &&
		rel->rd_newRelfilelocatorSubid != GetCurrentSubTransactionId())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction")));
}

/* The server itself copies a table's rows, which are on this node. */
static void
note_own_copy(const CopyStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);

	if (OidIsValid(relid) && get_rel_persistence(relid) != RELPERSISTENCE_TEMP)
		serializable_uses_node(metadata_local_group());
}

bool
copy_utility(PlannedStmt *pstmt, const char *query_string, QueryEnvironment *query_env, QueryCompletion *qc)
{
	CopyStmt   *stmt = (CopyStmt *) pstmt->utilityStmt;
	const DistTable *table;
	TaskTag		tag = {TAG_NONE};
	ParseState *pstate;
	Relation	rel;
	RunAs		caller;
	uint64		rows;

	if (!IsA(stmt, CopyStmt) || stmt->relation == NULL || !metadata_available())
		return false;
	(void) task_tag_parse(query_string, &tag);
	if (tag.kind != TAG_NONE && tag.kind != TAG_FRAMES && tag.kind != TAG_DDL)
		return false;
	stmt = copyObject(stmt);
	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = query_string;
	pstate->p_queryEnv = query_env;
	if (tag.kind == TAG_DDL)
	{
		(void) view_rows_receive(pstate, stmt);
		free_parsestate(pstate);
		return true;
	}
	caller = run_as_begin(tag.traits.check_as);
	table = tag.kind == TAG_FRAMES ? lock_table_of_frames(stmt) : lock_table_of_client(stmt);
	if (table == NULL)
	{
		run_as_end(caller);
		note_own_copy(stmt);
		return false;
	}

	rel = table_open(table->relid, NoLock);
	/*
	 * the initiator has checked the columns that the user names; others come
	 * from defaults and triggers
	 */
	if (tag.kind == TAG_FRAMES)
		(void) copy_check_insert(pstate, rel, NIL);
	run_as_end(caller);
	if (!stmt->is_from)
		rows = copy_to(pstate, pstmt, stmt, rel);
	else if (tag.kind == TAG_FRAMES)
		rows = copy_from_frames(pstate, stmt, rel, table);
	else
	{
		check_freeze(pstate, stmt, rel);
		read_ahead_all(NULL);
		rows = copy_from_initiator(pstate, stmt, rel, table);
	}
	table_close(rel, NoLock);
	free_parsestate(pstate);
	if (qc != NULL)
		SetQueryCompletion(qc, CMDTAG_COPY, rows);
	return true;
}
