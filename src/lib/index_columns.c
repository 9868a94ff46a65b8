/*-------------------------------------------------------------------------
 *
 * index_columns.c
 *	  The columns that an index is about, and whether it is a global one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
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

/* Adds the columns that generated ones among the columns are computed from. */
static Bitmapset *
add_generating(Bitmapset *columns, Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);
	TupleConstr *constr = RelationIsValid(rel) ? RelationGetDescr(rel)->constr : NULL;
	Bitmapset  *used = NULL;
	int			i = -1;

	for (int k = 0; constr != NULL && k < constr->num_defval; k++)
		if (bms_is_member(constr->defval[k].adnum, columns) &&
			TupleDescAttr(RelationGetDescr(rel), constr->defval[k].adnum - 1)->attgenerated != '\0')
			pull_varattnos(stringToNode(constr->defval[k].adbin), 1, &used);
	while ((i = bms_next_member(used, i)) >= 0)
		columns = bms_add_member(columns, i + FirstLowInvalidHeapAttributeNumber);
	if (RelationIsValid(rel))
		RelationClose(rel);
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
	for (int i = 0; i < form->indnatts; i++)
		if (form->indkey.values[i] > 0)
			columns = bms_add_member(columns, form->indkey.values[i]);
	columns = add_used(columns, tuple, Anum_pg_index_indexprs);
	columns = add_used(columns, tuple, Anum_pg_index_indpred);
	columns = add_generating(columns, form->indrelid);
	ReleaseSysCache(tuple);
	return columns;
}

/* Finds a call of citus_global_index(). */
static bool
calls_mark(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && get_func_namespace(((FuncExpr *) node)->funcid) == PG_CATALOG_NAMESPACE &&
		strcmp(get_func_name(((FuncExpr *) node)->funcid), "citus_global_index") == 0)
		return true;
	return expression_tree_walker(node, calls_mark, context);
}

bool
index_is_marked_global(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	bool		isnull = true;
	Datum		predicate = 0;
	bool		marked;

	if (!HeapTupleIsValid(tuple))
		return false;
	predicate = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indpred, &isnull);
	marked = !isnull && calls_mark(stringToNode(TextDatumGetCString(predicate)), NULL);
	ReleaseSysCache(tuple);
	return marked;
}

bool
index_is_global(Form_pg_index index, AttrNumber dist_attno)
{
	if (dist_attno == 0 || index->indisexclusion || !(index->indisunique || index_is_marked_global(index->indexrelid)))
		return false;
	for (int i = 0; i < index->indnkeyatts; i++)
		if (index->indkey.values[i] == dist_attno)
			return false;
	return true;
}

Bitmapset *
columns_by_name(Oid relid, Oid other, const Bitmapset *columns)
{
	Bitmapset  *result = NULL;
	int			column = -1;

	while ((column = bms_next_member(columns, column)) >= 0)
		result = bms_add_member(result, get_attnum(relid, get_attname(other, column, false)));
	return result;
}
