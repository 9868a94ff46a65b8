/*-------------------------------------------------------------------------
 *
 * foreign_key_check.c
 *	  Enforces foreign keys between rows of different nodes.
 *
 * Triggers for each statement note the keys of rows that it has written, on
 * either side.  A trigger for an empty row, queued once for them, checks all
 * that its constraint has noted: at the end of the statement, or when the mode
 * of the constraint says so.
 *
 *	child:	locks the parents of the keys that came (FOR KEY SHARE); error if
 *			one is missing
 *	parent:	acts on children of the keys that went; error if one is left
 *
 * README.md has the proof that nothing comes in between.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_constraint.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "compat/constraint.h"
#include "compat/foreach.h"
#include "compat/noreturn.h"
#include "compat/sql_function.h"
#include "executor/statement_snapshot.h"
#include "global_index/entry_plan.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "lib/run_as.h"
#include "sharding/hash.h"
#include "table/definition.h"

SQL_FUNCTION(citus_internal_global_key);

/* Keys that one statement for all of them is about. */
#define BATCH_KEYS 5000

/* How often parents that are missing, but not missed, are locked. */
#define LOCK_ATTEMPTS 2

/* How often an action finds children that were committed meanwhile. */
#define MAX_ACTIONS 10

/*
 * Keys of rows, of one kind ('c'hild, 'd'elete, 'u'pdate) and subtransaction,
 * that a constraint is to check.
 */
typedef struct NotedKeys
{
	Oid			constraint;
	char		kind;
	SubTransactionId subid;
	int			width;			/* values of each: its columns; for an update
								 * old ones, then new ones */
	int			count;
	int			size;
	Datum	   *values;
} NotedKeys;

static List *noted_keys = NIL;	/* NotedKeys * */
static MemoryContext noted_context = NULL;

static void
xact_ended(XactEvent event, void *arg)
{
	noted_keys = NIL;
	noted_context = NULL;
}

static void
subxact_ended(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	foreach_ptr(NotedKeys, noted, noted_keys)
	{
		if (noted->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			noted->subid = parent;
		else if (event == SUBXACT_EVENT_ABORT_SUB)
			noted->count = 0;
	}
}

void
global_key_init(void)
{
	RegisterXactCallback(xact_ended, NULL);
	RegisterSubXactCallback(subxact_ended, NULL);
}

/* The statement's keys so far; made if there are none. */
static NotedKeys *
keys_of_kind(const GlobalKey *key, char kind)
{
	SubTransactionId subid = GetCurrentSubTransactionId();
	NotedKeys  *result;

	foreach_ptr(NotedKeys, noted, noted_keys)
		if (noted->constraint == key->oid && noted->kind == kind && noted->subid == subid)
			return noted;
	if (noted_context == NULL)
		noted_context = AllocSetContextCreate(TopTransactionContext, "global foreign keys", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(noted_context);
	result = palloc0(sizeof(NotedKeys));
	*result = (NotedKeys) {.constraint = key->oid,.kind = kind,.subid = subid,.width = key->count * (kind == 'u' ? 2 : 1)};
	noted_keys = lappend(noted_keys, result);
	return result;
}

/* Notes the key of a row; of an update, old and new row. */
static void
note_key(const GlobalKey *key, char kind, Datum *old, Datum *new)
{
	MemoryContext caller = CurrentMemoryContext;
	NotedKeys  *noted = keys_of_kind(key, kind);

	MemoryContextSwitchTo(noted_context);
	if (noted->count == noted->size)
	{
		noted->size = Max(64, noted->size * 2);
		noted->values = noted->values == NULL ? palloc(sizeof(Datum) * noted->size * noted->width) :
			repalloc_huge(noted->values, sizeof(Datum) * noted->size * noted->width);
	}
	for (int i = 0; i < noted->width; i++)
	{
		Oid			type = key->types[i % key->count];
		int16		len;
		bool		byval;

		get_typlenbyval(type, &len, &byval);
		noted->values[noted->count * noted->width + i] = datumCopy(i < key->count ? old[i] : new[i - key->count], byval, len);
	}
	noted->count++;
	MemoryContextSwitchTo(caller);
}

/* Compares keys, by their columns. */
static int
compare_keys(const void *a, const void *b, void *arg)
{
	const GlobalKey *key = arg;

	for (int i = 0; i < key->count; i++)
	{
		TypeCacheEntry *type = lookup_type_cache(key->types[i], TYPECACHE_CMP_PROC_FINFO);
		int			order = DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, key->collations[i], ((const Datum *) a)[i],
															((const Datum *) b)[i]));

		if (order != 0)
			return order;
	}
	return 0;
}

/*
 * Whether a parent's key stays as it was.  As the server has it, values that
 * are equal but look different, such as 0 and -0, are a change.
 */
static bool
is_same_key(const GlobalKey *key, const Datum *old, const Datum *new)
{
	for (int i = 0; i < key->count; i++)
	{
		TypeCacheEntry *type = lookup_type_cache(key->types[i], 0);

		if (!datum_image_eq(old[i], new[i], type->typbyval, type->typlen))
			return false;
	}
	return true;
}

/* Sorts keys, and leaves one of equal ones. */
static void
sort_keys(const GlobalKey *key, NotedKeys *keys)
{
	int			count = 0;
	Size		width = sizeof(Datum) * keys->width;

	qsort_arg(keys->values, keys->count, width, compare_keys, (void *) key);
	for (int i = 0; i < keys->count; i++)
		if (count == 0 || compare_keys(keys->values + i * keys->width, keys->values + (count - 1) * keys->width, (void *) key) != 0)
			memmove(keys->values + count++ * keys->width, keys->values + i * keys->width, width);
	keys->count = count;
}

/* The values of a row's key, as keys are compared; how many are null. */
static int
key_of_row(const GlobalKey *key, bool of_child, TupleTableSlot *row, Datum *values)
{
	int			nulls = 0;

	for (int i = 0; i < key->count; i++)
	{
		Oid			cast = of_child ? key->child_casts[i] : key->parent_casts[i];
		bool		isnull;

		values[i] = slot_getattr(row, of_child ? key->child_attnos[i] : key->parent_attnos[i], &isnull);
		if (isnull)
			nulls++;
		else if (OidIsValid(cast))
			values[i] = OidFunctionCall1(cast, values[i]);
	}
	return nulls;
}

/* An error's fields that name a key, as errtableconstraint() does. */
static int
err_of_key(const GlobalKey *key)
{
	err_generic_string(PG_DIAG_SCHEMA_NAME, get_namespace_name(get_rel_namespace(key->child)));
	err_generic_string(PG_DIAG_TABLE_NAME, get_rel_name(key->child));
	return err_generic_string(PG_DIAG_CONSTRAINT_NAME, key->name);
}

/* A child's key has a null that it may not have. */
pg_noreturn static void
refuse_partial(const GlobalKey *key)
{
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"", get_rel_name(key->child),
					key->name),
			 errdetail("MATCH FULL does not allow mixing of null and nonnull key values."), err_of_key(key)));
}

static Tuplestorestate *
rows_from_start(Tuplestorestate *rows)
{
	int			pointer;

	if (rows == NULL)
		return NULL;
	pointer = tuplestore_alloc_read_pointer(rows, EXEC_FLAG_REWIND);
	tuplestore_select_read_pointer(rows, pointer);
	tuplestore_rescan(rows);
	return rows;
}

static bool
next_changed_row(Tuplestorestate *rows, TupleTableSlot *slot)
{
	return rows == NULL || tuplestore_gettupleslot(rows, true, false, slot);
}

pg_noreturn static void
refuse_null(const GlobalKey *key)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot set a key of \"%s\" to null that foreign key \"%s\" of table \"%s\" would cascade",
					get_rel_name(key->parent), key->name, get_rel_name(key->child)),
			 errdetail("It is between rows of different nodes."),
			 errhint("Set the columns of \"%s\" to null first.", get_rel_name(key->child))));
}

/* Notes the keys of a statement's rows; whether there are any. */
static bool
note_rows(const GlobalKey *key, char kind, TriggerData *trigger)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	TupleTableSlot *old = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	TupleTableSlot *new = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	Tuplestorestate *old_rows = rows_from_start(trigger->tg_oldtable);
	Tuplestorestate *new_rows = rows_from_start(trigger->tg_newtable);
	bool		any = false;

	while (next_changed_row(old_rows, old) && next_changed_row(new_rows, new))
	{
		Datum		went[INDEX_MAX_KEYS];
		Datum		came[INDEX_MAX_KEYS];
		bool		goes = old_rows != NULL && key_of_row(key, kind == 'c', old, went) == 0;
		int			nulls = new_rows != NULL ? key_of_row(key, kind == 'c', new, came) : key->count;
		bool		comes = nulls == 0;

		CHECK_FOR_INTERRUPTS();
		if (kind == 'c' && key->match == FKCONSTR_MATCH_FULL && nulls > 0 && nulls < key->count)
			refuse_partial(key);
		if (goes && comes && (kind == 'u' ? is_same_key(key, went, came) : compare_keys(went, came, (void *) key) == 0))
			continue;
		if (kind == 'c' ? comes : goes)
		{
			if (kind == 'u' && !comes && key->on_update == FKCONSTR_ACTION_CASCADE)
				refuse_null(key);
			note_key(key, kind, kind == 'c' ? came : went, comes ? came : went);
			any = true;
		}
	}
	ExecDropSingleTupleTableSlot(old);
	ExecDropSingleTupleTableSlot(new);
	return any;
}

/* A table's columns of the key, with commas, each behind a prefix. */
static char *
key_columns_text(const GlobalKey *key, Oid relid, const AttrNumber *attnos, const char *prefix)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < key->count; i++)
		appendStringInfo(&buf, "%s%s%s", i == 0 ? "" : ", ", prefix, quote_identifier(get_attname(relid, attnos[i], false)));
	return buf.data;
}

/* The same, as keys are compared. */
static char *
key_values_text(const GlobalKey *key, Oid relid, const AttrNumber *attnos, const char *prefix)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < key->count; i++)
		appendStringInfo(&buf, "%s%s%s::%s", i == 0 ? "" : ", ", prefix, quote_identifier(get_attname(relid, attnos[i], false)),
						 format_type_extended(key->types[i], -1, FORMAT_TYPE_FORCE_QUALIFY));
	return buf.data;
}

/*
 * A query of the keys that are in parameters; of updates, if both, new ones,
 * too.
 */
static char *
key_params_text(const GlobalKey *key, bool both)
{
	ParamRows	rows = {0};

	for (int i = 0; i < (both ? 2 : 1) * key->count; i++)
		param_rows_add(&rows, i + 1, get_array_type(key->types[i % key->count]));
	return param_rows_query(&rows);
}

/* A condition: a table's columns are one of the keys. */
static char *
is_key_text(const GlobalKey *key, Oid relid, const AttrNumber *attnos, const char *prefix)
{
	StringInfoData buf;

	/* each for itself, too: which prunes shards, and is found by an index */
	initStringInfo(&buf);
	for (int i = 0; i < key->count; i++)
		appendStringInfo(&buf, "%s%s%s OPERATOR(pg_catalog.=) ANY ($%d)", i == 0 ? "" : " AND ", prefix,
						 quote_identifier(get_attname(relid, attnos[i], false)), i + 1);
	if (key->count > 1)
		appendStringInfo(&buf, " AND (%s) IN (%s)", key_columns_text(key, relid, attnos, prefix), key_params_text(key, false));
	return buf.data;
}

/* A condition: a parent p is that of a child c. */
static char *
joined_text(const GlobalKey *key)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < key->count; i++)
		appendStringInfo(&buf, "%sp.%s OPERATOR(pg_catalog.=) c.%s", i == 0 ? "" : " AND ",
						 quote_identifier(get_attname(key->parent, key->parent_attnos[i], false)),
						 quote_identifier(get_attname(key->child, key->child_attnos[i], false)));
	return buf.data;
}

/* Keys as array parameters of a statement. */
typedef struct KeyParams
{
	int			count;
	Oid			types[INDEX_MAX_KEYS * 2 + 1];
	Datum		values[INDEX_MAX_KEYS * 2 + 1];
} KeyParams;

static void
add_array(KeyParams *params, Oid type, Datum *values, int count)
{
	int16		len;
	bool		byval;
	char		align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	params->types[params->count] = get_array_type(type);
	params->values[params->count++] = PointerGetDatum(construct_array(values, count, type, len, byval, align));
}

static void
keys_to_params(const GlobalKey *key, const NotedKeys *keys, KeyParams *params)
{
	Datum	   *column = palloc(sizeof(Datum) * keys->count);

	params->count = 0;
	for (int i = 0; i < keys->width; i++)
	{
		for (int k = 0; k < keys->count; k++)
			column[k] = keys->values[k * keys->width + i];
		add_array(params, key->types[i % key->count], column, keys->count);
	}
}

/* Runs a statement in SPI, which is connected. */
static void
run_key_statement(const char *sql, KeyParams *params)
{
	if (SPI_execute_with_args(sql, params->count, params->types, params->values, NULL, false, 0) < 0)
		elog(ERROR, "SPI failed: a statement for a foreign key");
}

/* The key of a row of SPI's result, in its memory. */
static void
key_of_result(const GlobalKey *key, uint64 row, Datum *values)
{
	for (int i = 0; i < key->count; i++)
	{
		bool		isnull;

		values[i] = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, i + 1, &isnull);
	}
}

/* Removes keys, which are sorted, that SPI's result has. */
static void
remove_found(const GlobalKey *key, NotedKeys *keys)
{
	NotedKeys	found = *keys;
	int			count = 0;
	int			at = 0;

	found.width = key->count;
	found.count = (int) SPI_processed;
	found.values = palloc(sizeof(Datum) * (found.count * found.width + 1));
	for (int i = 0; i < found.count; i++)
		key_of_result(key, i, found.values + i * found.width);
	sort_keys(key, &found);
	for (int i = 0; i < keys->count; i++)
	{
		Datum	   *values = keys->values + i * keys->width;

		while (at < found.count && compare_keys(found.values + at * found.width, values, (void *) key) < 0)
			at++;
		if (at == found.count || compare_keys(found.values + at * found.width, values, (void *) key) != 0)
			memmove(keys->values + count++ * keys->width, values, sizeof(Datum) * keys->width);
	}
	keys->count = count;
}

/*
 * Where a parent is, as far as is known: its key, and its distribution value.
 */
typedef struct ParentPlace
{
	int			shard;
	Datum		values[INDEX_MAX_KEYS + 1];
} ParentPlace;

static int
compare_places(const void *a, const void *b)
{
	int			x = ((const ParentPlace *) a)->shard;
	int			y = ((const ParentPlace *) b)->shard;

	return x < y ? -1 : x > y;
}

/* The places that entries of the parent's global index tell for keys. */
static ParentPlace *
places_by_entries(const GlobalKey *key, const NotedKeys *keys, Oid entries, int *count)
{
	const DistTable *table = metadata_require(key->parent);
	Relation	index = index_open(key->index, AccessShareLock);
	AttrNumber	value = index->rd_index->indnkeyatts + 1;
	AttrNumber	attnos[INDEX_MAX_KEYS] = {0};
	ParentPlace *places;
	KeyParams	params;

	for (int i = 0; i < key->count; i++)
		for (int k = 0; k < index->rd_index->indnkeyatts; k++)
			if (index->rd_index->indkey.values[k] == key->parent_attnos[i])
				attnos[i] = k + 1;
	index_close(index, AccessShareLock);
	keys_to_params(key, keys, &params);
	run_key_statement(psprintf("SELECT %s, %s FROM %s WHERE %s", key_values_text(key, entries, attnos, ""),
							   quote_identifier(get_attname(entries, value, false)), relation_qualified_name(entries),
							   is_key_text(key, entries, attnos, "")), &params);
	places = palloc(sizeof(ParentPlace) * (SPI_processed + 1));
	*count = 0;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		ParentPlace *place = &places[*count];
		bool		isnull;

		key_of_result(key, i, place->values);
		place->values[key->count] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, key->count + 1, &isnull);
		if (isnull)
			continue;			/* it is in no shard that a value names */
		place->shard = shard_index_of_stored(table, place->values[key->count], false);
		++*count;
	}
	return places;
}

/*
 * The same if the key has the parent's distribution column, the number of
 * which among the key's is given.
 */
static ParentPlace *
places_by_keys(const GlobalKey *key, const NotedKeys *keys, int column, int *count)
{
	const DistTable *table = metadata_require(key->parent);
	ParentPlace *places = palloc(sizeof(ParentPlace) * (keys->count + 1));

	*count = keys->count;
	for (int i = 0; i < keys->count; i++)
	{
		memcpy(places[i].values, keys->values + i * keys->width, sizeof(Datum) * key->count);
		places[i].values[key->count] = places[i].values[column];
		places[i].shard = shard_index_of_stored(table, places[i].values[column], false);
	}
	return places;
}

static ParentPlace *
find_parents(const GlobalKey *key, const NotedKeys *keys, int *count)
{
	AttrNumber	dist_attno = metadata_require(key->parent)->dist_attno;
	Oid			entries;

	for (int i = 0; i < key->count; i++)
		if (key->parent_attnos[i] == dist_attno && key->types[i] == key->parent_types[i])
			return places_by_keys(key, keys, i, count);
	entries = global_index_entries(key->index);
	*count = 0;
	return OidIsValid(entries) ? places_by_entries(key, keys, entries, count) : NULL;
}

/*
 * Locks the parents at some of the places, and removes their keys, which are
 * sorted.
 */
static void
lock_places(const GlobalKey *key, NotedKeys *keys, const char *text, const ParentPlace *places, int count)
{
	const DistTable *table = metadata_require(key->parent);
	Datum	   *column = palloc(sizeof(Datum) * count);
	KeyParams	params = {0};

	for (int i = 0; i <= key->count; i++)
	{
		for (int k = 0; k < count; k++)
			column[k] = places[k].values[i];
		add_array(&params, i < key->count ? key->types[i] : getBaseType(table->dist_type), column, count);
	}
	run_key_statement(psprintf("%s AND p.%s OPERATOR(pg_catalog.=) ANY ($%d) FOR KEY SHARE OF p", text,
							   quote_identifier(get_attname(key->parent, table->dist_attno, false)), params.count), &params);
	remove_found(key, keys);
}

/*
 * Locks the parents of keys, which are sorted, and removes the keys.  A few
 * are looked for together; of many, each shard is asked for its own.
 */
static void
lock_parents(const GlobalKey *key, NotedKeys *keys)
{
	const char *text = psprintf("SELECT %s FROM %s p WHERE %s", key_values_text(key, key->parent, key->parent_attnos, "p."),
								relation_qualified_name(key->parent), is_key_text(key, key->parent, key->parent_attnos, "p."));
	bool		many = keys->count > metadata_require(key->parent)->nshards;
	KeyParams	params;
	int			count;
	ParentPlace *places = find_parents(key, keys, &count);

	if (count > 0)
		qsort(places, count, sizeof(ParentPlace), compare_places);
	for (int start = 0, end; start < count; start = end)
	{
		for (end = start + 1; end < count && (!many || places[end].shard == places[start].shard); end++)
			;
		lock_places(key, keys, text, places + start, end - start);
	}
	if (keys->count == 0)
		return;
	keys_to_params(key, keys, &params); /* rows may have moved */
	run_key_statement(psprintf("%s FOR KEY SHARE OF p", text), &params);
	remove_found(key, keys);
}

/* The values of a key for a message, with commas. */
static char *
values_text(const GlobalKey *key, const Datum *values)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < key->count; i++)
	{
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(key->types[i], &output, &varlena);
		appendStringInfo(&text, "%s%s", i == 0 ? "" : ", ", OidOutputFunctionCall(output, values[i]));
	}
	return text.data;
}

/* kind: of the rows that were written (NotedKeys). */
pg_noreturn static void
violation(const GlobalKey *key, char kind, const Datum *values)
{
	bool		by_child = kind == 'c';
	bool		restricts = RESTRICT_HAS_ERROR && !by_child &&
		(kind == 'd' ? key->on_delete : key->on_update) == FKCONSTR_ACTION_RESTRICT;
	Oid			relid = by_child ? key->child : key->parent;
	const AttrNumber *attnos = by_child ? key->child_attnos : key->parent_attnos;
	char	   *text = values_text(key, values);

	ereport(ERROR,
			(errcode(restricts ? ERRCODE_RESTRICT_VIOLATION : ERRCODE_FOREIGN_KEY_VIOLATION),
			 by_child ?
			 errmsg("insert or update on table \"%s\" violates foreign key constraint \"%s\"", get_rel_name(key->child),
					key->name) :
			 restricts ?
			 errmsg("update or delete on table \"%s\" violates RESTRICT setting of foreign key constraint \"%s\" on table \"%s\"",
					get_rel_name(key->parent), key->name, get_rel_name(key->child)) :
			 errmsg("update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"",
					get_rel_name(key->parent), key->name, get_rel_name(key->child)),
			 by_child ?
			 errdetail("Key (%s)=(%s) is not present in table \"%s\".", key_columns_text(key, relid, attnos, ""), text,
					   get_rel_name(key->parent)) :
			 errdetail(restricts ? "Key (%s)=(%s) is referenced from table \"%s\"." :
					   "Key (%s)=(%s) is still referenced from table \"%s\".", key_columns_text(key, relid, attnos, ""),
					   text, get_rel_name(key->child)),
			 err_of_key(key)));
}

/* Switches a setting off until the caller's level of settings ends. */
static void
switch_off(const char *setting)
{
	(void) set_config_option(setting, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Has statements ask all shards, until the caller's level of settings ends:
 * entries may be committed later than rows.
 */
static void
ask_all_shards(void)
{
	switch_off("citus.enable_global_index_lookups");
}

static bool
is_reference(Oid relid)
{
	return metadata_require(relid)->kind == DIST_REFERENCE;
}

/*
 * Finds a child with one of the keys, and without a parent, as of one point in
 * time: false if there is none, or its key, in SPI's memory.  This reads the
 * shards of both sides, also those of parents that this transaction has
 * deleted.  Of a reference table it reads a copy that others didn't lock.
 */
static bool
find_orphan(const GlobalKey *key, const NotedKeys *keys, Datum *values)
{
	int			level = NewGUCNestLevel();
	KeyParams	params;

	keys_to_params(key, keys, &params);
	params.count = key->count;
	ask_all_shards();
	if (is_reference(key->parent) || is_reference(key->child))
	{
		switch_off("citus.enable_router_execution");
		statement_snapshot_force();
	}
	run_key_statement(psprintf("SELECT %s FROM %s c WHERE %s AND NOT EXISTS (SELECT FROM %s p WHERE %s AND %s) ORDER BY %s LIMIT 1",
						   key_values_text(key, key->child, key->child_attnos, "c."), relation_qualified_name(key->child),
						   is_key_text(key, key->child, key->child_attnos, "c."), relation_qualified_name(key->parent),
						   joined_text(key), is_key_text(key, key->parent, key->parent_attnos, "p."),
						   key_columns_text(key, key->child, key->child_attnos, "c.")), &params);
	AtEOXact_GUC(true, level);
	if (SPI_processed == 0)
		return false;
	key_of_result(key, 0, values);
	return true;
}

/*
 * Checks keys of children.  A parent that was being committed when it was to
 * be locked is found by find_orphan, which has waited, and then locked.
 */
static void
check_children(const GlobalKey *key, NotedKeys *keys)
{
	RunAs		caller = run_as_begin(BOOTSTRAP_SUPERUSERID);
	Datum		values[INDEX_MAX_KEYS];

	SPI_connect();
	for (int i = 0; keys->count > 0 && i < LOCK_ATTEMPTS; i++)
	{
		lock_parents(key, keys);
		if (keys->count > 0 && find_orphan(key, keys, values))	/* else the children have gone */
			violation(key, 'c', values);
	}
	SPI_finish();
	run_as_end(caller);
}

/* The assignments of ON DELETE SET NULL and SET DEFAULT, or ON UPDATE. */
static char *
assignments_text(const GlobalKey *key, char kind, const char *value)
{
	bool		listed = kind == 'd' && key->nset > 0;
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < (listed ? key->nset : key->count); i++)
		appendStringInfo(&buf, "%s%s = %s", i == 0 ? "" : ", ",
						 quote_identifier(get_attname(key->child, listed ? key->set_attnos[i] : key->child_attnos[i], false)), value);
	return buf.data;
}

/* ON UPDATE CASCADE */
static char *
cascade_update_text(const GlobalKey *key)
{
	StringInfoData set;
	StringInfoData columns;
	StringInfoData joined;

	initStringInfo(&set);
	initStringInfo(&columns);
	initStringInfo(&joined);
	for (int i = 0; i < key->count; i++)
	{
		const char *column = quote_identifier(get_attname(key->child, key->child_attnos[i], false));

		appendStringInfo(&set, "%s%s = r.new_%d", i == 0 ? "" : ", ", column, i);
		appendStringInfo(&columns, "old_%d, ", i);
		appendStringInfo(&joined, " AND c.%s OPERATOR(pg_catalog.=) r.old_%d", column, i);
	}
	for (int i = 0; i < key->count; i++)
		appendStringInfo(&columns, "%snew_%d", i == 0 ? "" : ", ", i);
	return psprintf("UPDATE %s c SET %s FROM (%s) r(%s) WHERE %s%s", relation_qualified_name(key->child), set.data,
					key_params_text(key, true), columns.data, is_key_text(key, key->child, key->child_attnos, "c."),
					joined.data);
}

/* The statement of an action. */
static char *
action_text(const GlobalKey *key, char kind)
{
	char		action = kind == 'd' ? key->on_delete : key->on_update;
	char	   *where = is_key_text(key, key->child, key->child_attnos, "c.");

	if (action == FKCONSTR_ACTION_CASCADE && kind == 'u')
		return cascade_update_text(key);
	if (action == FKCONSTR_ACTION_CASCADE)
		return psprintf("DELETE FROM %s c WHERE %s", relation_qualified_name(key->child), where);
	return psprintf("UPDATE %s c SET %s WHERE %s", relation_qualified_name(key->child),
					assignments_text(key, kind, action == FKCONSTR_ACTION_SETNULL ? "NULL" : "DEFAULT"), where);
}

static bool
has_action(const GlobalKey *key, char kind)
{
	char		action = kind == 'd' ? key->on_delete : key->on_update;

	return kind != 'c' && action != FKCONSTR_ACTION_NOACTION && action != FKCONSTR_ACTION_RESTRICT;
}

/*
 * Does what a foreign key does when keys of parents have gone.  A statement
 * that writes doesn't see children that are being committed; so their absence
 * is checked as of one point in time, which waits for that.
 */
static void
act_on_parents(const GlobalKey *key, NotedKeys *keys)
{
	Datum		values[INDEX_MAX_KEYS];
	KeyParams	params;
	bool		orphan = true;

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot delete or change keys of \"%s\" at isolation level REPEATABLE READ or SERIALIZABLE",
						get_rel_name(key->parent)),
				 errdetail("Foreign key \"%s\" of table \"%s\" is between rows of different nodes.", key->name,
						   get_rel_name(key->child)),
				 errhint("Use READ COMMITTED.")));
	for (int i = 0; orphan && i < MAX_ACTIONS; i++)
	{
		RunAs		caller;

		if (has_action(key, keys->kind))
		{
			Relation	child = relation_open(key->child, AccessShareLock);
			int			level = NewGUCNestLevel();

			caller = run_as_begin(child->rd_rel->relowner);
			relation_close(child, NoLock);
			SPI_connect();
			keys_to_params(key, keys, &params);
			if (!(keys->kind == 'u' && key->on_update == FKCONSTR_ACTION_CASCADE))
				params.count = key->count;
			if (i > 0)
				ask_all_shards();
			run_key_statement(action_text(key, keys->kind), &params);
			SPI_finish();
			AtEOXact_GUC(true, level);
			run_as_end(caller);
		}
		caller = run_as_begin(BOOTSTRAP_SUPERUSERID);
		SPI_connect();
		orphan = find_orphan(key, keys, values);
		if (orphan && (!has_action(key, keys->kind) || i == MAX_ACTIONS - 1))
			violation(key, keys->kind, values);
		SPI_finish();
		run_as_end(caller);
	}
}

/* Some of the keys, for one statement. */
static NotedKeys
batch_of(const NotedKeys *keys, int start)
{
	NotedKeys	batch = *keys;

	batch.count = Min(BATCH_KEYS, keys->count - start);
	batch.values = palloc(sizeof(Datum) * batch.count * batch.width);
	memcpy(batch.values, keys->values + (Size) start * keys->width, sizeof(Datum) * batch.count * batch.width);
	return batch;
}

/* All keys of a kind that a constraint has noted. */
static NotedKeys
collect_keys(const GlobalKey *key, char kind)
{
	NotedKeys	all = {.constraint = key->oid,.kind = kind,.width = key->count * (kind == 'u' ? 2 : 1)};

	foreach_ptr(NotedKeys, noted, noted_keys)
		if (noted->constraint == key->oid && noted->kind == kind)
			all.size += noted->count;
	all.values = palloc_extended(sizeof(Datum) * (Size) (all.size * all.width + 1), MCXT_ALLOC_HUGE);
	foreach_ptr(NotedKeys, noted, noted_keys)
	{
		if (noted->constraint != key->oid || noted->kind != kind)
			continue;
		memcpy(all.values + (Size) all.count * all.width, noted->values, sizeof(Datum) * noted->count * all.width);
		all.count += noted->count;
	}
	return all;
}

/*
 * Forgets keys that were checked.  Those of an outer subtransaction stay: the
 * end of this one may undo that.
 */
static void
forget_keys(const GlobalKey *key, char kind)
{
	foreach_ptr(NotedKeys, noted, noted_keys)
		if (noted->constraint == key->oid && noted->kind == kind && noted->subid == GetCurrentSubTransactionId())
			noted->count = 0;
}

/* Checks, or acts on, all keys of a kind that a constraint has noted. */
static void
check_keys(const GlobalKey *key, char kind)
{
	NotedKeys	keys = collect_keys(key, kind);

	if (has_action(key, kind))
		forget_keys(key, kind); /* an action may note others */
	sort_keys(key, &keys);
	for (int start = 0; start < keys.count; start += BATCH_KEYS)
	{
		NotedKeys	batch = batch_of(&keys, start);

		CHECK_FOR_INTERRUPTS();
		if (kind == 'c')
			check_children(key, &batch);
		else
			act_on_parents(key, &batch);
	}
	forget_keys(key, kind);
}

/* citus_internal.global_key(): the triggers of a global foreign key */
Datum
citus_internal_global_key(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	GlobalKey  *key;
	char		kind;

	if (!CALLED_AS_TRIGGER(fcinfo) || !trigger_is_of_global_key(data->tg_trigger->tgisinternal, data->tg_trigger->tgname))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" can only be called by triggers of foreign keys", "global_key")));
	key = global_key_load(foreign_key_whole(data->tg_trigger->tgconstraint));
	kind = data->tg_trigger->tgargs[0][0];
	if (TRIGGER_FIRED_FOR_STATEMENT(data->tg_event))
	{
		GlobalKey  *part = global_key_load(data->tg_trigger->tgconstraint);

		memcpy(key->parent_attnos, part->parent_attnos, sizeof(key->parent_attnos));	/* in these rows */
		PG_RETURN_BOOL(note_rows(key, kind, data));
	}
	check_keys(key, kind);
	PG_RETURN_POINTER(NULL);
}

void
global_key_check_unused(const GlobalKey *key)
{
	RunAs		caller = run_as_begin(BOOTSTRAP_SUPERUSERID);
	KeyParams	params = {0};
	Datum		values[INDEX_MAX_KEYS];

	SPI_connect();
	run_key_statement(psprintf("SELECT %s FROM %s c WHERE EXISTS (SELECT FROM %s p WHERE %s) ORDER BY %s LIMIT 1",
							   key_values_text(key, key->child, key->child_attnos, "c."), relation_qualified_name(key->child),
							   relation_qualified_name(key->parent), joined_text(key),
							   key_columns_text(key, key->child, key->child_attnos, "c.")), &params);
	if (SPI_processed > 0)
	{
		key_of_result(key, 0, values);
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("removing partition \"%s\" violates foreign key constraint \"%s\"", get_rel_name(key->parent), key->name),
				 errdetail("Key (%s)=(%s) is still referenced from table \"%s\".",
						   key_columns_text(key, key->parent, key->parent_attnos, ""), values_text(key, values),
						   get_rel_name(key->child)),
				 err_of_key(key)));
	}
	SPI_finish();
	run_as_end(caller);
}

void
global_key_check_rows(const GlobalKey *key)
{
	RunAs		caller = run_as_begin(BOOTSTRAP_SUPERUSERID);
	KeyParams	params = {0};
	StringInfoData sql;

	initStringInfo(&sql);
	SPI_connect();
	if (key->match == FKCONSTR_MATCH_FULL && key->count > 1)
	{
		appendStringInfo(&sql, "SELECT FROM %s c WHERE pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.<>) ALL ('{0,%d}'::int4[]) LIMIT 1",
						 relation_qualified_name(key->child), key_columns_text(key, key->child, key->child_attnos, "c."), key->count);
		run_key_statement(sql.data, &params);
		if (SPI_processed > 0)
			refuse_partial(key);
		resetStringInfo(&sql);
	}
	appendStringInfo(&sql, "SELECT %s FROM %s c WHERE pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.=) 0",
					 key_values_text(key, key->child, key->child_attnos, "c."), relation_qualified_name(key->child),
					 key_columns_text(key, key->child, key->child_attnos, "c."));
	appendStringInfo(&sql, " AND NOT EXISTS (SELECT FROM %s p WHERE %s) ORDER BY %s LIMIT 1",
					 relation_qualified_name(key->parent), joined_text(key),
					 key_columns_text(key, key->child, key->child_attnos, "c."));
	run_key_statement(sql.data, &params);
	if (SPI_processed > 0)
	{
		Datum		values[INDEX_MAX_KEYS];

		key_of_result(key, 0, values);
		violation(key, 'c', values);
	}
	SPI_finish();
	run_as_end(caller);
}
