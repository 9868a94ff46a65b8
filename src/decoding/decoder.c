/*-------------------------------------------------------------------------
 *
 * decoder.c
 *	  Logical decoding of shards under the names of their tables.
 *
 * The server's output plugins know relations, not shards.  This plugin wraps
 * another one, and passes each change of a shard to it as a change of the
 * table.  It ignores writes that don't change the table: rows that moves,
 * splits and conversions copy (txn/unpublished.h) and those that a move's
 * subscription applies; changes of reference tables are published by the
 * coordinator only.
 *
 * Subscribers request the plugin pgoutput by name.  So the library is
 * installed under the names of the wrapped plugins, in a separate folder,
 * which the server searches before its own; the slot gives the name of the
 * requested one.
 *
 * Each node publishes TRUNCATE for the shards that it has, once: after its own
 * changes of them, and in no order with those of other nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_subscription.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "replication/logical.h"
#include "replication/origin.h"
#include "replication/output_plugin.h"
#include "replication/slot.h"
#include "replication/walsender.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/decoded_tuple.h"
#include "compat/replication_origin.h"
#include "decoding/decoder.h"
#include "decoding/published.h"
#include "planner/hide_shards.h"
#include "rebalance/move.h"

/* Where build.mk installs the library under the names of plugins. */
#define DECODERS "$libdir/citus_decoders"

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

static const char *const wrapped_names[] = {"pgoutput", "wal2json"};

static bool enable_change_data_capture = false;
static OutputPluginCallbacks wrapped_plugin;	/* of the process's slot */
static MemoryContext decoded_context = NULL;	/* for one change */

/* Whether an origin is the subscription of a move. */
static bool
is_move_origin(ReplOriginId origin)
{
	char	   *name;
	char	   *subscription;
	Oid			oid;

	if (!replorigin_by_oid(origin, true, &name) || sscanf(name, "pg_%u", &oid) != 1)
		return false;
	subscription = get_subscription_name(oid, true);
	return subscription != NULL && strncmp(subscription, MOVE_SUBSCRIPTION_PREFIX, strlen(MOVE_SUBSCRIPTION_PREFIX)) == 0;
}

/*
 * The same, for a change; origin ids are reused, so the result is cached for
 * the transaction only.
 */
static bool
is_moved_change(const ReorderBufferChange *change)
{
	static TransactionId known_xid = InvalidTransactionId;
	static ReplOriginId known_origin = InvalidReplOriginId;
	static bool known_answer;

	if (change->origin_id == InvalidReplOriginId)
		return false;
	if (known_xid != change->txn->xid || known_origin != change->origin_id)
	{
		known_answer = is_move_origin(change->origin_id);
		known_xid = change->txn->xid;
		known_origin = change->origin_id;
	}
	return known_answer;
}

static DecodedTuple
convert_decoded(DecodedTuple tuple, TupleConversionMap *map)
{
	return tuple == NULL ? NULL : compat_decoded_of_heap(execute_attr_map_tuple(compat_heap_of_decoded(tuple), map));
}

/* The change with the table's rows in the place of the shard's. */
static ReorderBufferChange
change_of_table(const ReorderBufferChange *change, const Published *published)
{
	ReorderBufferChange result = *change;
	MemoryContext old_context;

	if (published->map == NULL)
		return result;
	old_context = MemoryContextSwitchTo(decoded_context);
	result.data.tp.oldtuple = convert_decoded(change->data.tp.oldtuple, published->map);
	result.data.tp.newtuple = convert_decoded(change->data.tp.newtuple, published->map);
	MemoryContextSwitchTo(old_context);
	return result;
}

/* Passes a change on; function is the plugin's for it. */
static void
decode_change(LogicalDecodeChangeCB function, LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation rel,
			  ReorderBufferChange *change)
{
	const Published *published;
	ReorderBufferChange converted;
	Relation	table;

	MemoryContext old_context = MemoryContextSwitchTo(decoded_context);

	published = published_as(rel);
	if (published->kind == PUBLISHED_AS_TABLE && is_moved_change(change))
		table = NULL;
	else if (published->kind == PUBLISHED_AS_TABLE)
		table = RelationIdGetRelation(published->table);
	else
		table = published->kind == PUBLISHED_ITSELF ? rel : NULL;
	MemoryContextSwitchTo(old_context);
	if (table == rel)
		function(ctx, txn, rel, change);
	else if (RelationIsValid(table))
	{
		converted = change_of_table(change, published);
		function(ctx, txn, table, &converted);
		RelationClose(table);
	}
	MemoryContextReset(decoded_context);
}

/* LogicalDecodeChangeCB */
static void
decoder_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation rel, ReorderBufferChange *change)
{
	decode_change(wrapped_plugin.change_cb, ctx, txn, rel, change);
}

/* LogicalDecodeStreamChangeCB */
static void
decoder_stream_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation rel, ReorderBufferChange *change)
{
	decode_change(wrapped_plugin.stream_change_cb, ctx, txn, rel, change);
}

/*
 * Adds a truncated relation, or its table if it is a shard, to the list to be
 * passed on, unless it is there (a table may have several shards here).
 * Returns the length of the list.
 */
static int
add_truncated(Relation *kept, int nkept, Relation rel, const ReorderBufferChange *change)
{
	const Published *published = published_as(rel);
	Oid			relid = published->kind == PUBLISHED_AS_TABLE ? published->table : RelationGetRelid(rel);
	Relation	table;

	if (published->kind == PUBLISHED_ELSEWHERE ||
		(published->kind == PUBLISHED_AS_TABLE && is_moved_change(change)))
		return nkept;
	for (int i = 0; i < nkept; i++)
	{
		if (RelationGetRelid(kept[i]) == relid)
			return nkept;
	}
	table = RelationIdGetRelation(relid);
	if (!RelationIsValid(table))
		return nkept;
	kept[nkept] = table;
	return nkept + 1;
}

/* Passes TRUNCATE on. */
static void
decode_truncate(LogicalDecodeTruncateCB function, LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	MemoryContext old_context = MemoryContextSwitchTo(decoded_context);
	Relation   *kept = palloc(nrelations * sizeof(Relation));
	int			nkept = 0;

	for (int i = 0; i < nrelations; i++)
		nkept = add_truncated(kept, nkept, relations[i], change);
	MemoryContextSwitchTo(old_context);
	if (nkept > 0)
		function(ctx, txn, nkept, kept, change);
	for (int i = 0; i < nkept; i++)
		RelationClose(kept[i]);
	MemoryContextReset(decoded_context);
}

/* LogicalDecodeTruncateCB */
static void
decoder_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations, Relation relations[],
				 ReorderBufferChange *change)
{
	decode_truncate(wrapped_plugin.truncate_cb, ctx, txn, nrelations, relations, change);
}

/* LogicalDecodeStreamTruncateCB */
static void
decoder_stream_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations, Relation relations[],
						ReorderBufferChange *change)
{
	decode_truncate(wrapped_plugin.stream_truncate_cb, ctx, txn, nrelations, relations, change);
}

/* LogicalDecodeFilterByOriginCB */
static bool
decoder_filter_by_origin(LogicalDecodingContext *ctx, ReplOriginId origin)
{
	return origin == DoNotReplicateId ||
		(wrapped_plugin.filter_by_origin_cb != NULL && wrapped_plugin.filter_by_origin_cb(ctx, origin));
}

/*
 * The plugin that the slot of this process is for; errors for any other.  Its
 * whole path is given: since version 18 the server looks for "$libdir/name" in
 * dynamic_library_path, too, where it would find this library again.
 */
static LogicalOutputPluginInit
load_wrapped_plugin(void)
{
	const char *name = NameStr(MyReplicationSlot->data.plugin);

	for (int i = 0; i < lengthof(wrapped_names); i++)
	{
		if (strcmp(name, wrapped_names[i]) == 0)
			return (LogicalOutputPluginInit)
				load_external_function(psprintf("%s/%s", pkglib_path, name), "_PG_output_plugin_init", true, NULL);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" is not the name of an output plugin", name),
			 errhint("Use pgoutput or wal2json, with citus.enable_change_data_capture.")));
}

/*
 * Whether the slot of this process is that of a move, which needs the changes
 * of shards.
 */
static bool
is_move_slot(void)
{
	return strncmp(NameStr(MyReplicationSlot->data.name), MOVE_SLOT_PREFIX, strlen(MOVE_SLOT_PREFIX)) == 0;
}

/* LogicalOutputPluginInit */
void
_PG_output_plugin_init(OutputPluginCallbacks *callbacks)
{
	load_wrapped_plugin() (callbacks);
	if (is_move_slot())
		return;
	wrapped_plugin = *callbacks;
	if (decoded_context == NULL)
		decoded_context = AllocSetContextCreate(TopMemoryContext, "citus decoded change", ALLOCSET_DEFAULT_SIZES);
	callbacks->change_cb = decoder_change;
	callbacks->filter_by_origin_cb = decoder_filter_by_origin;
	if (callbacks->truncate_cb != NULL)
		callbacks->truncate_cb = decoder_truncate;
	if (callbacks->stream_change_cb != NULL)
		callbacks->stream_change_cb = decoder_stream_change;
	if (callbacks->stream_truncate_cb != NULL)
		callbacks->stream_truncate_cb = decoder_stream_truncate;
}

/* Whether this session serves a subscriber other than that of a move. */
static bool
serves_subscriber(void)
{
	return am_walsender &&
		(application_name == NULL || strncmp(application_name, MOVE_SUBSCRIPTION_PREFIX, strlen(MOVE_SUBSCRIPTION_PREFIX)) != 0);
}

void
decoder_init(void)
{
	DefineCustomBoolVariable("citus.enable_change_data_capture",
							 "Has output plugins publish changes of shards as changes of their tables.",
							 NULL,
							 &enable_change_data_capture, false, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	if (!enable_change_data_capture)
		return;
	hide_shards_from_subscriber = serves_subscriber;
	SetConfigOption("dynamic_library_path", psprintf(DECODERS ":%s", Dynamic_library_path), PGC_POSTMASTER,
					PGC_S_OVERRIDE);
}
