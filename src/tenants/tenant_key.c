/*-------------------------------------------------------------------------
 *
 * tenant_key.c
 *	  The key that identifies a tenant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

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
	static Oid	last_type = InvalidOid;
	static FmgrInfo output;		/* its output function, which every statement
								 * would look up anew, .. */
	static MemoryContext output_context = NULL; /* with what that keeps */
	char	   *text;
	TenantKey	key;

	if (value == NULL)
		return tenant_key(colocation_id, NULL);
	if (value->ptype != last_type)
	{
		Oid			function;
		bool		varlena;

		last_type = InvalidOid;
		if (output_context == NULL)
			output_context = AllocSetContextCreate(TopMemoryContext, "tenants' output function", ALLOCSET_SMALL_SIZES);
		MemoryContextReset(output_context);
		getTypeOutputInfo(value->ptype, &function, &varlena);
		fmgr_info_cxt(function, &output, output_context);
		last_type = value->ptype;
	}
	text = OutputFunctionCall(&output, value->value);
	key = tenant_key(colocation_id, text);
	pfree(text);
	return key;
}

uint32
tenant_key_hash(const TenantKey *key)
{
	return hash_bytes((const unsigned char *) key, offsetof(TenantKey, attribute) + strlen(key->attribute));
}
