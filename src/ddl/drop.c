/*-------------------------------------------------------------------------
 *
 * drop.c
 *	  DROP of distributed and reference tables, and of their dependent objects.
 *
 * A table can be dropped in many ways: DROP TABLE, DROP SCHEMA CASCADE, DROP
 * OWNED, ...  So the object access hook (object_access.c) records each
 * distributed table that is about to be dropped, with its shards, while it can
 * still be looked up.  At the end of the utility statement, metadata and
 * shards are dropped, and the other nodes drop the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "compat/fallthrough.h"
#include "conversion/convert_metadata.h"
#include "conversion/convert_checks.h"
#include "ddl/drop.h"
#include "ddl/extension_drop.h"
#include "ddl/handlers.h"
#include "ddl/index_concurrently.h"
#include "ddl/statistics.h"
#include "lib/run_as.h"
#include "lib/transaction_end.h"
#include "resolve/utility.h"
#include "table/definition.h"
#include "table/lock_everywhere.h"
#include "table/shards.h"
#include "table/table_definition.h"

typedef struct DroppedTable
{
	Oid			relid;
	char	   *name;			/* qualified and quoted */
	List	   *shards;			/* Oids of its shards on this node */
	bool		goes_with_other;	/* an extension, or the index that its rows
								 * are entries of: on all nodes */
} DroppedTable;

/* A trigger or policy. */
typedef struct DroppedRule
{
	Oid			relid;			/* its table */
	char	   *command;		/* that drops it on another node */
} DroppedRule;

/*
 * Tables dropped but not followed up (DroppedTable *), in
 * TopTransactionContext.
 */
static List *dropped_tables = NIL;

/*
 * Triggers and policies of distributed and reference tables, likewise
 * (DroppedRule *).
 */
static List *dropped_rules = NIL;

static void
forget_drops(void)
{
	dropped_tables = NIL;
	dropped_rules = NIL;
}

static void
forget_on_subabort(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_drops();
}

/* Discards the list if its transaction, or a subtransaction, aborts. */
static void
forget_with_transaction(void)
{
	static TransactionEnd end = {forget_drops};
	static bool registered = false;

	at_transaction_end(&end);
	if (!registered)
		RegisterSubXactCallback(forget_on_subabort, NULL);
	registered = true;
}

void
drop_note_table(Oid relid)
{
	const DistTable *table;
	MemoryContext old;
	DroppedTable *dropped;

	if (!metadata_available())
		return;
	table = metadata_find(relid);
	if (table == NULL)
		return;
	forget_with_transaction();
	old = MemoryContextSwitchTo(TopTransactionContext);
	dropped = palloc0(sizeof(DroppedTable));
	dropped->relid = relid;
	dropped->name = relation_qualified_name(relid);
	dropped->shards = local_relids_to_drop(table);
	dropped->goes_with_other = table_of_extension(relid) ||
		get_rel_namespace(relid) == get_namespace_oid(SHARD_SCHEMA, true);
	dropped_tables = lappend(dropped_tables, dropped);
	MemoryContextSwitchTo(old);
}

/*
 * Notes a trigger or policy of a table that is about to be dropped, if the
 * table is distributed.
 */
static void
note_drop_rule(const char *kind, Oid relid, const char *name)
{
	MemoryContext old;
	DroppedRule *dropped;

	if (metadata_find(relid) == NULL)
		return;
	forget_with_transaction();
	old = MemoryContextSwitchTo(TopTransactionContext);
	dropped = palloc(sizeof(DroppedRule));
	dropped->relid = relid;
	dropped->command = psprintf("DROP %s IF EXISTS %s ON %s", kind, quote_identifier(name),
								relation_qualified_name(relid));
	dropped_rules = lappend(dropped_rules, dropped);
	MemoryContextSwitchTo(old);
}

void
drop_note_rule(Oid classid, Oid oid)
{
	bool		is_trigger = (classid == TriggerRelationId);

	if (!metadata_available())
		return;
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(classid, is_trigger ? TriggerOidIndexId : PolicyOidIndexId,
													 is_trigger ? Anum_pg_trigger_oid : Anum_pg_policy_oid, oid))
	{
		Form_pg_trigger trigger = (Form_pg_trigger) GETSTRUCT(row->tuple);
		Form_pg_policy policy = (Form_pg_policy) GETSTRUCT(row->tuple);

		if (!is_trigger)
			note_drop_rule("POLICY", policy->polrelid, NameStr(policy->polname));
		/* a partition's clone is dropped with its trigger */
		else if (!trigger->tgisinternal && !OidIsValid(trigger->tgparentid))
			note_drop_rule("TRIGGER", trigger->tgrelid, NameStr(trigger->tgname));
	}
}

/* Whether the call's statement drops only what nothing depends on. */
static bool
drop_is_restricted(const UtilityCall *call)
{
	return IsA(call->pstmt->utilityStmt, DropStmt) &&
		castNode(DropStmt, call->pstmt->utilityStmt)->behavior == DROP_RESTRICT;
}

/*
 * Makes the other nodes drop triggers and policies, except those of tables
 * that were dropped with them.  A user who may drop an object may drop
 * everything that depends on it, so there the triggers and policies are
 * dropped with the rights of the table's owner.
 */
static void
relay_dropped_rules(UtilityCall *call, List *rules)
{
	bool		checked = false;

	if (!enable_ddl_propagation || call->relayed || node_active_primaries_remote() == NIL)
		return;
	foreach_ptr(DroppedRule, dropped, rules)
	{
		RunAs		caller;

		if (metadata_find(dropped->relid) == NULL)
			continue;
		if (!checked)
			utility_check_initiator(call);
		checked = true;
		caller = run_as_owner_begin(dropped->relid);
		utility_relay_text(call, dropped->command);
		run_as_end(caller);
	}
}

/* The locks that a DROP will take on this node. */
typedef struct LockNeed
{
	int			ntables;
	int			nshards;
	int64		nlocks;
} LockNeed;

/*
 * Adds a table's shards: for each, the row type and its array type are locked,
 * too, and its indexes, their constraints and its TOAST table.  Shards that
 * are already dropped are counted as well.
 */
static void
add_need(LockNeed *need, List *shards)
{
	Relation	shard = shards == NIL ? NULL : RelationIdGetRelation(linitial_oid(shards));
	int			nothers = 0;

	if (shard != NULL)
	{
		nothers = 2 * (list_length(RelationGetIndexList(shard)) + OidIsValid(shard->rd_rel->reltoastrelid));
		RelationClose(shard);
	}
	need->ntables++;
	need->nshards += list_length(shards);
	need->nlocks += (int64) list_length(shards) * (3 + nothers);
}

/*
 * Error context: a hint which setting to raise if there are too many shards
 * for the lock table.
 */
static void
add_lock_hint(void *arg)
{
	LockNeed   *need = arg;

	if (geterrcode() != ERRCODE_OUT_OF_MEMORY || need->nshards == 0)
		return;
	errhint("The statement drops %d distributed tables with %d shards here. Set max_locks_per_transaction "
			"to at least %d, or drop fewer tables at a time.", need->ntables, need->nshards,
			(int) (max_locks_per_xact + need->nlocks / (MaxBackends + max_prepared_xacts) + 1));
}

/* Drops the shards of all tables that are here. */
static void
drop_shards(List *tables)
{
	LockNeed	need = {0};
	ErrorContextCallback callback = {.previous = error_context_stack,.callback = add_lock_hint,.arg = &need};

	foreach_ptr(DroppedTable, dropped, tables)
		add_need(&need, dropped->shards);
	error_context_stack = &callback;
	foreach_ptr(DroppedTable, dropped, tables)
		drop_relations(dropped->shards);
	error_context_stack = callback.previous;
}

void
drop_follow_up(UtilityCall *call)
{
	List	   *tables = dropped_tables;
	List	   *rules = dropped_rules;
	List	   *groups = NIL;
	StringInfoData buf;

	if (tables == NIL && rules == NIL)
		return;
	forget_drops();
	if (!metadata_available())
		return;
	relay_dropped_rules(call, rules);
	if (tables == NIL)
		return;
	if (enable_ddl_propagation && node_active_primaries_remote() != NIL)
		utility_check_initiator(call);

	initStringInfo(&buf);
	foreach_ptr(DroppedTable, dropped, tables)
	{
		if (!dropped->goes_with_other)
			appendStringInfo(&buf, "%s%s", buf.len == 0 ? "" : ", ", dropped->name);
		groups = lappend_int(groups, metadata_delete_table(dropped->relid));
	}
	drop_shards(tables);
	if (call->relayed)
		return;
	if (enable_ddl_propagation && buf.len > 0)
		utility_relay_text(call, psprintf("DROP TABLE IF EXISTS %s%s", buf.data, drop_is_restricted(call) ? "" : " CASCADE"));
	foreach_int(groupid, groups)
		delete_empty_group(groupid, enable_ddl_propagation);
}

/*
 * DROP TABLE of a partition locks its partitioned table first; this does so on
 * all nodes.
 */
static void
lock_partitioned_table(UtilityCall *call, Node *object)
{
	Oid			relid = RangeVarGetRelid(makeRangeVarFromNameList(castNode(List, object)), NoLock, true);

	if (call->relayed || !OidIsValid(relid) || !get_rel_relispartition(relid) || metadata_find(relid) == NULL)
		return;
	utility_check_initiator(call);
	lock_others_everywhere(list_make1_oid(get_partition_parent(relid, true)), AccessExclusiveLock);
}

/*
 * The table that an object of a DROP belongs to, locked by utility_take_lock,
 * or NULL if it is not distributed.
 */
static const DistTable *
table_of_object(UtilityCall *call, Node *object)
{
	DropStmt   *stmt = castNode(DropStmt, call->pstmt->utilityStmt);
	List	   *names = IsA(object, List) ? (List *) object : NIL;

	switch (stmt->removeType)
	{
		case OBJECT_POLICY:
		case OBJECT_TRIGGER:
			names = list_truncate(list_copy(names), list_length(names) - 1);
			pg_fallthrough;
		case OBJECT_TABLE:
		case OBJECT_INDEX:
			return utility_table(call, makeRangeVarFromNameList(names),
								 stmt->concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock,
								 stmt->concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock);
		case OBJECT_STATISTIC_EXT:
			return utility_table_of_statistics(call, names, AccessExclusiveLock);
		default:
			return NULL;
	}
}

/*
 * Names of the shards' counterparts of an object of a table, as DROP lists
 * them: those on this node.  Former placements are locked first, since
 * clean-up may be dropping them.
 */
static List *
shard_objects(const DistTable *table, ObjectType type, List *names)
{
	List	   *result = NIL;

	if (type != OBJECT_TABLE && type != OBJECT_INDEX && type != OBJECT_STATISTIC_EXT)
		return NIL;
	foreach_ptr(const ShardInfo, shard, table->kind == DIST_REFERENCE ? NIL : local_shards_with_former(table))
	{
		RangeVar   *counterpart = shard_rangevar(strVal(llast(names)), shard->shardid);
		List	   *shard_names = list_make2(makeString(counterpart->schemaname), makeString(counterpart->relname));

		(void) RangeVarGetRelid(shard_rangevar(get_rel_name(table->relid), shard->shardid), AccessExclusiveLock, true);
		if (type == OBJECT_STATISTIC_EXT ? OidIsValid(get_statistics_object_oid(shard_names, true)) :
			OidIsValid(RangeVarGetRelid(counterpart, NoLock, true)))
			result = lappend(result, shard_names);
	}
	return result;
}

/*
 * Names of all such counterparts of the objects (ours) of a DROP; tables are
 * the Oids of the tables that they belong to, all of which are locked.  Shards
 * of one table may depend on another table of the statement, for instance on
 * its row type.  Shards of a single table are dropped after it, so that the
 * server reports only what depends on the table.
 */
static List *
all_shard_objects(const DropStmt *stmt, List *ours, List *tables)
{
	List	   *result = NIL;
	ListCell   *object;
	ListCell   *table;

	if (stmt->removeType == OBJECT_TABLE && list_length(stmt->objects) == 1)
		return NIL;
	forboth(object, ours, table, tables)
		result = list_concat(result, shard_objects(metadata_find(lfirst_oid(table)), stmt->removeType, lfirst(object)));
	return result;
}

/*
 * The kinds of objects that other nodes are told to drop, if they have them.
 */
static const struct
{
	ObjectType	type;
	const char *keyword;
}			kinds[] = {
	{OBJECT_INDEX, "INDEX"},
	{OBJECT_STATISTIC_EXT, "STATISTICS"},
};

/*
 * Name of a dropped object for the other nodes: as written, so their
 * search_path, which is ours, finds it.
 */
static char *
object_text(ObjectType type, Node *object)
{
	if (type == OBJECT_SCHEMA)
		return pstrdup(quote_identifier(strVal(object)));
	if (IsA(object, TypeName))
		return NameListToQuotedString(((TypeName *) object)->names);
	return NameListToQuotedString((List *) object);
}

/* DROP .. IF EXISTS of the objects listed. */
static char *
drop_text(const char *keyword, ObjectType type, List *objects, DropBehavior behavior)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	appendStringInfo(&buf, "DROP %s IF EXISTS ", keyword);
	foreach(cell, objects)
		appendStringInfo(&buf, "%s%s", foreach_current_index(cell) == 0 ? "" : ", ",
						 object_text(type, lfirst(cell)));
	appendStringInfoString(&buf, behavior == DROP_CASCADE ? " CASCADE" : "");
	return buf.data;
}

/*
 * The tables among the names of a relayed DROP TABLE IF EXISTS, and names that
 * mean nothing here.  What the initiator has dropped as a table can be a view
 * or type of the same name here, made while DDL wasn't propagated: it isn't
 * the table, so it stays, as a name that is missing is passed over.
 */
static List *
without_other_relations(List *objects)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, objects)
	{
		Oid			relid = RangeVarGetRelid(makeRangeVarFromNameList(lfirst(cell)), NoLock, true);
		char		kind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

		if (kind == '\0' || kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE)
			result = lappend(result, lfirst(cell));
	}
	return result;
}

/*
 * DROP SCHEMA .. CASCADE drops its tables one by one, on one node after the
 * other, each with its shards.  Moves of these, and other DDL, would be in the
 * middle of something, and could deadlock with it: so it locks all tables on
 * all nodes first, as DROP TABLE does.
 */
static void
lock_tables_of_schemas(UtilityCall *call)
{
	DropStmt   *stmt = castNode(DropStmt, call->pstmt->utilityStmt);
	List	   *tables;

	if (stmt->removeType != OBJECT_SCHEMA || stmt->behavior != DROP_CASCADE || call->relayed ||
		!enable_ddl_propagation || !metadata_available())
		return;
	tables = utility_schema_tables(stmt->objects);
	if (tables == NIL)
		return;
	utility_check_initiator(call);
	list_sort(tables, list_oid_cmp);
	lock_others_everywhere(tables, AccessExclusiveLock);
}

bool
drop_utility(UtilityCall *call)
{
	DropStmt   *stmt = castNode(DropStmt, call->pstmt->utilityStmt);
	List	   *ours = NIL;
	List	   *tables = NIL;
	ListCell   *cell;
	const char *keyword = NULL;
	LockNeed	need = {0};
	ErrorContextCallback callback = {.previous = error_context_stack,.callback = add_lock_hint,.arg = &need};

	if (call->relayed && stmt->removeType == OBJECT_TABLE && stmt->missing_ok)
	{
		stmt->objects = without_other_relations(stmt->objects);
		if (stmt->objects == NIL)
			return true;
	}
	lock_tables_of_schemas(call);
	extension_prepare_drop(stmt, call->context == PROCESS_UTILITY_TOPLEVEL);
	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (kinds[i].type == stmt->removeType)
			keyword = kinds[i].keyword;
	}
	foreach(cell, stmt->objects)
	{
		const DistTable *table;

		if (stmt->removeType == OBJECT_TABLE)
			lock_partitioned_table(call, lfirst(cell));
		table = table_of_object(call, lfirst(cell));

		if (table == NULL)
			continue;
		ours = lappend(ours, lfirst(cell));
		tables = lappend_oid(tables, table->relid);
		if (stmt->removeType == OBJECT_TABLE)
		{
			add_need(&need, local_relids_to_drop(table));
			if (!call->relayed)
				lock_others_everywhere(referenced_tables(table->relid, NULL, 0), AccessExclusiveLock);
		}
	}
	if (ours == NIL)
		return false;
	if (stmt->concurrent)
	{
		drop_index_concurrently(call, metadata_find(linitial_oid(tables)));
		return true;
	}
	error_context_stack = &callback;
	stmt->objects = list_concat(stmt->objects, all_shard_objects(stmt, ours, tables));
	utility_run(call);
	error_context_stack = callback.previous;
	if (stmt->removeType == OBJECT_TABLE)
	{
		CommandCounterIncrement();
		drop_follow_up(call);
	}
	if (keyword != NULL)
		utility_relay_text(call, drop_text(keyword, stmt->removeType, ours, stmt->behavior));
	return true;
}
