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
bool
node_query_all(const char *sql, NodeRowCallback callback, void *arg)
{
	List	   *nodes = node_active_primaries_remote();
	int			timeout = remote_connection_timeout();
	int			part = Max(timeout / Max(list_length(nodes), 1), Min(timeout, LEAST_PART_MS));
	int			level = exact_names_begin();
	bool		complete = true;

	query_here(metadata_local_group(), sql, callback, arg);
	(void) set_config_option("citus.node_connection_timeout", psprintf("%dms", part), PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	foreach_ptr(ClusterNode, node, nodes)
	{
		NodeQuery	query = {node->groupid, sql, part, callback, arg};

		if (!query_if_reachable(&query))
			complete = false;
	}
	AtEOXact_GUC(true, level);
	return complete;
}
