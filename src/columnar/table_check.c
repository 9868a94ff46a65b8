/*-------------------------------------------------------------------------
 *
 * table_check.c
 *	  Verifies a columnar table: what is damaged, as rows.
 *
 * Each step (the directory, a stripe's footer and marks, a chunk, an index,
 * the row-wise part) runs in a subtransaction.  If it raises an error that
 * tells of damage, this becomes a row of the result, and the next step goes
 * on.
 *
 * The table is locked as by a reader.  All is checked as one snapshot sees it,
 * taken when the check begins.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "columnar/columnar.h"
#include "columnar/row_marks.h"
#include "columnar/row_moves.h"
#include "columnar/stripe_reader.h"
#include "columnar/stripe_writer.h"
#include "compat/acl.h"
#include "compat/bitmap_pages.h"
#include "compat/foreach.h"
#include "compat/index_scan.h"
#include "compat/sql_function.h"
#include "lib/subtransaction.h"

typedef struct TableCheck
{
	ReturnSetInfo *result;
	StripeStore store;
	Relation	table;
	Snapshot	snapshot;
	MemoryContext context;		/* of the step that runs, reset after it */
	StripeInfo *stripes;
	int			nstripes;
	const StripeInfo *stripe;	/* what the step is about; NULL: no stripe */
	StripeReader *reader;
	int			column;			/* from 0; -1: no chunk */
	int			group;
	Relation	index;
} TableCheck;

/* A row of the result, about what the step is about. */
static void
put_problem(TableCheck *check, const char *problem)
{
	Datum		values[4] = {0};
	bool		nulls[4] = {false};

	nulls[0] = check->stripe == NULL;
	nulls[1] = nulls[2] = check->column < 0;
	if (check->stripe != NULL)
		values[0] = Int64GetDatum((int64) (check->stripe->first_block - STRIPE_FIRST_BLOCK));
	values[1] = Int32GetDatum(check->column + 1);
	values[2] = Int32GetDatum(check->group);
	values[3] = CStringGetTextDatum(problem);
	tuplestore_putvalues(check->result->setResult, check->result->setDesc, values, nulls);
}

/* Whether an error tells nothing about the table. */
static bool
error_is_of_session(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_INSUFFICIENT_RESOURCES ||
		category == ERRCODE_TRANSACTION_ROLLBACK || error->elevel > ERROR;
}

/*
 * Runs a step.  An error that it raises becomes a row, unless it is about the
 * session.  True if there was none.
 */
static bool
run_check_step(TableCheck *check, bool (*step) (void *check))
{
	MemoryContext old = MemoryContextSwitchTo(check->context);
	ErrorData  *error;
	bool		done;

	CHECK_FOR_INTERRUPTS();
	done = subtransaction_run(step, check, &error);
	if (error != NULL && error_is_of_session(error))
		ReThrowError(error);
	if (error != NULL)
		put_problem(check, error->detail == NULL ? error->message : psprintf("%s: %s", error->message, error->detail));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->context);
	return done;
}

static bool
check_directory(void *arg)
{
	TableCheck *check = arg;
	BlockNumber block = STRIPE_FIRST_BLOCK;
	int			count;

	MemoryContextSwitchTo(MemoryContextGetParent(check->context));
	check->stripes = stripe_directory_read(&check->store, check->snapshot, &count);
	check->nstripes = count;
	for (int i = 0; i < check->nstripes; i++)
	{
		check->stripe = &check->stripes[i];
		if (check->stripe->first_block < block)
			put_problem(check, "Its rows have ctids of the stripe before.");
		block = check->stripe->first_block + check->stripe->record.nblocks;
		if ((uint64) check->stripe->record.nblocks * STRIPE_BLOCK_ROWS < check->stripe->record.nrows)
			put_problem(check, "It has more rows than ctids.");
	}
	check->stripe = NULL;
	if (block > stripe_directory_end(&check->store))
		put_problem(check, "The counter of ctids is before the last stripe's end.");
	row_moves_check(&check->store);
	return true;
}

static bool
check_stripe(void *arg)
{
	TableCheck *check = arg;
	RowMarks	marks;

	row_marks_read(&check->store, check->stripe, check->snapshot, &marks);
	if (!row_marks_are_of_rows(&check->store, check->stripe))
		put_problem(check, "A row that it has not is marked.");
	MemoryContextSwitchTo(MemoryContextGetParent(check->context));
	check->reader = stripe_reader_open(&check->store, check->stripe, RelationGetDescr(check->table), NULL);
	return true;
}

/* Whether all values are within the bounds by which chunks are skipped. */
static bool
values_are_in_bounds(TableCheck *check, Form_pg_attribute att, const ChunkBounds *bounds)
{
	StripeReader *reader = check->reader;
	ColumnVector *vector = &reader->vectors[check->column];
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_CMP_PROC_FINFO);

	for (uint32 row = 0; row < reader->group_rows && OidIsValid(type->cmp_proc); row++)
	{
		Datum		value;

		if (vector->nulls[row])
			continue;
		value = column_vector_value(vector, row, reader->group_rows, reader->arena);
		if (DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, att->attcollation, value, bounds->min)) < 0 ||
			DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, att->attcollation, value, bounds->max)) > 0)
			return false;
	}
	return true;
}

static bool
check_chunk(void *arg)
{
	TableCheck *check = arg;
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(check->table), check->column);
	ChunkBounds bounds;

	stripe_reader_goto(check->reader, check->group);
	stripe_reader_need(check->reader, &check->store, check->column);
	stripe_reader_bounds(check->reader, check->column, check->group, &bounds);
	if (bounds.known && !values_are_in_bounds(check, att, &bounds))
		put_problem(check, "A value is beyond the least and greatest ones of its chunk.");
	return true;
}

static void
check_chunks(TableCheck *check)
{
	int			natts = Min(RelationGetDescr(check->table)->natts, (int) check->reader->footer.natts);

	for (check->group = 0; check->group < (int) check->reader->footer.ngroups; check->group++)
	{
		for (check->column = 0; check->column < natts; check->column++)
		{
			if (!TupleDescAttr(RelationGetDescr(check->table), check->column)->attisdropped)
				(void) run_check_step(check, check_chunk);
		}
	}
	check->column = -1;
}

static bool
check_row_wise_part(void *arg)
{
	TableCheck *check = arg;
	TupleTableSlot *slot = table_slot_create(check->table, NULL);
	TableScanDesc scan = GetHeapamTableAmRoutine()->scan_begin(check->table, check->snapshot, 0, NULL, NULL,
															   SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_PAGEMODE);

	while (GetHeapamTableAmRoutine()->scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
		{
			if (TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen != -1 || slot->tts_isnull[i])
				continue;
			if (VARATT_IS_EXTENDED((struct varlena *) DatumGetPointer(slot->tts_values[i])))
				pfree(detoast_attr((struct varlena *) DatumGetPointer(slot->tts_values[i])));
		}
	}
	GetHeapamTableAmRoutine()->scan_end(scan);
	ExecDropSingleTupleTableSlot(slot);
	return true;
}

/* The ctids of an index, in their order. */
typedef struct IndexCtids
{
	BitmapPages *pages;
	BitmapPage	page;			/* not used yet */
	bool		more;
} IndexCtids;

/* How many rows of a stripe that the snapshot sees are not in an index. */
static uint64
count_missing_entries(TableCheck *check, IndexCtids *ctids)
{
	const StripeInfo *stripe = check->stripe;
	uint64		nrows = stripe->record.nrows;
	RowMarks	marks;
	uint8	   *found = palloc0(nrows + 1);
	uint64		missing = 0;

	while (ctids->more && ctids->page.block < stripe->first_block + stripe->record.nblocks)
	{
		const BitmapPage *page = &ctids->page;
		int			ntuples = page->ntuples >= 0 ? page->ntuples : STRIPE_BLOCK_ROWS;

		for (int i = 0; i < ntuples && page->block >= stripe->first_block; i++)
		{
			int			offset = page->ntuples >= 0 ? page->offsets[i] : i + 1;
			uint64		row = (uint64) (page->block - stripe->first_block) * STRIPE_BLOCK_ROWS + offset - 1;

			if (row < nrows)
				found[row] = 1;
		}
		CHECK_FOR_INTERRUPTS();
		ctids->more = compat_bitmap_next(ctids->pages, &ctids->page);
	}
	row_marks_read(&check->store, stripe, check->snapshot, &marks);
	for (uint32 row = 0; row < nrows; row++)
		missing += !found[row] && !row_is_marked(&marks, row);
	pfree(found);
	return missing;
}

static bool
verify_index(void *arg)
{
	TableCheck *check = arg;
	TIDBitmap  *bitmap = tbm_create((Size) work_mem * 1024, NULL);
	IndexScanDesc scan = compat_begin_bitmap_scan(check->index, check->snapshot);
	IndexCtids	ctids;

	index_rescan(scan, NULL, 0, NULL, 0);
	(void) index_getbitmap(scan, bitmap);
	index_endscan(scan);
	ctids.pages = compat_bitmap_begin(bitmap);
	ctids.more = compat_bitmap_next(ctids.pages, &ctids.page);
	for (int i = 0; i < check->nstripes; i++)
	{
		uint64		missing;

		check->stripe = &check->stripes[i];
		missing = count_missing_entries(check, &ctids);
		if (missing > 0)
			put_problem(check, psprintf("Index \"%s\" has no entries for %llu of its rows.",
										RelationGetRelationName(check->index), (unsigned long long) missing));
	}
	compat_bitmap_end(ctids.pages);
	tbm_free(bitmap);
	return true;
}

/* Whether all rows have entries, which can be read in one go. */
static bool
index_can_be_verified(Relation index)
{
	Oid			method = index->rd_rel->relam;

	return (method == BTREE_AM_OID || method == GIST_AM_OID || method == SPGIST_AM_OID || method == GIN_AM_OID) &&
		index->rd_index->indisvalid && index->rd_index->indisready &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

static void
verify_indexes(TableCheck *check)
{
	List	   *indexes = RelationGetIndexList(check->table);

	foreach_oid(oid, indexes)
	{
		check->index = index_open(oid, AccessShareLock);
		if (index_can_be_verified(check->index))
			(void) run_check_step(check, verify_index);
		check->stripe = NULL;
		index_close(check->index, NoLock);
	}
	list_free(indexes);
}

static void
check_columnar_table(TableCheck *check)
{
	bool		readable;

	check->context = AllocSetContextCreate(CurrentMemoryContext, "step of a check", ALLOCSET_DEFAULT_SIZES);
	check->column = -1;
	(void) run_check_step(check, check_row_wise_part);
	if (!stripe_store_open(&check->store, check->table, AccessShareLock))
		return;
	readable = run_check_step(check, check_directory);
	for (int i = 0; i < check->nstripes; i++)
	{
		check->stripe = &check->stripes[i];
		if (run_check_step(check, check_stripe))
		{
			check_chunks(check);
			stripe_reader_close(check->reader);
		}
	}
	check->stripe = NULL;
	if (readable)
		verify_indexes(check);
	stripe_store_close(&check->store);
}

/* citus_internal.check_columnar_table(regclass) */
SQL_FUNCTION(citus_internal_check_columnar_table);
Datum
citus_internal_check_columnar_table(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *name = get_rel_name(relid);
	TableCheck	check = {.result = (ReturnSetInfo *) fcinfo->resultinfo};

	InitMaterializedSRF(fcinfo, 0);
	if (name != NULL && !object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), name);
	check.table = name != NULL ? try_relation_open(relid, AccessShareLock) : NULL;
	if (check.table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!columnar_is_columnar(check.table))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a columnar table", RelationGetRelationName(check.table))));
	if (RELATION_IS_OTHER_TEMP(check.table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	PreventCommandIfParallelMode("columnar.check_table()");
	stripe_writer_flush(check.table);
	check.snapshot = RegisterSnapshot(GetLatestSnapshot());
	check_columnar_table(&check);
	UnregisterSnapshot(check.snapshot);
	relation_close(check.table, NoLock);
	return (Datum) 0;
}
