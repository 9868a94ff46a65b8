/*-------------------------------------------------------------------------
 *
 * key_names.c
 *	  The names of foreign keys that partitions have from their parents.
 *
 * The server gives such a key of a shard the name of the parent's shard's key,
 * with that shard's number.  Statements find a shard's keys by the table's
 * name for it and the shard's own number, also after DETACH PARTITION.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "remote/shard_names.h"
#include "sharding/hash.h"
#include "table/key_names.h"

void
constraint_rename(Oid constraint, const char *name)
{
	Relation	rel = table_open(ConstraintRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", constraint);
	namestrcpy(&((Form_pg_constraint) GETSTRUCT(tuple))->conname, name);
	CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	table_close(rel, NoLock);
}

/* The table that a constraint is of. */
static Oid
table_of_constraint(Oid constraint)
{
	HeapTuple	tuple = catalog_tuple(CONSTROID, constraint, "constraint");
	Oid			relid = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;

	ReleaseSysCache(tuple);
	return relid;
}

/* Gives the key its name that the shard has from the parent's shard's key. */
static void
name_child(Oid parent_key, Oid shard_relid, const char *wanted)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintParentIndexId,
													 Anum_pg_constraint_conparentid, parent_key))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(row->tuple);

		if (form->conrelid == shard_relid && strcmp(NameStr(form->conname), wanted) != 0)
			constraint_rename(form->oid, wanted);
	}
}

void
name_keys_of_shard(const DistTable *table, const ShardInfo *shard)
{
	Oid			shard_relid = shard_local_relid(table->relid, shard->shardid);

	if (!OidIsValid(shard_relid) || !get_rel_relispartition(table->relid))
		return;
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintRelidTypidNameIndexId,
													 Anum_pg_constraint_conrelid, table->relid))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(row->tuple);
		const DistTable *parent;
		const ShardInfo *beside;
		Oid			parent_key;

		if (form->contype != CONSTRAINT_FOREIGN || !OidIsValid(form->conparentid))
			continue;
		parent = metadata_lookup(table_of_constraint(form->conparentid));
		beside = parent == NULL || parent->relid == table->relid ? NULL : shard_of_range(parent, shard->range);
		if (beside == NULL)
			continue;
		parent_key = get_relation_constraint_oid(shard_local_relid(parent->relid, beside->shardid),
												 shard_relation_name(get_constraint_name(form->conparentid), beside->shardid),
												 true);
		if (OidIsValid(parent_key))
			name_child(parent_key, shard_relid, shard_relation_name(NameStr(form->conname), shard->shardid));
	}
	CommandCounterIncrement();
}

void
name_keys_of_partitions(Oid relid)
{
	foreach_oid(member, find_all_inheritors(relid, NoLock, NULL))
	{
		const DistTable *table = metadata_lookup(member);

		for (int i = 0; table != NULL && i < table->nshards; i++)
			name_keys_of_shard(table, &table->shards[i]);
	}
}
