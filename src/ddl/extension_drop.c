/*-------------------------------------------------------------------------
 *
 * extension_drop.c
 *	  Whether the extension may be dropped.
 *
 * Without its catalogs, what is in shards would be lost.  DROP EXTENSION is
 * refused before the server looks for what depends on the extension: it would
 * list the shards, and say how to drop them.  The catalogs are looked at again
 * when they are dropped: then the server has locked them against writers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_namespace.h"
#include "utils/lsyscache.h"

#include "catalog/catalog_rows.h"
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
	gettext_noop("Drop them, or make them local tables with undistribute_table(), first.")},
	{"pg_dist_node", 1, gettext_noop("The server is a node of a cluster."),
	gettext_noop("Use citus_remove_node() on the coordinator first.")},
};

/* Errors if a relation has more rows than extension_needs says. */
static void
check_needed_rows(int needed)
{
	if (list_length(catalog_rows(extension_needs[needed].relation, NULL, NULL)) > extension_needs[needed].allowed)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop extension \"citus\" because this database needs it"),
				 errdetail("%s", _(extension_needs[needed].detail)),
				 errhint("%s", _(extension_needs[needed].hint))));
}

void
extension_check_drop(const DropStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->removeType == OBJECT_EXTENSION ? stmt->objects : NIL)
	{
		if (strcmp(strVal(lfirst(cell)), "citus") != 0)
			continue;
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
