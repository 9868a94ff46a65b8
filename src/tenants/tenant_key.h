/*-------------------------------------------------------------------------
 *
 * tenant_key.h
 *	  The key that identifies a tenant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TENANTS_TENANT_KEY_H
#define CITUS_TENANTS_TENANT_KEY_H

#include "postgres.h"

#include "nodes/params.h"

/*
 * Size of a value's text, with the terminating zero; longer ones are
 * truncated.
 */
#define TENANT_ATTRIBUTE_SIZE 100

/* Without padding, since it is compared and hashed as bytes. */
typedef struct TenantKey
{
	Oid			database;
	int32		colocation_id;
	char		attribute[TENANT_ATTRIBUTE_SIZE];	/* zeros behind its end;
													 * empty: the whole
													 * group */
} TenantKey;

StaticAssertDecl(sizeof(TenantKey) == 2 * sizeof(int32) + TENANT_ATTRIBUTE_SIZE, "TenantKey has no padding");

/* The key of a value's text in this database; NULL is the whole group. */
extern TenantKey tenant_key(int32 colocation_id, const char *attribute);

/* The same of a value that is not null; NULL is the whole group. */
extern TenantKey tenant_key_of_value(int32 colocation_id, const ParamExternData *value);

/* A hash value of the key. */
extern uint32 tenant_key_hash(const TenantKey *key);

#endif							/* CITUS_TENANTS_TENANT_KEY_H */
