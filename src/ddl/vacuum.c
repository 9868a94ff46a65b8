/*-------------------------------------------------------------------------
 *
 * vacuum.c
 *	  VACUUM and ANALYZE of distributed and reference tables, and of
 *	  materialized views that all nodes have.
 *
 * Each node runs the statement on its shards, or on its copy.  VACUUM can't
 * run in a transaction block, so it runs on other nodes outside the
 * distributed transaction, one node after another.  ANALYZE uses a transaction
 * for each table, unless it runs in a block: the table is locked on the
 * coordinator, then all nodes analyze their shards in parallel, and get the
 * sums.
 *
 * Without a list of tables, both process every table of this node, not those
 * that only other nodes have.
 *
 * A table that is dropped after the statement has begun is skipped, as by the
 * server: so tables are identified by Oid.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "analyze/analyze.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/object_scope.h"
#include "compat/maintains_table.h"
#include "ddl/handlers.h"
#include "objects/object_lock.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"

/* Appends the statement's verb and options. */
static void
append_vacuum_options(StringInfo buf, const VacuumStmt *stmt)
{
	appendStringInfoString(buf, stmt->is_vacuumcmd ? "VACUUM" : "ANALYZE");
	foreach_node(DefElem, option, stmt->options)
	{
		appendStringInfo(buf, "%s%s", foreach_current_index(option) == 0 ? " (" : ", ",
						 quote_identifier(option->defname));
		if (option->arg != NULL && IsA(option->arg, Integer))
			appendStringInfo(buf, " %d", intVal(option->arg));
		else if (option->arg != NULL)
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

/* Whether a relation is a materialized view that all nodes have. */
static bool
is_shared_matview(Oid relid)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, relid);
	return get_rel_relkind(relid) == RELKIND_MATVIEW && !object_is_local(&object);
}

/*
 * Whether a relation is one that all nodes have.  False if the user may not
 * vacuum it, so that the server warns about it once.
 */
static bool
is_ours(Oid relid)
{
	return OidIsValid(relid) && (metadata_lookup(relid) != NULL || is_shared_matview(relid)) &&
		compat_may_vacuum(relid);
}

/*
 * The relations that one of the statement's list stands for, with their Oids:
 * itself, and the partitions of a table that all nodes have, unless it says
 * ONLY.
 */
static List *
with_partitions(const VacuumRelation *relation, Oid relid)
{
	if (!relation->relation->inh || get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE || metadata_lookup(relid) == NULL)
		return list_make1_oid(relid);
	return find_all_inheritors(relid, NoLock, NULL);
}

/*
 * Removes the relations that all nodes have from the statement's list, and
 * returns them with their Oids, and with their partitions.  Relations in a
 * relayed list that don't exist here are skipped: they were dropped meanwhile.
 */
static List *
take_shared_relations(VacuumStmt *stmt, bool relayed)
{
	List	   *ours = NIL;
	List	   *others = NIL;

	foreach_node(VacuumRelation, relation, stmt->rels)
	{
		Oid			relid = relation->oid;
		List	   *parts;

		if (!OidIsValid(relid))
			relid = RangeVarGetRelid(relation->relation, NoLock, true);
		if (OidIsValid(relid) && !OidIsValid(relation->oid) && !relayed)
			parts = with_partitions(relation, relid);
		else
			parts = list_make1_oid(relid);
		foreach_oid(part, parts)
		{
			if (is_ours(part))
				ours = lappend(ours, makeVacuumRelation(NULL, part, relation->va_cols));
			else if (list_length(parts) > 1)
				others = lappend(others, makeVacuumRelation(NULL, part, relation->va_cols));
			else if (OidIsValid(part) || !relayed)
				others = lappend(others, relation);
		}
	}
	stmt->rels = others;
	return ours;
}

/*
 * The statement for these tables on the other nodes; NULL if all were dropped.
 */
static char *
relayed_text(const VacuumStmt *stmt, List *tables)
{
	StringInfoData buf;
	bool		first = true;

	initStringInfo(&buf);
	appendStringInfoString(&buf, TASK_TAG_DDL);
	append_vacuum_options(&buf, stmt);
	foreach_node(VacuumRelation, relation, tables)
	{
		if (get_rel_name(relation->oid) == NULL)
			continue;
		appendStringInfoString(&buf, first ? "" : ",");
		append_relation(&buf, relation->oid, relation->va_cols);
		first = false;
	}
	return first ? NULL : buf.data;
}

/* The tables, with their local shards in the place of logical tables. */
static List *
with_shards(List *tables)
{
	List	   *result = NIL;
	ListCell   *shard;

	foreach_node(VacuumRelation, relation, tables)
	{
		const DistTable *table = metadata_lookup(relation->oid);

		if (table == NULL || table->kind == DIST_REFERENCE)
		{
			result = lappend(result, relation);
			continue;
		}
		foreach(shard, local_shard_relids(table))
			result = lappend(result, makeVacuumRelation(NULL, lfirst_oid(shard), copyObject(relation->va_cols)));
	}
	return result;
}

/* Whether the statement has an option. */
static bool
has_option(const VacuumStmt *stmt, const char *name)
{
	foreach_node(DefElem, option, stmt->options)
		if (strcmp(option->defname, name) == 0)
			return defGetBoolean(option);
	return false;
}

/* Whether the statement computes statistics. */
static bool
computes_statistics(const VacuumStmt *stmt)
{
	return !stmt->is_vacuumcmd || has_option(stmt, "analyze");
}

/*
 * The list of all relations, for a statement without a list; shards are left
 * out, since their tables represent them.  The server checks permissions.
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
			result = lappend(result, makeVacuumRelation(NULL, form->oid, NIL));
	}
	table_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return result;
}

/*
 * Runs the statement by the server's code on these relations; in this
 * transaction if it is ANALYZE and the caller requests that.
 */
static void
run_on(UtilityCall *call, List *rels, bool in_transaction)
{
	UtilityCall part = *call;

	if (rels == NIL)
		return;
	part.pstmt = copyObject(call->pstmt);
	castNode(VacuumStmt, part.pstmt->utilityStmt)->rels = rels;
	if (in_transaction)
		part.context = PROCESS_UTILITY_QUERY;
	utility_run(&part);
}

/*
 * Locks a relation on all nodes against concurrent ANALYZE; false if it isn't
 * on all nodes any more.
 */
static bool
lock_to_analyze(Oid relid)
{
	if (get_rel_relkind(relid) != RELKIND_MATVIEW)
		return lock_for_statistics(relid);
	node_share_set_for_ddl();
	object_lock_names(list_make1(get_rel_name(relid)));
	return is_ours(relid);
}

/* ANALYZE of one table or materialized view, on all nodes. */
static void
analyze_relation(UtilityCall *call, VacuumRelation *relation)
{
	char	   *text = NULL;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (!call->relayed && !lock_to_analyze(relation->oid))
	{
		PopActiveSnapshot();
		return;
	}
	if (!call->relayed)
		text = relayed_text(castNode(VacuumStmt, call->pstmt->utilityStmt), list_make1(relation));
	if (text != NULL)
		remote_exec_on_all(text);
	run_on(call, with_shards(list_make1(relation)), true);
	if (!call->relayed && metadata_lookup(relation->oid) != NULL)
		analyze_logical_table(relation->oid);
	PopActiveSnapshot();
}

/*
 * VACUUM of tables on all nodes, and of the statement's other relations here.
 */
static void
vacuum_tables(UtilityCall *call, List *tables, bool analyze)
{
	VacuumStmt *stmt = castNode(VacuumStmt, call->pstmt->utilityStmt);
	char	   *text = call->relayed ? NULL : relayed_text(stmt, tables);

	if (text != NULL)
	{
		foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
			remote_exec_alone(node->groupid, text);
	}
	run_on(call, list_concat_copy(stmt->rels, with_shards(tables)), false);
	if (call->relayed || !analyze)
		return;
	foreach_node(VacuumRelation, relation, tables)
	{
		Oid			relid = relation->oid;

		if (!lock_for_statistics(relid))
			continue;
		PushActiveSnapshot(GetTransactionSnapshot());
		analyze_logical_table(relid);
		run_commands_next_transaction();
	}
}

bool
vacuum_utility(UtilityCall *call)
{
	VacuumStmt *stmt = castNode(VacuumStmt, call->pstmt->utilityStmt);
	bool		own_transactions;
	List	   *tables;

	/* that option is about no table */
	if (stmt->rels == NIL && !call->relayed && metadata_tables(0) != NIL && !has_option(stmt, "only_database_stats"))
		stmt->rels = every_relation();
	tables = take_shared_relations(stmt, call->relayed);
	if (tables == NIL)
		return call->relayed && stmt->rels == NIL;
	if (stmt->is_vacuumcmd)
	{
		PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, "VACUUM");
		vacuum_tables(call, tables, computes_statistics(stmt));
		return true;
	}
	own_transactions = !call->relayed && !IsInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL);
	run_on(call, stmt->rels, false);
	foreach_node(VacuumRelation, relation, tables)
	{
		if (own_transactions && (stmt->rels != NIL || foreach_current_index(relation) > 0))
			run_commands_next_transaction();
		analyze_relation(call, relation);
	}
	return true;
}
