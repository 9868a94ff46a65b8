/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  Replaces the logical names in a utility statement by those of a shard.
 *
 * A utility statement names relations, so its parse tree is changed before
 * analysis.  This mechanism is used to create shards, their constraints and
 * indexes, and to apply all later changes of the table to them.
 *
 * Every kind of statement has a row in a table: how to find its names.  The
 * shards are those of the colocation group and the range in the ShardNaming,
 * for each of the group's tables that is named.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_statistic_ext.h"
#include "access/htup_details.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat/constraint.h"
#include "compat/repack.h"
#include "resolve/tag.h"
#include "resolve/utility.h"
#include "sharding/hash.h"

typedef struct ShardNaming
{
	int			colocation_id;
	HashRange	range;
	bool		must_exist;		/* the shard has to be on this node */
	Oid			relid;			/* the table named last */
	int64		shardid;		/* of that table: the suffix of names of its
								 * objects; 0 is none */
} ShardNaming;

typedef void (*RenameFunction) (ShardNaming *naming, Node *stmt);

Oid
table_of_relation(Oid relid)
{
	char		relkind = OidIsValid(relid) ? get_rel_relkind(relid) : '\0';

	return relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX ? IndexGetRelation(relid, true) : relid;
}

const DistTable *
dist_table_of_relation(Oid relid)
{
	relid = table_of_relation(relid);
	return OidIsValid(relid) ? metadata_lookup(relid) : NULL;
}

const DistTable *
dist_table_of_rangevar(const RangeVar *relation)
{
	return dist_table_of_relation(RangeVarGetRelid(relation, NoLock, true));
}

RangeVar *
shard_rangevar(const char *name, int64 shardid)
{
	return makeRangeVar(pstrdup(SHARD_SCHEMA), shard_relation_name(name, shardid), -1);
}

/* Appends the shard's suffix to a name, if there is one. */
static void
rename_part(ShardNaming *naming, char **name)
{
	if (*name != NULL && naming->shardid != 0)
		*name = shard_relation_name(*name, naming->shardid);
}

/* Whether the table takes part; notes its shard. */
static bool
note_table(ShardNaming *naming, const DistTable *table)
{
	const ShardInfo *shard;

	if (table == NULL || table->kind == DIST_REFERENCE || table->colocation_id != naming->colocation_id)
		return false;
	shard = shard_of_range(table, naming->range);
	if (shard == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SHARD_NOT_HERE),
				 errmsg("relation \"%s\" has no shard for the hash values from %d to %d", get_rel_name(table->relid),
						naming->range.min, naming->range.max)));
	naming->relid = table->relid;
	naming->shardid = shard->shardid;
	if (naming->must_exist && !OidIsValid(shard_local_relid(table->relid, naming->shardid)))
		ereport(ERROR,
				(errcode(ERRCODE_SHARD_NOT_HERE),
				 errmsg("shard " INT64_FORMAT " of relation \"%s\" is not on this node", naming->shardid,
						get_rel_name(table->relid))));
	return true;
}

/* A table or an index; true if it was turned to the shard. */
static bool
rename_relation(ShardNaming *naming, RangeVar *relation)
{
	if (relation == NULL || !note_table(naming, dist_table_of_rangevar(relation)))
		return false;
	relation->catalogname = NULL;
	relation->schemaname = pstrdup(SHARD_SCHEMA);
	rename_part(naming, &relation->relname);
	return true;
}

static void
rename_relations(ShardNaming *naming, List *relations)
{
	foreach_node(RangeVar, relation, relations)
		rename_relation(naming, relation);
}

/* A qualified name of a shard's object as list of names. */
static List *
shard_name_list(ShardNaming *naming, char *name)
{
	rename_part(naming, &name);
	return list_make2(makeString(pstrdup(SHARD_SCHEMA)), makeString(name));
}

/*
 * A statistics object's name, which need not exist when it is in a table that
 * naming has noted.
 */
static List *
rename_statistics(ShardNaming *naming, List *names)
{
	Oid			oid = get_statistics_object_oid(names, true);
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(oid));

	if (HeapTupleIsValid(tuple))
	{
		bool		ours = note_table(naming,
									  dist_table_of_relation(((Form_pg_statistic_ext) GETSTRUCT(tuple))->stxrelid));

		ReleaseSysCache(tuple);
		if (!ours)
			return names;
	}
	return naming->shardid == 0 ? names : shard_name_list(naming, strVal(llast(names)));
}

/*
 * A name in an expression about the table: if it is qualified with the
 * table's, or means a whole row of it.
 */
static void
rename_reference(ShardNaming *naming, ColumnRef *reference)
{
	List	   *fields = reference->fields;
	int			nfields = list_length(fields);
	int			position = nfields > 2 ? 1 : 0; /* of the table's name, which
												 * may have a schema */
	char	   *table = get_rel_name(naming->relid);

	if (nfields > 3 || !IsA(list_nth(fields, position), String) ||
		strcmp(strVal(list_nth(fields, position)), table) != 0 ||
		(nfields == 1 && get_attnum(naming->relid, table) != InvalidAttrNumber))
		return;
	rename_part(naming, &table);
	lfirst(list_nth_cell(fields, position)) = makeString(table);
	if (position > 0)
		linitial(fields) = makeString(pstrdup(SHARD_SCHEMA));
}

/*
 * Turns the names in a raw expression, or list of them, to the shard.  A tree
 * walker: always false.
 */
static bool
rename_references(Node *node, void *naming)
{
	if (node == NULL || ((ShardNaming *) naming)->shardid == 0)
		return false;
	if (!IsA(node, ColumnRef))
		return raw_expression_tree_walker(node, rename_references, naming);
	rename_reference(naming, (ColumnRef *) node);
	return false;
}

/*
 * Whether a table has a check or NOT NULL constraint of that name from its
 * parent.
 */
static bool
constraint_is_inherited(Oid relid, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(get_relation_constraint_oid(relid, name, true)));
	Form_pg_constraint form;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	result = (form->contype == CONSTRAINT_CHECK || form->contype == CONSTRAINT_NOTNULL) && form->coninhcount > 0;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * The ancestor, or the table itself, from which the table has its check or NOT
 * NULL constraint of that name.  (NOT NULL of a table that was attached may
 * have another name than its parent's.)
 */
static Oid
origin_of_constraint(Oid relid, const char *name)
{
	while (get_rel_relispartition(relid) && constraint_is_inherited(relid, name))
	{
		Oid			parent = get_partition_parent(relid, false);

		if (!OidIsValid(get_relation_constraint_oid(parent, name, true)))
			break;
		relid = parent;
	}
	return relid;
}

char *
shard_constraint_name(const DistTable *table, const char *name, HashRange range)
{
	const DistTable *origin = metadata_lookup(origin_of_constraint(table->relid, name));

	if (origin == NULL || origin->colocation_id != table->colocation_id)
		origin = table;
	return shard_relation_name(name, shard_of_range(origin, range)->shardid);
}

/* Like rename_part, for an existing or new constraint of the table. */
static void
rename_constraint_name(ShardNaming *naming, char **name)
{
	if (*name != NULL && naming->shardid != 0)
		*name = shard_constraint_name(metadata_require(naming->relid), *name, naming->range);
}

static void
rename_constraint(ShardNaming *naming, Constraint *constraint)
{
	ShardNaming table = *naming;

	rename_constraint_name(naming, &constraint->conname);
	rename_part(naming, &constraint->indexname);
	rename_references(constraint->raw_expr, naming);
	rename_references((Node *) constraint->exclusions, naming);
	rename_references(constraint->where_clause, naming);
	rename_relation(naming, constraint->pktable);
	*naming = table;
}

/*
 * The references in a column's definition, such as USING of ALTER COLUMN TYPE,
 * and the names of its constraints.
 */
static void
rename_column(ShardNaming *naming, ColumnDef *column)
{
	rename_references(column->raw_default, naming);
	foreach_node(Constraint, constraint, column->constraints)
	{
		rename_constraint_name(naming, &constraint->conname);
		rename_references(constraint->raw_expr, naming);
	}
}

static void
rename_create(ShardNaming *naming, Node *node)
{
	CreateStmt *stmt = (CreateStmt *) node;
	ListCell   *cell;

	rename_relation(naming, stmt->relation);
	foreach(cell, stmt->tableElts)
	{
		if (IsA(lfirst(cell), Constraint))
			rename_constraint(naming, lfirst(cell));
		else if (IsA(lfirst(cell), ColumnDef))
			rename_column(naming, lfirst(cell));
	}
}

static void
rename_index(ShardNaming *naming, Node *node)
{
	IndexStmt  *stmt = (IndexStmt *) node;

	rename_relation(naming, stmt->relation);
	rename_part(naming, &stmt->idxname);
	rename_references((Node *) stmt->indexParams, naming);
	rename_references(stmt->whereClause, naming);
}

/* A table that becomes, or no longer is, a partition; or an index. */
static void
rename_partition(ShardNaming *naming, PartitionCmd *cmd)
{
	ShardNaming table = *naming;

	rename_relation(naming, cmd->name);
	*naming = table;
}

/* The names in an ALTER TABLE subcommand. */
static void
rename_subcommand(ShardNaming *naming, AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_AddColumn:
		case AT_AlterColumnType:
			rename_column(naming, castNode(ColumnDef, cmd->def));
			break;
		case AT_AddConstraint:
			rename_constraint(naming, castNode(Constraint, cmd->def));
			break;
		case AT_AlterConstraint:
			rename_constraint_name(naming, altered_constraint_name(cmd));
			break;
		case AT_DropConstraint:
		case AT_ValidateConstraint:
			rename_constraint_name(naming, &cmd->name);
			break;
		case AT_ClusterOn:
			rename_part(naming, &cmd->name);
			break;
		case AT_AttachPartition:
		case AT_DetachPartition:
			rename_partition(naming, castNode(PartitionCmd, cmd->def));
			break;
		case AT_ReplicaIdentity:
			rename_part(naming, &castNode(ReplicaIdentityStmt, cmd->def)->name);
			break;
		default:
			if (cmd->subtype == AT_SetExpression)
				rename_references(cmd->def, naming);
			break;
	}
}

static void
rename_alter_table(ShardNaming *naming, Node *node)
{
	AlterTableStmt *stmt = (AlterTableStmt *) node;

	if (!rename_relation(naming, stmt->relation))
		return;
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
		rename_subcommand(naming, cmd);
}

static void
rename_rename(ShardNaming *naming, Node *node)
{
	RenameStmt *stmt = (RenameStmt *) node;

	switch (stmt->renameType)
	{
		case OBJECT_TABLE:
		case OBJECT_INDEX:
			if (rename_relation(naming, stmt->relation))
				rename_part(naming, &stmt->newname);
			break;
		case OBJECT_TABCONSTRAINT:
			if (rename_relation(naming, stmt->relation))
			{
				rename_constraint_name(naming, &stmt->subname);
				rename_part(naming, &stmt->newname);
			}
			break;
		case OBJECT_STATISTIC_EXT:
			stmt->object = (Node *) rename_statistics(naming, castNode(List, stmt->object));
			rename_part(naming, &stmt->newname);
			break;
		default:
			rename_relation(naming, stmt->relation);
			break;
	}
}

static void
rename_create_statistics(ShardNaming *naming, Node *node)
{
	CreateStatsStmt *stmt = (CreateStatsStmt *) node;

	rename_relations(naming, stmt->relations);
	foreach_node(StatsElem, elem, stmt->exprs)
		rename_references(elem->expr, naming);
	stmt->defnames = shard_name_list(naming, strVal(llast(stmt->defnames)));
}

static void
rename_alter_statistics(ShardNaming *naming, Node *node)
{
	AlterStatsStmt *stmt = (AlterStatsStmt *) node;

	stmt->defnames = rename_statistics(naming, stmt->defnames);
}

static void
rename_alter_owner(ShardNaming *naming, Node *node)
{
	AlterOwnerStmt *stmt = (AlterOwnerStmt *) node;

	if (stmt->objectType == OBJECT_STATISTIC_EXT)
		stmt->object = (Node *) rename_statistics(naming, castNode(List, stmt->object));
}

static void
rename_drop(ShardNaming *naming, Node *node)
{
	DropStmt   *stmt = (DropStmt *) node;
	ListCell   *cell;

	foreach(cell, stmt->objects)
	{
		if (stmt->removeType == OBJECT_TABLE || stmt->removeType == OBJECT_INDEX)
		{
			RangeVar   *relation = makeRangeVarFromNameList(lfirst(cell));

			if (rename_relation(naming, relation))
				lfirst(cell) = list_make2(makeString(relation->schemaname), makeString(relation->relname));
		}
		else if (stmt->removeType == OBJECT_STATISTIC_EXT)
			lfirst(cell) = rename_statistics(naming, lfirst(cell));
	}
}

static void
rename_truncate(ShardNaming *naming, Node *node)
{
	rename_relations(naming, ((TruncateStmt *) node)->relations);
}

static void
rename_lock(ShardNaming *naming, Node *node)
{
	rename_relations(naming, ((LockStmt *) node)->relations);
}

static void
rename_vacuum(ShardNaming *naming, Node *node)
{
	foreach_node(VacuumRelation, relation, ((VacuumStmt *) node)->rels)
		rename_relation(naming, relation->relation);
}

static void
rename_grant(ShardNaming *naming, Node *node)
{
	GrantStmt  *stmt = (GrantStmt *) node;

	if (stmt->objtype == OBJECT_TABLE && stmt->targtype == ACL_TARGET_OBJECT)
		rename_relations(naming, stmt->objects);
}

static void
rename_cluster(ShardNaming *naming, Node *node)
{
	RepackStmt *stmt = (RepackStmt *) node;

	if (rename_relation(naming, compat_repacked(stmt)))
		rename_part(naming, &stmt->indexname);
}

static void
rename_reindex(ShardNaming *naming, Node *node)
{
	rename_relation(naming, ((ReindexStmt *) node)->relation);
}

static void
rename_copy(ShardNaming *naming, Node *node)
{
	rename_relation(naming, ((CopyStmt *) node)->relation);
}

/* One row per kind of statement. */
static const struct
{
	NodeTag		tag;
	RenameFunction function;
}			renames[] = {
	{T_AlterOwnerStmt, rename_alter_owner},
	{T_AlterStatsStmt, rename_alter_statistics},
	{T_AlterTableStmt, rename_alter_table},
	{T_RepackStmt, rename_cluster},
	{T_CopyStmt, rename_copy},
	{T_CreateStatsStmt, rename_create_statistics},
	{T_CreateStmt, rename_create},
	{T_DropStmt, rename_drop},
	{T_GrantStmt, rename_grant},
	{T_IndexStmt, rename_index},
	{T_LockStmt, rename_lock},
	{T_ReindexStmt, rename_reindex},
	{T_RenameStmt, rename_rename},
	{T_TruncateStmt, rename_truncate},
	{T_VacuumStmt, rename_vacuum},
};

void
resolve_utility(Node *stmt, int colocation_id, HashRange range, bool must_exist)
{
	ShardNaming naming = {colocation_id, range, must_exist, InvalidOid, 0};

	for (int i = 0; i < lengthof(renames); i++)
	{
		if (renames[i].tag == nodeTag(stmt))
		{
			renames[i].function(&naming, stmt);
			return;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this kind of statement cannot be run on a shard")));
}
