/*-------------------------------------------------------------------------
 *
 * object_access.c
 *	  The only owner of object_access_hook, which is called for objects that
 *	  are created, changed or dropped.
 *
 * Objects that are about to be dropped are recorded while they can still be
 * looked up, whatever statement drops them (drop.c).  Objects that a statement
 * has created or changed are recorded for the other nodes (object.c).  The
 * same hook keeps users' objects out of the schema of shards (shard_schema.c),
 * and prevents links between shards and users' relations (manual_change.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "conversion/distribute_function.h"
#include "conversion/distribute_schema.h"
#include "ddl/drop.h"
#include "ddl/extension_drop.h"
#include "ddl/object.h"
#include "ddl/object_access.h"
#include "ddl/truncate_triggers.h"
#include "resolve/manual_change.h"
#include "table/run_commands.h"
#include "table/shard_schema.h"

static object_access_hook_type next_object_access = NULL;

/*
 * DROP .. CASCADE of a type, for instance, drops columns: errors if that would
 * drop a table's distribution column.
 */
static void
check_column_drop(Oid relid, AttrNumber attnum)
{
	const DistTable *table = metadata_available() ? metadata_find(relid) : NULL;

	if (table != NULL && table->dist_attno == attnum)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot drop distribution column \"%s\" of relation \"%s\"",
						get_attname(relid, attnum, false), get_rel_name(relid)),
				 errhint("Use undistribute_table(), or drop the table, before you drop what the column depends on.")));
}

/* object_access_hook */
static void
object_access(ObjectAccessType access, Oid classid, Oid objid, int subid, void *arg)
{
	if (next_object_access)
		next_object_access(access, classid, objid, subid, arg);
	if (subid == 0 && !run_commands_is_own() && !(classid == ConstraintRelationId && run_commands_rebuilds_keys()))
	{
		if (access == OAT_POST_CREATE && !((ObjectAccessPostCreate *) arg)->is_internal)
			shard_schema_check_created(classid, objid);
		else if (access == OAT_POST_ALTER && !((ObjectAccessPostAlter *) arg)->is_internal)
			shard_schema_check_altered(classid, objid);
		if (access == OAT_POST_ALTER && classid == InheritsRelationId)
			manual_change_check_inheritance(objid, ((ObjectAccessPostAlter *) arg)->auxiliary_id);
		else if (access == OAT_POST_CREATE && classid == ConstraintRelationId)
			manual_change_check_constraint(objid);
	}
	if (access == OAT_POST_CREATE || access == OAT_POST_ALTER)
		object_changed(classid, objid);
	if ((classid == TriggerRelationId || classid == PolicyRelationId) && access == OAT_DROP)
		drop_note_rule(classid, objid);
	if (classid == ProcedureRelationId && access == OAT_DROP && metadata_available())
		distributed_function_forget(objid);
	if (classid == NamespaceRelationId && access == OAT_DROP)
		schema_forget(objid);
	if (classid == RelationRelationId && access == OAT_DROP && subid != 0)
		check_column_drop(objid, subid);
	if (classid != RelationRelationId || subid != 0)
		return;
	if (access == OAT_DROP)
	{
		extension_check_relation(objid);
		drop_note_table(objid);
	}
	else if (access == OAT_TRUNCATE)
		truncate_triggers_checked(objid);
}

void
object_access_init(void)
{
	next_object_access = object_access_hook;
	object_access_hook = object_access;
}
