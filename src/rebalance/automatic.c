/*-------------------------------------------------------------------------
 *
 * automatic.c
 *	  Automatic rebalancing.
 *
 * The maintenance worker of the coordinator regularly makes a plan, by the
 * default strategy.  The plan has moves when a node has joined, when a node
 * should have no shards any more, and when loads differ by more than the
 * strategy's threshold.  The job brings loads within half of the threshold, so
 * that a little growth doesn't start the next one.  If the plan has no moves,
 * shards larger than citus.split_shard_size are split.
 *
 * Jobs only start within a window of the day; a running job continues after
 * it.  After a job that has failed, or that a user has cancelled, the worker
 * waits before it starts another.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <time.h>

#include "pgtime.h"
#include "utils/guc.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "jobs/job.h"
#include "rebalance/automatic.h"
#include "rebalance/rebalance_job.h"
#include "rebalance/strategy.h"

#define MINUTES_OF_DAY (24 * 60)

static bool rebalance_automatically = false;
static int	rebalance_interval = 60000;
static int	split_shard_size = 0;	/* kB */
static char *rebalance_window = "";

/*
 * Parses the minutes of the day at which a window begins and ends; false if
 * the text is invalid.
 */
static bool
parse_window(const char *window, int *begins, int *ends)
{
	int			hour[2];
	int			minute[2];
	int			length = 0;

	if (sscanf(window, "%2d:%2d-%2d:%2d%n", &hour[0], &minute[0], &hour[1], &minute[1], &length) != 4 ||
		window[length] != '\0')
		return false;
	for (int i = 0; i < 2; i++)
	{
		if (hour[i] < 0 || minute[i] < 0 || minute[i] > 59 || hour[i] * 60 + minute[i] > MINUTES_OF_DAY)
			return false;
	}
	*begins = hour[0] * 60 + minute[0];
	*ends = hour[1] * 60 + minute[1];
	return true;
}

static bool
check_rebalance_window(char **newval, void **extra, GucSource source)
{
	int			begins;
	int			ends;

	if ((*newval)[0] == '\0' || parse_window(*newval, &begins, &ends))
		return true;
	GUC_check_errdetail("It is a time of the day until another one, for instance \"22:00-06:00\", or empty.");
	return false;
}

static bool
in_window(void)
{
	pg_time_t	now = time(NULL);
	const struct pg_tm *tm = pg_localtime(&now, session_timezone);
	int			minute = tm->tm_hour * 60 + tm->tm_min;
	int			begins;
	int			ends;

	if (!parse_window(rebalance_window, &begins, &ends))
		return true;
	if (begins <= ends)
		return minute >= begins && minute < ends;
	return minute >= begins || minute < ends;
}

/* Whether the last rebalance is still running, or has failed recently. */
static bool
must_wait(void)
{
	char	   *wait = jobs_call("SELECT finished_at IS NULL OR (state <> 'finished' AND "
								 "finished_at > clock_timestamp() - interval '10 min') "
								 "FROM pg_dist_background_job WHERE job_type = 'rebalance' "
								 "ORDER BY job_id DESC LIMIT 1", 0, NULL, NULL);

	return wait != NULL && strcmp(wait, "t") == 0;
}

int
automatic_rebalance_interval(void)
{
	return rebalance_automatically ? rebalance_interval : -1;
}

void
automatic_rebalance(void)
{
	PlanRequest request = {.threshold = -1, .improvement_threshold = -1, .max_moves = INT_MAX};
	RebalanceJob how = {.transfer_mode = "auto", .automatic = true};
	RebalanceStrategy *strategy;
	RebalancePlan *plan;

	if (metadata_local_group() != COORDINATOR_GROUP || (list_length(node_active_primaries()) < 2 && split_shard_size == 0) ||
		!in_window() || must_wait())
		return;
	plan = plan_of_cluster(&request);
	if (plan->moves == NIL)
	{
		if (split_shard_size > 0)
			rebalance_job_split(plan, (int64) split_shard_size * 1024);
		return;
	}
	strategy = strategy_find(NULL);
	request.threshold = Max(strategy->default_threshold / 2, strategy->minimum_threshold);
	(void) rebalance_job_create(&request, &how);
}

void
automatic_rebalance_init(void)
{
	DefineCustomBoolVariable("citus.rebalance_automatically",
							 "Rebalances shards without being asked.",
							 "When a node joins, when one should have no shards any more, and when loads differ by more "
							 "than the default strategy's threshold.",
							 &rebalance_automatically, false, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.rebalance_interval",
							"Sets how often the coordinator looks whether to rebalance shards.",
							"It does so only if citus.rebalance_automatically is on.",
							&rebalance_interval, 60000, 100, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.split_shard_size",
							"Sets the disk space beyond which a shard, with those colocated with it, is split.",
							"It is only if citus.rebalance_automatically is on. 0 means never.",
							&split_shard_size, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.rebalance_window",
							   "Sets when rebalances may start without being asked, for instance \"22:00-06:00\".",
							   "In the time zone of the server; empty means at any time.",
							   &rebalance_window, "", PGC_SIGHUP, 0, check_rebalance_window, NULL, NULL);
}
