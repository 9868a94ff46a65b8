/*-------------------------------------------------------------------------
 *
 * distributed_function.c
 *	  The rows of pg_dist_object that create_distributed_function() writes.
 *
 * They are few, and read only for statements that consist of a call, so they
 * are not cached.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_proc.h"
#include "utils/fmgroids.h"

#include "catalog/distributed_function.h"
#include "catalog/relations.h"

SysScanDesc
distributed_function_scan(Relation catalog, Oid function, ScanKeyData *keys)
{
	ScanKeyInit(&keys[0], Anum_object_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&keys[1], Anum_object_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(function));
	return systable_beginscan(catalog, InvalidOid, false, NULL, OidIsValid(function) ? 2 : 1, keys);
}

void
distributed_function_read(Relation catalog, HeapTuple tuple, DistributedFunction *record)
{
	Datum		values[Natts_object];
	bool		nulls[Natts_object];

	heap_deform_tuple(tuple, RelationGetDescr(catalog), values, nulls);
	*record = (DistributedFunction) {.function = DatumGetObjectId(values[Anum_object_objid - 1]), .argument = -1, .force = 'n'};
	if (!nulls[Anum_object_argument - 1])
		record->argument = DatumGetInt32(values[Anum_object_argument - 1]);
	if (!nulls[Anum_object_colocationid - 1])
		record->colocation_id = DatumGetInt32(values[Anum_object_colocationid - 1]);
	if (!nulls[Anum_object_force - 1])
		record->force = DatumGetBool(values[Anum_object_force - 1]) ? 't' : 'f';
}

bool
distributed_function_find(Oid function, DistributedFunction *record)
{
	Relation	catalog = table_open(dist_relid(PG_DIST_OBJECT), AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan = distributed_function_scan(catalog, function, keys);
	HeapTuple	tuple = systable_getnext(scan);
	bool		found = HeapTupleIsValid(tuple);

	if (found)
		distributed_function_read(catalog, tuple, record);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}
