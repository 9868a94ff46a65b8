/*-------------------------------------------------------------------------
 *
 * undistribute.c
 *	  undistribute_table(): converts distributed and reference tables back to
 *	  local ones on this node; other changes to converted tables.
 *
 * The rows are read by a query into a tuplestore, and inserted when the table
 * is local.  The tables on the other nodes are dropped, with their dependent
 * objects, which become local to this node; the hooks on those nodes remove
 * shards and metadata.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"
#include "utils/varlena.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/relations.h"
#include "compat/acl.h"
#include "compat/sql_function.h"
#include "conversion/convert_metadata.h"
#include "conversion/convert_checks.h"
#include "conversion/discard_rows.h"
#include "conversion/undistribute.h"
#include "copy/frame_runner.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "lib/run_as.h"
#include "objects/dependents.h"
#include "objects/sequence_values.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "resolve/analysis.h"
#include "resolve/tag.h"
#include "sharding/hash.h"
#include "table/definition.h"
#include "table/table_definition.h"
#include "table/lock_everywhere.h"
#include "table/next_id.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "txn/unpublished.h"
#include "storage/lmgr.h"

SQL_FUNCTION(undistribute_table);
SQL_FUNCTION(truncate_local_data_after_distributing_table);
SQL_FUNCTION(update_distributed_table_colocation);

#define FETCH_ROWS 1000

/* Name of the tuplestore in the INSERT. */
#define MOVED_ROWS "citus_moved_rows"

/* Locks a distributed table of the current user; errors if it isn't one. */
static Relation
open_distributed(Oid relid)
{
	Relation	rel;

	node_share_set_for_ddl();
	while (metadata_lookup(relid) != NULL && object_ownercheck(RelationRelationId, relid, GetUserId()) &&
		   !lock_everywhere(list_make1_oid(relid), AccessExclusiveLock))
		;
	rel = open_table_by_oid(relid, AccessExclusiveLock);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
	(void) metadata_require(relid);
	return rel;
}

/* Errors if the table has, or is referenced by, a foreign key. */
static void
check_no_foreign_keys(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	Relation	constraints = table_open(ConstraintRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(constraints, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(tuple);

		if (con->contype != CONSTRAINT_FOREIGN || (con->conrelid != relid && con->confrelid != relid) ||
			con->conrelid == con->confrelid)
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot undistribute table \"%s\" because it has a foreign key",
						RelationGetRelationName(rel)),
				 errdetail("Foreign key \"%s\" connects \"%s\" and \"%s\".", NameStr(con->conname),
						   get_rel_name(con->conrelid), get_rel_name(con->confrelid)),
				 errhint("Use cascade_via_foreign_keys => true to undistribute the tables that foreign keys connect.")));
	}
	systable_endscan(scan);
	table_close(constraints, AccessShareLock);
}

/*
 * The table's columns that have values of their own, as a list for SELECT and
 * INSERT.
 */
static char *
stored_columns(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->attgenerated == '\0')
			appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ", quote_identifier(NameStr(att->attname)));
	}
	return buf.data;
}

/*
 * Reads all rows of a distributed table, with the caller's rights checked, but
 * as its owner, like insert_rows: the planner may call functions of indexes.
 * SPI is connected; store and descriptor outlive the query, not SPI.
 */
static Tuplestorestate *
read_rows(Oid relid, const char *columns, TupleDesc *desc)
{
	Tuplestorestate *store = tuplestore_begin_heap(true, false, work_mem);
	char	   *text = psprintf("SELECT %s FROM %s", columns, relation_qualified_name(relid));
	Oid			user = GetUserId();
	RunAs		caller = run_as_owner_begin(relid);
	SPIPlanPtr	plan = analysis_prepare_by_right(text, user);
	Portal		portal;

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	*desc = CreateTupleDescCopy(portal->tupDesc);
	do
	{
		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, FETCH_ROWS);
		for (uint64 i = 0; i < SPI_processed; i++)
			tuplestore_puttuple(store, SPI_tuptable->vals[i]);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	run_as_end(caller);
	return store;
}

static int
execute_unpublished(const char *command)
{
	ReplOriginId before = unpublished_begin();
	volatile int result = 0;

	PG_TRY();
	{
		result = task_tag_execute_own(command, NULL);
	}
	PG_FINALLY();
	{
		unpublished_end(before);
	}
	PG_END_TRY();
	return result;
}

/*
 * Inserts the rows into the table, which is local now, with the caller's
 * rights checked, but as its owner, since indexes and constraints may call
 * functions of the owner.  The tag prevents triggers from firing.
 */
static void
insert_rows(Oid relid, const char *columns, Tuplestorestate *store, TupleDesc desc)
{
	EphemeralNamedRelation enr = palloc0(sizeof(EphemeralNamedRelationData));
	char	   *name = relation_qualified_name(relid);
	TaskTag		tag = {.kind = TAG_NODE,.traits.check_as = GetUserId()};
	char	   *command = psprintf("%sINSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM " MOVED_ROWS,
								   task_tag_write(&tag), name, columns, columns);
	RunAs		caller = run_as_owner_begin(relid);
	Relation	rel = table_open(relid, NoLock);
	HiddenChecks hidden;

	enr->md.name = MOVED_ROWS;
	enr->md.tupdesc = desc;
	enr->md.enrtype = ENR_NAMED_TUPLESTORE;
	enr->md.enrtuples = tuplestore_tuple_count(store);
	enr->reldata = store;
	if (SPI_register_relation(enr) != SPI_OK_REL_REGISTER)
		elog(ERROR, "SPI_register_relation failed");
	frame_checks_hide(&hidden, rel);
	PG_TRY();
	{
		if (execute_unpublished(command) != SPI_OK_INSERT)
			elog(ERROR, "could not insert the rows of table %s", name);
	}
	PG_FINALLY();
	{
		frame_checks_show(&hidden);
	}
	PG_END_TRY();
	table_close(rel, NoLock);
	SPI_unregister_relation(MOVED_ROWS);
	run_as_end(caller);
}

/*
 * The rows of a table that becomes local; store is NULL if there are none to
 * be moved.
 */
typedef struct MovedRows
{
	Oid			relid;
	char	   *columns;
	Tuplestorestate *store;
	TupleDesc	desc;
} MovedRows;

/*
 * Reads the rows of a table, unless they are not in shards.  SPI is connected.
 */
static MovedRows *
take_rows(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	MovedRows  *rows = palloc0(sizeof(MovedRows));

	rows->relid = relid;
	rows->columns = stored_columns(rel);
	if (metadata_require(relid)->kind != DIST_REFERENCE && rel->rd_rel->relkind == RELKIND_RELATION &&
		rows->columns[0] != '\0')
		rows->store = read_rows(relid, rows->columns, &rows->desc);
	table_close(rel, NoLock);
	return rows;
}

/* The names of the tables in a list that are no partitions, for DROP TABLE. */
static char *
names_to_drop(List *relids)
{
	StringInfoData buf;

	initStringInfo(&buf);
	foreach_oid(relid, relids)
	{
		if (!get_rel_relispartition(relid))
			appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ", relation_qualified_name(relid));
	}
	return buf.data;
}

/*
 * Makes tables, together with their partitions, local ones: metadata, shards,
 * and the other nodes' tables go.
 */
static void
forget_tables(List *relids)
{
	List	   *shards = NIL;
	List	   *entries = NIL;

	foreach_oid(relid, relids)
	{
		sequences_reopen(relid);
		entries = list_concat(entries, global_indexes_detach(relid, InvalidAttrNumber));
		global_keys_detach(relid);
	}
	if (node_active_primaries_remote() != NIL)
	{
		List	   *commands = table_dependents_drop_commands(relids);
		int			level = quiet_begin(WARNING);

		if (commands != NIL)
			remote_exec_on_all(run_commands_call(commands));
		remote_exec_on_all(psprintf("%sDROP TABLE %s CASCADE", TASK_TAG_DDL, names_to_drop(relids)));
		AtEOXact_GUC(true, level);
	}
	foreach_oid(relid, list_concat_copy(relids, entries))
	{
		shards = list_concat(shards, local_shard_relids(metadata_require(relid)));
		delete_empty_group(metadata_delete_table(relid), true);
		metadata_invalidate(relid);
	}
	drop_relations(shards);
	drop_relations(entries);
	CommandCounterIncrement();
}

static void
check_no_partition(Relation rel)
{
	if (rel->rd_rel->relispartition)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot undistribute partition \"%s\"", RelationGetRelationName(rel)),
				 errdetail("It is a partition of \"%s\".",
						   get_rel_name(get_partition_parent(RelationGetRelid(rel), true))),
				 errhint("Undistribute the partitioned table, or detach the partition first.")));
}

/* Errors if the other nodes' tables can't be dropped. */
static void
check_leaves_other_nodes(Relation rel)
{
	if (table_of_extension(RelationGetRelid(rel)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot undistribute table \"%s\" of an extension", RelationGetRelationName(rel)),
				 errdetail("The extension has the table on all nodes, each with the same rows."),
				 errhint("It goes with DROP EXTENSION.")));
}

void
undistribute_tables(List *roots)
{
	List	   *relids = NIL;
	List	   *moved = NIL;
	int			level = NewGUCNestLevel();

	foreach_oid(relid, roots)
	{
		table_close(open_distributed(relid), NoLock);
		relids = list_concat(relids, find_all_inheritors(relid, AccessExclusiveLock, NULL));
	}
	if (relids == NIL)
		return;

	/*
	 * All rows must be read and inserted, whatever the policies; their foreign
	 * keys have been checked.
	 */
	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("session_replication_role", "replica", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	foreach_oid(relid, relids)
		moved = lappend(moved, take_rows(relid));
	forget_tables(relids);
	foreach_ptr(MovedRows, rows, moved)
		if (rows->store != NULL)
			insert_rows(rows->relid, rows->columns, rows->store, rows->desc);
	SPI_finish();
	AtEOXact_GUC(true, level);
}

void
undistribute_relation(Oid relid, bool cascade)
{
	Relation	rel = open_distributed(relid);

	check_no_partition(rel);
	check_leaves_other_nodes(rel);
	if (!cascade)
		check_no_foreign_keys(rel);
	table_close(rel, NoLock);
	undistribute_tables(cascade ? tables_connected_by_keys(relid) : list_make1_oid(relid));
}

/* undistribute_table(table_name regclass, cascade_via_foreign_keys boolean) */
Datum
undistribute_table(PG_FUNCTION_ARGS)
{
	undistribute_relation(PG_GETARG_OID(0), PG_GETARG_BOOL(1));
	PG_RETURN_VOID();
}

/* truncate_local_data_after_distributing_table(table_name regclass) */
Datum
truncate_local_data_after_distributing_table(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel = open_distributed(relid);

	if (metadata_require(relid)->kind != DIST_REFERENCE)
		relation_discard_rows(rel);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* Errors if the shards of two tables don't lie side by side. */
static void
check_same_shards(const DistTable *table, const DistTable *other)
{
	const char *detail = NULL;

	if (table->kind != other->kind || table->kind == DIST_REFERENCE)
		detail = "The tables are distributed in different ways.";
	else if (table->dist_type != other->dist_type || table->dist_collation != other->dist_collation)
		detail = "Distribution column types don't match.";
	else if (table->nshards != other->nshards)
		detail = "The numbers of shards don't match.";
	for (int i = 0; detail == NULL && i < table->nshards; i++)
	{
		if (shard_index_of_range(other, table->shards[i].range) != i)
			detail = "The shards have other ranges of hash values.";
		else if (table->shards[i].groupid != other->shards[i].groupid)
			detail = "The shards are placed on different nodes.";
	}
	if (detail != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("cannot colocate tables \"%s\" and \"%s\"", get_rel_name(table->relid),
						get_rel_name(other->relid)),
				 errdetail_internal("%s", detail)));
}

/*
 * update_distributed_table_colocation(table_name regclass, colocate_with text)
 */
Datum
update_distributed_table_colocation(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *colocate_with = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation	rel = open_distributed(relid);
	const DistTable *table = metadata_require(relid);
	int32		colocation_id;

	colocation_lock();
	if (pg_strcasecmp(colocate_with, "none") == 0)
	{
		if (table->kind == DIST_REFERENCE)
			check_same_shards(table, table);
		colocation_id = (int32) next_id(PG_DIST_COLOCATIONID_SEQ);
		metadata_insert_colocation(colocation_id, table->nshards, 1, table->dist_type, table->dist_collation);
	}
	else
	{
		RangeVar   *relation = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(1)));
		const DistTable *other = metadata_require(RangeVarGetRelid(relation, AccessShareLock, false));

		check_same_shards(table, other);
		colocation_id = other->colocation_id;
	}
	if (colocation_id != table->colocation_id)
	{
		List	   *global = global_keys_of(relid);
		int32		emptied = metadata_update_colocation(relid, colocation_id);

		check_foreign_keys(relid);
		check_keys_stay(relid, global);
		if (node_active_primaries_remote() != NIL)
			remote_exec_on_all(run_commands_call(list_make2(linitial(table_metadata_commands(relid)),
															node_call(NODE_update_table_colocation,
																	  node_text(relation_qualified_name(relid)),
																	  node_int(colocation_id)))));
		delete_empty_group(emptied, true);
	}
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}
