/*-------------------------------------------------------------------------
 *
 * tenant_stats.h
 *	  Counts of each tenant's statements and CPU time, in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TENANTS_TENANT_STATS_H
#define CITUS_TENANTS_TENANT_STATS_H

#include "tenants/tenant_key.h"

/* Whether statements are to be counted (citus.stat_tenants_track). */
extern bool tenant_stats_on(void);

/*
 * Counts a statement that has used cpu seconds, on the shard group with that
 * hash value.  limited: the tenant has a
 * share of CPU time, so it is counted also if it was not known yet.
 * May be called where errors must not be raised.
 */
extern void tenant_stats_add(const TenantKey *key, int32 hash, bool read, double cpu, bool limited);

/*
 * Seconds until a tenant's debt is paid off at its rate of cpu seconds per
 * second; 0 if there is none.
 */
extern double tenant_stats_delay(const TenantKey *key, double rate);

extern void tenant_stats_init(void);

#endif							/* CITUS_TENANTS_TENANT_STATS_H */
