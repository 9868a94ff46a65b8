/*-------------------------------------------------------------------------
 *
 * auth_info.c
 *	  Secrets for connections to nodes: rows of pg_dist_authinfo.
 *
 * Only superusers may read or write the table; everybody's connections use it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "remote/auth_info.h"

/* How well a row for nodeid `found` suits the node that is wanted; 0: not at all. */
static int
fitness(int32 found, int32 wanted)
{
	if (found == 0)
		return 1;
	return found == wanted ? 2 : 0;
}

char *
auth_info_lookup(const char *role, int32 nodeid)
{
	Oid			relid = get_relname_relid("pg_dist_authinfo", PG_CATALOG_NAMESPACE);
	char	   *info = NULL;
	int			best = 0;
	Relation	rel;
	TupleDesc	desc;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (!OidIsValid(relid))
		return NULL;
	rel = table_open(relid, AccessShareLock);
	desc = RelationGetDescr(rel);
	ScanKeyInit(&key, get_attnum(relid, "rolename"), BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(role));
	scan = systable_beginscan(rel, get_relname_relid("pg_dist_authinfo_identification_index",
													 PG_CATALOG_NAMESPACE), true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		int32		found = DatumGetInt32(heap_getattr(tuple, get_attnum(relid, "nodeid"), desc, &isnull));
		int			fits = isnull ? 0 : fitness(found, nodeid);
		Datum		value = heap_getattr(tuple, get_attnum(relid, "authinfo"), desc, &isnull);

		if (fits > best && !isnull)
		{
			best = fits;
			info = TextDatumGetCString(value);
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return info;
}
