/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  VACUUM and ANALYZE of distributed and reference tables.
 *
 * Each node runs the statement on its shards.  VACUUM can't run in a
 * transaction block, so that it goes to other nodes outside the distributed
 * transaction, one node after the other; ANALYZE within it, on all at once.
 * Without a list of tables both mean every table of this node; those that
 * only another node has are its own matter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/acl.h"
#include "ddl/analyze.h"
#include "ddl/definition.h"
#include "ddl/handlers.h"
#include "ddl/shards.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "resolve/utility.h"

/* Appends the statement's verb and options. */
static void
append_options(StringInfo buf, const VacuumStmt *stmt)
{
	ListCell   *cell;

	appendStringInfoString(buf, stmt->is_vacuumcmd ? "VACUUM" : "ANALYZE");
	foreach(cell, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		appendStringInfo(buf, "%s%s", foreach_current_index(cell) == 0 ? " (" : ", ",
						 quote_identifier(option->defname));
		if (option->arg != NULL)
			appendStringInfo(buf, " %s", quote_literal_cstr(defGetString(option)));
	}
	if (stmt->options != NIL)
		appendStringInfoChar(buf, ')');
}

/* Appends a table and the columns that the statement names. */
static void
append_relation(StringInfo buf, Oid relid, List *columns)
{
	ListCell   *cell;

	appendStringInfo(buf, " %s", relation_qualified_name(relid));
	foreach(cell, columns)
		appendStringInfo(buf, "%s%s", foreach_current_index(cell) == 0 ? " (" : ", ",
						 quote_identifier(strVal(lfirst(cell))));
	if (columns != NIL)
		appendStringInfoChar(buf, ')');
}

/*
 * The distributed or reference table that an entry names, or NULL.  Nor is it
 * ours if the user may not vacuum it: the server then says so, once.
 */
static const DistTable *
vacuumed_table(const VacuumRelation *relation)
{
	const DistTable *table = dist_table_of_rangevar(relation->relation);

	return table != NULL && object_ownercheck(RelationRelationId, table->relid, GetUserId()) ? table : NULL;
}

/* What the other nodes run, for the distributed and reference tables among the statement's. */
static char *
relayed_text(const VacuumStmt *stmt)
{
	StringInfoData buf;
	bool		first = true;
	ListCell   *cell;

	initStringInfo(&buf);
	appendStringInfoString(&buf, TASK_TAG_DDL);
	append_options(&buf, stmt);
	foreach(cell, stmt->rels)
	{
		VacuumRelation *relation = lfirst_node(VacuumRelation, cell);
		const DistTable *table = vacuumed_table(relation);

		if (table == NULL)
			continue;
		appendStringInfoString(&buf, first ? "" : ",");
		append_relation(&buf, table->relid, relation->va_cols);
		first = false;
	}
	return first ? NULL : buf.data;
}

/* The statement's tables, with their local shards in the place of logical tables. */
static List *
with_shards(List *rels)
{
	List	   *result = NIL;
	ListCell   *cell;
	ListCell   *shard;

	foreach(cell, rels)
	{
		VacuumRelation *relation = lfirst_node(VacuumRelation, cell);
		const DistTable *table = vacuumed_table(relation);

		if (table == NULL || table->kind == DIST_REFERENCE)
		{
			result = lappend(result, relation);
			continue;
		}
		foreach(shard, local_shard_relids(table))
		{
			char	   *name = get_rel_name(lfirst_oid(shard));

			/* dropped meanwhile: nothing is locked yet */
			if (name == NULL)
				continue;
			result = lappend(result,
							 makeVacuumRelation(makeRangeVar(pstrdup(SHARD_SCHEMA), name, -1),
												lfirst_oid(shard), copyObject(relation->va_cols)));
		}
	}
	return result;
}

/* Oids of the distributed tables, without reference tables, that the statement names. */
static List *
distributed_relids(List *rels)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, rels)
	{
		const DistTable *table = vacuumed_table(lfirst_node(VacuumRelation, cell));

		if (table != NULL && table->kind != DIST_REFERENCE)
			result = lappend_oid(result, table->relid);
	}
	return result;
}

/* Whether the statement computes statistics. */
static bool
computes_statistics(const VacuumStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "analyze") == 0)
			return defGetBoolean(option);
	}
	return !stmt->is_vacuumcmd;
}

/* Sends the statement to the other nodes. */
static void
relay_vacuum(const VacuumStmt *stmt, const char *text)
{
	ListCell   *cell;

	if (!stmt->is_vacuumcmd)
	{
		remote_exec_on_all(text);
		return;
	}
	foreach(cell, node_active_primaries_remote())
		remote_exec_alone(((const ClusterNode *) lfirst(cell))->groupid, text);
}

/*
 * What a statement without a list means, as a list; shards are left out, since
 * their tables stand for them.  Permissions are for the server to check.
 */
static List *
every_relation(void)
{
	List	   *result = NIL;
	Oid			shards = get_namespace_oid(SHARD_SCHEMA, true);
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(pg_class, 0, NULL);
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (form->relnamespace != shards &&
			(form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW ||
			 form->relkind == RELKIND_PARTITIONED_TABLE))
			result = lappend(result,
							 makeVacuumRelation(makeRangeVar(get_namespace_name(form->relnamespace),
															 pstrdup(NameStr(form->relname)), -1),
												form->oid, NIL));
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return result;
}

bool
vacuum_utility(UtilityCall *call)
{
	VacuumStmt *stmt = castNode(VacuumStmt, call->pstmt->utilityStmt);
	char	   *text;
	bool		analyze = computes_statistics(stmt);
	List	   *relids;

	if (stmt->rels == NIL && !call->relayed && metadata_tables(0) != NIL)
		stmt->rels = every_relation();
	text = relayed_text(stmt);
	if (text == NULL)
		return false;
	if (stmt->is_vacuumcmd)
		PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, "VACUUM");
	relids = distributed_relids(stmt->rels);
	if (!call->relayed)
		relay_vacuum(stmt, text);
	stmt->rels = with_shards(stmt->rels);
	if (stmt->rels != NIL)
		utility_run(call);
	if (analyze && !call->relayed)
		analyze_logical_tables(relids);
	return true;
}
