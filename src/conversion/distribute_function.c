/*-------------------------------------------------------------------------
 *
 * distribute_function.c
 *	  create_distributed_function(): records a function as distributed.
 *
 * Every function is on all nodes.  The record in pg_dist_object has the number
 * of the argument that is the distribution value of the tables that the
 * function works on, and the colocation group of these tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "catalog/distributed_function.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/object_scope.h"
#include "catalog/relations.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "conversion/convert.h"
#include "conversion/distribute_function.h"
#include "objects/object_lock.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"

SQL_FUNCTION(create_distributed_function);
SQL_FUNCTION(citus_internal_record_distributed_function);

void
distributed_function_forget(Oid function)
{
	Relation	catalog = table_open(dist_relid(PG_DIST_OBJECT), RowExclusiveLock);
	ScanKeyData keys[2];
	SysScanDesc scan = distributed_function_scan(catalog, function, keys);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		CatalogTupleDelete(catalog, &tuple->t_self);
	systable_endscan(scan);
	table_close(catalog, NoLock);
}

/* Invalidates plans with calls of the function, in all sessions. */
static void
plan_calls_again(Oid function)
{
	Relation	catalog = table_open(ProcedureRelationId, AccessShareLock);
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));

	if (HeapTupleIsValid(tuple))
	{
		CacheInvalidateHeapTuple(catalog, tuple, NULL);
		ReleaseSysCache(tuple);
	}
	table_close(catalog, AccessShareLock);
}

/* Writes the function's row on this node. */
static void
record_function(const DistributedFunction *record)
{
	Relation	catalog = table_open(dist_relid(PG_DIST_OBJECT), RowExclusiveLock);
	Datum		values[Natts_object] = {0};
	bool		nulls[Natts_object];

	distributed_function_forget(record->function);
	memset(nulls, true, sizeof(nulls));
	values[Anum_object_classid - 1] = ObjectIdGetDatum(ProcedureRelationId);
	values[Anum_object_objid - 1] = ObjectIdGetDatum(record->function);
	values[Anum_object_objsubid - 1] = Int32GetDatum(0);
	values[Anum_object_argument - 1] = Int32GetDatum(record->argument);
	values[Anum_object_colocationid - 1] = Int32GetDatum(record->colocation_id);
	values[Anum_object_force - 1] = BoolGetDatum(record->force == 't');
	nulls[Anum_object_classid - 1] = nulls[Anum_object_objid - 1] = nulls[Anum_object_objsubid - 1] = false;
	nulls[Anum_object_argument - 1] = record->argument < 0;
	nulls[Anum_object_colocationid - 1] = record->colocation_id == 0;
	nulls[Anum_object_force - 1] = record->force == 'n';
	CatalogTupleInsert(catalog, heap_form_tuple(RelationGetDescr(catalog), values, nulls));
	table_close(catalog, NoLock);
	plan_calls_again(record->function);
}

/* The call that makes the same record on another node. */
static char *
record_command(const DistributedFunction *record)
{
	return node_call(NODE_record_distributed_function, node_text(format_procedure_qualified(record->function)),
					 node_int(record->argument), node_int(record->colocation_id), node_text((char[]) {record->force, '\0'}));
}

List *
distributed_function_commands(void)
{
	Relation	catalog = table_open(dist_relid(PG_DIST_OBJECT), AccessShareLock);
	List	   *commands = NIL;
	ScanKeyData keys[2];
	SysScanDesc scan = distributed_function_scan(catalog, InvalidOid, keys);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		DistributedFunction record;

		distributed_function_read(catalog, tuple, &record);
		if (OidIsValid(get_func_namespace(record.function)))
			commands = lappend(commands, record_command(&record));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return commands;
}

/*
 * The number, from 0, of the input argument that the user means by '$1' or by
 * name; *type is its type.
 */
static int
find_argument(Oid function, const char *wanted, Oid *type)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(tuple);
	char	  **names;
	Oid		   *types;
	char	   *modes;
	int			count = get_func_arg_info(tuple, &types, &names, &modes);
	int			input = 0;
	int			result = -1;

	for (int i = 0; i < count && result < 0; i++)
	{
		if (modes != NULL && modes[i] != PROARGMODE_IN && modes[i] != PROARGMODE_INOUT &&
			modes[i] != PROARGMODE_VARIADIC)
			continue;
		if ((names != NULL && strcmp(names[i], wanted) == 0) || strcmp(psprintf("$%d", input + 1), wanted) == 0)
		{
			result = input;
			*type = types[i];
		}
		input++;
	}
	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot distribute the function \"%s\" since the distribution argument is not valid",
						NameStr(form->proname)),
				 errhint("To provide \"distribution_arg_name\", use the name of an argument or its number, as in '$1'.")));
	ReleaseSysCache(tuple);
	return result;
}

/*
 * The colocation group of the table whose rows a function with an argument of
 * that type works on.
 */
static int32
find_colocation(Oid function, const char *colocate_with, Oid type)
{
	const DistTable *table;
	Oid			relid;
	int32		group;

	if (pg_strcasecmp(colocate_with, "default") == 0)
	{
		group = metadata_default_colocation(shard_count_setting, 1, type, get_typcollation(type));
		if (group == 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot distribute the function \"%s\" since there is no table to colocate with",
							get_func_name(function)),
					 errhint("Provide a distributed table via \"colocate_with\" option to create_distributed_function().")));
		return group;
	}
	relid = RangeVarGetRelid(makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(colocate_with))),
							 AccessShareLock, false);
	table = metadata_require(relid);
	if (table->kind != DIST_HASH || (table->dist_type != type && !can_coerce_type(1, &type, (Oid *) &table->dist_type,
																				  COERCION_ASSIGNMENT)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot colocate function \"%s\" and table \"%s\"", get_func_name(function), get_rel_name(relid)),
				 errdetail("The type of the distribution argument doesn't match that of the table's distribution column.")));
	return table->colocation_id;
}

/* Errors unless the user may change the function, and it is on all nodes. */
static void
check_function(Oid function)
{
	ObjectAddress object;

	ObjectAddressSet(object, ProcedureRelationId, function);
	if (!object_ownercheck(ProcedureRelationId, function, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FUNCTION, get_func_name(function));
	if (object_is_local(&object))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot distribute the function \"%s\" since it depends on a local table", get_func_name(function)),
				 errhint("Distribute the table first.")));
}

/*
 * create_distributed_function(function_name regprocedure,
 * distribution_arg_name text, colocate_with text,
 *		force_delegation boolean)
 */
Datum
create_distributed_function(PG_FUNCTION_ARGS)
{
	DistributedFunction record = {.argument = -1, .force = 'n'};
	char	   *colocate_with = PG_ARGISNULL(2) ? "default" : text_to_cstring(PG_GETARG_TEXT_PP(2));

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the first parameter for create_distributed_function() should be a single a valid function "
						"or procedure name followed by a list of parameters in parantheses")));
	record.function = PG_GETARG_OID(0);
	if (get_func_name(record.function) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", record.function)));
	node_share_set_for_ddl();
	object_lock_names(list_make1(get_func_name(record.function)));
	check_function(record.function);
	if (!PG_ARGISNULL(3))
		record.force = PG_GETARG_BOOL(3) ? 't' : 'f';
	if (!PG_ARGISNULL(1))
	{
		Oid			type;

		record.argument = find_argument(record.function, text_to_cstring(PG_GETARG_TEXT_PP(1)), &type);
		record.colocation_id = find_colocation(record.function, colocate_with, type);
	}
	record_function(&record);
	if (node_active_primaries_remote() != NIL)
		remote_exec_on_all(run_commands_call(list_make1(record_command(&record))));
	PG_RETURN_VOID();
}

/*
 * citus_internal.record_distributed_function(function regprocedure, argument
 * integer, colocationid integer, force "char")
 */
Datum
citus_internal_record_distributed_function(PG_FUNCTION_ARGS)
{
	DistributedFunction record = {PG_GETARG_OID(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2), PG_GETARG_CHAR(3)};

	node_function_check(fcinfo);
	if (!object_ownercheck(ProcedureRelationId, record.function, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FUNCTION, get_func_name(record.function));
	record_function(&record);
	PG_RETURN_VOID();
}
