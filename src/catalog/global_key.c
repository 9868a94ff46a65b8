/*-------------------------------------------------------------------------
 *
 * global_key.c
 *	  Foreign keys between rows of different nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_constraint.h"
#include "utils/syscache.h"

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

	if (con->contype != CONSTRAINT_FOREIGN || (from = metadata_lookup(con->conrelid)) == NULL || from->dist_attno == 0 ||
		(to = metadata_lookup(con->confrelid)) == NULL || to->dist_attno == 0)
		return false;
	if (from->colocation_id != to->colocation_id)
		return true;
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
