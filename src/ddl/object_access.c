/*-------------------------------------------------------------------------
 *
 * object_access.c
 *	  The only owner of object_access_hook: what is made, changed or dropped.
 *
 * What the server is about to drop is noted while it can still be looked up,
 * whichever statement drops it (drop.c).  Objects that a statement has made or
 * changed are noted for the other nodes (object.c).  The same hook keeps users
 * out of the schema of the shards (shard_schema.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
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
#include "ddl/object.h"
#include "ddl/object_access.h"
#include "ddl/truncate_triggers.h"
#include "table/run_commands.h"
#include "table/shard_schema.h"

static object_access_hook_type next_object_access = NULL;

/*
 * A type's DROP .. CASCADE, for one, drops columns: errors when that would
 * leave a table without its distribution column.
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

/* Rows that keep the extension from being dropped. */
static const struct
{
	const char *relation;
	int			allowed;		/* number of rows that don't */
	const char *detail;
	const char *hint;
}			extension_needs[] = {
	{"pg_dist_partition", 0, gettext_noop("There are distributed or reference tables."),
	gettext_noop("Drop them, or make them local tables with undistribute_table(), first.")},
	{"pg_dist_node", 1, gettext_noop("The server is a node of a cluster."),
	gettext_noop("Use citus_remove_node() on the coordinator first.")},
};

/*
 * A relation is about to be dropped.  If it is the extension's, and has rows
 * that are still needed, errors with ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST:
 * without them, what is in shards would be lost.  The server has locked the
 * relation against writers.
 */
static void
check_extension_drop(Oid relid)
{
	if (get_rel_namespace(relid) != PG_CATALOG_NAMESPACE)
		return;
	for (int i = 0; i < lengthof(extension_needs); i++)
	{
		Relation	rel;
		SysScanDesc scan;
		int			rows = 0;

		if (strcmp(get_rel_name(relid), extension_needs[i].relation) != 0)
			continue;
		rel = table_open(relid, NoLock);
		scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
		while (rows <= extension_needs[i].allowed && HeapTupleIsValid(systable_getnext(scan)))
			rows++;
		systable_endscan(scan);
		table_close(rel, NoLock);
		if (rows > extension_needs[i].allowed)
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("cannot drop extension \"citus\" because this database needs it"),
					 errdetail("%s", _(extension_needs[i].detail)),
					 errhint("%s", _(extension_needs[i].hint))));
	}
}

/* object_access_hook */
static void
object_access(ObjectAccessType access, Oid classid, Oid objid, int subid, void *arg)
{
	if (next_object_access)
		next_object_access(access, classid, objid, subid, arg);
	if (subid == 0 && !run_commands_is_own())
	{
		if (access == OAT_POST_CREATE && !((ObjectAccessPostCreate *) arg)->is_internal)
			shard_schema_check_created(classid, objid);
		else if (access == OAT_POST_ALTER && !((ObjectAccessPostAlter *) arg)->is_internal)
			shard_schema_check_altered(classid, objid);
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
		check_extension_drop(objid);
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
