/*-------------------------------------------------------------------------
 *
 * shard_schema.c
 *	  Keeps other objects out of the schema of shards.
 *
 * Shards are created with the rights of the table's owner, and the server
 * requires CREATE on the schema for many commands; so PUBLIC has it.  But
 * names of future shards can be guessed, and a relation of such a name would
 * be taken for the shard.  So the object access hook (ddl/drop.c) calls here
 * for all that is created, moved or renamed by any command that this library
 * hasn't written, also one that is run by a function in the middle of ours:
 * only our own commands can create or rename an object in the schema, or move
 * one into or out of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "table/shard_schema.h"

/* The schema and name of an object. */
typedef struct ObjectPlace
{
	Oid			schema;			/* InvalidOid: there is no such object */
	NameData	name;
} ObjectPlace;

static void
read_place(Oid classid, HeapTuple tuple, TupleDesc desc, ObjectPlace *place)
{
	bool		isnull;

	place->schema = DatumGetObjectId(heap_getattr(tuple, get_object_attnum_namespace(classid), desc, &isnull));
	place->name = *DatumGetName(heap_getattr(tuple, get_object_attnum_name(classid), desc, &isnull));
}

/* The place of an object as this command leaves it. */
static ObjectPlace
new_place(Oid classid, Oid objid)
{
	Relation	rel = table_open(classid, AccessShareLock);
	ObjectPlace place = {InvalidOid};
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, get_object_attnum_oid(classid), BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(objid));
	scan = systable_beginscan(rel, get_object_oid_index(classid), true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		read_place(classid, tuple, RelationGetDescr(rel), &place);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return place;
}

/* The place of an object as this command has found it. */
static ObjectPlace
old_place(Oid classid, Oid objid)
{
	Relation	rel = table_open(classid, AccessShareLock);
	HeapTuple	tuple = SearchSysCache1(get_object_catcache_oid(classid), ObjectIdGetDatum(objid));
	ObjectPlace place = {InvalidOid};

	if (HeapTupleIsValid(tuple))
	{
		read_place(classid, tuple, RelationGetDescr(rel), &place);
		ReleaseSysCache(tuple);
	}
	table_close(rel, AccessShareLock);
	return place;
}

/*
 * The schema; InvalidOid if objects of a class can't be in it, or there is
 * none.
 */
static Oid
schema_for(Oid classid)
{
	/* pg_upgrade makes shards as it finds them */
	if (IsBinaryUpgrade || !is_objectclass_supported(classid) ||
		get_object_attnum_namespace(classid) == InvalidAttrNumber || get_object_catcache_oid(classid) < 0)
		return InvalidOid;
	return get_namespace_oid(SHARD_SCHEMA, true);
}

static void
refuse_in_schema(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for schema %s", SHARD_SCHEMA),
			 errdetail("The schema holds the shards of distributed tables.")));
}

/*
 * Whether a type is that of the rows of a table that VACUUM FULL or CLUSTER
 * makes in the place of another, or of their arrays.
 */
static bool
is_transient(const char *name)
{
	if (name[0] == '_')
		name++;
	return strncmp(name, "pg_temp_", strlen("pg_temp_")) == 0;
}

void
shard_schema_check_created(Oid classid, Oid objid)
{
	Oid			schema = schema_for(classid);
	ObjectPlace place;

	if (!OidIsValid(schema))
		return;
	place = new_place(classid, objid);
	if (place.schema == schema && !(classid == TypeRelationId && is_transient(NameStr(place.name))))
		refuse_in_schema();
}

void
shard_schema_check_altered(Oid classid, Oid objid)
{
	Oid			schema = schema_for(classid);
	ObjectPlace old;
	ObjectPlace new;

	if (!OidIsValid(schema))
		return;
	old = old_place(classid, objid);
	new = new_place(classid, objid);
	if (old.schema != schema && new.schema != schema)
		return;
	if (old.schema != new.schema || strcmp(NameStr(old.name), NameStr(new.name)) != 0)
		refuse_in_schema();
}
