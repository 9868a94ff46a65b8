/*-------------------------------------------------------------------------
 *
 * node_query.c
 *	  The same read-only query on several nodes.
 *
 * Answers come as text, whether from SPI or from a connection, so that a
 * caller has one way to read them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/guc.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "lib/catch_error.h"
#include "lib/exact_text.h"
#include "lib/spi_query.h"
#include "lib/subtransaction.h"
#include "remote/connection.h"
#include "cluster/node_query.h"

#define LEAST_PART_MS 1000

List *
node_groups(void)
{
	List	   *groups = NIL;

	foreach_ptr(ClusterNode, node, node_active_primaries())
		groups = lappend_int(groups, node->groupid);
	return groups != NIL ? groups : list_make1_int(metadata_local_group());
}

static void
query_here(int32 groupid, const char *sql, NodeRowCallback callback, void *arg)
{
	int			ncolumns;

	foreach_ptr(SpiText, values, spi_rows(sql, &ncolumns))
		callback(groupid, ncolumns, values, arg);
}

static void
query_there(int32 groupid, const char *sql, long timeout, NodeRowCallback callback, void *arg)
{
	RemoteResult *result = remote_read_within(groupid, sql, NULL, timeout);

	for (int row = 0; row < result->nrows; row++)
		callback(groupid, result->ncolumns, &result->values[row * result->ncolumns], arg);
}

void
node_query(int32 groupid, const char *sql, NodeRowCallback callback, void *arg)
{
	int			nest = exact_names_begin();

	if (groupid == metadata_local_group())
		query_here(groupid, sql, callback, arg);
	else
		query_there(groupid, sql, -1, callback, arg);
	AtEOXact_GUC(true, nest);
}

/* Arguments of query_there. */
typedef struct NodeQuery
{
	int32		groupid;
	const char *sql;
	long		timeout;
	NodeRowCallback callback;
	void	   *arg;
} NodeQuery;

static bool
run_node_query(void *arg)
{
	const NodeQuery *query = arg;

	query_there(query->groupid, query->sql, query->timeout, query->callback, query->arg);
	return true;
}

/*
 * Catches the connection's failure in a subtransaction, so that the
 * transaction can continue.
 */
static bool
query_if_reachable(NodeQuery *query)
{
	ErrorData  *error;

	if (subtransaction_run(run_node_query, query, &error))
		return true;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_CONNECTION_EXCEPTION)
		catch_rethrow(error);
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg_internal("%s", error->message),
			 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0));
	return false;
}

/*
 * Nodes are asked one after the other.  Each has an equal part of
 * citus.node_connection_timeout, to connect and again to answer, but no less
 * than LEAST_PART_MS.
 */
List *
node_query_groups(List *groups, const char *sql, NodeRowCallback callback, void *arg)
{
	int			timeout = remote_connection_timeout();
	int			nodes = list_length(groups) - list_member_int(groups, metadata_local_group());
	int			part = Max(timeout / Max(nodes, 1), Min(timeout, LEAST_PART_MS));
	int			level = exact_names_begin();
	List	   *skipped = NIL;

	if (list_member_int(groups, metadata_local_group()))
		query_here(metadata_local_group(), sql, callback, arg);
	(void) set_config_option("citus.node_connection_timeout", psprintf("%dms", part), PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	foreach_int(groupid, groups)
	{
		NodeQuery	query = {groupid, sql, part, callback, arg};

		if (groupid != metadata_local_group() && !query_if_reachable(&query))
			skipped = lappend_int(skipped, groupid);
	}
	AtEOXact_GUC(true, level);
	return skipped;
}

bool
node_query_all(const char *sql, NodeRowCallback callback, void *arg)
{
	List	   *groups = list_make1_int(metadata_local_group());

	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
		groups = lappend_int(groups, node->groupid);
	return node_query_groups(groups, sql, callback, arg) == NIL;
}
