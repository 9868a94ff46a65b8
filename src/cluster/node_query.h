/*-------------------------------------------------------------------------
 *
 * node_query.h
 *	  The same read-only query on several nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_QUERY_H
#define CITUS_CLUSTER_NODE_QUERY_H

#include "postgres.h"

#include "compat/foreach.h"

/*
 * Groups (IntList) of the active nodes; this server's own if it is alone.
 */
extern List *node_groups(void);

/* Called for each row of the answer; values are text or NULL. */
typedef void (*NodeRowCallback) (int32 groupid, int ncolumns, char **values, void *arg);

/*
 * Runs a query on the node of a group, here through SPI or remotely within
 * the distributed transaction, so that it sees what this transaction has done.
 */
extern void node_query(int32 groupid, const char *sql, NodeRowCallback callback, void *arg);

/*
 * As above, on all active nodes.  Nodes that can't be reached, or don't
 * answer, are skipped with a warning, all within about
 * citus.node_connection_timeout; returns whether there were none.
 */
extern bool node_query_all(const char *sql, NodeRowCallback callback, void *arg);

/*
 * The same on the nodes of some groups (IntList), which may include this one;
 * returns the groups of those that are skipped.
 */
extern List *node_query_groups(List *groups, const char *sql, NodeRowCallback callback, void *arg);

#endif							/* CITUS_CLUSTER_NODE_QUERY_H */
