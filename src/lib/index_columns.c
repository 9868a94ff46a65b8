/*-------------------------------------------------------------------------
 *
 * index_columns.c
 *	  The columns that an index is about.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_index.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "lib/index_columns.h"

/* Adds the columns that expressions use, as the catalog has them. */
static Bitmapset *
add_used(Bitmapset *columns, HeapTuple tuple, AttrNumber attno)
{
	bool		isnull;
	Datum		exprs = SysCacheGetAttr(INDEXRELID, tuple, attno, &isnull);
	Bitmapset  *used = NULL;
	int			i = -1;

	if (isnull)
		return columns;
	pull_varattnos(stringToNode(TextDatumGetCString(exprs)), 1, &used);
	while ((i = bms_next_member(used, i)) >= 0)
		if (i + FirstLowInvalidHeapAttributeNumber > 0)
			columns = bms_add_member(columns, i + FirstLowInvalidHeapAttributeNumber);
	return columns;
}

Bitmapset *
index_columns(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Bitmapset  *columns = NULL;
	Form_pg_index form;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; i < form->indnkeyatts; i++)
		if (form->indkey.values[i] > 0)
			columns = bms_add_member(columns, form->indkey.values[i]);
	columns = add_used(columns, tuple, Anum_pg_index_indexprs);
	columns = add_used(columns, tuple, Anum_pg_index_indpred);
	ReleaseSysCache(tuple);
	return columns;
}
