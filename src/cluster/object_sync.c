/*-------------------------------------------------------------------------
 *
 * object_sync.c
 *	  Gives a node the roles, and all objects other than tables, that every
 *	  node has.
 *
 * The statements are those of a dump of this node (schema_dump.c), without
 * local objects (objects/object_scope.c) and parts of distributed tables,
 * which table_sync.c creates.  Statements that are also in the node's own dump
 * are left out: it may have been in the cluster before.  That dump is made
 * before the node's tables are dropped, since pg_dump would wait for that.  An
 * object of the same name with another definition is an error.
 *
 * Tables may need objects, and objects tables.  So the objects are created in
 * two parts, before and after the tables.  Event triggers are the last of the
 * second part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/object_scope.h"
#include "cluster/object_sync.h"
#include "cluster/schema_dump.h"
#include "conversion/distribute_function.h"
#include "conversion/distribute_schema.h"
#include "copy/view_rows.h"
#include "ddl/object_statements.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/run_commands.h"

struct ObjectSync
{
	const ClusterNode *node;
	SchemaDump *dump;			/* of this node */
	List	   *theirs;			/* statements of the node's own dump */
};

/* The names of the roles that the node has. */
static ArrayType *
roles_of_node(const ClusterNode *node)
{
	RemoteResult *result = remote_query(node->groupid, "SELECT rolname FROM pg_catalog.pg_roles", NULL);
	Datum	   *names = palloc(sizeof(Datum) * result->nrows);

	for (int i = 0; i < result->nrows; i++)
		names[i] = CStringGetTextDatum(remote_value(result, i, 0));
	return construct_array(names, result->nrows, TEXTOID, -1, false, TYPALIGN_INT);
}

/*
 * The commands that make the roles that the node lacks, and give all roles
 * their settings and memberships.
 */
static List *
role_commands(const ClusterNode *node)
{
	MemoryContext context = CurrentMemoryContext;
	Datum		known = PointerGetDatum(roles_of_node(node));
	List	   *commands;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args("SELECT citus_internal.role_commands($1)", 1, (Oid[]) {TEXTARRAYOID}, &known, NULL,
							  true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the roles");
	commands = spi_texts(NIL, context);
	SPI_finish();
	return commands;
}

/* INSTEAD OF triggers belong to no table. */
static bool
is_trigger_on_view(Oid trigger)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	HeapTuple	tuple = get_catalog_object_by_oid(rel, Anum_pg_trigger_oid, trigger);

	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple) && get_rel_relkind(((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid) == RELKIND_VIEW;
}

/* Whether an index or statistics object is of a materialized view. */
static bool
is_part_of_view(const ObjectAddress *object)
{
	Oid			relid = InvalidOid;
	HeapTuple	tuple;

	if (object->classId == RelationRelationId)
		relid = IndexGetRelation(object->objectId, true);
	else if (object->classId == StatisticExtRelationId)
	{
		tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(object->objectId));
		if (HeapTupleIsValid(tuple))
		{
			relid = ((Form_pg_statistic_ext) GETSTRUCT(tuple))->stxrelid;
			ReleaseSysCache(tuple);
		}
	}
	return OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_MATVIEW;
}

/*
 * Kinds of entries that table_sync.c makes if they are of a distributed table.
 */
static bool
is_part_of_table(const char *kind, const ObjectAddress *object)
{
	static const char *const kinds[] = {
		"CHECK CONSTRAINT", "CONSTRAINT", "DEFAULT", "FK CONSTRAINT", "INDEX", "INDEX ATTACH", "POLICY", "ROW SECURITY",
		"SEQUENCE", "STATISTICS", "TABLE", "TABLE ATTACH",
	};

	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (strcmp(kind, kinds[i]) == 0)
			return !is_part_of_view(object);
	}
	return strcmp(kind, "TRIGGER") == 0 && !is_trigger_on_view(object->objectId);
}

static bool
is_event_trigger(const char *kind)
{
	return strcmp(kind, "EVENT TRIGGER") == 0;
}

/*
 * DumpFilter: objects that need no distributed table, and entries without an
 * OID of their own; is_for_step handles comments and the like.
 */
static bool
wanted_before_tables(const char *kind, const ObjectAddress *object)
{
	/*
	 * tables get row security, and partitions and their indexes are attached,
	 * with their definitions (table_sync.c); the entry has no class then
	 */
	if (strcmp(kind, "ROW SECURITY") == 0 || strcmp(kind, "TABLE ATTACH") == 0 || strcmp(kind, "INDEX ATTACH") == 0)
		return false;
	if (!OidIsValid(object->objectId))
		return true;
	return !is_event_trigger(kind) && !object_is_local(object) && !object_needs_distributed(object);
}

/* DumpFilter: objects that need a distributed table; event triggers. */
static bool
wanted_after_tables(const char *kind, const ObjectAddress *object)
{
	if (!OidIsValid(object->objectId))
		return strcmp(kind, "ACL") == 0 || strcmp(kind, "COMMENT") == 0 || strcmp(kind, "SECURITY LABEL") == 0;
	return is_event_trigger(kind) ||
		(!object_is_local(object) && object_needs_distributed(object) && !is_part_of_table(kind, object));
}

static bool
is_about_event_trigger(Node *stmt)
{
	return IsA(stmt, CreateEventTrigStmt) || IsA(stmt, AlterEventTrigStmt) ||
		(IsA(stmt, AlterOwnerStmt) && ((AlterOwnerStmt *) stmt)->objectType == OBJECT_EVENT_TRIGGER) ||
		(IsA(stmt, CommentStmt) && ((CommentStmt *) stmt)->objtype == OBJECT_EVENT_TRIGGER);
}

/*
 * Whether a statement about an object (COMMENT, GRANT, ALTER SEQUENCE .. OWNED
 * BY) belongs to that step.
 */
static bool
is_for_step(Node *stmt, bool after_tables)
{
	ObjectAddress object;
	ObjectType	type;
	List	  **objects = object_statement_list(stmt, &type);

	if (IsA(stmt, AlterSeqStmt))
		ObjectAddressSet(object, RelationRelationId, RangeVarGetRelid(((AlterSeqStmt *) stmt)->sequence, NoLock, true));
	else if (objects == NULL || IsA(stmt, DropStmt))
		return true;
	else
		object = object_statement_address(stmt, type, linitial(*objects));
	return OidIsValid(object.objectId) && !object_is_local(&object) &&
		(object_needs_distributed(&object) || is_about_event_trigger(stmt)) == after_tables;
}

/* Whether the node has a statement. */
static bool
has_statement(List *texts, const char *text)
{
	ListCell   *cell;

	foreach(cell, texts)
	{
		if (strcmp(lfirst(cell), text) == 0)
			return true;
	}
	return false;
}

/*
 * Whether the object of a statement of the second step isn't dropped with the
 * node's tables.
 */
static bool
outlives_tables(Node *stmt)
{
	return is_about_event_trigger(stmt) || IsA(stmt, CreatePublicationStmt);
}

/* A dump's names are qualified. */
static char *
sequence_name(const CreateSeqStmt *stmt)
{
	return quote_qualified_identifier(stmt->sequence->schemaname, stmt->sequence->relname);
}

/*
 * The dump's statements for the step that the node's own dump lacks.  Objects
 * that need a distributed table were dropped with the table when the node left
 * its former cluster.
 */
static List *
missing_statements(ObjectSync *sync, bool after_tables)
{
	List	   *statements = schema_dump_statements(sync->dump, after_tables ? wanted_after_tables : wanted_before_tables);
	List	   *commands = NIL;

	foreach_ptr(char, text, statements)
	{
		Node	   *stmt = parse_utility(text);

		if (!is_for_step(stmt, after_tables))
			continue;
		if ((after_tables && !outlives_tables(stmt)) || !has_statement(sync->theirs, text))
			commands = lappend(commands, text);
		if (IsA(stmt, CreateSeqStmt))
			commands = lappend(commands, node_call(NODE_adopt_sequence, node_text(sequence_name((CreateSeqStmt *) stmt)),
												   node_text(NULL), node_bool(true)));
	}
	return commands;
}

/*
 * Runs commands on the node without checking bodies of functions, since the
 * objects that these use may be created later.
 */
static void
run_unchecked(const ClusterNode *node, List *commands)
{
	int			level = NewGUCNestLevel();

	if (commands == NIL)
		return;
	(void) set_config_option("check_function_bodies", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	remote_exec(node->groupid, run_commands_call(commands));
	AtEOXact_GUC(true, level);
}

ObjectSync *
object_sync_prepare(const ClusterNode *node)
{
	const ClusterNode *here = node_of_group(metadata_local_group());
	ObjectSync *sync = palloc(sizeof(ObjectSync));
	SchemaDump *theirs;

	sync->node = node;
	sync->dump = schema_dump_make(here->host, here->port);
	theirs = schema_dump_make(node->host, node->port);
	sync->theirs = schema_dump_statements(theirs, NULL);
	schema_dump_close(theirs);
	return sync;
}

void
object_sync_before_tables(ObjectSync *sync)
{
	run_unchecked(sync->node, role_commands(sync->node));
	run_unchecked(sync->node, missing_statements(sync, false));
}

void
object_sync_after_tables(ObjectSync *sync)
{
	run_unchecked(sync->node, list_concat(missing_statements(sync, true), list_concat(distributed_function_commands(), schema_metadata_commands())));
	schema_dump_close(sync->dump);
}

void
object_sync_rows(const ClusterNode *node)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_pg_class_relkind, BTEqualStrategyNumber, F_CHAREQ, CharGetDatum(RELKIND_MATVIEW));
	foreach_ptr(CatalogRow, row, catalog_rows_by_keys(RelationRelationId, InvalidOid, 1, &key))
	{
		ObjectAddress object;

		ObjectAddressSet(object, RelationRelationId, ((Form_pg_class) GETSTRUCT(row->tuple))->oid);
		if (!object_is_local(&object))
			view_rows_send(object.objectId, node->groupid);
	}
}
