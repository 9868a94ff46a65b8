/*-------------------------------------------------------------------------
 *
 * distribute_schema.c
 *	  Distributed schemas, all of whose tables are on one node.
 *
 * A row of pg_dist_schema gives a schema the number of a colocation group,
 * which is created with its first table and removed with the last.  Each table
 * that is made in the schema, or moved into it, becomes one with a single
 * shard in that group (ddl/create_table.c).  The group's replicationfactor,
 * SCHEMA_REPLICATION_FACTOR, keeps other tables out of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "conversion/convert.h"
#include "conversion/convert_checks.h"
#include "conversion/distribute_schema.h"
#include "conversion/undistribute.h"
#include "objects/object_lock.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "table/run_commands.h"

SQL_FUNCTION(citus_schema_distribute);
SQL_FUNCTION(citus_schema_undistribute);
SQL_FUNCTION(citus_internal_record_distributed_schema);

/* The columns of pg_dist_schema. */
#define Anum_schema_schemaid 1
#define Anum_schema_colocationid 2
#define Natts_schema 2

bool		enable_schema_based_sharding = false;

int32
schema_colocation(Oid schema)
{
	CatalogRow *row;

	if (!OidIsValid(schema) || !metadata_available())
		return 0;
	row = catalog_row("pg_dist_schema", "pg_dist_schema_pkey", Anum_schema_schemaid, F_OIDEQ, ObjectIdGetDatum(schema));
	return row == NULL ? 0 : DatumGetInt32(row->values[Anum_schema_colocationid - 1]);
}

static Relation
open_schemas(void)
{
	return table_open(get_relname_relid("pg_dist_schema", PG_CATALOG_NAMESPACE), RowExclusiveLock);
}

void
schema_forget(Oid schema)
{
	Relation	catalog;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (schema_colocation(schema) == 0)
		return;
	catalog = open_schemas();
	ScanKeyInit(&key, Anum_schema_schemaid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(schema));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		CatalogTupleDelete(catalog, &tuple->t_self);
	systable_endscan(scan);
	table_close(catalog, NoLock);
	CommandCounterIncrement();
}

/* Writes the record of a schema on this node; 0 removes it. */
static void
record_schema(Oid schema, int32 colocation_id)
{
	Relation	catalog;
	Datum		values[Natts_schema] = {ObjectIdGetDatum(schema), Int32GetDatum(colocation_id)};
	bool		nulls[Natts_schema] = {false};

	schema_forget(schema);
	if (colocation_id == 0)
		return;
	catalog = open_schemas();
	CatalogTupleInsert(catalog, heap_form_tuple(RelationGetDescr(catalog), values, nulls));
	table_close(catalog, NoLock);
	CommandCounterIncrement();
}

/* The call that makes the same record on another node. */
static char *
record_schema_command(Oid schema, int32 colocation_id)
{
	return node_call(NODE_record_distributed_schema, node_text(quote_identifier(get_namespace_name(schema))),
					 node_int(colocation_id));
}

static void
record_schema_everywhere(Oid schema, int32 colocation_id)
{
	record_schema(schema, colocation_id);
	if (node_active_primaries_remote() != NIL)
		remote_exec_on_all(run_commands_call(list_make1(record_schema_command(schema, colocation_id))));
}

List *
schema_metadata_commands(void)
{
	List	   *commands = NIL;

	foreach_ptr(CatalogRow, row, catalog_rows("pg_dist_schema", "pg_dist_schema_pkey", NULL))
	{
		Oid			schema = DatumGetObjectId(row->values[Anum_schema_schemaid - 1]);

		if (get_namespace_name(schema) != NULL)
			commands = lappend(commands, record_schema_command(schema, DatumGetInt32(row->values[Anum_schema_colocationid - 1])));
	}
	return commands;
}

/*
 * The tables of a schema that are no partitions: local ones, or distributed
 * and reference tables.
 */
static List *
tables_of_schema(Oid schema, bool distributed)
{
	List	   *tables = NIL;

	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(RelationRelationId, InvalidOid, Anum_pg_class_relnamespace, schema))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(row->tuple);

		if ((form->relkind == RELKIND_RELATION || form->relkind == RELKIND_PARTITIONED_TABLE) && !form->relispartition &&
			(metadata_find(form->oid) != NULL) == distributed)
			tables = lappend_oid(tables, form->oid);
	}
	return tables;
}

/*
 * The tables of a schema that citus_add_local_table_to_metadata() has added,
 * without partitions.
 */
static List *
tables_that_stay(Oid schema)
{
	List	   *tables = NIL;

	foreach_oid(relid, tables_of_schema(schema, true))
		if (metadata_lookup(relid) != NULL && group_stays_on_node(metadata_lookup(relid)->colocation_id))
			tables = lappend_oid(tables, relid);
	return tables;
}

/*
 * Errors unless the current user owns the schema, which gets locked on all
 * nodes.
 */
static void
lock_schema(Oid schema)
{
	char	   *name = get_namespace_name(schema);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA), errmsg("schema with OID %u does not exist", schema)));
	node_share_set_for_ddl();
	object_lock_names(list_make1(name));
	if (!object_ownercheck(NamespaceRelationId, schema, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_SCHEMA, name);
}

void
schema_distribute(Oid schema)
{
	lock_schema(schema);
	if (schema_colocation(schema) != 0)
	{
		ereport(NOTICE, (errmsg("schema %s is already distributed", get_namespace_name(schema))));
		return;
	}
	if (schema == PG_PUBLIC_NAMESPACE || IsCatalogNamespace(schema) || isAnyTempNamespace(schema) ||
		schema == get_namespace_oid(SHARD_SCHEMA, true) ||
		list_length(tables_of_schema(schema, true)) != list_length(tables_that_stay(schema)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("schema %s cannot be distributed", get_namespace_name(schema)),
				 errdetail("It belongs to the system, or has distributed or reference tables."),
				 errhint("Use undistribute_table(), or move the tables to another schema.")));
	if (tables_that_stay(schema) != NIL)
		undistribute_tables(tables_that_stay(schema));
	(void) node_shard_targets();	/* registers this server if there is no
									 * node */
	record_schema_everywhere(schema, (int32) next_id(PG_DIST_COLOCATIONID_SEQ));
	distribute_into_group(order_by_keys(tables_of_schema(schema, false)), schema_colocation(schema));
}

void
schema_distribute_table(Oid relid)
{
	int32		colocation_id = OidIsValid(relid) ? schema_colocation(get_rel_namespace(relid)) : 0;

	if (colocation_id != 0 && metadata_find(relid) == NULL && get_rel_persistence(relid) != RELPERSISTENCE_TEMP)
		distribute_into_group(list_make1_oid(relid), colocation_id);
}

/* citus_schema_distribute(schemaname regnamespace) */
Datum
citus_schema_distribute(PG_FUNCTION_ARGS)
{
	schema_distribute(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

/* citus_schema_undistribute(schemaname regnamespace) */
Datum
citus_schema_undistribute(PG_FUNCTION_ARGS)
{
	Oid			schema = PG_GETARG_OID(0);

	lock_schema(schema);
	if (schema_colocation(schema) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("schema %s is not distributed", get_namespace_name(schema))));
	undistribute_tables(tables_of_schema(schema, true));
	record_schema_everywhere(schema, 0);
	PG_RETURN_VOID();
}

/*
 * citus_internal.record_distributed_schema(schema regnamespace, colocationid
 * integer)
 */
Datum
citus_internal_record_distributed_schema(PG_FUNCTION_ARGS)
{
	Oid			schema = PG_GETARG_OID(0);

	node_function_check(fcinfo);
	if (!object_ownercheck(NamespaceRelationId, schema, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_SCHEMA, get_namespace_name(schema));
	record_schema(schema, PG_GETARG_INT32(1));
	PG_RETURN_VOID();
}

void
distribute_schema_init(void)
{
	DefineCustomBoolVariable("citus.enable_schema_based_sharding",
							 "Makes schemas that are created distributed ones, whose tables are on one node.",
							 NULL, &enable_schema_based_sharding, false, PGC_USERSET, 0, NULL, NULL, NULL);
}
