/*-------------------------------------------------------------------------
 *
 * tenant_key.c
 *	  The key that identifies a tenant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "tenants/tenant_key.h"

TenantKey
tenant_key(int32 colocation_id, const char *attribute)
{
	TenantKey	key = {.database = MyDatabaseId, .colocation_id = colocation_id};

	if (attribute != NULL)
		memcpy(key.attribute, attribute, pg_mbcliplen(attribute, strlen(attribute), TENANT_ATTRIBUTE_SIZE - 1));
	return key;
}
