/*-------------------------------------------------------------------------
 *
 * global_key.c
 *	  Foreign keys between rows of different nodes, and tables of entries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "catalog/metadata.h"

bool
foreign_key_is_global(HeapTuple constraint)
{
	Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(constraint);
	const DistTable *from;
	const DistTable *to;
	AttrNumber	conkey[INDEX_MAX_KEYS];
	AttrNumber	confkey[INDEX_MAX_KEYS];
	int			count;

	if (con->contype != CONSTRAINT_FOREIGN || (from = metadata_lookup(con->conrelid)) == NULL ||
		(to = metadata_lookup(con->confrelid)) == NULL || to->kind == DIST_REFERENCE)
		return false;
	if (from->kind == DIST_REFERENCE || from->colocation_id != to->colocation_id)
		return true;
	if (from->kind == DIST_SINGLE)
		return false;
	DeconstructFkConstraintRow(constraint, &count, conkey, confkey, NULL, NULL, NULL, NULL, NULL);
	for (int i = 0; i < count; i++)
		if (conkey[i] == from->dist_attno && confkey[i] == to->dist_attno)
			return false;
	return true;
}

bool
constraint_is_global(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	bool		result = HeapTupleIsValid(tuple) && foreign_key_is_global(tuple);

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

Oid
index_of_entries(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL || strncmp(name, GLOBAL_INDEX_TRIGGER, strlen(GLOBAL_INDEX_TRIGGER)) != 0 ||
		get_rel_namespace(relid) != get_namespace_oid(SHARD_SCHEMA, true))
		return InvalidOid;
	foreach_ptr(CatalogRow, row, catalog_needs(RelationRelationId, relid))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (depend->objsubid == 0 && depend->deptype == DEPENDENCY_INTERNAL && depend->refclassid == RelationRelationId)
			return depend->refobjid;
	}
	return InvalidOid;
}
