/*-------------------------------------------------------------------------
 *
 * kept_sizes.c
 *	  Sizes of logical tables, kept over statements that build indexes.
 *
 * The server counts a table's rows and pages whenever it builds an index of
 * it.  A logical table has none, so CREATE INDEX, REINDEX, CLUSTER, and what
 * adds keys or rewrites a table, would write that, and statements would be
 * planned as for a table that was never analyzed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "analyze/kept_sizes.h"
#include "catalog/metadata.h"
#include "compat/foreach.h"
#include "compat/relation_sizes.h"
#include "compat/repack.h"

typedef struct KeptSize
{
	Oid			relid;
	int32		pages;
	float4		tuples;
} KeptSize;

/* Whether a relation has known sizes, which are read. */
static bool
read_known_size(Oid relid, KeptSize *size)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	*size = (KeptSize) {relid, form->relpages, form->reltuples};
	ReleaseSysCache(tuple);
	return size->pages > 0 && size->tuples >= 0;
}

/* A table and its partitions; NIL: there is no such table. */
static List *
table_with_partitions(const RangeVar *name)
{
	Oid			relid = RangeVarGetRelid(name, NoLock, true);
	Oid			table = OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_INDEX ? IndexGetRelation(relid, true) : relid;

	if (!OidIsValid(table) || metadata_find(table) == NULL)
		return NIL;
	return has_subclass(table) ? find_all_inheritors(table, NoLock, NULL) : list_make1_oid(table);
}

/* Tables that a statement may build indexes of. */
static List *
indexed_tables(const Node *stmt)
{
	const RangeVar *name;

	if (IsA(stmt, IndexStmt))
		name = ((const IndexStmt *) stmt)->relation;
	else if (IsA(stmt, AlterTableStmt))
		name = ((const AlterTableStmt *) stmt)->relation;
	else if (IsA(stmt, ReindexStmt))
		name = ((const ReindexStmt *) stmt)->relation;
	else if (IsA(stmt, RepackStmt))
		name = compat_repacked((const RepackStmt *) stmt);
	else
		return NIL;
	return name != NULL ? table_with_partitions(name) : metadata_tables(0);
}

List *
kept_sizes_note(const Node *stmt)
{
	List	   *sizes = NIL;

	foreach_oid(relid, indexed_tables(stmt))
	{
		const DistTable *table = metadata_find(relid);
		KeptSize	size;

		if (table == NULL || table->kind == DIST_REFERENCE || !read_known_size(relid, &size))
			continue;
		sizes = lappend(sizes, palloc(sizeof(KeptSize)));
		*(KeptSize *) llast(sizes) = size;
	}
	return sizes;
}

void
kept_sizes_restore(const List *sizes)
{
	if (sizes == NIL)
		return;
	CommandCounterIncrement();
	foreach_ptr(const KeptSize, size, sizes)
	{
		KeptSize	now;
		Relation	rel;

		if (read_known_size(size->relid, &now) || (rel = try_relation_open(size->relid, AccessShareLock)) == NULL)
			continue;
		compat_write_sizes(rel, size->pages, size->tuples);
		relation_close(rel, NoLock);
	}
}
