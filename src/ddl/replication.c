/*-------------------------------------------------------------------------
 *
 * replication.c
 *	  Publications and subscriptions that name distributed tables.
 *
 * The server's logical replication knows relations, not shards.  A
 * subscription would write to the logical table of a distributed table, which
 * no query reads, or to one copy of a reference table: so it is refused.
 * Publications are on all nodes.  Without citus.enable_change_data_capture
 * (src/decoding), a publication sends nothing of a distributed table; since it
 * may exist for its other tables, that is a warning.
 *
 * While a shard is moved without blocking writers, it is in a publication of
 * the move's.  DDL that the server refuses for published tables, or that isn't
 * replicated, takes the shard out: the move fails at its end, as after other
 * DDL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_subscription_rel.h"
#include "commands/defrem.h"
#include "commands/subscriptioncmds.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/object_scope.h"
#include "compat/constraint.h"
#include "ddl/handlers.h"
#include "table/shards.h"

/*
 * The first distributed or reference table that a subscription writes, or
 * InvalidOid.
 */
static Oid
subscribed_table(Oid subscription)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(SubscriptionRelRelationId, InvalidOid,
													 Anum_pg_subscription_rel_srsubid, subscription))
	{
		Oid			relid = ((Form_pg_subscription_rel) GETSTRUCT(row->tuple))->srrelid;

		if (metadata_lookup(relid) != NULL)
			return relid;
	}
	return InvalidOid;
}

static void
refuse_subscription(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("distributed or reference table \"%s\" cannot be the target of a subscription", get_rel_name(relid)),
			 errdetail("Replicated rows would be stored on this node, not in shards."),
			 errhint("Subscribe with a local table, of which a row trigger that is enabled by ENABLE ALWAYS TRIGGER writes to \"%s\".",
					 get_rel_name(relid))));
}

/* Whether CREATE SUBSCRIPTION with such options makes a replication slot. */
static bool
makes_slot(List *options)
{
	foreach_node(DefElem, option, options)
		if ((strcmp(option->defname, "create_slot") == 0 || strcmp(option->defname, "connect") == 0) &&
			!defGetBoolean(option))
			return false;
	return true;
}

/*
 * CREATE SUBSCRIPTION.  The server's own code asks the publisher for the
 * tables; if one is distributed here, the replication slot that the statement
 * has created is dropped again.
 */
bool
create_subscription_utility(UtilityCall *call)
{
	CreateSubscriptionStmt *stmt = castNode(CreateSubscriptionStmt, call->pstmt->utilityStmt);
	DropSubscriptionStmt *drop = makeNode(DropSubscriptionStmt);
	Oid			relid;

	utility_run(call);
	CommandCounterIncrement();
	relid = subscribed_table(get_subscription_oid(stmt->subname, false));
	if (!OidIsValid(relid))
		return true;
	drop->subname = stmt->subname;
	drop->behavior = DROP_RESTRICT;
	if (makes_slot(stmt->options))
		DropSubscription(drop, call->context == PROCESS_UTILITY_TOPLEVEL);
	refuse_subscription(relid);
	return true;
}

/* ALTER SUBSCRIPTION, which may add tables. */
bool
alter_subscription_utility(UtilityCall *call)
{
	AlterSubscriptionStmt *stmt = castNode(AlterSubscriptionStmt, call->pstmt->utilityStmt);
	Oid			relid;

	utility_run(call);
	CommandCounterIncrement();
	relid = subscribed_table(get_subscription_oid(stmt->subname, false));
	if (OidIsValid(relid))
		refuse_subscription(relid);
	return true;
}

/* Whether src/decoding publishes changes of shards. */
static bool
captures_changes(void)
{
	return strcmp(GetConfigOption("citus.enable_change_data_capture", false, false), "on") == 0;
}

/* Warns about the distributed tables in a publication's list. */
static void
warn_of_shards(List *objects)
{
	if (captures_changes())
		return;
	foreach_node(PublicationObjSpec, object, objects)
	{
		Oid			relid;
		const DistTable *table;

		if (object->pubobjtype != PUBLICATIONOBJ_TABLE)
			continue;
		relid = RangeVarGetRelid(object->pubtable->relation, NoLock, true);
		table = OidIsValid(relid) ? metadata_lookup(relid) : NULL;
		if (table != NULL && table->kind != DIST_REFERENCE)
			ereport(WARNING,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("changes of distributed table \"%s\" are not published", get_rel_name(relid)),
					 errdetail("Its rows are stored in shards, which are not in the publication."),
					 errhint("Set citus.enable_change_data_capture in postgresql.conf of all nodes and restart them, and each node publishes its shards' changes as the table's.")));
	}
}

/*
 * Warns about a publication with distributed tables that is on this node only,
 * because of a local table.
 */
static void
warn_of_local_table(const char *publication, List *objects)
{
	const char *local = NULL;
	bool		distributed = false;

	if (!captures_changes() || node_active_primaries_remote() == NIL)
		return;
	foreach_node(PublicationObjSpec, object, objects)
	{
		Oid			relid = InvalidOid;

		if (object->pubobjtype == PUBLICATIONOBJ_TABLE)
			relid = RangeVarGetRelid(object->pubtable->relation, NoLock, true);
		if (OidIsValid(relid) && metadata_lookup(relid) == NULL)
			local = get_rel_name(relid);
		distributed |= OidIsValid(relid) && metadata_lookup(relid) != NULL;
	}
	if (local != NULL && distributed)
		ereport(WARNING,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("publication \"%s\" is not on the other nodes", publication),
				 errdetail("It has a local table, \"%s\"; what the other nodes store of its distributed tables is not published.", local),
				 errhint("Publish local tables by a publication of their own.")));
}

bool
create_publication_utility(UtilityCall *call)
{
	CreatePublicationStmt *stmt = castNode(CreatePublicationStmt, call->pstmt->utilityStmt);

	if (!call->relayed)
	{
		warn_of_shards(stmt->pubobjects);
		warn_of_local_table(stmt->pubname, stmt->pubobjects);
	}
	return false;
}

/*
 * ALTER PUBLICATION: a publication of local tables is on this node only, also
 * if it loses one.
 */
bool
alter_publication_utility(UtilityCall *call)
{
	AlterPublicationStmt *stmt = castNode(AlterPublicationStmt, call->pstmt->utilityStmt);
	ObjectAddress publication;

	if (call->relayed)
		return false;
	if (stmt->action != AP_DropObjects)
		warn_of_shards(stmt->pubobjects);
	ObjectAddressSet(publication, PublicationRelationId, get_publication_oid(stmt->pubname, true));
	if (!OidIsValid(publication.objectId) || !object_is_local(&publication))
		return false;
	utility_run(call);
	return true;
}

/*
 * Whether a subcommand of ALTER TABLE may make the server refuse changes of a
 * published shard, or changes it in a way that isn't replicated.
 */
static bool
parts_from_moves(const AlterTableCmd *cmd)
{
	switch (cmd->subtype)
	{
		case AT_AddColumn:
			foreach_node(Constraint, constraint, castNode(ColumnDef, cmd->def)->constraints)
				if (constraint->contype == CONSTR_GENERATED)
					return true;
			return false;
		case AT_AlterColumnType:
		case AT_DropColumn:
		case AT_DropConstraint:
		case AT_ReplicaIdentity:
		case AT_SetUnLogged:
			return true;
		default:
			return cmd->subtype == AT_SetExpression;
	}
}

/*
 * Takes a shard out of the publications of moves.  One that has ended may drop
 * its publication meanwhile.
 */
static void
part_shard_from_moves(Oid shard)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(PublicationRelRelationId, PublicationRelPrrelidPrpubidIndexId,
													 Anum_pg_publication_rel_prrelid, shard))
	{
		const FormData_pg_publication_rel *form = (Form_pg_publication_rel) GETSTRUCT(row->tuple);
		const char *name = get_publication_name(form->prpubid, true);
		ObjectAddress member;

		if (name == NULL || strncmp(name, MOVE_PUBLICATION_PREFIX, strlen(MOVE_PUBLICATION_PREFIX)) != 0)
			continue;
		LockDatabaseObject(PublicationRelationId, form->prpubid, 0, AccessExclusiveLock);
		ObjectAddressSet(member, PublicationRelRelationId, form->oid);
		if (SearchSysCacheExists1(PUBLICATIONREL, ObjectIdGetDatum(form->oid)))
			performDeletion(&member, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	}
}

void
publication_part_from_moves(const AlterTableStmt *stmt, Oid relid)
{
	bool		parts = false;

	foreach_node(AlterTableCmd, cmd, stmt->cmds)
		parts = parts || parts_from_moves(cmd);
	foreach_oid(table, parts ? find_all_inheritors(relid, NoLock, NULL) : NIL)
		foreach_oid(shard, metadata_lookup(table) == NULL ? NIL : local_shard_relids(metadata_lookup(table)))
			part_shard_from_moves(shard);
}
