/*-------------------------------------------------------------------------
 *
 * foreign_key.c
 *	  The statements by which the server checks foreign keys, and the tables
 *	  that their actions write.
 *
 * They read this node's own tables: shards have the keys of their table, and
 * reference tables are complete on each node.  Two kinds of such statements
 * read a logical table that has shards, and so find no rows:
 *
 * - When a row of a reference table is deleted, the server checks whether the
 *   logical table references it.  No rows is the right answer: the shards have
 *   the same key.
 *
 * - When a row is inserted into a local table that references a distributed
 *   one (after its CREATE TABLE and before its own distribution), the server
 *   would report that the referenced row doesn't exist, which may be wrong.
 *   This is refused.
 *
 * The statements are distinguished by the columns that they read; if both
 * kinds are possible, the statement is accepted.
 *
 * Version 19 looks for a referenced row without a statement.  No planner and
 * no executor sees that, so the ExecutorCheckPerms_hook does what is done when
 * such a statement is planned and started.
 *
 * The server's statements are known by InNoForceRLSOperation().  That stays
 * true while they run, also in users' functions that they call, unless
 * executor_start.c resets it.
 *
 * The server validates a new key by a query of both tables, which would read
 * all shards, if the user may read them.  The ExecutorCheckPerms_hook denies
 * that.  Then the server checks the logical table's rows one by one, of which
 * there are none.  Each shard validates its own key.
 *
 * By such a query, too, the server checks that no row references a partition
 * that it detaches, on each node: it would read all shards while the statement
 * has locked them.  It finds no rows in the logical tables; each shard checks
 * its own key, and src/global_index those between rows of different nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "compat/noreturn.h"
#include "compat/permissions.h"
#include "planner/foreign_key.h"
#include "txn/snapshot.h"

#define ANY_WRITE (COMMAND_BIT(CMD_UPDATE) | COMMAND_BIT(CMD_DELETE))

static ExecutorCheckPerms_hook_type prev_check_perms = NULL;
static bool checks_own_statement = false;
static Oid	detached_partition = InvalidOid;

/* A key's columns, as pull_varattnos() has them. */
static Bitmapset *
key_columns(const ForeignKeyCacheInfo *key)
{
	Bitmapset  *columns = NULL;

	for (int i = 0; i < key->nkeys; i++)
		columns = bms_add_member(columns, key->conkey[i] - FirstLowInvalidHeapAttributeNumber);
	return columns;
}

/* Whether these columns of a distributed table reference a reference table. */
static bool
references_by(Oid relid, const Bitmapset *columns)
{
	Relation	rel = table_open(relid, NoLock);
	List	   *keys = copyObject(RelationGetFKeyList(rel));
	bool		result = false;

	table_close(rel, NoLock);
	foreach_node(ForeignKeyCacheInfo, key, keys)
	{
		const DistTable *referenced = metadata_lookup(key->confrelid);

		result |= referenced != NULL && referenced->kind == DIST_REFERENCE && bms_equal(key_columns(key), columns);
	}
	return result;
}

pg_noreturn static void
refuse_local_key(Oid relid)
{
	const char *name = get_rel_name(relid);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a local table's foreign key to distributed table \"%s\" cannot be checked", name),
			 errdetail("The rows of \"%s\" are stored in shards.", name),
			 errhint("Use create_distributed_table() to distribute the referencing table, colocated with \"%s\", "
					 "before rows are written to it.", name)));
}

void
check_foreign_key_query(Query *query)
{
	const RangeTblEntry *rte;
	const DistTable *table;
	Bitmapset  *columns = NULL;

	if (query->commandType != CMD_SELECT || list_length(query->rtable) != 1)
		return;
	rte = linitial_node(RangeTblEntry, query->rtable);
	if (rte->rtekind == RTE_SUBQUERY)
	{
		/* a key with PERIOD, which sums up the rows that it finds */
		check_foreign_key_query(rte->subquery);
		return;
	}
	table = rte->rtekind == RTE_RELATION ? metadata_lookup(rte->relid) : NULL;
	if (table == NULL || table->kind == DIST_REFERENCE)
		return;
	pull_varattnos(query->jointree->quals, 1, &columns);
	if (!references_by(table->relid, columns))
		refuse_local_key(table->relid);
}

void
foreign_key_set_detached(Oid partition)
{
	detached_partition = partition;
}

bool
is_query_of_detach(const Query *query)
{
	if (likely(!OidIsValid(detached_partition)) || query->commandType != CMD_SELECT)
		return false;
	foreach_node(RangeTblEntry, rte, query->rtable)
		if (rte->relid == detached_partition && strcmp(rte->eref->aliasname, "pk") == 0)
			return true;
	return false;
}

/*
 * The server is about to look for a referenced row in a relation, by the
 * active snapshot.
 */
static void
probe_starts(Oid relid)
{
	const DistTable *table = metadata_lookup(relid);

	if (table != NULL && table->kind != DIST_REFERENCE)
		refuse_local_key(relid);
	snapshot_await_left(relid);
}

/*
 * Whether a trigger is a foreign key's action, which writes the referencing
 * table where the rows are deleted or updated; that of a global one is a
 * statement of its own.
 */
static bool
is_action(const Trigger *trigger)
{
	if (constraint_is_global(trigger->tgconstraint))
		return false;
	switch (trigger->tgfoid)
	{
		case F_RI_FKEY_CASCADE_DEL:
		case F_RI_FKEY_CASCADE_UPD:
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETNULL_UPD:
		case F_RI_FKEY_SETDEFAULT_DEL:
		case F_RI_FKEY_SETDEFAULT_UPD:
			return true;
		default:
			return false;
	}
}

Oid
foreign_key_acts_on_delete(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	Oid			referencing = InvalidOid;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (is_action(trigger) && TRIGGER_FOR_DELETE(trigger->tgtype))
			referencing = trigger->tgconstrrelid;
	}
	table_close(rel, AccessShareLock);
	return referencing;
}

/* Adds the tables that foreign keys' actions after commands on one write. */
static List *
add_tables_acted_on(List *tables, Oid relid, int commands)
{
	Relation	rel = table_open(relid, AccessShareLock);

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (is_action(trigger) &&
			(((commands & COMMAND_BIT(CMD_DELETE)) != 0 && TRIGGER_FOR_DELETE(trigger->tgtype)) ||
			 ((commands & COMMAND_BIT(CMD_UPDATE)) != 0 && TRIGGER_FOR_UPDATE(trigger->tgtype))))
			tables = list_append_unique_oid(tables, trigger->tgconstrrelid);
	}
	table_close(rel, AccessShareLock);
	return tables;
}

List *
foreign_key_acts_on(Oid relid, int commands)
{
	List	   *tables = add_tables_acted_on(NIL, relid, commands);
	ListCell   *cell;

	foreach(cell, tables)		/* which grows */
		tables = add_tables_acted_on(tables, lfirst_oid(cell), ANY_WRITE);
	return tables;
}

List *
foreign_key_reach(Oid relid)
{
	return list_append_unique_oid(foreign_key_acts_on(relid, ANY_WRITE), relid);
}

/*
 * ExecutorCheckPerms_hook.  Only validation of a foreign key asks without
 * raising an error.
 */
static bool
COMPAT_CHECK_PERMS(check_key_rights)
{
	Oid			probed = compat_probed_relid(range_table);

	if (OidIsValid(probed) && metadata_available())
		probe_starts(probed);
	if (!raises_error && metadata_available())
	{
		const DistTable *table = metadata_lookup(compat_validated_relid(range_table));

		if (table != NULL && table->kind != DIST_REFERENCE)
			return false;
	}
	return prev_check_perms == NULL || checks_own_statement || compat_check_perms_next(prev_check_perms);
}

void
check_own_statement(ParseState *pstate)
{
	checks_own_statement = true;
	PG_TRY();
	{
		compat_check_permissions(pstate);
	}
	PG_FINALLY();
	{
		checks_own_statement = false;
	}
	PG_END_TRY();
}

void
foreign_key_init(void)
{
	prev_check_perms = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check_key_rights;
}
