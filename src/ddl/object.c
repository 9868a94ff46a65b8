/*-------------------------------------------------------------------------
 *
 * object.c
 *	  Statements about objects other than tables, on all nodes.
 *
 * Such an object is on every node, unless it depends on a local table
 * (objects/object_scope.c).  The initiator runs the statement, and then has
 * the other nodes run its text:
 *
 *	  object_utility
 *		node_share_set_for_ddl, object_lock_names
 *		utility_run					object access hook: what it makes and changes
 *		object_is_local				any of that: the statement stays here
 *		relay_changes				utility_relay, or what stands for the text; the rows
 *									of a materialized view (view_rows_send_to_all)
 *
 * On the other nodes, object_utility calls run_relayed.
 *
 * For DROP, GRANT, COMMENT and SECURITY LABEL, the hook reports the objects
 * too late or not at all, so they are looked up before.  DROP and GRANT may
 * name local objects together with others, so each node ignores objects that
 * are local or missing there.
 *
 * Statements of an extension's script are part of CREATE EXTENSION, and those
 * of functions that a relayed statement calls (event triggers) run on each
 * node; neither are relayed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/object_scope.h"
#include "compat/repack.h"
#include "copy/view_rows.h"
#include "ddl/drop.h"
#include "ddl/object.h"
#include "ddl/object_statements.h"
#include "ddl/percent_type.h"
#include "objects/object_lock.h"
#include "objects/sequence_values.h"
#include "resolve/tag.h"
#include "resolve/utility.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/table_definition.h"

/* The objects that a statement has created or changed so far. */
typedef struct ChangedObjects
{
	int			depth;			/* of the statement (run_commands_depth) */
	List	   *objects;		/* ObjectAddress * */
	MemoryContext context;
} ChangedObjects;

/* Of the innermost statement that object_utility runs, or NULL. */
static ChangedObjects *changed_objects = NULL;

static bool enable_metadata_sync = true;

/*
 * The role settings are those of Citus; each switches off one kind of
 * statement.
 */
static bool enable_create_role_propagation = true;
static bool enable_alter_role_propagation = true;
static bool enable_alter_role_set_propagation = true;

void
object_changed(Oid classid, Oid objid)
{
	ObjectAddress *object;
	MemoryContext old;

	if (changed_objects == NULL || changed_objects->depth != run_commands_depth())
		return;
	old = MemoryContextSwitchTo(changed_objects->context);
	object = palloc(sizeof(ObjectAddress));
	ObjectAddressSet(*object, classid, objid);
	changed_objects->objects = lappend(changed_objects->objects, object);
	MemoryContextSwitchTo(old);
}

/*
 * Whether this session runs a relayed statement, or a statement that such a
 * one executes.
 */
static bool
in_relayed_statement(void)
{
	return debug_query_string != NULL &&
		strncmp(debug_query_string, TASK_TAG_DDL, strlen(TASK_TAG_DDL)) == 0 && node_session();
}

/* Whether the settings let a statement of that kind be relayed. */
static bool
is_enabled(const Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_CreateRoleStmt:
		case T_DropRoleStmt:
		case T_GrantRoleStmt:
			return enable_create_role_propagation;
		case T_AlterRoleStmt:
			return enable_alter_role_propagation;
		case T_AlterRoleSetStmt:
			return enable_alter_role_set_propagation;
		default:
			return true;
	}
}

/*
 * Whether a DROP's list has a relation, or something of one, that other nodes
 * have, too.
 */
static bool
drops_shared(Node *stmt)
{
	ObjectType	type;
	List	  **objects = object_statement_list(stmt, &type);
	ListCell   *cell;

	foreach(cell, *objects)
	{
		ObjectAddress object;

		if (object_statement_relation_of(type, lfirst(cell), &object) && OidIsValid(object.objectId) &&
			!object_is_local(&object))
			return true;
	}
	return false;
}

/*
 * Whether a statement rewrites a relation or index without changing its
 * definition.
 */
static bool
rewrites_relation(const Node *stmt)
{
	return IsA(stmt, RepackStmt) || IsA(stmt, ReindexStmt);
}

/*
 * Whether a statement changes a relation, or a part of one, that is local, or
 * for which there is another handler.  Each node rewrites its own catalogs.
 */
static bool
is_about_table(Node *stmt)
{
	const RangeVar *relation = object_statement_relation(stmt);
	ObjectAddress object;

	if (IsA(stmt, DropStmt))
		return ((const DropStmt *) stmt)->removeType == OBJECT_TABLE ||
			(((const DropStmt *) stmt)->removeType == OBJECT_INDEX && !drops_shared(stmt));
	if (relation == NULL)
		return false;
	ObjectAddressSet(object, RelationRelationId, RangeVarGetRelid(relation, NoLock, true));
	if (OidIsValid(object.objectId) && rewrites_relation(stmt) &&
		get_rel_relkind(table_of_relation(object.objectId)) != RELKIND_MATVIEW)
		return true;
	return OidIsValid(object.objectId) && object_is_local(&object);
}

/*
 * Whether all objects in a statement's list are local; false if it has no
 * list.  With only_relations, the answer is true for relations and their parts
 * only, and nothing is locked.
 */
static bool
lists_only_local(Node *stmt, bool only_relations)
{
	ObjectType	type;
	List	  **objects = object_statement_list(stmt, &type);
	ListCell   *cell;

	if (objects == NULL)
		return false;
	foreach(cell, *objects)
	{
		ObjectAddress object;

		if (!only_relations)
			object = object_statement_address(stmt, type, lfirst(cell));
		else if (!object_statement_relation_of(type, lfirst(cell), &object))
			return false;
		if (!OidIsValid(object.objectId) || !object_is_local(&object))
			return false;
	}
	return true;
}

/*
 * Removes objects that are missing here, or local, from the list of a relayed
 * DROP or GRANT.
 */
static void
keep_what_is_everywhere(Node *stmt)
{
	ObjectType	type;
	List	  **objects = object_statement_list(stmt, &type);
	ListCell   *cell;

	if (objects == NULL || IsA(stmt, CommentStmt) || IsA(stmt, SecLabelStmt))
		return;
	foreach(cell, *objects)
	{
		ObjectAddress address = object_statement_address(stmt, type, lfirst(cell));

		if (!OidIsValid(address.objectId) || object_is_local(&address))
			*objects = foreach_delete_current(*objects, cell);
	}
}

void
object_forget_closed_value(AlterSeqStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->sequence, NoLock, true);

	if (!OidIsValid(relid) || get_rel_relkind(relid) != RELKIND_SEQUENCE || !sequence_is_closed(relid))
		return;
	foreach_node(DefElem, option, stmt->options)
		if (strcmp(option->defname, "restart") == 0)
			return;
	stmt->options = lappend(stmt->options, makeDefElem("restart", NULL, -1));
}

/*
 * Runs a statement on this node, and adjusts the stored values of its
 * sequence.
 */
static void
run_here(UtilityCall *call)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	const RangeVar *sequence = IsA(stmt, CreateSeqStmt) ? ((CreateSeqStmt *) stmt)->sequence :
		IsA(stmt, AlterSeqStmt) ? ((AlterSeqStmt *) stmt)->sequence : NULL;
	Oid			relid;

	if (IsA(stmt, AlterSeqStmt))
		object_forget_closed_value((AlterSeqStmt *) stmt);
	utility_run(call);
	if (sequence == NULL)
		return;
	CommandCounterIncrement();
	relid = RangeVarGetRelid(sequence, NoLock, true);
	if (OidIsValid(relid))
		sequence_changed(relid);
}

/* Removes an option of REINDEX; returns whether it was on. */
static bool
take_reindex_option(ReindexStmt *stmt, const char *name)
{
	bool		result = false;
	ListCell   *cell;

	foreach(cell, stmt->params)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) != 0)
			continue;
		result = defGetBoolean(option);
		stmt->params = foreach_delete_current(stmt->params, cell);
	}
	return result;
}

/*
 * Removes CONCURRENTLY from a statement about indexes; returns whether it was
 * there.  The steps of CONCURRENTLY can't run on several nodes at once, so
 * indexes of a materialized view are created, rebuilt and dropped without it.
 */
static bool
take_concurrently(Node *stmt)
{
	bool		concurrent = false;

	if (IsA(stmt, IndexStmt))
	{
		concurrent = ((IndexStmt *) stmt)->concurrent;
		((IndexStmt *) stmt)->concurrent = false;
	}
	else if (IsA(stmt, DropStmt))
	{
		concurrent = ((DropStmt *) stmt)->concurrent;
		((DropStmt *) stmt)->concurrent = false;
	}
	else if (IsA(stmt, ReindexStmt))
		concurrent = take_reindex_option((ReindexStmt *) stmt, "concurrently");
	return concurrent;
}

/*
 * Runs a statement that another node has relayed, after running it
 * successfully.  A function's body, which may use that node's local tables, is
 * not checked again.
 */
static bool
run_relayed(UtilityCall *call)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	ObjectType	type;
	List	  **objects;
	int			nest = NewGUCNestLevel();

	switch (nodeTag(stmt))
	{
		case T_RepackStmt:
			((RepackStmt *) stmt)->params = NIL;	/* VERBOSE */
			break;
		case T_CreateFunctionStmt:
			(void) set_config_option("check_function_bodies", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
									 true, 0, false);
			break;
		case T_CreateSchemaStmt:
			((CreateSchemaStmt *) stmt)->schemaElts = NIL;
			break;
		case T_DropRoleStmt:
			((DropRoleStmt *) stmt)->missing_ok = true;
			break;
		case T_DropStmt:
			((DropStmt *) stmt)->missing_ok = true;
			break;
		case T_CreateTableAsStmt:
			((CreateTableAsStmt *) stmt)->into->skipData = true;
			break;
		case T_DropUserMappingStmt:
			((DropUserMappingStmt *) stmt)->missing_ok = true;
			break;
		case T_ReindexStmt:
			(void) take_reindex_option((ReindexStmt *) stmt, "verbose");
			break;
		default:
			break;
	}
	(void) take_concurrently(stmt);
	keep_what_is_everywhere(stmt);
	objects = object_statement_list(stmt, &type);
	if (objects == NULL || *objects != NIL)
		run_here(call);
	AtEOXact_GUC(true, nest);
	return true;
}

/*
 * Errors if CREATE SCHEMA has elements other than tables and indexes: they
 * would have to be created on other nodes, without a text for each.
 */
static void
check_schema_elements(const CreateSchemaStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->schemaElts)
	{
		if (!IsA(lfirst(cell), CreateStmt) && !IsA(lfirst(cell), IndexStmt))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("CREATE SCHEMA cannot create other elements than tables and indexes in a cluster"),
					 errhint("Create the schema first, and then its objects with commands of their own.")));
	}
}

/*
 * Sets the same password verifier of a role on the other nodes, which have
 * computed their own from the password.
 */
static void
relay_verifier(UtilityCall *call, const char *role, List *options)
{
	HeapTuple	tuple;
	Datum		datum;
	bool		isnull;

	foreach_node(DefElem, option, options)
	{
		if (strcmp(option->defname, "password") != 0 || option->arg == NULL)
			continue;
		tuple = SearchSysCache1(AUTHNAME, CStringGetDatum(role));
		if (!HeapTupleIsValid(tuple))
			return;
		datum = SysCacheGetAttr(AUTHNAME, tuple, Anum_pg_authid_rolpassword, &isnull);
		if (!isnull)
			utility_relay_text(call, psprintf("ALTER ROLE %s PASSWORD %s", quote_identifier(role),
											  quote_literal_cstr(TextDatumGetCString(datum))));
		ReleaseSysCache(tuple);
	}
}

/* The relation of that kind among objects; InvalidOid if there is none. */
static Oid
changed_relation(List *objects, char relkind)
{
	foreach_ptr(const ObjectAddress, object, objects)
		if (object->classId == RelationRelationId && get_rel_relkind(object->objectId) == relkind)
			return object->objectId;
	return InvalidOid;
}

/*
 * Relays the statement to the other nodes, with additions or replacements:
 * this node determines the name of an index and the rows of a materialized
 * view.
 */
static void
relay_changes(UtilityCall *call, List *changed)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	Oid			relid;

	switch (nodeTag(stmt))
	{
		case T_IndexStmt:
			relid = changed_relation(changed, RELKIND_INDEX);
			if (OidIsValid(relid))
				utility_relay_text(call, index_definition(relid, false));
			return;
		case T_RefreshMatViewStmt:
			if (((RefreshMatViewStmt *) stmt)->skipData)
				break;
			view_rows_send_to_all(RangeVarGetRelid(((RefreshMatViewStmt *) stmt)->relation, NoLock, false));
			return;
		default:
			break;
	}
	utility_relay_text(call, percent_types_replace(stmt, Max(call->pstmt->stmt_location, 0), utility_text(call)));
	if (IsA(stmt, CreateRoleStmt))
		relay_verifier(call, ((CreateRoleStmt *) stmt)->role, ((CreateRoleStmt *) stmt)->options);
	else if (IsA(stmt, AlterRoleStmt))
		relay_verifier(call, get_rolespec_name(((AlterRoleStmt *) stmt)->role), ((AlterRoleStmt *) stmt)->options);
	else if (IsA(stmt, CreateTableAsStmt) && OidIsValid(changed_relation(changed, RELKIND_MATVIEW)))
		view_rows_send_to_all(changed_relation(changed, RELKIND_MATVIEW));
}

/*
 * Runs the statement on this node; returns the objects that it has created and
 * changed (ObjectAddress *).
 */
static List *
run_and_note(UtilityCall *call)
{
	ChangedObjects changed = {run_commands_depth(), NIL, CurrentMemoryContext};
	ChangedObjects *outer = changed_objects;

	changed_objects = &changed;
	PG_TRY();
	{
		run_here(call);
	}
	PG_FINALLY();
	{
		changed_objects = outer;
	}
	PG_END_TRY();
	return changed.objects;
}

/*
 * Whether all nodes run the statement, whatever it creates or changes on this
 * node: it is about all objects of a role on each node, or about a view that
 * was already checked.
 */
static bool
is_for_all_nodes(const Node *stmt)
{
	return IsA(stmt, DropOwnedStmt) || IsA(stmt, ReassignOwnedStmt) || IsA(stmt, RefreshMatViewStmt) ||
		rewrites_relation(stmt);
}

/*
 * A sequence that was on all nodes, and that a local table now owns, stays
 * here, with its last value.
 */
static void
sequence_becomes_local(UtilityCall *call, const RangeVar *sequence)
{
	Oid			seqid = RangeVarGetRelid(sequence, NoLock, false);

	sequence_reopen(seqid);
	utility_relay_text(call, psprintf("DROP SEQUENCE IF EXISTS %s CASCADE", relation_qualified_name(seqid)));
}

static bool
any_is_local(List *objects)
{
	foreach_ptr(const ObjectAddress, object, objects)
	{
		if (object_is_local(object))
			return true;
	}
	return false;
}

static bool
is_owned_by(Oid relid, List *roles)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		owned;

	if (!HeapTupleIsValid(tuple))
		return false;
	owned = list_member_oid(roles, ((Form_pg_class) GETSTRUCT(tuple))->relowner);
	ReleaseSysCache(tuple);
	return owned;
}

/*
 * DROP OWNED and REASSIGN OWNED lock a role's tables one by one, on one node
 * after the other.  So, as for DROP SCHEMA, all are locked on all nodes first;
 * for other statements, and roles whose rights the user doesn't have, which
 * the server will refuse, nothing is.
 */
static void
lock_tables_of_roles(const Node *stmt)
{
	List	   *specs = IsA(stmt, DropOwnedStmt) ? ((const DropOwnedStmt *) stmt)->roles :
		IsA(stmt, ReassignOwnedStmt) ? ((const ReassignOwnedStmt *) stmt)->roles : NIL;
	List	   *roles = NIL;
	List	   *tables = NIL;

	foreach_node(RoleSpec, spec, specs)
	{
		Oid			role = get_rolespec_oid(spec, true);

		if (OidIsValid(role) && has_privs_of_role(GetUserId(), role))
			roles = lappend_oid(roles, role);
	}
	if (roles == NIL)
		return;
	foreach_oid(relid, metadata_tables(0))
	{
		if (is_owned_by(relid, roles))
			tables = lappend_oid(tables, relid);
	}
	list_sort(tables, list_oid_cmp);
	lock_others_everywhere(tables, AccessExclusiveLock);
}

bool
object_utility(UtilityCall *call)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	Node	   *original;
	List	   *changed;

	if (!object_statement_is_known(stmt))
		return false;
	if (call->relayed)
		return run_relayed(call);
	if (!enable_metadata_sync || creating_extension || !is_enabled(stmt) || node_active_primaries_remote() == NIL ||
		in_relayed_statement() || is_about_table(stmt) || lists_only_local(stmt, true))
		return false;

	node_share_set_for_ddl();
	object_lock_names(object_statement_names(stmt));
	if (lists_only_local(stmt, false))
		return false;
	lock_tables_of_roles(stmt);
	if (IsA(stmt, CreateSchemaStmt))
		check_schema_elements((CreateSchemaStmt *) stmt);
	if (take_concurrently(stmt))
		PreventInTransactionBlock(call->context == PROCESS_UTILITY_TOPLEVEL, CreateCommandName(stmt));
	original = copyObject(stmt);
	changed = run_and_note(call);
	call->pstmt->utilityStmt = original;
	CommandCounterIncrement();
	drop_follow_up(call);
	if (!is_for_all_nodes(stmt) && any_is_local(changed))
	{
		if (IsA(original, AlterSeqStmt))
			sequence_becomes_local(call, ((AlterSeqStmt *) original)->sequence);
		return true;
	}
	relay_changes(call, changed);
	return true;
}

void
object_init(void)
{
	DefineCustomBoolVariable("citus.enable_metadata_sync",
							 "Runs statements about objects other than tables on all nodes.",
							 NULL, &enable_metadata_sync, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_create_role_propagation",
							 "Runs CREATE ROLE, DROP ROLE and grants of roles on all nodes.",
							 NULL, &enable_create_role_propagation, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_alter_role_propagation",
							 "Runs ALTER ROLE on all nodes.",
							 NULL, &enable_alter_role_propagation, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.enable_alter_role_set_propagation",
							 "Runs ALTER ROLE .. SET on all nodes.",
							 NULL, &enable_alter_role_set_propagation, true, PGC_USERSET, 0, NULL, NULL, NULL);
}
