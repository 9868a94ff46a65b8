/*-------------------------------------------------------------------------
 *
 * convert_metadata.c
 *	  The metadata of a table, as commands for another node, and the locks of
 *	  colocation groups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/relations.h"
#include "compat/sql_function.h"
#include "conversion/convert_metadata.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/definition.h"

SQL_FUNCTION(citus_internal_lock_colocation);
SQL_FUNCTION(citus_internal_try_lock_colocation);

/*
 * One query per command that table_metadata_commands gives; $1 is the table.
 */
static const char *const metadata_queries[] = {
	"SELECT pg_catalog.format('SELECT citus_internal.add_colocation_metadata(%s, %s, %s, %s, %s)', "
	"c.colocationid, c.shardcount, c.replicationfactor, "
	"CASE WHEN c.distributioncolumntype = 0 THEN '0' "
	"ELSE pg_catalog.quote_literal(c.distributioncolumntype::pg_catalog.regtype) || '::pg_catalog.regtype' END, "
	"CASE WHEN c.distributioncolumncollation = 0 THEN '0' "
	"ELSE pg_catalog.quote_literal(c.distributioncolumncollation::pg_catalog.regcollation) || "
	"'::pg_catalog.regcollation' END) "
	"FROM pg_catalog.pg_dist_partition p JOIN pg_catalog.pg_dist_colocation c USING (colocationid) "
	"WHERE p.logicalrelid = $1",

	"SELECT pg_catalog.format('SELECT citus_internal.add_partition_metadata(%L, %L, %L, %s, %L)', "
	"p.logicalrelid, p.partmethod, pg_catalog.column_to_column_name(p.logicalrelid, p.partkey), p.colocationid, "
	"p.repmodel) FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1",

	"SELECT pg_catalog.format('SELECT citus_internal.add_shard_metadata(%L, id, %L, low, high) FROM (VALUES %s) "
	"s (id, low, high)', s.logicalrelid, s.shardstorage, pg_catalog.string_agg(pg_catalog.format("
	"'(%L::pg_catalog.int8, %L::pg_catalog.text, %L::pg_catalog.text)', s.shardid, s.shardminvalue, "
	"s.shardmaxvalue), ', ' ORDER BY s.shardid)) "
	"FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = $1 AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_placement "
	"p WHERE p.shardid = s.shardid HAVING pg_catalog.count(*) > 0 AND NOT pg_catalog.bool_or(p.shardstate = 1)) "
	"GROUP BY s.logicalrelid, s.shardstorage",

	"SELECT pg_catalog.format('SELECT citus_internal.add_placement_metadata(shard, length, node, id) FROM (VALUES "
	"%s) p (shard, length, node, id)', pg_catalog.string_agg(pg_catalog.format("
	"'(%L::pg_catalog.int8, %L::pg_catalog.int8, %L::pg_catalog.int4, %L::pg_catalog.int8)', "
	"p.shardid, p.shardlength, p.groupid, p.placementid), ', ' ORDER BY p.placementid)) "
	"FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid) "
	"WHERE s.logicalrelid = $1 AND p.shardstate = 1 HAVING pg_catalog.count(*) > 0",
};

/*
 * Sessions of all nodes meet on the coordinator.  A transaction that has made
 * or dropped a group, and whose commit has yet to come here, keeps its lock on
 * pg_dist_colocation until then.
 */
void
colocation_lock(void)
{
	if (metadata_local_group() != COORDINATOR_GROUP)
		remote_exec(COORDINATOR_GROUP, "SELECT citus_internal.lock_colocation()");
	LockRelationOid(dist_relid(PG_DIST_COLOCATION), ShareRowExclusiveLock);
}

bool
colocation_try_lock(bool everywhere)
{
	if (everywhere && metadata_local_group() != COORDINATOR_GROUP &&
		!remote_is_true(remote_query(COORDINATOR_GROUP, "SELECT citus_internal.try_lock_colocation()", NULL)))
		return false;
	return ConditionalLockRelationOid(dist_relid(PG_DIST_COLOCATION), RowExclusiveLock);
}

/* citus_internal.try_lock_colocation() */
Datum
citus_internal_try_lock_colocation(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	PG_RETURN_BOOL(colocation_try_lock(false));
}

/* citus_internal.lock_colocation() */
Datum
citus_internal_lock_colocation(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	LockRelationOid(dist_relid(PG_DIST_COLOCATION), ShareRowExclusiveLock);
	PG_RETURN_VOID();
}

void
delete_empty_group(int32 colocation_id, bool everywhere)
{
	if (colocation_id == 0 || !colocation_try_lock(everywhere))
		return;
	metadata_delete_colocation(colocation_id);
	if (everywhere && node_active_primaries_remote() != NIL)
		remote_exec_on_all(node_call(NODE_delete_colocation_metadata, node_int(colocation_id)));
}

List *
table_metadata_commands(Oid relid)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			type = REGCLASSOID;
	Datum		value = ObjectIdGetDatum(relid);
	List	   *commands = NIL;
	Definition *def = definition_begin(relid, false);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < lengthof(metadata_queries); i++)
	{
		if (SPI_execute_with_args(metadata_queries[i], 1, &type, &value, NULL, false, 0) != SPI_OK_SELECT)
			elog(ERROR, "could not read the metadata of relation %u", relid);
		commands = spi_texts(commands, context);
	}
	SPI_finish();
	(void) definition_end(def);
	return commands;
}
