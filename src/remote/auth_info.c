/*-------------------------------------------------------------------------
 *
 * auth_info.c
 *	  Secrets for connections to nodes: rows of pg_dist_authinfo.
 *
 * Only superusers may read or write the table; the connections of all roles
 * use it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "catalog/catalog_rows.h"
#include "remote/auth_info.h"

enum pg_dist_authinfo_columns
{
	Anum_authinfo_nodeid = 1,
	Anum_authinfo_rolename,
	Anum_authinfo_authinfo,
};

/* How well a row for nodeid `found` matches the wanted node; 0: not at all. */
static int
auth_row_fitness(int32 found, int32 wanted)
{
	if (found == 0)
		return 1;
	return found == wanted ? 2 : 0;
}

char *
auth_info_lookup(const char *role, int32 nodeid)
{
	char	   *info = NULL;
	int			best = 0;
	ScanKeyData key;

	ScanKeyInit(&key, Anum_authinfo_rolename, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum(role));
	foreach_ptr(CatalogRow, row, catalog_rows("pg_dist_authinfo", "pg_dist_authinfo_identification_index", &key))
	{
		int			fits = auth_row_fitness(DatumGetInt32(row->values[Anum_authinfo_nodeid - 1]), nodeid);

		if (fits > best)
		{
			best = fits;
			info = TextDatumGetCString(row->values[Anum_authinfo_authinfo - 1]);
		}
	}
	return info;
}
