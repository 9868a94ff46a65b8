/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  Oids of the pg_dist_* relations, and whether the extension is there.
 *
 * The library is loaded into every backend of the server, also into those of
 * databases without the extension, and the extension may come and go while a
 * backend lives.  The Oids are looked up by name (a syscache probe each) when
 * they are not known, and forgotten with the relcache invalidation that any
 * change of these relations sends.  While the extension is absent, any
 * relcache invalidation may mean that it was created, so the first catalog's
 * name is looked up again: one probe of a negative syscache entry.
 *
 * No lock protects the Oids: opening one of the relations shows whether it
 * still exists.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "catalog/relations.h"

#define EXTENSION_NAME "citus"

typedef enum RelationsState
{
	RELATIONS_UNKNOWN,
	RELATIONS_ABSENT,
	RELATIONS_PRESENT,
} RelationsState;

static const char *const relation_names[DIST_RELATION_COUNT] = {
	[PG_DIST_PARTITION] = "pg_dist_partition",
	[PG_DIST_PARTITION_RELID_INDEX] = "pg_dist_partition_logical_relid_index",
	[PG_DIST_PARTITION_COLOCATION_INDEX] = "pg_dist_partition_colocationid_index",
	[PG_DIST_SHARD] = "pg_dist_shard",
	[PG_DIST_SHARD_SHARDID_INDEX] = "pg_dist_shard_shardid_index",
	[PG_DIST_SHARD_RELID_INDEX] = "pg_dist_shard_logical_relid_index",
	[PG_DIST_PLACEMENT] = "pg_dist_placement",
	[PG_DIST_PLACEMENT_SHARDID_INDEX] = "placement_shardid_groupid_unique_index",
	[PG_DIST_COLOCATION] = "pg_dist_colocation",
	[PG_DIST_COLOCATION_ID_INDEX] = "pg_dist_colocation_pkey",
	[PG_DIST_COLOCATION_CONFIGURATION_INDEX] = "pg_dist_colocation_configuration_index",
	[PG_DIST_NODE] = "pg_dist_node",
	[PG_DIST_OBJECT] = "pg_dist_object",
	[PG_DIST_LOCAL_GROUP] = "pg_dist_local_group",
	[PG_DIST_SHARDID_SEQ] = "pg_dist_shardid_seq",
	[PG_DIST_PLACEMENTID_SEQ] = "pg_dist_placement_placementid_seq",
	[PG_DIST_COLOCATIONID_SEQ] = "pg_dist_colocationid_seq",
	[PG_DIST_NODEID_SEQ] = "pg_dist_node_nodeid_seq",
	[PG_DIST_GROUPID_SEQ] = "pg_dist_groupid_seq",
	[PG_DIST_OPERATIONID_SEQ] = "pg_dist_operationid_seq",
	[PG_DIST_CLEANUP] = "pg_dist_cleanup",
	[PG_DIST_TENANT_LIMIT] = "pg_dist_tenant_limit",
	[PG_DIST_TENANT_LIMIT_INDEX] = "pg_dist_tenant_limit_pkey",
};

static RelationsState relations_state = RELATIONS_UNKNOWN;
static bool relations_invalidated;		/* since the look-up in progress
										 * began */
static Oid	relation_oids[DIST_RELATION_COUNT]; /* as last found */
static Oid	lowest_oid,
			highest_oid;		/* of relation_oids */

/*
 * Whether the script of our own extension is being run: the catalogs are then
 * incomplete.
 */
static bool
in_own_script(void)
{
	char	   *name;

	if (likely(!creating_extension))
		return false;

	name = get_extension_name(CurrentExtensionObject);
	return name == NULL || strcmp(name, EXTENSION_NAME) == 0;
}

/*
 * Looks all relations up by name.  The result is kept unless an invalidation
 * arrived meanwhile.
 */
static bool
look_up_relations(void)
{
	Oid			found[DIST_RELATION_COUNT];
	bool		present = true;

	relations_invalidated = false;
	for (int i = 0; i < DIST_RELATION_COUNT; i++)
	{
		Oid			relid = get_relname_relid(relation_names[i], PG_CATALOG_NAMESPACE);

		if (!OidIsValid(relid))
		{
			present = false;
			break;
		}
		found[i] = relid;
	}

	if (present)
	{
		memcpy(relation_oids, found, sizeof(found));
		lowest_oid = highest_oid = found[0];
		for (int i = 1; i < DIST_RELATION_COUNT; i++)
		{
			lowest_oid = Min(lowest_oid, found[i]);
			highest_oid = Max(highest_oid, found[i]);
		}
	}

	if (relations_invalidated)
		relations_state = RELATIONS_UNKNOWN;
	else
		relations_state = present ? RELATIONS_PRESENT : RELATIONS_ABSENT;
	return present;
}

bool
dist_relations_available(void)
{
	if (unlikely(in_own_script()))
		return false;
	if (likely(relations_state == RELATIONS_PRESENT))
		return true;
	if (relations_state == RELATIONS_ABSENT || IsBinaryUpgrade)
		return false;
	return look_up_relations();
}

Oid
dist_relid(DistRelation relation)
{
	if (!dist_relations_available())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"%s\" is not created in this database", EXTENSION_NAME),
				 errhint("Run CREATE EXTENSION %s.", EXTENSION_NAME)));
	return relation_oids[relation];
}

/*
 * The server refuses to create tables in pg_catalog, where the extension has
 * moved its own.  pg_upgrade creates them there.
 */
void
relations_init(void)
{
	if (IsBinaryUpgrade)
		SetConfigOption("allow_system_table_mods", "on", PGC_POSTMASTER, PGC_S_ARGV);
}

int64
dist_next_id(DistRelation sequence)
{
	return nextval_internal(dist_relid(sequence), false);
}

DistRelation
dist_relations_invalidated(Oid relid)
{
	if (!OidIsValid(relid) || relations_state != RELATIONS_PRESENT)
	{
		relations_invalidated = true;
		relations_state = RELATIONS_UNKNOWN;
	}

	if (relid < lowest_oid || relid > highest_oid)
		return DIST_RELATION_COUNT;

	for (int i = 0; i < DIST_RELATION_COUNT; i++)
	{
		if (relation_oids[i] == relid)
		{
			relations_invalidated = true;
			relations_state = RELATIONS_UNKNOWN;
			return (DistRelation) i;
		}
	}
	return DIST_RELATION_COUNT;
}
