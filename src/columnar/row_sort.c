/*-------------------------------------------------------------------------
 *
 * row_sort.c
 *	  Rows in the order of a table's option columnar.sort_by.
 *
 * Rows get their ctids when they are inserted, so a stripe that a command
 * writes has them in the order in which they came.  Compaction and VACUUM FULL
 * sort them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

#include "columnar/options.h"
#include "columnar/row_sort.h"
#include "compat/foreach.h"
#include "compat/tuple_desc.h"

struct RowSort
{
	Tuplesortstate *state;
	int			natts;			/* of the table */
	int			nkeys;
	AttrNumber	keys[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];
	Oid			collations[INDEX_MAX_KEYS];
	bool		nulls_first[INDEX_MAX_KEYS];
	FmgrInfo   *compare;		/* of the first key */
	TupleTableSlot *given;		/* a row and its ctid */
	TupleTableSlot *sorted;		/* the same, from the sort */
	TupleTableSlot *row;		/* of the table */
};

/*
 * Finds the columns to sort by; those that the table doesn't have are left
 * out.
 */
static void
find_sort_keys(RowSort *sort, Relation table, const char *sort_by)
{
	List	   *names = NIL;

	if (!SplitIdentifierString(pstrdup(sort_by), ',', &names))
		return;
	foreach_ptr(char, name, names)
	{
		AttrNumber	attno = get_attnum(RelationGetRelid(table), name);
		Form_pg_attribute att;
		TypeCacheEntry *type;

		if (attno <= 0 || sort->nkeys == INDEX_MAX_KEYS)
			continue;
		att = TupleDescAttr(RelationGetDescr(table), attno - 1);
		type = lookup_type_cache(att->atttypid, TYPECACHE_LT_OPR | TYPECACHE_CMP_PROC_FINFO);
		if (!OidIsValid(type->lt_opr))
			continue;
		if (sort->nkeys == 0)
			sort->compare = &type->cmp_proc_finfo;
		sort->keys[sort->nkeys] = attno;
		sort->operators[sort->nkeys] = type->lt_opr;
		sort->collations[sort->nkeys++] = att->attcollation;
	}
}

RowSort *
row_sort_begin(Relation table)
{
	TupleDesc	columns = RelationGetDescr(table);
	RowSort    *sort = palloc0(sizeof(RowSort));
	ColumnarOptions options;
	TupleDesc	with_ctid;

	columnar_options_of(RelationGetRelid(table), &options);
	if (options.sort_by != NULL)
		find_sort_keys(sort, table, options.sort_by);
	if (sort->nkeys == 0)
		return NULL;
	sort->natts = columns->natts;
	with_ctid = CreateTemplateTupleDesc(columns->natts + 1);
	for (AttrNumber attno = 1; attno <= columns->natts; attno++)
		TupleDescCopyEntry(with_ctid, attno, columns, attno);
	TupleDescInitEntry(with_ctid, columns->natts + 1, "ctid of the row", TIDOID, -1, 0);
	TupleDescFinalize(with_ctid);
	sort->given = MakeSingleTupleTableSlot(with_ctid, &TTSOpsVirtual);
	sort->sorted = MakeSingleTupleTableSlot(with_ctid, &TTSOpsMinimalTuple);
	sort->row = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);
	sort->state = tuplesort_begin_heap(with_ctid, sort->nkeys, sort->keys, sort->operators, sort->collations,
									   sort->nulls_first, maintenance_work_mem, NULL, TUPLESORT_NONE);
	return sort;
}

/* Copies the table's columns; the dropped ones become NULL. */
static void
copy_row_values(const RowSort *sort, TupleTableSlot *from, TupleTableSlot *to)
{
	slot_getallattrs(from);
	ExecClearTuple(to);
	for (int i = 0; i < sort->natts; i++)
	{
		to->tts_isnull[i] = from->tts_isnull[i] || TupleDescAttr(to->tts_tupleDescriptor, i)->attisdropped;
		to->tts_values[i] = to->tts_isnull[i] ? (Datum) 0 : from->tts_values[i];
	}
}

void
row_sort_put(RowSort *sort, TupleTableSlot *slot, ItemPointer ctid)
{
	copy_row_values(sort, slot, sort->given);
	sort->given->tts_values[sort->natts] = PointerGetDatum(ctid);
	sort->given->tts_isnull[sort->natts] = false;
	ExecStoreVirtualTuple(sort->given);
	tuplesort_puttupleslot(sort->state, sort->given);
	ExecClearTuple(sort->given);
}

void
row_sort_perform(RowSort *sort)
{
	tuplesort_performsort(sort->state);
}

TupleTableSlot *
row_sort_next(RowSort *sort, ItemPointer ctid)
{
	if (!tuplesort_gettupleslot(sort->state, true, false, sort->sorted, NULL))
		return NULL;
	copy_row_values(sort, sort->sorted, sort->row);
	ExecStoreVirtualTuple(sort->row);
	*ctid = *(ItemPointer) DatumGetPointer(sort->sorted->tts_values[sort->natts]);
	return sort->row;
}

void
row_sort_end(RowSort *sort)
{
	ExecDropSingleTupleTableSlot(sort->given);
	ExecDropSingleTupleTableSlot(sort->sorted);
	ExecDropSingleTupleTableSlot(sort->row);
	tuplesort_end(sort->state);
	pfree(sort);
}

bool
row_sort_has_sorted(const RowSort *sort, const StripeReader *reader)
{
	ChunkBounds last = {.known = false};

	for (uint32 group = 0; group < reader->footer.ngroups; group++)
	{
		ChunkBounds bounds;

		stripe_reader_bounds(reader, sort->keys[0] - 1, (int) group, &bounds);
		if (!bounds.known)
			continue;
		if (last.known &&
			DatumGetInt32(FunctionCall2Coll(sort->compare, sort->collations[0], last.max, bounds.min)) > 0)
			return false;
		last = bounds;
	}
	return true;
}
