/*-------------------------------------------------------------------------
 *
 * node.c
 *	  Nodes and groups: cached rows of pg_dist_node, and this node's group.
 *
 * All of pg_dist_node is read at once and cached until the relation is
 * invalidated, which all changes of rows do (by C code, or by the trigger on
 * the table for plain SQL).  Lists that are returned to callers stay valid
 * until the end of the transaction.
 *
 * Locking: a session that relies on the set of nodes, or on a node's address,
 * until the end of its transaction calls node_share_set_local,
 * node_share_replicas_local or node_share_address_local first.  The locks for
 * changes of nodes are in cluster/node_locks.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_cache.h"
#include "catalog/relations.h"

#define DEFAULT_CLUSTER "default"
#define GROUP_UNKNOWN (-1)

/* The contents of pg_dist_node, in its own memory context. */
typedef struct NodeSet
{
	MemoryContext context;
	List	   *all;			/* ClusterNode, by groupid and nodeid */
	List	   *active;			/* active primaries */
	List	   *remote;			/* active primaries without this node */
} NodeSet;

char	   *node_local_hostname = NULL;

static NodeSet *node_set = NULL;
static bool nodes_stale = false;	/* invalidated while being read */
static int32 local_group = GROUP_UNKNOWN;
static bool local_group_stale = false;	/* invalidated while being read */

void
node_cache_invalidated(Oid relid, DistRelation catalog)
{
	if (!OidIsValid(relid) || catalog == PG_DIST_LOCAL_GROUP)
	{
		local_group_stale = true;
		local_group = GROUP_UNKNOWN;
	}

	if (!OidIsValid(relid) || catalog == PG_DIST_NODE || catalog == PG_DIST_LOCAL_GROUP)
	{
		nodes_stale = true;
		if (node_set != NULL)
		{
			metadata_let_go(node_set->context);
			node_set = NULL;
		}
	}
}

/* The metadata cache's callbacks serve the node cache too. */
void
node_init(void)
{
	DefineCustomStringVariable("citus.local_hostname",
							   "The name by which this server registers itself as a node.",
							   "It counts until citus_set_coordinator_host sets another one.",
							   &node_local_hostname, "localhost", PGC_SUSET, 0, NULL, NULL, NULL);
}

int32
metadata_local_group(void)
{
	Relation	relation;
	SysScanDesc scan;
	HeapTuple	tuple;
	int32		group = 0;

	if (local_group != GROUP_UNKNOWN)
		return local_group;
	if (!metadata_available())
		return 0;

	relation = table_open(dist_relid(PG_DIST_LOCAL_GROUP), AccessShareLock);
	local_group_stale = false;
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;

		group = DatumGetInt32(heap_getattr(tuple, 1, RelationGetDescr(relation), &isnull));
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);

	if (!local_group_stale)
		local_group = group;
	return group;
}

bool
metadata_was_worker(void)
{
	return local_group != GROUP_UNKNOWN && local_group != COORDINATOR_GROUP;
}

static int
compare_nodes(const ListCell *a, const ListCell *b)
{
	const ClusterNode *left = lfirst(a);
	const ClusterNode *right = lfirst(b);

	if (left->groupid != right->groupid)
		return left->groupid < right->groupid ? -1 : 1;
	return left->nodeid < right->nodeid ? -1 : left->nodeid > right->nodeid;
}

/* A row of pg_dist_node in CurrentMemoryContext. */
static ClusterNode *
read_node(HeapTuple tuple, TupleDesc desc, Oid primary, Oid secondary)
{
	ClusterNode *node = palloc0(sizeof(ClusterNode));
	Datum		values[Natts_node];
	bool		nulls[Natts_node];

	heap_deform_tuple(tuple, desc, values, nulls);
	node->nodeid = DatumGetInt32(values[Anum_node_nodeid - 1]);
	node->groupid = DatumGetInt32(values[Anum_node_groupid - 1]);
	node->host = TextDatumGetCString(values[Anum_node_nodename - 1]);
	node->port = DatumGetInt32(values[Anum_node_nodeport - 1]);
	node->is_active = DatumGetBool(values[Anum_node_isactive - 1]);
	node->has_metadata = DatumGetBool(values[Anum_node_hasmetadata - 1]);
	node->metadata_synced = DatumGetBool(values[Anum_node_metadatasynced - 1]);
	node->should_have_shards = DatumGetBool(values[Anum_node_shouldhaveshards - 1]);
	node->is_clone = DatumGetBool(values[Anum_node_nodeisclone - 1]);
	node->clone_of = DatumGetInt32(values[Anum_node_nodeprimarynodeid - 1]);
	node->is_primary = DatumGetObjectId(values[Anum_node_noderole - 1]) == primary;
	node->is_secondary = DatumGetObjectId(values[Anum_node_noderole - 1]) == secondary;
	node->cluster = pstrdup(NameStr(*DatumGetName(values[Anum_node_nodecluster - 1])));
	return node;
}

/* Oid of a value of noderole. */
static Oid
role_value(const char *name)
{
	Oid			type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
									   CStringGetDatum("noderole"), ObjectIdGetDatum(PG_CATALOG_NAMESPACE));

	return GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(type), CStringGetDatum(name));
}

/* Reads pg_dist_node. */
static NodeSet *
load_nodes(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "citus nodes", ALLOCSET_SMALL_SIZES);
	int32		own_group = metadata_local_group();
	Oid			primary = role_value("primary");
	Oid			secondary = role_value("secondary");
	MemoryContext old_context = MemoryContextSwitchTo(context);
	NodeSet    *set = palloc0(sizeof(NodeSet));
	Relation	relation;
	SysScanDesc scan;
	HeapTuple	tuple;

	relation = table_open(dist_relid(PG_DIST_NODE), AccessShareLock);
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		set->all = lappend(set->all, read_node(tuple, RelationGetDescr(relation), primary, secondary));
	systable_endscan(scan);
	table_close(relation, AccessShareLock);

	list_sort(set->all, compare_nodes);
	foreach_ptr(ClusterNode, node, set->all)
	{
		if (!node->is_primary || !node->is_active)
			continue;
		set->active = lappend(set->active, node);
		if (node->groupid != own_group)
			set->remote = lappend(set->remote, node);
	}
	MemoryContextSwitchTo(old_context);
	set->context = context;
	return set;
}

/* The present set of nodes; NULL without the extension. */
static NodeSet *
current_nodes(void)
{
	NodeSet    *set;

	if (node_set != NULL && IsTransactionState())
		return node_set;
	if (!metadata_available())
		return NULL;

	nodes_stale = false;
	set = load_nodes();
	if (CacheMemoryContext == NULL)
		CreateCacheMemoryContext();
	MemoryContextSetParent(set->context, CacheMemoryContext);
	if (nodes_stale)
		metadata_let_go(set->context);	/* valid for this caller only */
	else
		node_set = set;
	return set;
}

List *
node_all(void)
{
	NodeSet    *set = current_nodes();

	return set == NULL ? NIL : set->all;
}

List *
node_active_primaries(void)
{
	NodeSet    *set = current_nodes();

	return set == NULL ? NIL : set->active;
}

List *
node_active_primaries_remote(void)
{
	NodeSet    *set = current_nodes();

	return set == NULL ? NIL : set->remote;
}

ClusterNode *
node_at_address(const char *host, int32 port)
{
	foreach_ptr(ClusterNode, node, node_all())
		if (node->port == port && strcmp(node->host, host) == 0)
			return node;
	return NULL;
}

ClusterNode *
node_with_id(int32 nodeid)
{
	foreach_ptr(ClusterNode, node, node_all())
		if (node->nodeid == nodeid)
			return node;
	return NULL;
}

ClusterNode *
node_require_id(int32 nodeid)
{
	ClusterNode *node = node_with_id(nodeid);

	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node %d does not exist", nodeid),
				 errhint("The nodes of the cluster are listed in pg_dist_node.")));
	return node;
}

ClusterNode *
node_primary_of(int32 groupid)
{
	foreach_ptr(ClusterNode, node, node_all())
		if (node->groupid == groupid && node->is_primary)
			return node;
	return NULL;
}

bool
node_is_known(const char *host, int32 port)
{
	if (node_all() == NIL)
		return port == PostPortNumber && strcmp(host, node_local_hostname) == 0;
	return node_at_address(host, port) != NULL;
}

static const ClusterNode *
active_primary_of(int32 groupid)
{
	foreach_ptr(const ClusterNode, node, node_active_primaries())
		if (node->groupid == groupid)
			return node;
	return NULL;
}

/*
 * Other sessions see a commit shortly before its invalidation messages come.
 * So whoever reads a placement anew may see one on a node that the nodes read
 * before don't have; they are read again then.
 */
const ClusterNode *
node_of_group(int32 groupid)
{
	const ClusterNode *node = active_primary_of(groupid);
	const ClusterNode *inactive;

	if (likely(node != NULL))
		return node;
	node_cache_invalidated(InvalidOid, PG_DIST_NODE);
	node = active_primary_of(groupid);
	if (node != NULL)
		return node;

	inactive = node_primary_of(groupid);
	if (inactive != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node %s:%d is not active", inactive->host, inactive->port),
				 errhint("Activate it with citus_activate_node.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("no node has group %d", groupid)));
}

void
node_share_set_local(void)
{
	LockRelationOid(dist_relid(PG_DIST_NODE), RowExclusiveLock);
}

void
node_share_replicas_local(void)
{
	LockRelationOid(dist_relid(PG_DIST_NODE), RowShareLock);
}

/*
 * Each transaction that writes to a node locks it, so that must be cheap.
 * Only weak relation locks are: a backend stores them in its own slots instead
 * of the shared lock table (storage/lmgr/README, fast path locking).  So this
 * is a lock on a relation, whose number is the last that Oids could reach.
 */
static LOCKTAG
node_tag(int32 groupid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, NODE_LOCK_RELATION(groupid));
	return tag;
}

void
node_share_address_local(int32 groupid)
{
	LOCKTAG		tag = node_tag(groupid);

	/* after a wait, read what was changed meanwhile */
	if (LockAcquire(&tag, RowExclusiveLock, false, false) == LOCKACQUIRE_OK)
		AcceptInvalidationMessages();
}

void
node_exclude_address_local(int32 groupid)
{
	LOCKTAG		tag = node_tag(groupid);

	if (LockAcquire(&tag, ExclusiveLock, false, false) == LOCKACQUIRE_OK)
		AcceptInvalidationMessages();
}

void
node_await_address(int32 groupid)
{
	LOCKTAG		tag = node_tag(groupid);

	node_share_address_local(groupid);
	LockRelease(&tag, RowExclusiveLock, false);
}

/*
 * Adds this server to the empty pg_dist_node as the coordinator.  Any user's
 * first distributed table does that, so permissions are not asked for.
 */
static void
register_local_server(void)
{
	Datum		values[Natts_node];
	bool		nulls[Natts_node] = {false};
	NameData	cluster;
	Relation	relation;
	HeapTuple	tuple;

	/*
	 * Of two concurrent sessions, one waits, and then finds the other's row.
	 * This can't be a lock on pg_dist_node, since both may have called
	 * node_share_set_local.
	 */
	LockRelationOid(dist_relid(PG_DIST_LOCAL_GROUP), ExclusiveLock);
	relation = table_open(dist_relid(PG_DIST_NODE), RowExclusiveLock);
	if (node_all() == NIL)
	{
		namestrcpy(&cluster, DEFAULT_CLUSTER);
		values[Anum_node_nodeid - 1] = Int32GetDatum((int32) dist_next_id(PG_DIST_NODEID_SEQ));
		values[Anum_node_groupid - 1] = Int32GetDatum(metadata_local_group());
		values[Anum_node_nodename - 1] = CStringGetTextDatum(node_local_hostname);
		values[Anum_node_nodeport - 1] = Int32GetDatum(PostPortNumber);
		values[Anum_node_noderack - 1] = CStringGetTextDatum("default");
		values[Anum_node_hasmetadata - 1] = BoolGetDatum(true);
		values[Anum_node_isactive - 1] = BoolGetDatum(true);
		values[Anum_node_noderole - 1] = ObjectIdGetDatum(role_value("primary"));
		values[Anum_node_nodecluster - 1] = NameGetDatum(&cluster);
		values[Anum_node_metadatasynced - 1] = BoolGetDatum(true);
		values[Anum_node_shouldhaveshards - 1] = BoolGetDatum(true);
		values[Anum_node_nodeisclone - 1] = BoolGetDatum(false);
		values[Anum_node_nodeprimarynodeid - 1] = Int32GetDatum(0);

		tuple = heap_form_tuple(RelationGetDescr(relation), values, nulls);
		CatalogTupleInsert(relation, tuple);
		heap_freetuple(tuple);
		CacheInvalidateRelcacheByRelid(dist_relid(PG_DIST_NODE));
		CommandCounterIncrement();
	}
	table_close(relation, NoLock);
}

List *
node_shard_targets(void)
{
	List	   *targets = NIL;
	ClusterNode *local = NULL;

	if (node_all() == NIL)
		register_local_server();

	foreach_ptr(ClusterNode, node, node_active_primaries())
	{
		if (node->should_have_shards)
			targets = lappend(targets, node);
		if (node->groupid == metadata_local_group())
			local = node;
	}
	if (targets == NIL && local != NULL)
		targets = list_make1(local);
	if (targets == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no node can hold shards"),
				 errhint("Add nodes with citus_add_node, or set shouldhaveshards with citus_set_node_property.")));
	return targets;
}
