/*-------------------------------------------------------------------------
 *
 * object_scope.c
 *	  Which objects are on this node only, and which on all nodes.
 *
 * The answer is a rule on the catalogs, not a record: an object is on every
 * node unless it depends, directly or not, on a table that is not.  So there
 * is nothing to keep consistent with the catalogs: when a table is
 * distributed, the scope of a view on the table follows from
 * pg_dist_partition.
 *
 * pg_depend leads from an object to the objects that it needs, which a walk
 * visits.  Three kinds of objects don't depend on what their parts need, so
 * the walk first visits their parts: a view (materialized or not) by its
 * _RETURN rule, a composite type by its relation, a publication by its
 * members.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_largeobject.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "rewrite/rewriteSupport.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/object_scope.h"

/* The scope of an object, without those that it needs. */
typedef enum ObjectScope
{
	SCOPE_LOCAL,
	SCOPE_EVERYWHERE,
	SCOPE_DISTRIBUTED,			/* everywhere: a distributed or reference
								 * table */
	SCOPE_OF_NEEDS,				/* the same as of what the object needs */
} ObjectScope;

/*
 * A search for an object of a scope, or for a certain one, among an object and
 * all that it needs.
 */
typedef struct ScopeWalk
{
	ObjectScope wanted;			/* SCOPE_OF_NEEDS: looks for target */
	const ObjectAddress *target;
	ObjectAddresses *seen;
} ScopeWalk;

bool
relation_is_view(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_VIEW || get_rel_relkind(relid) == RELKIND_MATVIEW;
}

static ObjectScope
scope_of_relation(Oid relid)
{
	switch (get_rel_relkind(relid))
	{
		case '\0':				/* a heap of a rewrite, that is gone */
			return SCOPE_OF_NEEDS;
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			return metadata_find(relid) != NULL ? SCOPE_DISTRIBUTED : SCOPE_LOCAL;
		default:
			return get_rel_persistence(relid) == RELPERSISTENCE_TEMP ? SCOPE_LOCAL : SCOPE_OF_NEEDS;
	}
}

/* The scope of an object that is neither the server's nor an extension's. */
static ObjectScope
scope_of_object(const ObjectAddress *object)
{
	switch (object->classId)
	{
		case RelationRelationId:
			return scope_of_relation(object->objectId);
		case NamespaceRelationId:
			return isAnyTempNamespace(object->objectId) ? SCOPE_LOCAL : SCOPE_EVERYWHERE;
		case DatabaseRelationId:
			return object->objectId == MyDatabaseId ? SCOPE_EVERYWHERE : SCOPE_LOCAL;
		case DbRoleSettingRelationId:
			return object->objectId == MyDatabaseId || !OidIsValid(object->objectId) ? SCOPE_EVERYWHERE : SCOPE_LOCAL;
		case ExtensionRelationId:
			return object->objectId == get_extension_oid("citus", true) ? SCOPE_LOCAL : SCOPE_EVERYWHERE;
		case LargeObjectRelationId:
		case SubscriptionRelationId:
		case TableSpaceRelationId:
			return SCOPE_LOCAL;
		default:
			return SCOPE_OF_NEEDS;
	}
}

static bool walk_scope(const ObjectAddress *object, ScopeWalk *walk);

/*
 * Whether the walk finds its scope in what pg_depend says that an object
 * needs.
 */
static bool
walk_needs(const ObjectAddress *object, ScopeWalk *walk)
{
	foreach_ptr(CatalogRow, row, catalog_needs(object->classId, object->objectId))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);
		ObjectAddress needed = {depend->refclassid, depend->refobjid, 0};

		if (walk_scope(&needed, walk))
			return true;
	}
	return false;
}

/* Whether a publication names a table of that scope. */
static bool
publication_names_scope(Oid publication, ObjectScope wanted)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(PublicationRelRelationId, PublicationRelPrpubidIndexId,
													 Anum_pg_publication_rel_prpubid, publication))
	{
		if (scope_of_relation(((Form_pg_publication_rel) GETSTRUCT(row->tuple))->prrelid) == wanted)
			return true;
	}
	return false;
}

/* The same for parts of the object, from which pg_depend leads to it. */
static bool
walk_parts(const ObjectAddress *object, ScopeWalk *walk)
{
	ObjectAddress part;

	if (object->classId == PublicationRelationId)
		return publication_names_scope(object->objectId, walk->wanted);
	if (object->classId == TypeRelationId && OidIsValid(get_typ_typrelid(object->objectId)))
	{
		ObjectAddressSet(part, RelationRelationId, get_typ_typrelid(object->objectId));
		return walk_scope(&part, walk);
	}
	if (object->classId != RelationRelationId || !relation_is_view(object->objectId))
		return false;
	ObjectAddressSet(part, RewriteRelationId, get_rewrite_oid(object->objectId, ViewSelectRuleName, true));
	return OidIsValid(part.objectId) && walk_scope(&part, walk);
}

static bool
walk_scope(const ObjectAddress *object, ScopeWalk *walk)
{
	ObjectScope scope;

	check_stack_depth();
	if (walk->target != NULL && walk->target->classId == object->classId && walk->target->objectId == object->objectId)
		return true;
	if (object_address_present(object, walk->seen))
		return false;
	add_exact_object_address(object, walk->seen);
	if (object->objectId < FirstNormalObjectId && object->classId != DatabaseRelationId &&
		object->classId != TableSpaceRelationId && object->classId != DbRoleSettingRelationId &&
		object->classId != LargeObjectRelationId)
		return false;
	if (OidIsValid(getExtensionOfObject(object->classId, object->objectId)))
		return false;
	scope = scope_of_object(object);
	if (scope != SCOPE_OF_NEEDS)
		return scope == walk->wanted;
	return walk_needs(object, walk) || walk_parts(object, walk);
}

/* Whether an object is of a scope, or needs one that is. */
static bool
object_has_scope(const ObjectAddress *object, ObjectScope wanted)
{
	ScopeWalk	walk = {wanted, NULL, new_object_addresses()};
	ObjectAddress whole = {object->classId, object->objectId, 0};
	bool		result = walk_scope(&whole, &walk);

	free_object_addresses(walk.seen);
	return result;
}

bool
object_is_local(const ObjectAddress *object)
{
	return object_has_scope(object, SCOPE_LOCAL);
}

bool
object_needs_distributed(const ObjectAddress *object)
{
	return object_has_scope(object, SCOPE_DISTRIBUTED);
}

bool
object_needs(const ObjectAddress *object, const ObjectAddress *other)
{
	ScopeWalk	walk = {SCOPE_OF_NEEDS, other, new_object_addresses()};
	bool		result = walk_needs(object, &walk) || walk_parts(object, &walk);

	free_object_addresses(walk.seen);
	return result;
}
