/*-------------------------------------------------------------------------
 *
 * extension_drop.c
 *	  Whether the extension may be dropped.
 *
 * Without its catalogs, the rows in shards would be lost.  DROP EXTENSION is
 * refused before the server looks for dependent objects, since it would list
 * the shards, with a hint to drop them.  The catalogs are checked again when
 * they are dropped, after the server has locked them against writers.
 *
 * With CASCADE, on the coordinator, all rows are first moved back to this
 * server, and the other nodes leave the cluster.  That is committed, whether
 * the extension can then be dropped or not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "ddl/extension_drop.h"

/* Rows that keep the extension from being dropped. */
static const struct
{
	const char *relation;
	int			allowed;		/* number of rows that don't */
	const char *detail;
	const char *hint;
}			extension_needs[] = {
	{"pg_dist_partition", 0, gettext_noop("There are distributed or reference tables."),
	gettext_noop("Drop them, or make them local tables with undistribute_table(), first; CASCADE does so on the coordinator.")},
	{"pg_dist_node", 1, gettext_noop("The server is a node of a cluster."),
	gettext_noop("Use citus_remove_node() on the coordinator first.")},
};

/* Whether a relation has more rows than extension_needs allows. */
static bool
has_needed_rows(int needed)
{
	return list_length(catalog_rows(extension_needs[needed].relation, NULL, NULL)) > extension_needs[needed].allowed;
}

static void
check_needed_rows(int needed)
{
	if (has_needed_rows(needed))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop extension \"citus\" because this database needs it"),
				 errdetail("%s", _(extension_needs[needed].detail)),
				 errhint("%s", _(extension_needs[needed].hint))));
}

/*
 * Makes this server the only node, with local tables only.  Runs in a separate
 * transaction before the drop, since a commit on several nodes needs the
 * extension's catalogs.
 */
static void
dissolve_cluster(bool top_level)
{
	bool		needed = false;

	if (!superuser() || !metadata_available() || metadata_local_group() != COORDINATOR_GROUP)
		return;
	for (int i = 0; i < lengthof(extension_needs); i++)
		needed |= has_needed_rows(i);
	if (!needed)
		return;
	PreventInTransactionBlock(top_level, "DROP EXTENSION citus CASCADE");
	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute("SELECT citus_internal.run_apart('SELECT citus_internal.dissolve_cluster()')", false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not dissolve the cluster");
	SPI_finish();
}

void
extension_prepare_drop(const DropStmt *stmt, bool top_level)
{
	ListCell   *cell;

	foreach(cell, stmt->removeType == OBJECT_EXTENSION ? stmt->objects : NIL)
	{
		if (strcmp(strVal(lfirst(cell)), "citus") != 0)
			continue;
		if (stmt->behavior == DROP_CASCADE)
			dissolve_cluster(top_level);
		for (int i = 0; i < lengthof(extension_needs); i++)
			check_needed_rows(i);
	}
}

void
extension_check_relation(Oid relid)
{
	if (get_rel_namespace(relid) != PG_CATALOG_NAMESPACE)
		return;
	for (int i = 0; i < lengthof(extension_needs); i++)
	{
		if (strcmp(get_rel_name(relid), extension_needs[i].relation) == 0)
			check_needed_rows(i);
	}
}
