/*-------------------------------------------------------------------------
 *
 * discard_rows.c
 *	  Empties a table's storage, as TRUNCATE does, without its checks.
 *
 * TRUNCATE refuses a table that others reference by a foreign key.  The local
 * table of a distributed one may still be emptied, since its rows are in the
 * shards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "pgstat.h"

#include "compat/new_storage.h"
#include "conversion/discard_rows.h"

void
relation_discard_rows(Relation rel)
{
	ReindexParams params = {0};
	Oid			toast = rel->rd_rel->reltoastrelid;

	RelationSetNewRelfilenumber(rel, rel->rd_rel->relpersistence);
	if (OidIsValid(toast))
	{
		Relation	toast_rel = table_open(toast, AccessExclusiveLock);

		RelationSetNewRelfilenumber(toast_rel, toast_rel->rd_rel->relpersistence);
		table_close(toast_rel, NoLock);
	}
	reindex_relation(NULL, RelationGetRelid(rel), REINDEX_REL_PROCESS_TOAST, &params);
	pgstat_count_truncate(rel);
	CommandCounterIncrement();
}
