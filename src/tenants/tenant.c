/*-------------------------------------------------------------------------
 *
 * tenant.c
 *	  Counts statements of tenants, and applies their limits.
 *
 * A task's tag gives the number of the parameter that is the tenant's value
 * (resolve/tag.h); for a statement on the initiator's own shard, the plan
 * gives it.  Only the outermost statement of a session is counted: statements
 * of its functions are part of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "executor/executor.h"
#include "utils/memutils.h"

#include "tenants/statement_stats.h"
#include "tenants/tenant.h"
#include "tenants/tenant_limit.h"
#include "tenants/tenant_stats.h"

/* The statement that is counted; active between its start and its end. */
static struct
{
	const QueryDesc *query_desc;
	bool		active;
	TenantKey	key;
	int32		hash;
	bool		read;
	bool		limited;
	double		cpu;			/* of this process before it */
}			counted;

/* Seconds of CPU time that this process has used. */
static double
cpu_time(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
		return 0;
	return now.tv_sec + now.tv_nsec / 1e9;
}

bool
tenant_statement_starts(const QueryDesc *query_desc, int32 colocation_id, int32 hash, const ParamExternData *value)
{
	const TenantLimit *limit;

	if (likely(!tenant_stats_on() && !tenant_limits_exist()))
		return false;
	if (counted.active)
		return false;
	counted.query_desc = NULL;
	if (value != NULL && value->isnull)
		return false;
	counted.query_desc = query_desc;
	counted.key = tenant_key_of_value(colocation_id, value);
	counted.hash = hash;
	counted.read = query_desc->operation == CMD_SELECT;
	limit = tenant_limit_find(&counted.key);
	counted.limited = limit != NULL && limit->max_cpu_share > 0;
	if (limit != NULL)
		tenant_limit_wait(limit);
	counted.cpu = cpu_time();
	return limit != NULL;
}

/* Counts the statement; called when its memory is released. */
static void
statement_ends(void *arg)
{
	counted.active = false;
	tenant_stats_add(&counted.key, counted.hash, counted.read, cpu_time() - counted.cpu, counted.limited);
}

void
tenant_statement_started(QueryDesc *query_desc)
{
	MemoryContextCallback *callback;

	if (likely(counted.query_desc != query_desc))
		return;
	counted.query_desc = NULL;
	if (counted.active || query_desc->estate == NULL || (!tenant_stats_on() && !counted.limited))
		return;
	callback = MemoryContextAllocZero(query_desc->estate->es_query_cxt, sizeof(MemoryContextCallback));
	callback->func = statement_ends;
	MemoryContextRegisterResetCallback(query_desc->estate->es_query_cxt, callback);
	counted.active = true;
}

void
tenant_init(void)
{
	tenant_stats_init();
	statement_stats_init();
}
