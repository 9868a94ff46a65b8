/*-------------------------------------------------------------------------
 *
 * entry_shape.c
 *	  What the entries of a global index contain.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"

int
entry_identity(Relation rel, AttrNumber *attnos)
{
	HeapTuple	tuple;
	Form_pg_index form;
	int			count = 0;

	list_free(RelationGetIndexList(rel));	/* sets rd_pkindex */
	if (!OidIsValid(rel->rd_pkindex))
		return 0;
	tuple = catalog_tuple(INDEXRELID, rel->rd_pkindex, "index");
	form = (Form_pg_index) GETSTRUCT(tuple);
	if (form->indimmediate)
		for (; count < form->indnkeyatts; count++)
			attnos[count] = form->indkey.values[count];
	ReleaseSysCache(tuple);
	return count;
}

char *
entry_identity_name(AttrNumber attno)
{
	return psprintf("row's column %d", attno);
}

bool
entries_have_identity(Relation rel, Relation index)
{
	Oid			entries = global_index_entries(RelationGetRelid(index));
	EntryShape	shape;

	if (!OidIsValid(entries) || index->rd_index->indisunique)
		return true;
	entry_shape(rel, index, &shape);
	for (int i = 0; i < shape.nidentity; i++)
	{
		AttrNumber	attno = get_attnum(entries, entry_identity_name(shape.identity[i]));

		if (attno != shape.nindex + i + 1 ||
			get_atttype(entries, attno) != getBaseType(get_atttype(RelationGetRelid(rel), shape.identity[i])))
			return false;
	}
	return get_attnum(entries, "row's distribution value") == shape.nkeys + 1;
}

/* Whether entries can have values of a type. */
static bool
can_include(Oid type)
{
	type = getBaseType(type);
	return OidIsValid(get_array_type(type)) && OidIsValid(key_equality(type));
}

void
entry_shape(Relation rel, Relation index, EntryShape *shape)
{
	Form_pg_index form = index->rd_index;

	memset(shape, 0, sizeof(EntryShape));
	shape->nindex = form->indnkeyatts;
	shape->nidentity = form->indisunique ? 0 : entry_identity(rel, shape->identity);
	shape->nkeys = shape->nindex + shape->nidentity;
	shape->nrequired = !form->indisunique ? 1 : form->indnullsnotdistinct ? 0 : shape->nindex;
	shape->dist_attno = metadata_require(RelationGetRelid(rel))->dist_attno;
	for (int i = shape->nindex; i < form->indnatts; i++)
		if (can_include(TupleDescAttr(RelationGetDescr(index), i)->atttypid))
			shape->included[shape->nincluded++] = i;
	shape->ncolumns = shape->nkeys + 1 + shape->nincluded;
}

AttrNumber
entry_column(const EntryShape *shape, Relation index, AttrNumber attno)
{
	for (int i = 0; i < shape->nindex; i++)
		if (index->rd_index->indkey.values[i] == attno)
			return i + 1;
	for (int i = 0; i < shape->nidentity; i++)
		if (shape->identity[i] == attno)
			return shape->nindex + i + 1;
	if (attno == shape->dist_attno)
		return shape->nkeys + 1;
	for (int i = 0; i < shape->nincluded; i++)
		if (index->rd_index->indkey.values[shape->included[i]] == attno)
			return shape->nkeys + 2 + i;
	return InvalidAttrNumber;
}
