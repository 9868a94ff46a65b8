/*-------------------------------------------------------------------------
 *
 * catalog_rows.c
 *	  Reading a few rows of a catalog: the server's or the extension's.
 *
 * For rows that are read rarely (by DDL, when a connection is opened or an
 * error is raised), and so aren't cached.  All rows are copied before the
 * first is returned: the caller may run any code in its loop over them, and
 * leave the loop early.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_trigger.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/dist_table.h"

List *
catalog_rows_by_keys(Oid catalog, Oid index, int nkeys, ScanKey keys)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	SysScanDesc scan = systable_beginscan(rel, index, OidIsValid(index), NULL, nkeys, keys);
	List	   *rows = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CatalogRow *row = palloc(sizeof(CatalogRow));

		row->tuple = toast_flatten_tuple(tuple, desc);
		row->values = palloc(sizeof(Datum) * desc->natts);
		row->nulls = palloc(sizeof(bool) * desc->natts);
		heap_deform_tuple(row->tuple, desc, row->values, row->nulls);
		rows = lappend(rows, row);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return rows;
}

List *
catalog_rows_by_oid(Oid catalog, Oid index, AttrNumber column, Oid value)
{
	ScanKeyData key;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
	return catalog_rows_by_keys(catalog, index, 1, &key);
}

List *
catalog_rows(const char *table, const char *index, ScanKey key)
{
	Oid			relid = get_relname_relid(table, PG_CATALOG_NAMESPACE);
	Oid			indexid = index == NULL ? InvalidOid : get_relname_relid(index, PG_CATALOG_NAMESPACE);

	return OidIsValid(relid) ? catalog_rows_by_keys(relid, indexid, key == NULL ? 0 : 1, key) : NIL;
}

HeapTuple
catalog_tuple(int cache, Oid oid, const char *kind)
{
	HeapTuple	tuple = SearchSysCache1(cache, ObjectIdGetDatum(oid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for %s %u", kind, oid);
	return tuple;
}

CatalogRow *
catalog_row(const char *table, const char *index, AttrNumber column, RegProcedure equals, Datum value)
{
	ScanKeyData key;
	List	   *rows;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, equals, value);
	rows = catalog_rows(table, index, &key);
	return rows == NIL ? NULL : linitial(rows);
}

List *
catalog_needs(Oid classid, Oid objid)
{
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(classid));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(objid));
	return catalog_rows_by_keys(DependRelationId, DependDependerIndexId, lengthof(keys), keys);
}

List *
catalog_dependents(Oid classid, Oid objid)
{
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(classid));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(objid));
	return catalog_rows_by_keys(DependRelationId, DependReferenceIndexId, lengthof(keys), keys);
}

List *
global_key_triggers(Oid constraint)
{
	List	   *triggers = NIL;

	foreach_ptr(CatalogRow, row, catalog_dependents(ConstraintRelationId, constraint))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);
		List	   *found;

		if (depend->classid != TriggerRelationId)
			continue;
		found = catalog_rows_by_oid(TriggerRelationId, TriggerOidIndexId, Anum_pg_trigger_oid, depend->objid);
		if (found != NIL &&
			trigger_is_of_global_key(true, NameStr(((Form_pg_trigger) GETSTRUCT(((CatalogRow *) linitial(found))->tuple))->tgname)))
			triggers = lappend_oid(triggers, depend->objid);
	}
	return triggers;
}
