/*-------------------------------------------------------------------------
 *
 * write.c
 *	  Keeps the entries of global indexes.
 *
 * The trigger fires on the initiator of a write, for the logical table, once
 * per statement.  It writes the entries by ordinary distributed statements of
 * the same transaction, with the rights of the owner of the entries.  So two
 * transactions with equal keys meet in the unique index of one shard of the
 * entries, where the later one waits.  Entries of keys that go are deleted
 * before those that come are inserted, so that keys can be exchanged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"

#include "catalog/metadata.h"
#include "compat/acl.h"
#include "compat/noreturn.h"
#include "compat/sql_function.h"
#include "global_index/entry_plan.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "lib/run_as.h"
#include "lib/spi_query.h"
#include "resolve/manual_change.h"
#include "table/definition.h"

SQL_FUNCTION(citus_internal_global_index_write);
SQL_FUNCTION(citus_check_global_index);

/* Rows of a trigger whose entries are written together. */
#define BATCH_ROWS 5000

/* Entries that wait, by columns. */
typedef struct EntryBatch
{
	int			count;
	Datum	   *values[MAX_ENTRY_COLUMNS];
	bool	   *nulls[MAX_ENTRY_COLUMNS];
	uint64		null_keys;		/* of those that go: which columns of the key
								 * are null, in all of them */
} EntryBatch;

/* The entry of a row. */
typedef struct Entry
{
	bool		exists;			/* the condition holds, and no key is null
								 * that must not be */
	Datum		values[MAX_ENTRY_COLUMNS];
	bool		nulls[MAX_ENTRY_COLUMNS];
	uint64		null_keys;
} Entry;

/* A global index that a trigger maintains. */
typedef struct IndexWrite
{
	Relation	rel;			/* the logical table */
	Relation	index;
	Relation	entries;
	EntryShape	shape;
	bool		defers;			/* several entries may have a key, until
								 * constraints are checked */
	bool		building;		/* rows may have no entry yet, and their key be
								 * another row's */
	IndexInfo  *info;			/* its expressions and condition */
	EState	   *estate;			/* for these */
	MemoryContext context;		/* of the batch */
	EntryBatch	gone;
	EntryBatch	added;
} IndexWrite;

Oid
key_equality(Oid type)
{
	Oid			opclass = GetDefaultOpClass(type, BTREE_AM_OID);
	Oid			input = OidIsValid(opclass) ? get_opclass_input_type(opclass) : InvalidOid;
	Oid			operator = OidIsValid(opclass) ?
		get_opfamily_member(get_opclass_family(opclass), input, input, BTEqualStrategyNumber) : InvalidOid;
	char	   *name = OidIsValid(operator) ? get_opname(operator) : NULL;

	return name != NULL && operator < FirstNormalObjectId && strcmp(name, "=") == 0 ? operator : InvalidOid;
}

/* A column or expression of an index's key, from 1 on. */
char *
entry_key_text(Relation index, int number)
{
	return TextDatumGetCString(DirectFunctionCall3(pg_get_indexdef_ext, ObjectIdGetDatum(RelationGetRelid(index)),
												   Int32GetDatum(number), BoolGetDatum(false)));
}

/* The first columns and expressions of an index's key, with commas. */
static char *
key_text(Relation index, int count)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < count; i++)
		appendStringInfo(&buf, "%s%s", i == 0 ? "" : ", ", entry_key_text(index, i + 1));
	return buf.data;
}

/* Which rows have entries: a condition. */
static char *
has_entry_text(Relation index, const EntryShape *shape)
{
	List	   *predicate = RelationGetIndexPredicate(index);
	Oid			relid = index->rd_index->indrelid;
	char	   *complete = shape->nrequired == 0 ? pstrdup("true") :
		psprintf("pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.=) 0", key_text(index, shape->nrequired));

	if (predicate == NIL)
		return complete;
	return psprintf("%s AND (%s)", complete,
					deparse_expression((Node *) make_ands_explicit(predicate), deparse_context_for(get_rel_name(relid), relid),
									   false, false));
}

/*
 * Throws the current error again; as that of the index, if it is one of its
 * entries: they have equal keys.
 */
pg_noreturn static void
rethrow_for_index(Relation rel, Relation index, MemoryContext context)
{
	ErrorData  *error;
	char	   *values;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	/* the server lets these leave no check for later, as equal keys would */
	if (index != NULL && !index->rd_index->indimmediate && InSecurityRestrictedOperation() &&
		error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
		error->sqlerrcode = ERRCODE_UNIQUE_VIOLATION;
	if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION && index != NULL)
	{
		error->message = psprintf("duplicate key value violates unique constraint \"%s\"", RelationGetRelationName(index));
		if (error->detail != NULL && (values = strstr(error->detail, ")=(")) != NULL)
			error->detail = psprintf(_("Key (%s)%s"), pg_get_indexdef_columns(RelationGetRelid(index), true), values + 1);
		error->constraint_name = RelationGetRelationName(index);
		error->table_name = RelationGetRelationName(rel);
		error->schema_name = get_namespace_name(RelationGetNamespace(rel));
		error->context = NULL;
	}
	ReThrowError(error);
}

/* What a statement of ours writes. */
typedef struct EntryWrite
{
	const char *sql;			/* with these parameters; NULL: statement */
	int			nparams;
	Oid		   *types;
	const EntryStatement *statement;
	Datum	   *values;
	const char *nulls;			/* NULL: none is null */
	IndexWrite *returns;		/* the rows that it returns become its gone */
} EntryWrite;

static Oid
entries_owner(Oid entries)
{
	Relation	rel = relation_open(entries, AccessShareLock);
	Oid			owner = rel->rd_rel->relowner;

	relation_close(rel, AccessShareLock);
	return owner;
}

/* Sets the entries that go to the rows of SPI's result; to the first ones. */
static void
batch_of_result(IndexWrite *write)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;
	MemoryContext old = MemoryContextSwitchTo(write->context);

	write->gone.count = Min(SPI_processed, BATCH_ROWS);
	for (int row = 0; row < write->gone.count; row++)
		for (int i = 0; i < desc->natts; i++)
		{
			Form_pg_attribute att = TupleDescAttr(desc, i);
			Datum		value = SPI_getbinval(SPI_tuptable->vals[row], desc, i + 1, &write->gone.nulls[i][row]);

			if (!write->gone.nulls[i][row])
				write->gone.values[i][row] = datumCopy(value, att->attbyval, att->attlen);
		}
	MemoryContextSwitchTo(old);
}

/*
 * Writes entries, as their owner; returns how many.  A statement that isn't
 * text calls no functions of users, and may leave deferred checks.
 */
static uint64
write_entries(Relation rel, Relation index, Oid entries, const EntryWrite *write)
{
	MemoryContext context = CurrentMemoryContext;
	RunAs		caller = write->sql != NULL ? run_as_owner_begin(entries) : run_as_begin(entries_owner(entries));
	bool		before = manual_change_exempt(true);
	volatile uint64 processed = 0;

	PG_TRY();
	{
		SPI_connect();
		if ((write->sql != NULL ?
			 SPI_execute_with_args(write->sql, write->nparams, write->types, write->values, NULL, false, 0) :
			 SPI_execute_plan(entry_plan(write->statement), write->values, write->nulls, false, 0)) < 0)
			elog(ERROR, "SPI failed: a write of entries");
		processed = SPI_processed;
		if (write->returns != NULL)
			batch_of_result(write->returns);
		SPI_finish();
	}
	PG_CATCH();
	{
		manual_change_exempt(before);
		rethrow_for_index(rel, index, context);
	}
	PG_END_TRY();
	manual_change_exempt(before);
	run_as_end(caller);
	return processed;
}

/*
 * How many columns, from the first one on, tell an entry from others: the key,
 * and the distribution value while rows may have equal ones.
 */
static int
identifying_columns(const IndexWrite *write)
{
	return write->shape.nkeys + (write->building ? 1 : 0);
}

/*
 * Runs a statement for the entries of a batch: its kind for one entry, or for
 * several.  Returns how many it has written.
 */
static uint64
batch_run(IndexWrite *write, EntryBatch *batch, EntryStatementKind one_kind, EntryStatementKind many_kind)
{
	bool		one = batch->count == 1 && one_kind != many_kind;
	EntryStatement statement = {.kind = one ? one_kind : many_kind, .entries = RelationGetRelid(write->entries),
								.nkeys = many_kind == ENTRIES_MISSING ? write->shape.nrequired : identifying_columns(write),
								.ncolumns = write->shape.ncolumns};
	Datum		values[MAX_ENTRY_COLUMNS];
	char		nulls[MAX_ENTRY_COLUMNS];
	int			lower_bound = 1;

	if (batch == &write->gone)
		statement.null_keys = batch->null_keys;
	for (int i = 0; i < entry_params(&statement); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(write->entries), i);

		statement.types[i] = one ? att->atttypid : get_array_type(att->atttypid);
		nulls[i] = one && batch->nulls[i][0] ? 'n' : ' ';
		values[i] = one ? batch->values[i][0] :
			PointerGetDatum(construct_md_array(batch->values[i], batch->nulls[i], 1, &batch->count, &lower_bound,
											   att->atttypid, att->attlen, att->attbyval, att->attalign));
	}
	return write_entries(write->rel, write->index, RelationGetRelid(write->entries),
						 &(EntryWrite) {.statement = &statement, .values = values, .nulls = nulls,
										.returns = many_kind == ENTRIES_TAKE || many_kind == ENTRIES_MISSING ? write : NULL});
}

/*
 * Deletes the entries of keys that go.  We have locked their rows, so each has
 * an entry, which nobody else can change.  But whoever has written the row may
 * still be committing on the node of the entry, whose snapshots don't show it
 * then.  An insertion waits for that, or, where keys may be equal for a while,
 * a read as of one point in time.
 */
static void
delete_entries(IndexWrite *write)
{
	EntryBatch *batch = &write->gone;

	if (batch->count > 0 && write->defers)
	{
		/* the second time, only those that it hasn't found at first */
		if (batch_run(write, batch, ENTRIES_TAKE, ENTRIES_TAKE) > 0)
		{
			batch_run(write, batch, ENTRIES_SETTLE, ENTRIES_SETTLE);
			batch_run(write, batch, ENTRIES_TAKE, ENTRIES_TAKE);
		}
	}
	else if (batch->count > 0 && batch_run(write, batch, ENTRY_DELETE, ENTRIES_DELETE) < batch->count)
	{
		batch_run(write, batch, ENTRY_AWAIT, ENTRIES_AWAIT);
		batch_run(write, batch, ENTRY_DELETE, ENTRIES_DELETE);
	}
	batch->count = 0;
}

static void
batches_write(IndexWrite *write)
{
	delete_entries(write);
	if (write->added.count > 0)
		batch_run(write, &write->added, ENTRY_INSERT, ENTRIES_INSERT);
	write->added.count = 0;
	MemoryContextReset(write->context);
}

/* Sets the columns of an entry to those of a row and its index's values. */
static void
entry_columns_set(const EntryShape *shape, TupleTableSlot *row, const Datum *values, const bool *nulls, Entry *entry)
{
	int			count = shape->nindex;

	memcpy(entry->values, values, sizeof(Datum) * count);
	memcpy(entry->nulls, nulls, sizeof(bool) * count);
	for (int i = 0; i < shape->nidentity; i++, count++)
		entry->values[count] = slot_getattr(row, shape->identity[i], &entry->nulls[count]);
	entry->values[count] = slot_getattr(row, shape->dist_attno, &entry->nulls[count]);
	count++;
	for (int i = 0; i < shape->nincluded; i++, count++)
	{
		entry->values[count] = values[shape->included[i]];
		entry->nulls[count] = nulls[shape->included[i]];
	}
}

/* The entry of a row, in the memory of its expressions. */
static void
entry_of_row(IndexWrite *write, TupleTableSlot *row, Entry *entry)
{
	const EntryShape *shape = &write->shape;
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	ExprContext *econtext = GetPerTupleExprContext(write->estate);
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	econtext->ecxt_scantuple = row;
	if (write->info->ii_Predicate != NIL && write->info->ii_PredicateState == NULL)
	{
		MemoryContextSwitchTo(write->estate->es_query_cxt);
		write->info->ii_PredicateState = ExecPrepareQual(write->info->ii_Predicate, write->estate);
		MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	}
	entry->null_keys = 0;
	entry->exists = ExecQual(write->info->ii_PredicateState, econtext);
	if (entry->exists)
	{
		FormIndexDatum(write->info, row, write->estate, values, nulls);
		entry_columns_set(&write->shape, row, values, nulls, entry);
		for (int i = 0; i < identifying_columns(write); i++)
			entry->null_keys |= entry->nulls[i] ? UINT64CONST(1) << i : 0;
		entry->exists = (entry->null_keys & ((UINT64CONST(1) << shape->nrequired) - 1)) == 0;
	}
	MemoryContextSwitchTo(old);
}

static void
forget_entries(IndexWrite *write)
{
	ResetPerTupleExprContext(write->estate);
}

/* Adds an entry to a batch. */
static void
batch_add(IndexWrite *write, EntryBatch *batch, const Entry *entry)
{
	TupleDesc	desc = RelationGetDescr(write->entries);
	MemoryContext old;

	if (batch->count > 0 && batch == &write->gone && batch->null_keys != entry->null_keys)
		batches_write(write);
	batch->null_keys = entry->null_keys;
	old = MemoryContextSwitchTo(write->context);
	for (int i = 0; i < write->shape.ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		batch->nulls[i][batch->count] = entry->nulls[i];
		if (!entry->nulls[i])
			batch->values[i][batch->count] = datumCopy(entry->values[i], att->attbyval, att->attlen);
	}
	batch->count++;
	MemoryContextSwitchTo(old);
}

/* Whether two versions of a row have the same entry, or none. */
static bool
same_entry(const IndexWrite *write, const Entry *old, const Entry *new)
{
	TupleDesc	desc = RelationGetDescr(write->entries);

	if (!old->exists || !new->exists)
		return old->exists == new->exists;
	for (int i = 0; i < write->shape.ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (old->nulls[i] != new->nulls[i] ||
			(!old->nulls[i] && !datum_image_eq(old->values[i], new->values[i], att->attbyval, att->attlen)))
			return false;
	}
	return true;
}

/* The next row of a transition table; false after the last. */
static bool
next_row(Tuplestorestate *rows, int pointer, TupleTableSlot *slot)
{
	tuplestore_select_read_pointer(rows, pointer);
	if (!tuplestore_gettupleslot(rows, true, false, slot))
		return false;
	slot_getallattrs(slot);
	return true;
}

static int
read_from_start(Tuplestorestate *rows)
{
	int			pointer = tuplestore_alloc_read_pointer(rows, EXEC_FLAG_REWIND);

	tuplestore_select_read_pointer(rows, pointer);
	tuplestore_rescan(rows);
	return pointer;
}

/*
 * Writes the entries of the rows of a statement.  An UPDATE that needs several
 * batches deletes all entries that go first.
 */
static void
write_rows(IndexWrite *write, Tuplestorestate *old_rows, Tuplestorestate *new_rows)
{
	TupleDesc	desc = RelationGetDescr(write->rel);
	TupleTableSlot *old = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	TupleTableSlot *new = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);

	for (int adds = 0; adds <= 1; adds++)
	{
		int			old_pointer = old_rows != NULL ? read_from_start(old_rows) : 0;
		int			new_pointer = new_rows != NULL ? read_from_start(new_rows) : 0;

		if ((adds ? new_rows : old_rows) == NULL)
			continue;
		while ((old_rows == NULL || next_row(old_rows, old_pointer, old)) &&
			   (new_rows == NULL || next_row(new_rows, new_pointer, new)))
		{
			EntryBatch *batch = adds ? &write->added : &write->gone;
			Entry		gone = {0};
			Entry		added = {0};

			CHECK_FOR_INTERRUPTS();
			if (old_rows != NULL)
				entry_of_row(write, old, &gone);
			if (new_rows != NULL)
				entry_of_row(write, new, &added);
			if (!same_entry(write, &gone, &added) && (adds ? added : gone).exists)
				batch_add(write, batch, adds ? &added : &gone);
			forget_entries(write);
			if (batch->count == BATCH_ROWS)
				batches_write(write);
		}
		batches_write(write);
	}
	ExecDropSingleTupleTableSlot(old);
	ExecDropSingleTupleTableSlot(new);
}

static void
index_write_begin(IndexWrite *write, Relation rel, Oid index)
{
	memset(write, 0, sizeof(IndexWrite));
	write->rel = rel;
	write->entries = relation_open(global_index_entries(index), AccessShareLock);
	write->index = index_open(index, AccessShareLock);
	entry_shape(rel, write->index, &write->shape);
	write->defers = !write->index->rd_index->indimmediate;
	write->building = !write->index->rd_index->indisvalid;
	write->info = BuildIndexInfo(write->index);
	write->estate = CreateExecutorState();
	write->context = AllocSetContextCreate(CurrentMemoryContext, "global index", ALLOCSET_DEFAULT_SIZES);
}

static void
make_batch(IndexWrite *write, EntryBatch *batch, int rows)
{
	for (int i = 0; i < write->shape.ncolumns; i++)
	{
		batch->values[i] = palloc(sizeof(Datum) * rows);
		batch->nulls[i] = palloc(sizeof(bool) * rows);
	}
}

static void
index_write_end(IndexWrite *write)
{
	FreeExecutorState(write->estate);
	MemoryContextDelete(write->context);
	index_close(write->index, AccessShareLock);
	relation_close(write->entries, AccessShareLock);
}

/* citus_internal.global_index_write(): the trigger of a global index */
Datum
citus_internal_global_index_write(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	IndexWrite	write = {0};

	if (!CALLED_AS_TRIGGER(fcinfo) || !trigger_is_of_global_index(trigger->tg_trigger->tgisinternal, trigger->tg_trigger->tgname))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" can only be called by triggers of global indexes", "global_index_write")));
	if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
	{
		Oid			entries = global_index_entries(trigger->tg_trigger->tgconstrindid);

		write_entries(trigger->tg_relation, NULL, entries,
					  &(EntryWrite) {.sql = psprintf("TRUNCATE %s", relation_qualified_name(entries))});
		PG_RETURN_POINTER(NULL);
	}
	index_write_begin(&write, trigger->tg_relation, trigger->tg_trigger->tgconstrindid);
	make_batch(&write, &write.gone, BATCH_ROWS);
	make_batch(&write, &write.added, BATCH_ROWS);
	write_rows(&write, trigger->tg_oldtable, trigger->tg_newtable);
	index_write_end(&write);
	PG_RETURN_POINTER(NULL);
}

/* GlobalKeyMethods.find */
static bool
key_find(Relation rel, List *indexes, TupleTableSlot *row, NullableDatum *value)
{
	foreach_oid(indexid, indexes)
	{
		EntryStatement statement = {.kind = ENTRY_FIND};
		char		nulls[MAX_ENTRY_COLUMNS];
		IndexWrite	write;
		Entry		entry;
		bool		found;

		index_write_begin(&write, rel, indexid);
		entry_of_row(&write, row, &entry);
		statement.entries = RelationGetRelid(write.entries);
		statement.nkeys = write.shape.nkeys;
		statement.null_keys = entry.null_keys;
		for (int i = 0; i < write.shape.nkeys; i++)
		{
			statement.types[i] = TupleDescAttr(RelationGetDescr(write.entries), i)->atttypid;
			nulls[i] = entry.nulls[i] ? 'n' : ' ';
		}
		found = entry.exists && entry_find(&statement, entry.values, nulls, true, value);
		index_write_end(&write);
		if (found)
			return true;
	}
	return false;
}

/* GlobalKeyMethods.claim */
static bool
claim_keys(Relation rel, List *indexes, TupleTableSlot *row)
{
	bool		claimed = true;

	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		bool		yields = list_member_oid(indexes, indexid);
		IndexWrite	write;
		Entry		entry;

		if (!claimed || !OidIsValid(global_index_entries(indexid)))
			continue;
		index_write_begin(&write, rel, indexid);
		make_batch(&write, &write.added, 1);
		entry_of_row(&write, row, &entry);
		if (entry.exists)
			batch_add(&write, &write.added, &entry);
		claimed = !entry.exists ||
			batch_run(&write, &write.added, yields ? ENTRY_AWAIT : ENTRY_INSERT, ENTRIES_INSERT) == 1;
		index_write_end(&write);
	}
	return claimed;
}

const GlobalKeyMethods global_keys = {.find = key_find, .claim = claim_keys};

/* The entries that the rows of a table have, as a query. */
char *
entries_query(Relation rel, Relation index)
{
	Oid			relid = RelationGetRelid(rel);
	StringInfoData columns;
	EntryShape	shape;

	entry_shape(rel, index, &shape);
	initStringInfo(&columns);
	appendStringInfoString(&columns, key_text(index, shape.nindex));
	for (int i = 0; i < shape.nidentity; i++)
		appendStringInfo(&columns, ", %s", quote_identifier(get_attname(relid, shape.identity[i], false)));
	appendStringInfo(&columns, ", %s", quote_identifier(get_attname(relid, shape.dist_attno, false)));
	for (int i = 0; i < shape.nincluded; i++)
		appendStringInfo(&columns, ", %s",
						 quote_identifier(get_attname(relid, index->rd_index->indkey.values[shape.included[i]], false)));
	return psprintf("SELECT %s FROM %s WHERE %s", columns.data, relation_qualified_name(relid), has_entry_text(index, &shape));
}

void
entries_require_all_rows(void)
{
	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
entries_fill(Relation rel, Relation index, Oid entries)
{
	int			level = NewGUCNestLevel();

	entries_require_all_rows();
	write_entries(rel, index, entries,
				  &(EntryWrite) {.sql = psprintf("INSERT INTO %s %s", relation_qualified_name(entries), entries_query(rel, index))});
	AtEOXact_GUC(true, level);
}

void
entries_add(Relation rel, Oid index, const char *query, int nparams, Oid *types, Datum *values)
{
	int			level = NewGUCNestLevel();
	IndexWrite	write;

	entries_require_all_rows();
	index_write_begin(&write, rel, index);
	make_batch(&write, &write.gone, BATCH_ROWS);
	write_entries(rel, write.index, RelationGetRelid(write.entries),
				  &(EntryWrite) {.sql = query, .nparams = nparams, .types = types, .values = values, .returns = &write});
	if (write.gone.count > 0 && batch_run(&write, &write.gone, ENTRIES_AWAIT, ENTRIES_AWAIT) < write.gone.count)
	{
		batch_run(&write, &write.gone, ENTRIES_MISSING, ENTRIES_MISSING);
		if (write.gone.count > 0)
			batch_run(&write, &write.gone, ENTRIES_INSERT, ENTRIES_INSERT);
	}
	index_write_end(&write);
	AtEOXact_GUC(true, level);
}

/*
 * Locks a table on all nodes against writers.  What we read from then on must
 * show what they have written.
 */
static void
lock_for_repair(Relation rel, Oid entries)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot repair a global index at isolation level REPEATABLE READ or SERIALIZABLE")));
	write_entries(rel, NULL, entries,
				  &(EntryWrite) {.sql = psprintf("LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE",
												 relation_qualified_name(RelationGetRelid(rel)))});
}

/*
 * Compares an index with its entries; how many have no match.  repair: makes
 * these entries again.
 */
static int64
check_index(Oid indexid, bool repair)
{
	Relation	index = index_open(indexid, AccessShareLock);
	Relation	rel = relation_open(index->rd_index->indrelid, AccessShareLock);
	Oid			entries = global_index_entries(indexid);
	char	   *rows;
	char	   *sql;
	RunAs		caller;
	int64		count;

	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	if (repair)
		lock_for_repair(rel, entries);
	rows = entries_query(rel, index);
	sql = psprintf("SELECT pg_catalog.count(*) FROM ((%s EXCEPT ALL TABLE %s) UNION ALL (TABLE %s EXCEPT ALL %s)) d",
				   rows, relation_qualified_name(entries), relation_qualified_name(entries), rows);
	caller = run_as_owner_begin(entries);
	entries_require_all_rows();
	count = strtoll(spi_value(sql), NULL, 10);
	run_as_end(caller);
	if (repair && count > 0)
	{
		write_entries(rel, index, entries, &(EntryWrite) {.sql = psprintf("DELETE FROM %s", relation_qualified_name(entries))});
		entries_fill(rel, index, entries);
	}
	relation_close(rel, AccessShareLock);
	index_close(index, AccessShareLock);
	return count;
}

/* citus_check_global_index(index regclass, repair boolean) */
Datum
citus_check_global_index(PG_FUNCTION_ARGS)
{
	Oid			root = PG_GETARG_OID(0);
	bool		known = false;
	int64		count = 0;

	if (get_rel_relkind(root) == RELKIND_INDEX || get_rel_relkind(root) == RELKIND_PARTITIONED_INDEX)
		foreach_oid(indexid, find_all_inheritors(root, AccessShareLock, NULL))
		{
			if (!OidIsValid(global_index_entries(indexid)))
				continue;
			known = true;
			count += check_index(indexid, PG_GETARG_BOOL(1));
		}
	if (!known)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is not a global index",
						get_rel_name(root) != NULL ? get_rel_name(root) : psprintf("%u", root))));
	PG_RETURN_INT64(count);
}
