/*-------------------------------------------------------------------------
 *
 * serializable.c
 *	  SERIALIZABLE transactions that use more than one node.
 *
 * Each node detects the read and write conflicts of SERIALIZABLE transactions
 * among the rows that it has.  A cycle of conflicts on different nodes (write
 * skew over two nodes) stays undetected.  So the first statement by which such
 * a transaction uses a second node warns or is refused
 * (citus.serializable_over_nodes).
 *
 * A node is used by tasks for its shards, by rows that are copied to it, and,
 * if it is the initiator, by statements about its local tables and its copies
 * of reference tables.  Temporary tables and catalogs don't count; nor does
 * DDL, which takes locks.  What a savepoint has used stays used after ROLLBACK
 * TO, as its reads still count for conflicts.
 *
 * The setting travels with tasks, for functions in them that use other nodes:
 * a session that another node has opened has used its own node already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "txn/dist_transaction.h"
#include "txn/serializable.h"

typedef enum OverNodes
{
	OVER_NODES_OFF,
	OVER_NODES_WARN,
	OVER_NODES_ERROR,
} OverNodes;

static int	serializable_over_nodes = OVER_NODES_WARN;

/* A node's address; palloc'd. */
static char *
node_in_words(int32 groupid)
{
	const ClusterNode *node = node_of_group(groupid);

	return psprintf("%s:%d", node->host, node->port);
}

static void
report_over_nodes(int32 first, int32 second)
{
	bool		refused = serializable_over_nodes == OVER_NODES_ERROR;

	ereport(refused ? ERROR : WARNING,
			(errcode(refused ? ERRCODE_FEATURE_NOT_SUPPORTED : ERRCODE_WARNING),
			 errmsg("a SERIALIZABLE transaction uses more than one node"),
			 errdetail("Conflicts are detected among rows of the same node, not between those of %s and %s.",
					   node_in_words(first), node_in_words(second)),
			 errhint("Lock the rows that it reads (FOR SHARE), or keep them on one node. "
					 "The setting \"citus.serializable_over_nodes\" (warn, error, off) decides what is done.")));
}

/* Whether a further node makes no difference. */
static inline bool
is_of_no_interest(void)
{
	return !IsolationIsSerializable() || serializable_over_nodes == OVER_NODES_OFF ||
		dist_transaction.over_nodes || IsParallelWorker();
}

void
serializable_uses(const Bitmapset *groups)
{
	int			first = dist_transaction.only_group;
	int			group = -1;

	if (is_of_no_interest())
		return;
	if (first == NO_GROUP && node_session())
		first = metadata_local_group();
	while ((group = bms_next_member(groups, group)) >= 0)
	{
		if (first == NO_GROUP)
			first = group;
		else if (first != group)
		{
			report_over_nodes(first, group);
			dist_transaction.over_nodes = true;
			return;
		}
	}
	dist_transaction.only_group = first;
}

void
serializable_uses_node(int32 groupid)
{
	Bitmapset  *groups;

	if (is_of_no_interest())
		return;
	groups = bms_make_singleton(groupid);
	serializable_uses(groups);
	bms_free(groups);
}

/* Whether the rows that this node has of a relation can be in conflicts. */
static bool
has_conflicts_here(Relation rel)
{
	const DistTable *table;

	if (RelationGetNamespace(rel) == PG_CATALOG_NAMESPACE || RelationUsesLocalBuffers(rel))
		return false;
	table = metadata_lookup(RelationGetRelid(rel));
	return table == NULL || table->kind == DIST_REFERENCE;
}

void
serializable_runs_here(const EState *estate)
{
	if (is_of_no_interest() || !metadata_available())
		return;
	for (Index i = 0; i < estate->es_range_table_size; i++)
	{
		if (estate->es_relations[i] != NULL && has_conflicts_here(estate->es_relations[i]))
		{
			serializable_uses_node(metadata_local_group());
			return;
		}
	}
}

void
serializable_init(void)
{
	static const struct config_enum_entry choices[] = {
		{"off", OVER_NODES_OFF, false},
		{"warn", OVER_NODES_WARN, false},
		{"error", OVER_NODES_ERROR, false},
		{NULL, 0, false},
	};

	DefineCustomEnumVariable("citus.serializable_over_nodes",
							 "What is done when a SERIALIZABLE transaction uses a second node.",
							 "Conflicts between such transactions are detected on each node only.",
							 &serializable_over_nodes, OVER_NODES_WARN, choices, PGC_USERSET, 0, NULL, NULL, NULL);
}
