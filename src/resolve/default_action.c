/*-------------------------------------------------------------------------
 *
 * default_action.c
 *	  Foreign keys of shards that set columns to their defaults.
 *
 * A foreign key with ON DELETE or ON UPDATE SET DEFAULT updates the shard by a
 * statement of the server's own, SET column = DEFAULT.  Columns of shards have
 * no defaults, only the logical table's have.  So each DEFAULT in that
 * statement is replaced by the logical table's expression before the rewriter
 * looks for the shard's.  The server caches the statement's plan in the
 * session, and replans when the shard changes.  If only the logical table's
 * default changes, ALTER TABLE invalidates the shards.
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
