/*-------------------------------------------------------------------------
 *
 * catalog_rows.c
 *	  Reading a few rows of the extension's tables, by name.
 *
 * For what is read now and then, when a connection is opened or an error
 * is raised, so that neither the table's Oid nor its rows are cached.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/catalog_rows.h"

List *
catalog_rows(const char *table, const char *index, ScanKey key)
{
	Oid			relid = get_relname_relid(table, PG_CATALOG_NAMESPACE);
	Oid			indexid = index == NULL ? InvalidOid : get_relname_relid(index, PG_CATALOG_NAMESPACE);
	List	   *rows = NIL;
	Relation	rel;
	TupleDesc	desc;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(relid))
		return NIL;
	rel = table_open(relid, AccessShareLock);
	desc = RelationGetDescr(rel);
	scan = systable_beginscan(rel, indexid, OidIsValid(indexid), NULL, key == NULL ? 0 : 1, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CatalogRow *row = palloc(sizeof(CatalogRow));

		row->values = palloc(sizeof(Datum) * desc->natts);
		row->nulls = palloc(sizeof(bool) * desc->natts);
		heap_deform_tuple(toast_flatten_tuple(tuple, desc), desc, row->values, row->nulls);
		rows = lappend(rows, row);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return rows;
}
