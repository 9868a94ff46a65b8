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
#include "catalog/pg_am.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
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

/* Keys whose entries wait, with the distribution values of their rows. */
typedef struct KeyBatch
{
	int			count;
	Datum	   *values[INDEX_MAX_KEYS + 1];
} KeyBatch;

/* A global index that a trigger maintains. */
typedef struct IndexWrite
{
	Relation	rel;			/* the logical table */
	Relation	index;
	Oid			entries;
	int			nkeys;
	AttrNumber	attnos[INDEX_MAX_KEYS + 1]; /* of the key, then of the
											 * distribution column */
	MemoryContext context;		/* of the batch */
	KeyBatch	gone;
	KeyBatch	added;
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

char *
key_columns_text(Relation rel, Relation index)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		appendStringInfo(&buf, "%s%s", i == 0 ? "" : ", ",
						 quote_identifier(get_attname(RelationGetRelid(rel), index->rd_index->indkey.values[i], false)));
	return buf.data;
}

/* ROW of the columns of a key, which are not null: a condition. */
static char *
key_is_complete(Relation rel, Relation index)
{
	return psprintf("pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.=) 0", key_columns_text(rel, index));
}

/*
 * Throws the current error again; as that of the index, if it is one of its
 * entries: they have equal keys.
 */
pg_noreturn static void
rethrow_for_index(Relation rel, Relation index, MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION)
	{
		error->message = psprintf("duplicate key value violates unique constraint \"%s\"", RelationGetRelationName(index));
		error->constraint_name = RelationGetRelationName(index);
		error->table_name = RelationGetRelationName(rel);
		error->schema_name = get_namespace_name(RelationGetNamespace(rel));
		error->context = NULL;
	}
	FlushErrorState();
	ReThrowError(error);
}

/* What a statement of ours writes. */
typedef struct EntryWrite
{
	const char *sql;			/* without parameters; NULL: statement, */
	const EntryStatement *statement;
	Datum	   *values;			/* with these, of which none is null */
} EntryWrite;

/* Writes entries, as their owner; returns how many. */
static uint64
write_entries(Relation rel, Relation index, Oid entries, const EntryWrite *write)
{
	MemoryContext context = CurrentMemoryContext;
	RunAs		caller = run_as_owner_begin(entries);
	bool		before = manual_change_exempt(true);
	volatile uint64 processed = 0;

	PG_TRY();
	{
		SPI_connect();
		if ((write->sql != NULL ? SPI_execute(write->sql, false, 0) :
			 SPI_execute_plan(entry_plan(write->statement), write->values, NULL, false, 0)) < 0)
			elog(ERROR, "SPI failed: a write of entries");
		processed = SPI_processed;
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
 * Runs a statement for the entries of a batch: its kind for one key, or for
 * several.  Returns how many it has written.
 */
static uint64
batch_run(IndexWrite *write, KeyBatch *batch, EntryStatementKind one_kind, EntryStatementKind many_kind)
{
	bool		one = batch->count == 1;
	EntryStatement statement = {.kind = one ? one_kind : many_kind, .entries = write->entries, .nkeys = write->nkeys};
	Datum		values[INDEX_MAX_KEYS + 1];

	for (int i = 0; i < entry_params(statement.kind, write->nkeys); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(write->rel), write->attnos[i] - 1);
		Oid			type = getBaseType(att->atttypid);

		statement.types[i] = one ? type : get_array_type(type);
		values[i] = one ? batch->values[i][0] :
			PointerGetDatum(construct_array(batch->values[i], batch->count, type, att->attlen, att->attbyval, att->attalign));
	}
	return write_entries(write->rel, write->index, write->entries,
						 &(EntryWrite) {.statement = &statement, .values = values});
}

/*
 * Deletes the entries of keys that go.  We have locked their rows, so each has
 * an entry, which nobody else can change.  But whoever has written the row may
 * still be committing on the node of the entry, whose snapshots don't show it
 * then.  An insertion waits for that.
 */
static void
delete_entries(IndexWrite *write, KeyBatch *batch)
{
	if (batch->count > 0 && batch_run(write, batch, ENTRY_DELETE, ENTRIES_DELETE) < batch->count)
	{
		batch_run(write, batch, ENTRY_AWAIT, ENTRIES_AWAIT);
		batch_run(write, batch, ENTRY_DELETE, ENTRIES_DELETE);
	}
	batch->count = 0;
}

static void
batches_write(IndexWrite *write)
{
	delete_entries(write, &write->gone);
	if (write->added.count > 0)
		batch_run(write, &write->added, ENTRY_INSERT, ENTRIES_INSERT);
	write->added.count = 0;
	MemoryContextReset(write->context);
}

/* Adds a row's key to a batch, unless it has nulls. */
static void
batch_add(IndexWrite *write, KeyBatch *batch, TupleTableSlot *slot)
{
	MemoryContext old;

	for (int i = 0; i <= write->nkeys; i++)
		if (slot->tts_isnull[write->attnos[i] - 1])
			return;
	old = MemoryContextSwitchTo(write->context);
	for (int i = 0; i <= write->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, write->attnos[i] - 1);

		batch->values[i][batch->count] = datumCopy(slot->tts_values[write->attnos[i] - 1], att->attbyval, att->attlen);
	}
	batch->count++;
	MemoryContextSwitchTo(old);
}

/* Whether two versions of a row have the same entry. */
static bool
same_entry(const IndexWrite *write, TupleTableSlot *old, TupleTableSlot *new)
{
	for (int i = 0; i <= write->nkeys; i++)
	{
		int			k = write->attnos[i] - 1;
		Form_pg_attribute att = TupleDescAttr(old->tts_tupleDescriptor, k);

		if (old->tts_isnull[k] != new->tts_isnull[k] ||
			(!old->tts_isnull[k] && !datum_image_eq(old->tts_values[k], new->tts_values[k], att->attbyval, att->attlen)))
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
			KeyBatch   *batch = adds ? &write->added : &write->gone;

			CHECK_FOR_INTERRUPTS();
			if (old_rows != NULL && new_rows != NULL && same_entry(write, old, new))
				continue;
			batch_add(write, batch, adds ? new : old);
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
	write->entries = global_index_entries(index);
	write->index = index_open(index, AccessShareLock);
	write->nkeys = write->index->rd_index->indnkeyatts;
	for (int i = 0; i < write->nkeys; i++)
		write->attnos[i] = write->index->rd_index->indkey.values[i];
	write->attnos[write->nkeys] = metadata_require(RelationGetRelid(rel))->dist_attno;
	write->context = AllocSetContextCreate(CurrentMemoryContext, "global index", ALLOCSET_DEFAULT_SIZES);
}

static void
make_batches(IndexWrite *write, int rows)
{
	for (int i = 0; i <= write->nkeys; i++)
	{
		write->gone.values[i] = palloc(sizeof(Datum) * rows);
		write->added.values[i] = palloc(sizeof(Datum) * rows);
	}
}

static void
index_write_end(IndexWrite *write)
{
	MemoryContextDelete(write->context);
	index_close(write->index, AccessShareLock);
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
	index_write_begin(&write, trigger->tg_relation, trigger->tg_trigger->tgconstrindid);
	if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		write_entries(write.rel, write.index, write.entries,
					  &(EntryWrite) {.sql = psprintf("TRUNCATE %s", relation_qualified_name(write.entries))});
	else
	{
		make_batches(&write, BATCH_ROWS);
		write_rows(&write, trigger->tg_oldtable, trigger->tg_newtable);
	}
	index_write_end(&write);
	PG_RETURN_POINTER(NULL);
}

/* GlobalKeyMethods.find */
static bool
key_find(Relation rel, List *indexes, TupleTableSlot *row, Datum *value)
{
	foreach_oid(indexid, indexes)
	{
		EntryStatement statement = {.kind = ENTRY_FIND};
		Datum		keys[INDEX_MAX_KEYS];
		IndexWrite	write;
		bool		complete = true;

		index_write_begin(&write, rel, indexid);
		statement.entries = write.entries;
		statement.nkeys = write.nkeys;
		for (int i = 0; i < write.nkeys; i++)
		{
			int			k = write.attnos[i] - 1;

			statement.types[i] = getBaseType(TupleDescAttr(RelationGetDescr(rel), k)->atttypid);
			keys[i] = row->tts_values[k];
			complete = complete && !row->tts_isnull[k];
		}
		index_write_end(&write);
		if (complete && entry_find(&statement, keys, true, value))
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

		if (!claimed || !OidIsValid(global_index_entries(indexid)))
			continue;
		index_write_begin(&write, rel, indexid);
		make_batches(&write, 1);
		batch_add(&write, &write.added, row);
		claimed = write.added.count == 0 ||
			batch_run(&write, &write.added, yields ? ENTRY_AWAIT : ENTRY_INSERT, ENTRIES_INSERT) == 1;
		index_write_end(&write);
	}
	return claimed;
}

const GlobalKeyMethods global_keys = {.find = key_find, .claim = claim_keys};

/* The entries that the rows of a table have, as a query. */
static char *
entries_query(Relation rel, Relation index)
{
	Oid			relid = RelationGetRelid(rel);

	return psprintf("SELECT %s, %s FROM %s WHERE %s", key_columns_text(rel, index),
					quote_identifier(get_attname(relid, metadata_require(relid)->dist_attno, false)),
					relation_qualified_name(relid), key_is_complete(rel, index));
}

/*
 * Has statements fail until the caller's level of settings ends, of which the
 * owner's own policies (FORCE ROW LEVEL SECURITY) would hide rows.
 */
static void
require_all_rows(void)
{
	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
entries_fill(Relation rel, Relation index, Oid entries)
{
	int			level = NewGUCNestLevel();

	require_all_rows();
	write_entries(rel, index, entries,
				  &(EntryWrite) {.sql = psprintf("INSERT INTO %s %s", relation_qualified_name(entries), entries_query(rel, index))});
	AtEOXact_GUC(true, level);
}

/* citus_check_global_index(index regclass) */
Datum
citus_check_global_index(PG_FUNCTION_ARGS)
{
	Oid			indexid = PG_GETARG_OID(0);
	Oid			entries = get_rel_relkind(indexid) == RELKIND_INDEX ? global_index_entries(indexid) : InvalidOid;
	Relation	index;
	Relation	rel;
	char	   *rows;
	char	   *sql;
	RunAs		caller;
	int64		count;

	if (!OidIsValid(entries))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation with OID %u is not a global index", indexid)));
	index = index_open(indexid, AccessShareLock);
	rel = relation_open(index->rd_index->indrelid, AccessShareLock);
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	rows = entries_query(rel, index);
	sql = psprintf("SELECT pg_catalog.count(*) FROM ((%s EXCEPT ALL TABLE %s) UNION ALL (TABLE %s EXCEPT ALL %s)) d",
				   rows, relation_qualified_name(entries), relation_qualified_name(entries), rows);
	caller = run_as_owner_begin(entries);
	require_all_rows();
	count = strtoll(spi_value(sql), NULL, 10);
	run_as_end(caller);
	relation_close(rel, AccessShareLock);
	index_close(index, AccessShareLock);
	PG_RETURN_INT64(count);
}
