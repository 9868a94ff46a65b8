/*-------------------------------------------------------------------------
 *
 * target.c
 *	  A move: the target node's part.
 *
 * The old node copies the rows of a slot's snapshot.  After these have been
 * indexed, the server's logical replication applies later changes, from that
 * slot.
 *
 * An apply worker runs as the subscription's owner, and so do functions in
 * index expressions and constraints.  The server allows only superusers to own
 * subscriptions; here the owner is a role that has the rights of the tables'
 * owner and no others.  (The tables' owner itself may lack the LOGIN right
 * that workers need.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_subscription.h"
#include "commands/subscriptioncmds.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/apply_worker.h"
#include "compat/logical_message.h"
#include "compat/sql_function.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "rebalance/drive.h"
#include "rebalance/move.h"
#include "remote/connection.h"
#include "sharding/hash.h"
#include "table/key_names.h"
#include "table/run_commands.h"
#include "table/shards.h"

SQL_FUNCTION(citus_internal_make_shard_copies);
SQL_FUNCTION(citus_internal_index_shard_copies);
SQL_FUNCTION(citus_internal_complete_shard_copies);
SQL_FUNCTION(citus_internal_move_subscribe);
SQL_FUNCTION(citus_internal_move_launch);
SQL_FUNCTION(citus_internal_move_flush);

/*
 * The definition of the tables whose shards this session has made copies of,
 * as of then; in TopMemoryContext.
 */
static char *copied_definition = NULL;

/*
 * Calls a function for each table (Oid) of a colocation group with its shard
 * of that range.
 */
static void
for_each_shard(FunctionCallInfo fcinfo, List *tables, void (*what) (const DistTable *table, const ShardInfo *shard))
{
	HashRange	range = {PG_GETARG_INT32(1), PG_GETARG_INT32(2)};

	foreach_oid(relid, tables)
	{
		const DistTable *table = drive_require_table(relid);
		const ShardInfo *shard = shard_of_range(table, range);

		if (shard == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" has no shard for the hash values from %d to %d",
							get_rel_name(table->relid), range.min, range.max)));
		what(table, shard);
	}
}

static List *arriving_shards;	/* their ids (int64 *) */

static void
add_arriving(const DistTable *table, const ShardInfo *shard)
{
	int64	   *shardid = palloc(sizeof(int64));

	*shardid = shard->shardid;
	arriving_shards = lappend(arriving_shards, shardid);
}

/*
 * Blocks clean-up after the operation until the transaction ends: a session
 * that is late must not touch the copies of a later operation.  The tables are
 * locked before, as DROP locks them before it deletes their metadata.
 */
static void
lock_arriving(FunctionCallInfo fcinfo, List *tables)
{
	arriving_shards = NIL;
	for_each_shard(fcinfo, tables, add_arriving);
	cleanup_lock_arrivals(arriving_shards, PG_GETARG_INT64(3));
}

/*
 * citus_internal.make_shard_copies(colocation_id integer, min_hash integer,
 * max_hash integer, operation bigint)
 */
Datum
citus_internal_make_shard_copies(PG_FUNCTION_ARGS)
{
	int			colocation_id = PG_GETARG_INT32(0);
	List	   *tables;

	node_function_check_superuser(fcinfo);
	tables = move_present_tables(colocation_id);
	lock_arriving(fcinfo, tables);
	for_each_shard(fcinfo, tables, shard_create_copy);
	if (copied_definition != NULL)
		pfree(copied_definition);
	copied_definition = MemoryContextStrdup(TopMemoryContext, move_definition(colocation_id));
	DEBUG_POINT("target-copies-made");
	PG_RETURN_VOID();
}

static List *
reversed_list(const List *list)
{
	List	   *result = NIL;

	for (int i = list_length(list) - 1; i >= 0; i--)
		result = lappend_oid(result, list_nth_oid(list, i));
	return result;
}

/*
 * citus_internal.index_shard_copies(colocation_id integer, min_hash integer,
 * max_hash integer, operation bigint)
 *
 * Called in the session that has made the copies, after these got their rows.
 */
Datum
citus_internal_index_shard_copies(PG_FUNCTION_ARGS)
{
	List	   *tables;

	node_function_check_superuser(fcinfo);
	tables = move_present_tables(PG_GETARG_INT32(0));
	if (copied_definition == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this session has not made copies of shards")));
	lock_arriving(fcinfo, tables);
	move_check_definition(PG_GETARG_INT32(0), copied_definition);
	for_each_shard(fcinfo, reversed_list(tables), shard_index_copy);
	foreach_oid(relid, tables)
		name_indexes_of_partitions(relid);
	PG_RETURN_VOID();
}

/*
 * citus_internal.complete_shard_copies(colocation_id integer, min_hash
 * integer, max_hash integer, operation bigint)
 */
Datum
citus_internal_complete_shard_copies(PG_FUNCTION_ARGS)
{
	List	   *tables;

	node_function_check_superuser(fcinfo);
	tables = move_present_tables(PG_GETARG_INT32(0));
	lock_arriving(fcinfo, tables);
	for_each_shard(fcinfo, tables, shard_add_known_foreign_keys);
	for_each_shard(fcinfo, tables, name_keys_of_shard);
	PG_RETURN_VOID();
}

/* Makes the role the owner of a subscription. */
static void
give_subscription(const char *name, Oid owner)
{
	Relation	rel = table_open(SubscriptionRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy2(SUBSCRIPTIONNAME, ObjectIdGetDatum(MyDatabaseId), CStringGetDatum(name));
	Form_pg_subscription form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for subscription %s", name);
	form = (Form_pg_subscription) GETSTRUCT(tuple);
	form->subowner = owner;
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	changeDependencyOnOwner(SubscriptionRelationId, form->oid, owner);
	table_close(rel, NoLock);
}

/* The connection string to another node, with the password if there is one. */
static char *
target_conninfo(int32 groupid)
{
	const ClusterNode *node = node_of_group(groupid);
	char	   *password;
	char	   *conninfo = remote_conninfo(node->host, node->port, &password);

	return password == NULL ? conninfo : psprintf("%s password=%s", conninfo, quote_literal_cstr(password));
}

/*
 * Runs the commands that create a subscription.  Removes the context of their
 * errors, which would contain the connection string with its password.
 * Changes the SQLSTATE if the publisher is lost after the connection was made,
 * which the server reports as an internal error, so that a job retries.
 */
static void
run_subscribing(List *commands)
{
	const CatchPoint point = catch_point();

	PG_TRY();
	{
		run_commands(commands);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		error->context = NULL;
		if (error->sqlerrcode == ERRCODE_INTERNAL_ERROR)
			error->sqlerrcode = ERRCODE_CONNECTION_FAILURE;
		catch_rethrow(error);
	}
	PG_END_TRY();
}

/*
 * citus_internal.move_subscribe(colocation_id integer, min_hash integer,
 *		max_hash integer, operation bigint, subscription text,
 *		source_group integer, publication text, slot text, owner name,
 *		role name)
 */
Datum
citus_internal_move_subscribe(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(4));
	const char *role = NameStr(*PG_GETARG_NAME(9));
	char	   *make_role;
	char	   *subscribe;

	node_function_check_superuser(fcinfo);
	lock_arriving(fcinfo, move_present_tables(PG_GETARG_INT32(0)));
	make_role = psprintf("CREATE ROLE %s LOGIN IN ROLE %s", quote_identifier(role),
						 quote_identifier(NameStr(*PG_GETARG_NAME(8))));
	subscribe = psprintf("CREATE SUBSCRIPTION %s CONNECTION %s PUBLICATION %s "
						 "WITH (create_slot = false, slot_name = %s, copy_data = false, binary = false"
						 COMPAT_RUNS_AS_OWNER ")",
						 quote_identifier(name), quote_literal_cstr(target_conninfo(PG_GETARG_INT32(5))),
						 quote_identifier(text_to_cstring(PG_GETARG_TEXT_PP(6))),
						 quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(7))));
	run_subscribing(list_make2(make_role, subscribe));
	give_subscription(name, get_role_oid(role, false));
	DEBUG_POINT("target-subscribed");
	PG_RETURN_VOID();
}

/*
 * citus_internal.move_launch(subscription text): starts its worker now, which
 * the server itself does with a delay.
 */
Datum
citus_internal_move_launch(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	HeapTuple	tuple = SearchSysCache2(SUBSCRIPTIONNAME, ObjectIdGetDatum(MyDatabaseId), CStringGetDatum(name));

	node_function_check_superuser(fcinfo);
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for subscription %s", name);
	compat_launch_apply_worker(((Form_pg_subscription) GETSTRUCT(tuple))->oid, name,
							   ((Form_pg_subscription) GETSTRUCT(tuple))->subowner);
	ReleaseSysCache(tuple);
	PG_RETURN_VOID();
}

/*
 * citus_internal.move_flush(subscription text): makes its worker report soon
 * that it has applied all changes, if it has.  As long as a change that it has
 * committed is not flushed, it reports only the last such change, and looks
 * for that every wal_writer_delay.
 */
Datum
citus_internal_move_flush(PG_FUNCTION_ARGS)
{
	Oid			subscription = get_subscription_oid(text_to_cstring(PG_GETARG_TEXT_PP(0)), false);

	node_function_check_superuser(fcinfo);
	(void) compat_log_mark();
	logicalrep_worker_wakeup(WORKERTYPE_APPLY, subscription, InvalidOid);
	PG_RETURN_VOID();
}
