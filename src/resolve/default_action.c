/*-------------------------------------------------------------------------
 *
 * default_action.c
 *	  Foreign keys of shards that set columns to their defaults.
 *
 * A foreign key with ON DELETE or ON UPDATE SET DEFAULT updates the shard by
 * a statement of the server's own, SET column = DEFAULT.  Columns of shards
 * have no defaults, the logical table's have.  So each DEFAULT in that
 * statement is replaced with the logical table's expression before the
 * rewriter looks for the shard's.
 *
 * The server keeps the statement's plan for the session, and plans anew when
 * the shard changes.  ALTER TABLE tells it so where only the logical table
 * changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/dist_table.h"
#include "remote/shard_names.h"
#include "resolve/default_action.h"

void
default_action_fill(Query *query)
{
	Oid			shard = rt_fetch(query->resultRelation, query->rtable)->relid;
	Oid			relid;
	Relation	rel;

	if (get_rel_namespace(shard) != get_namespace_oid(SHARD_SCHEMA, true))
		return;
	relid = shard_name_table(get_rel_name(shard));
	if (!OidIsValid(relid))
		return;
	rel = table_open(relid, AccessShareLock);
	foreach_node(TargetEntry, entry, query->targetList)
	{
		Node	   *value = IsA(entry->expr, SetToDefault) ? build_column_default(rel, entry->resno) : NULL;

		if (value != NULL)
			entry->expr = (Expr *) value;
	}
	table_close(rel, AccessShareLock);
}

void
default_action_forget(List *shard_relids)
{
	foreach_oid(relid, shard_relids)
		CacheInvalidateRelcacheByRelid(relid);
}
