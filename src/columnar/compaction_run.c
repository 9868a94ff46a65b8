/*-------------------------------------------------------------------------
 *
 * compaction_run.c
 *	  Who compacts columnar tables: the daemon, and users by hand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "columnar/columnar.h"
#include "columnar/compaction.h"
#include "columnar/table_vacuum.h"
#include "compat/acl.h"
#include "compat/foreach.h"
#include "compat/sql_function.h"
#include "lib/run_as.h"

int			columnar_compaction_naptime = 60000;

/* The daemon has looked at the tables up to this one; invalid: at none. */
static Oid	last_compacted = InvalidOid;

/* The columnar tables after one, in the order of their OIDs. */
static List *
columnar_tables_after(Oid last)
{
	Oid			method = get_table_am_oid("columnar", true);
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *tables = NIL;

	ScanKeyInit(&key, Anum_pg_class_oid, BTGreaterStrategyNumber, F_OIDGT, ObjectIdGetDatum(last));
	scan = systable_beginscan(classes, ClassOidIndexId, true, NULL, 1, &key);
	while (OidIsValid(method) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (form->relam == method && form->relpersistence != RELPERSISTENCE_TEMP)
			tables = lappend_oid(tables, form->oid);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	list_sort(tables, list_oid_cmp);
	return tables;
}

/*
 * Vacuums what rows that were moved have left: autovacuum would wait for a
 * fifth of the table, and until then stripes, and index entries, are there
 * twice.
 */
static void
clean_as_owner(Relation table)
{
	RunAs		caller;

	if (!columnar_has_uncleaned_rows(table))
		return;
	caller = run_as_owner_begin(RelationGetRelid(table));
	table_vacuum_leftovers(table);
	run_as_end(caller);
}

/* Moves rows of a locked table with its owner's rights. */
static uint64
compact_as_owner(Relation table, CompactionGoal goal)
{
	RunAs		caller = run_as_owner_begin(RelationGetRelid(table));
	uint64		moved = columnar_compact(table, goal);

	run_as_end(caller);
	return moved;
}

void
columnar_compaction_job(void)
{
	List	   *tables = columnar_tables_after(last_compacted);

	foreach_oid(relid, tables)
	{
		Relation	table;
		uint64		moved;

		CHECK_FOR_INTERRUPTS();
		if (!ConditionalLockRelationOid(relid, ShareUpdateExclusiveLock))
			continue;
		table = try_relation_open(relid, NoLock);
		if (table == NULL)
			continue;
		/* If this fails, the others get their turn. */
		last_compacted = relid;
		moved = 0;
		if (columnar_is_columnar(table))
		{
			clean_as_owner(table);
			moved = compact_as_owner(table, COMPACT_WORTHWHILE);
		}
		relation_close(table, NoLock);
		if (moved > 0)
		{
			/* There may be more. */
			last_compacted = relid - 1;
			return;
		}
	}
	last_compacted = InvalidOid;
}

bool
columnar_compaction_goes_on(void)
{
	return OidIsValid(last_compacted);
}

/* columnar.compact(regclass) */
SQL_FUNCTION(columnar_compact_table);
Datum
columnar_compact_table(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = get_rel_name(relid);
	Relation	table = NULL;
	uint64		all = 0;
	uint64		moved;

	if (name != NULL && !object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), name);
	if (name != NULL)
		table = try_relation_open(relid, ShareUpdateExclusiveLock);
	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!columnar_is_columnar(table))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a columnar table", RelationGetRelationName(table))));
	if (RELATION_IS_OTHER_TEMP(table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	PreventCommandIfReadOnly("columnar.compact()");
	PreventCommandIfParallelMode("columnar.compact()");
	while ((moved = compact_as_owner(table, COMPACT_ALL)) > 0)
		all += moved;
	relation_close(table, NoLock);
	PG_RETURN_INT64((int64) all);
}

void
columnar_compaction_init(void)
{
	DefineCustomIntVariable("columnar.compaction_naptime",
							"Sets how often small writes to columnar tables are moved into stripes, and deleted rows left out.",
							"-1 means never.",
							&columnar_compaction_naptime, 60000, -1, 7 * 24 * 3600 * 1000, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
}
