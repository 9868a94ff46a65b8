/*-------------------------------------------------------------------------
 *
 * not_null.c
 *	  The names of NOT NULL constraints in shards.
 *
 * Since version 18 of the server NOT NULL has a name, which the server chooses
 * if the statement has none: it would choose others for shards, whose columns
 * are the table's.  So a shard's constraint gets its name from the constraint
 * of the same column of the logical table, after the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "compat/constraint.h"
#include "ddl/not_null.h"
#include "resolve/utility.h"
#include "table/definition.h"
#include "table/key_names.h"
#include "table/shards.h"

/* Names those of one shard. */
static void
name_not_null_of_shard(const DistTable *table, const NotNull *wanted, const ShardInfo *shard)
{
	Relation	rel = relation_open(shard_local_relid(table->relid, shard->shardid), AccessShareLock);
	const NotNull *constraints = not_null_constraints(rel);
	bool		renamed = false;

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		const char *name;

		if (!OidIsValid(wanted[i].constraint) || !OidIsValid(constraints[i].constraint))
			continue;
		name = shard_constraint_name(table, wanted[i].name, shard->range);
		if (strcmp(name, constraints[i].name) == 0)
			continue;
		constraint_rename(constraints[i].constraint, name);
		renamed = true;
	}
	if (renamed)
		CacheInvalidateRelcache(rel);
	relation_close(rel, NoLock);
}

void
name_not_null_of_shards(Oid relid)
{
	if (!NOT_NULL_HAS_NAMES)
		return;
	CommandCounterIncrement();
	foreach_oid(member, find_all_inheritors(relid, NoLock, NULL))
	{
		const DistTable *table = metadata_lookup(member);
		Relation	rel;
		NotNull    *wanted;

		if (table == NULL || local_shard_indexes(table) == NIL)
			continue;
		rel = relation_open(member, AccessShareLock);
		wanted = not_null_constraints(rel);
		relation_close(rel, NoLock);
		foreach_int(index, local_shard_indexes(table))
			name_not_null_of_shard(table, wanted, &table->shards[index]);
	}
	CommandCounterIncrement();
}
