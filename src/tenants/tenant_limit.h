/*-------------------------------------------------------------------------
 *
 * tenant_limit.h
 *	  Limits of tenants: rows of pg_dist_tenant_limit, and waiting.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TENANTS_TENANT_LIMIT_H
#define CITUS_TENANTS_TENANT_LIMIT_H

#include "compat/foreach.h"
#include "tenants/tenant_key.h"

/* The largest max_concurrent. */
#define TENANT_MAX_CONCURRENT 1000

typedef struct TenantLimit
{
	TenantKey	key;			/* hash key */
	int			max_concurrent; /* transactions at a time on a node; 0: any
								 * number */
	double		max_cpu_share;	/* of a node's CPU time; 0: all of it */
} TenantLimit;

/* The limit of a tenant, or NULL; valid until the next statement. */
extern const TenantLimit *tenant_limit_find(const TenantKey *key);

/* Whether any tenant of this database has a limit. */
extern bool tenant_limits_exist(void);

/*
 * Waits until the tenant may start a statement: takes a slot, which the
 * transaction keeps until its end, and waits until the tenant has no debt of
 * CPU time.  Errors if cancelled.
 */
extern void tenant_limit_wait(const TenantLimit *limit);

/*
 * Errors unless the bounds make sense and the current user owns the tables of
 * the colocation group.
 */
extern void tenant_limit_check(const TenantLimit *limit);

/* Writes a row on this node; a limit without bounds removes it. */
extern void tenant_limit_record(const TenantLimit *limit);

/* A call that writes the same row on another node. */
extern char *tenant_limit_command(const TenantLimit *limit);

/* Such calls (List of char *) for all colocation groups that have tables. */
extern List *tenant_limit_commands(void);

#endif							/* CITUS_TENANTS_TENANT_LIMIT_H */
