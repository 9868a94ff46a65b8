/*-------------------------------------------------------------------------
 *
 * replica_identity.c
 *	  Refuses UPDATE and DELETE of published tables without a replica identity.
 *
 * The server's executor refuses them at its start, since a subscriber could
 * not find the row, and replication would stop.  Here the executor sees
 * shards, which aren't part of publications.  So the check is made for the
 * logical table when the statement is planned; a new publication invalidates
 * the plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_publication.h"
#include "executor/executor.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "planner/replica_identity.h"

static bool
is_published(Relation rel, CmdType command)
{
	PublicationDesc published;

	RelationBuildPublicationDesc(rel, &published);
	return command == CMD_UPDATE ? published.pubactions.pubupdate : published.pubactions.pubdelete;
}

/* Checks a table, or the partitions of a published one. */
static void
check_replica_identity(Oid relid, CmdType command)
{
	Relation	rel = table_open(relid, NoLock);
	ListCell   *cell;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		CheckCmdReplicaIdentity(rel, command);
	else if (is_published(rel, command))
	{
		foreach(cell, find_all_inheritors(relid, AccessShareLock, NULL))
		{
			Relation	partition = table_open(lfirst_oid(cell), NoLock);

			CheckCmdReplicaIdentity(partition, command);
			table_close(partition, NoLock);
		}
	}
	table_close(rel, NoLock);
}

/* Whether a query may update or delete rows of its result relation. */
static bool
query_may_change(const Query *query, CmdType command)
{
	ListCell   *cell;

	if (query->commandType == CMD_INSERT)
		return command == CMD_UPDATE && query->onConflict != NULL && query->onConflict->action == ONCONFLICT_UPDATE;
	if (query->commandType != CMD_MERGE)
		return query->commandType == command;
	foreach(cell, query->mergeActionList)
	{
		if (lfirst_node(MergeAction, cell)->commandType == command)
			return true;
	}
	return false;
}

void
replica_identity_check(Query *query)
{
	const CmdType commands[] = {CMD_UPDATE, CMD_DELETE};
	ListCell   *cell;

	for (int i = 0; i < lengthof(commands) && query->resultRelation != 0; i++)
	{
		Oid			relid = rt_fetch(query->resultRelation, query->rtable)->relid;
		const DistTable *table = query_may_change(query, commands[i]) ? metadata_lookup(relid) : NULL;

		if (table != NULL && table->kind != DIST_REFERENCE)
			check_replica_identity(relid, commands[i]);
	}
	if (!query->hasModifyingCTE)
		return;
	foreach(cell, query->cteList)
		replica_identity_check((Query *) ((CommonTableExpr *) lfirst(cell))->ctequery);
}
