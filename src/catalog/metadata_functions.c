/*-------------------------------------------------------------------------
 *
 * metadata_functions.c
 *	  SQL-callable wrappers: functions of schema citus_internal with which
 *	  the initiator of a change writes another node's rows, the trigger that
 *	  invalidates caches, and conversions of pg_dist_partition.partkey.
 *
 * The wrappers check that the caller owns the table: the initiator's session
 * user is the same on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "catalog/metadata_load.h"
#include "catalog/metadata_rows.h"
#include "catalog/relations.h"

SQL_FUNCTION(citus_internal_add_colocation_metadata);
SQL_FUNCTION(citus_internal_add_partition_metadata);
SQL_FUNCTION(citus_internal_add_shard_metadata);
SQL_FUNCTION(citus_internal_add_placement_metadata);
SQL_FUNCTION(citus_internal_delete_colocation_metadata);
SQL_FUNCTION(citus_internal_update_table_colocation);
SQL_FUNCTION(citus_internal_invalidate_metadata);
SQL_FUNCTION(column_to_column_name);
SQL_FUNCTION(column_name_to_column);

/* Errors unless the current user owns the table. */
static void
check_table_owner(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name);
}

/* Errors if an argument that has no default is NULL. */
static void
check_not_null(FunctionCallInfo fcinfo, int argument, const char *name)
{
	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s cannot be NULL", name)));
}

/* Errors unless a number for the metadata is in range. */
static void
check_range(const char *name, int64 number, int64 least, int64 most)
{
	if (number < least || number > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s " INT64_FORMAT " is out of range", name, number)));
}

static char *
text_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

Datum
citus_internal_add_colocation_metadata(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	check_range("colocation id", PG_GETARG_INT32(0), 1, PG_INT32_MAX);
	check_range("shard count", PG_GETARG_INT32(1), 1, MAX_SHARD_COUNT);
	metadata_insert_colocation(PG_GETARG_INT32(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2),
							   PG_GETARG_OID(3), PG_GETARG_OID(4));
	PG_RETURN_VOID();
}

Datum
citus_internal_add_partition_metadata(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "partmethod");
	check_not_null(fcinfo, 3, "colocationid");
	check_not_null(fcinfo, 4, "repmodel");
	check_range("colocation id", PG_GETARG_INT32(3), 0, PG_INT32_MAX);
	check_table_owner(PG_GETARG_OID(0));

	metadata_insert_partition(PG_GETARG_OID(0), PG_GETARG_CHAR(1), text_argument(fcinfo, 2),
							  PG_GETARG_INT32(3), PG_GETARG_CHAR(4));
	PG_RETURN_VOID();
}

Datum
citus_internal_add_shard_metadata(PG_FUNCTION_ARGS)
{
	Oid			relid;
	Oid			owner_relid;

	node_function_check(fcinfo);
	check_not_null(fcinfo, 0, "relation");
	check_not_null(fcinfo, 1, "shardid");
	check_not_null(fcinfo, 2, "storage");
	relid = PG_GETARG_OID(0);
	check_table_owner(relid);

	check_range("shard id", PG_GETARG_INT64(1), 1, PG_INT64_MAX);
	owner_relid = metadata_shard_relid(PG_GETARG_INT64(1));
	if (OidIsValid(owner_relid) && owner_relid != relid)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("shard " INT64_FORMAT " belongs to another table", PG_GETARG_INT64(1))));

	metadata_insert_shard(relid, PG_GETARG_INT64(1), PG_GETARG_CHAR(2),
						  text_argument(fcinfo, 3), text_argument(fcinfo, 4));
	PG_RETURN_VOID();
}

Datum
citus_internal_add_placement_metadata(PG_FUNCTION_ARGS)
{
	int64		shardid = PG_GETARG_INT64(0);
	Oid			relid = metadata_shard_relid(shardid);

	node_function_check(fcinfo);
	check_range("shard id", shardid, 1, PG_INT64_MAX);
	check_range("group id", PG_GETARG_INT32(2), 0, PG_INT32_MAX);
	if (OidIsValid(relid))
		check_table_owner(relid);
	metadata_insert_placement(shardid, PG_GETARG_INT64(1), PG_GETARG_INT32(2), PG_GETARG_INT64(3));
	PG_RETURN_VOID();
}

/*
 * Tables that are still visible in the group are being dropped, and already
 * are on other nodes; this is not assumed for tables of other users.
 */
Datum
citus_internal_delete_colocation_metadata(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	foreach_oid(relid, metadata_tables(PG_GETARG_INT32(0)))
	{
		if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
			PG_RETURN_VOID();
	}
	metadata_delete_colocation(PG_GETARG_INT32(0));
	PG_RETURN_VOID();
}

Datum
citus_internal_update_table_colocation(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	check_table_owner(PG_GETARG_OID(0));
	(void) metadata_update_colocation(PG_GETARG_OID(0), PG_GETARG_INT32(1));
	PG_RETURN_VOID();
}

/* Invalidates the table that a row of a catalog belongs to. */
static void
invalidate_row(Relation relation, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(relation);
	Oid			relid = RelationGetRelid(relation);
	bool		isnull;

	if (tuple == NULL)
		return;
	if (relid == dist_relid(PG_DIST_PARTITION) || relid == dist_relid(PG_DIST_SHARD))
		metadata_invalidate(DatumGetObjectId(heap_getattr(tuple, 1, desc, &isnull)));
	else if (relid == dist_relid(PG_DIST_PLACEMENT))
		metadata_invalidate(metadata_shard_relid(DatumGetInt64(heap_getattr(tuple, Anum_placement_shardid,
																			desc, &isnull))));
}

/*
 * Trigger for changes of the catalogs that are made in plain SQL.
 */
Datum
citus_internal_invalidate_metadata(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager", "invalidate_metadata")));

	/* while the extension is being created, nothing is cached */
	if (!metadata_available())
		PG_RETURN_POINTER(NULL);

	if (RelationGetRelid(trigger->tg_relation) == dist_relid(PG_DIST_NODE) ||
		RelationGetRelid(trigger->tg_relation) == dist_relid(PG_DIST_TENANT_LIMIT) ||
		RelationGetRelid(trigger->tg_relation) == dist_relid(PG_DIST_LOCAL_GROUP))
		CacheInvalidateRelcache(trigger->tg_relation);
	else
	{
		invalidate_row(trigger->tg_relation, trigger->tg_trigtuple);
		invalidate_row(trigger->tg_relation, trigger->tg_newtuple);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * column_to_column_name(table_name regclass, column_var_text text)
 *
 * NULL if there is no such table, which may have been dropped since the caller
 * has read its metadata.
 */
Datum
column_to_column_name(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	AttrNumber	attno = metadata_parse_partkey(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	char	   *name = get_attname(relid, attno, true);

	if (name == NULL && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		PG_RETURN_NULL();
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("attribute %d of relation \"%s\" does not exist", attno, get_rel_name(relid))));
	PG_RETURN_TEXT_P(cstring_to_text(name));
}

/*
 * column_name_to_column(table_name regclass, column_name text)
 */
Datum
column_name_to_column(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	AttrNumber	attno = get_attnum(relid, name);

	if (attno == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name, get_rel_name(relid))));
	if (attno < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("column \"%s\" of relation \"%s\" is a system column", name, get_rel_name(relid))));
	PG_RETURN_TEXT_P(cstring_to_text(metadata_format_partkey(relid, attno)));
}
