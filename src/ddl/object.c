/*-------------------------------------------------------------------------
 *
 * object.c
 *	  Statements about objects other than tables, on all nodes.
 *
 * Such an object is on every node, unless it depends on a local table
 * (objects/object_scope.c).  The initiator runs the statement, and then has the
 * other nodes run its text:
 *
 *	  object_utility
 *		lock_node_set, object_lock_names
 *		utility_run					object access hook: what it makes and changes
 *		object_is_local				any of that: the statement stays here
 *		utility_relay
 *
 * What DROP, GRANT, COMMENT and SECURITY LABEL are about, the hook does not tell, or
 * too late; their objects are looked up before.  DROP and GRANT may name local objects
 * together with others, so each node leaves out what is local or missing there.
 *
 * Statements of an extension's script are part of CREATE EXTENSION, and those of
 * functions that a relayed statement calls (of event triggers) run on each node by
 * themselves; neither are relayed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/node.h"
#include "catalog/node_session.h"
#include "ddl/drop.h"
#include "ddl/object.h"
#include "ddl/object_statements.h"
#include "objects/object_lock.h"
#include "objects/object_scope.h"
#include "resolve/tag.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/sequence.h"

/* What a statement has made or changed so far. */
typedef struct ChangedObjects
{
	int			depth;			/* of the statement (run_commands_depth) */
	List	   *objects;		/* ObjectAddress * */
	MemoryContext context;
} ChangedObjects;

/* Of the innermost statement that object_utility runs, or NULL. */
static ChangedObjects *changed_objects = NULL;

static bool enable_metadata_sync = true;

/* The role settings are those of Citus; each switches off one kind of statement. */
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

/* Whether this session runs a statement that another node has relayed, or what that calls. */
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

static bool
drops_tables(const DropStmt *stmt)
{
	return stmt->removeType == OBJECT_TABLE || stmt->removeType == OBJECT_INDEX || stmt->removeType == OBJECT_MATVIEW;
}

/* Whether a statement changes a relation, or something of it, that is local, or a distributed table's handler's matter. */
static bool
is_about_table(const Node *stmt)
{
	const RangeVar *relation = object_statement_relation(stmt);
	ObjectAddress object;

	if (IsA(stmt, DropStmt))
		return drops_tables((const DropStmt *) stmt);
	if (relation == NULL)
		return false;
	ObjectAddressSet(object, RelationRelationId, RangeVarGetRelid(relation, NoLock, true));
	return OidIsValid(object.objectId) && object_is_local(&object);
}

/* Whether all objects in a statement's list are local relations, or parts of them; looks without locks. */
static bool
lists_only_local_relations(Node *stmt)
{
	ObjectType	type;
	List	  **objects = object_statement_list(stmt, &type);
	ListCell   *cell;

	if (objects == NULL)
		return false;
	foreach(cell, *objects)
	{
		ObjectAddress relation;

		if (!object_statement_relation_of(type, lfirst(cell), &relation) ||
			!OidIsValid(relation.objectId) || !object_is_local(&relation))
			return false;
	}
	return true;
}

/* Whether all objects in a statement's list are local; false if it has no list. */
static bool
lists_only_local(Node *stmt)
{
	ObjectType	type;
	List	  **objects = object_statement_list(stmt, &type);
	ListCell   *cell;

	if (objects == NULL)
		return false;
	foreach(cell, *objects)
	{
		ObjectAddress address = object_statement_address(stmt, type, lfirst(cell));

		if (!OidIsValid(address.objectId) || !object_is_local(&address))
			return false;
	}
	return true;
}

/* Leaves out of a relayed DROP's or GRANT's list what is missing here, or local. */
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

/* Runs a sequence's statement, and keeps this node to its slice of the values. */
static void
run_with_slice(UtilityCall *call, const RangeVar *sequence)
{
	Oid			relid;

	utility_run(call);
	CommandCounterIncrement();
	relid = RangeVarGetRelid(sequence, NoLock, true);
	if (OidIsValid(relid) && get_rel_persistence(relid) != RELPERSISTENCE_TEMP)
		sequence_take_slice(relid);
}

/* Runs a statement that another node has relayed; the other node has run it, so it is right. */
static bool
run_relayed(UtilityCall *call)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	ObjectType	type;
	List	  **objects;

	switch (nodeTag(stmt))
	{
		case T_CreateSchemaStmt:
			((CreateSchemaStmt *) stmt)->schemaElts = NIL;
			break;
		case T_CreateSeqStmt:
			run_with_slice(call, ((CreateSeqStmt *) stmt)->sequence);
			return true;
		case T_DropRoleStmt:
			((DropRoleStmt *) stmt)->missing_ok = true;
			break;
		case T_DropStmt:
			((DropStmt *) stmt)->missing_ok = true;
			break;
		case T_DropUserMappingStmt:
			((DropUserMappingStmt *) stmt)->missing_ok = true;
			break;
		default:
			break;
	}
	keep_what_is_everywhere(stmt);
	objects = object_statement_list(stmt, &type);
	if (objects == NULL || *objects != NIL)
		utility_run(call);
	return true;
}

/* Errors if CREATE SCHEMA makes more than tables: other objects would have to be made elsewhere, without a text of their own. */
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

/* Gives a role the same password verifier on the other nodes, which have made their own of the password. */
static void
relay_verifier(UtilityCall *call, const char *role, List *options)
{
	HeapTuple	tuple;
	Datum		datum;
	bool		isnull;
	ListCell   *cell;

	foreach(cell, options)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "password") != 0 || lfirst_node(DefElem, cell)->arg == NULL)
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

/* What the other nodes need besides the text. */
static void
relay_rest(UtilityCall *call)
{
	Node	   *stmt = call->pstmt->utilityStmt;

	if (IsA(stmt, CreateRoleStmt))
		relay_verifier(call, ((CreateRoleStmt *) stmt)->role, ((CreateRoleStmt *) stmt)->options);
	else if (IsA(stmt, AlterRoleStmt))
		relay_verifier(call, get_rolespec_name(((AlterRoleStmt *) stmt)->role), ((AlterRoleStmt *) stmt)->options);
}

/* Runs the statement on this node; returns what it has made and changed (ObjectAddress *). */
static List *
run_and_note(UtilityCall *call)
{
	ChangedObjects changed = {run_commands_depth(), NIL, CurrentMemoryContext};
	ChangedObjects *outer = changed_objects;
	Node	   *stmt = call->pstmt->utilityStmt;

	changed_objects = &changed;
	PG_TRY();
	{
		if (IsA(stmt, CreateSeqStmt))
			run_with_slice(call, ((CreateSeqStmt *) stmt)->sequence);
		else
			utility_run(call);
	}
	PG_FINALLY();
	{
		changed_objects = outer;
	}
	PG_END_TRY();
	return changed.objects;
}

/* Whether a statement is about all that a role has, on each node. */
static bool
is_about_roles_objects(const Node *stmt)
{
	return IsA(stmt, DropOwnedStmt) || IsA(stmt, ReassignOwnedStmt);
}

static bool
any_is_local(List *objects)
{
	ListCell   *cell;

	foreach(cell, objects)
	{
		if (object_is_local(lfirst(cell)))
			return true;
	}
	return false;
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
		in_relayed_statement() || is_about_table(stmt) || lists_only_local_relations(stmt))
		return false;

	lock_node_set();
	object_lock_names(object_statement_names(stmt));
	if (lists_only_local(stmt))
		return false;
	if (IsA(stmt, CreateSchemaStmt))
		check_schema_elements((CreateSchemaStmt *) stmt);
	original = copyObject(stmt);
	changed = run_and_note(call);
	call->pstmt->utilityStmt = original;
	CommandCounterIncrement();
	drop_follow_up(call);
	if (!is_about_roles_objects(stmt) && any_is_local(changed))
		return true;
	utility_relay(call);
	relay_rest(call);
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
