/*-------------------------------------------------------------------------
 *
 * tenant_key.c
 *	  The key that identifies a tenant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "tenants/tenant_key.h"

TenantKey
tenant_key(int32 colocation_id, const char *attribute)
{
	TenantKey	key = {.database = MyDatabaseId, .colocation_id = colocation_id};

	if (attribute != NULL)
		memcpy(key.attribute, attribute, pg_mbcliplen(attribute, strlen(attribute), TENANT_ATTRIBUTE_SIZE - 1));
	return key;
}

TenantKey
tenant_key_of_value(int32 colocation_id, const ParamExternData *value)
{
	Oid			output;
	bool		varlena;
	char	   *text;
	TenantKey	key;

	if (value == NULL)
		return tenant_key(colocation_id, NULL);
	getTypeOutputInfo(value->ptype, &output, &varlena);
	text = OidOutputFunctionCall(output, value->value);
	key = tenant_key(colocation_id, text);
	pfree(text);
	return key;
}
