/*-------------------------------------------------------------------------
 *
 * follower.c
 *	  Reads on standbys of the nodes.
 *
 * With citus.use_secondary_nodes = always, a session's tasks for other nodes
 * go to standbys that are registered as their secondaries
 * (citus_add_secondary_node), in the cluster citus.cluster_name.  A session
 * chooses one of several by its process id, and so keeps its connections.
 *
 * A standby shows the transactions that it has replayed.  Standbys of two
 * nodes may be at different times, and a standby has no commit ring, so
 * statements over several nodes have no common snapshot
 * (src/txn/SNAPSHOTS.md): of a transaction over several nodes, they may see a
 * part.  What bounds that is citus.max_follower_staleness: a standby refuses a
 * task if the last commit that it has replayed is older.  So that an idle
 * node's standby isn't taken for one that has fallen behind, the maintenance
 * worker of a node that has secondaries commits an empty transaction each
 * second.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "catalog/follower.h"
#include "catalog/metadata.h"

/* Milliseconds between two marks, and between looks for secondaries. */
#define MARK_MS 1000
#define LOOK_FOR_SECONDARIES_MS 10000

static const struct config_enum_entry use_options[] = {
	{"never", false, false},
	{"always", true, false},
	{NULL, 0, false}
};

static int	use_secondary_nodes = false;
static char *follower_cluster;
static int	max_follower_staleness = -1;

/* In the maintenance worker. */
static bool has_secondary = false;

bool
follower_reads(void)
{
	return use_secondary_nodes;
}

/* The secondaries of a group that sessions may use (List of ClusterNode *). */
static List *
followers_of_group(int32 groupid)
{
	List	   *found = NIL;

	foreach_ptr(ClusterNode, node, node_all())
		if (node->groupid == groupid && node->is_secondary && node->is_active && strcmp(node->cluster, follower_cluster) == 0)
			found = lappend(found, node);
	return found;
}

const ClusterNode *
follower_or_node_of_group(int32 groupid)
{
	List	   *found;

	if (likely(!use_secondary_nodes))
		return node_of_group(groupid);
	found = followers_of_group(groupid);
	if (found == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("node group %d has no secondary node in cluster \"%s\"", groupid, follower_cluster),
				 errhint("Add a standby by citus_add_secondary_node, or set citus.use_secondary_nodes to never.")));
	return list_nth(found, MyProcPid % list_length(found));
}

void
follower_refuse_write(void)
{
	if (unlikely(use_secondary_nodes))
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write while citus.use_secondary_nodes is always"),
				 errhint("Set citus.use_secondary_nodes to never.")));
}

void
follower_check_staleness(void)
{
	TimestampTz now;
	TimestampTz replayed;

	if (max_follower_staleness < 0 || !RecoveryInProgress())
		return;
	now = GetCurrentTimestamp();
	replayed = GetLatestXTime();
	if (TimestampDifferenceExceeds(replayed, now, max_follower_staleness))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this standby has fallen behind further than citus.max_follower_staleness allows"),
				 replayed == 0 ? errdetail("It has not yet replayed a transaction.") :
				 errdetail("The last transaction that it has replayed is %ld ms old.", TimestampDifferenceMilliseconds(replayed, now)),
				 errhint("Set citus.use_secondary_nodes to never, or citus.max_follower_staleness to a greater value.")));
}

void
follower_mark(void)
{
	has_secondary = false;
	foreach_ptr(const ClusterNode, node, node_all())
		has_secondary = has_secondary || (node->is_secondary && node->groupid == metadata_local_group());
	if (has_secondary)
		(void) GetCurrentTransactionId();
}

int
follower_mark_interval(void)
{
	return has_secondary ? MARK_MS : LOOK_FOR_SECONDARIES_MS;
}

void
follower_init(void)
{
	DefineCustomEnumVariable("citus.use_secondary_nodes",
							 "Reads shards of other nodes on their standbys.",
							 "always: on secondary nodes of the cluster citus.cluster_name, without a common snapshot of all nodes; the session can't write then.",
							 &use_secondary_nodes, false, use_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.cluster_name",
							   "The cluster of the secondary nodes that citus.use_secondary_nodes uses.",
							   "citus_add_secondary_node gives each to a cluster.",
							   &follower_cluster, "default", PGC_SU_BACKEND, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.max_follower_staleness",
							"Sets how old the last transaction may be that a standby has replayed, when it is read.",
							"By the clocks of both servers; a statement fails otherwise. Less than two seconds isn't useful. -1 means any age.",
							&max_follower_staleness, -1, -1, PG_INT32_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}
