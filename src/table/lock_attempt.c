/*-------------------------------------------------------------------------
 *
 * lock_attempt.c
 *	  Locks on several nodes: takes all of them or none.
 *
 * Writers start on any node, and hold locks there while they wait for those on
 * other nodes.  A session that locks something on all nodes meets these
 * writers in some order, and no order prevents deadlocks.  So the locks are
 * taken in a subtransaction with a short timeout: after it, all are released,
 * so that the writer can proceed, and taken again a moment later.
 *
 * Locks that the transaction had before are kept.  If the writer waits for
 * these, releasing the others doesn't help; so in a transaction block, the
 * attempts soon end, and the deadlock detector (txn/deadlock.c) ends the wait.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "lib/catch_error.h"
#include "lib/subtransaction.h"
#include "lib/wait_event.h"
#include "table/lock_attempt.h"
#include "txn/deadlock.h"

/*
 * Timeouts of the attempts, in ms: the first one times the next of Luby's
 * numbers, and less than the deadlock detector's.
 */
#define FIRST_TIMEOUT 100
#define LAST_TIMEOUT 5000

/*
 * In a transaction block; and if deadlocks aren't detected, about half a
 * minute.
 */
#define ATTEMPTS_IN_BLOCK 2
#define ATTEMPTS_IN_BLOCK_ALONE 96

typedef enum Attempt
{
	ATTEMPT_DONE,
	ATTEMPT_BUSY,				/* a lock was not granted in time */
	ATTEMPT_CHANGED,			/* the object to be locked has changed */
} Attempt;

/* Arguments of an attempt. */
typedef struct AttemptArgs
{
	const LockTaker *taker;
	int			number;
	int			timeout;
} AttemptArgs;

static bool
take_locks(void *arg)
{
	const AttemptArgs *args = arg;

	return args->taker->take(args->taker->arg, args->number, args->timeout);
}

/*
 * One attempt, in a subtransaction; locks are kept only if it is done. Other
 * errors, and the last one, are raised.
 */
static Attempt
try_locks(const LockTaker *taker, int number, int timeout, bool last)
{
	AttemptArgs args = {taker, number, timeout};
	ErrorData  *error;

	if (subtransaction_run(take_locks, &args, &error))
		return ATTEMPT_DONE;
	if (error == NULL)
		return ATTEMPT_CHANGED;
	if (last || error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
		catch_rethrow(error);
	return ATTEMPT_BUSY;
}

/* Waits a random moment, up to 50 ms. */
static void
pause_briefly(void)
{
	long		ms = 1 + (long) (pg_prng_double(&pg_global_prng_state) * 50);

	wait_pause(ms, WAIT_LOCK_RETRY);
}

/*
 * The longest timeout of an attempt: it must end before the deadlock detector
 * could find it.
 */
static int
longest_timeout(void)
{
	int			grace = deadlock_grace();

	return grace == 0 ? LAST_TIMEOUT : Min(LAST_TIMEOUT, Max(grace / 2, 1));
}

/*
 * The number-th of 1, 1, 2, 1, 1, 2, 4, 1, ...: the relative timeout of the
 * attempt (Luby, Sinclair, Zuckerman, "Optimal speedup of Las Vegas
 * algorithms", 1993).  Writers of short statements let an attempt through at
 * once, or, by bad luck, not at all: many short attempts succeed soonest.  If
 * a lock is held for longer, a long attempt is needed.
 */
static int
luby_number(int number)
{
	int			block = pg_nextpower2_32(number + 1);

	/*
	 * at the end of 2^k - 1 numbers stands 2^(k - 1), before it twice the same
	 */
	return number == block - 1 ? block / 2 : luby_number(number - (block / 2 - 1));
}

void
lock_attempt_limit(int timeout)
{
	if (timeout > 0 && (LockTimeout == 0 || LockTimeout > timeout))
		(void) set_config_option("lock_timeout", psprintf("%dms", timeout), PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
}

bool
lock_in_attempts(const LockTaker *taker)
{
	bool		in_block = IsTransactionBlock() && taker->clear_way == NULL;
	TimestampTz begun = GetCurrentTimestamp();

	for (int number = 1;; number++)
	{
		int			timeout = Min(FIRST_TIMEOUT * luby_number(number), longest_timeout());
		int			left = LockTimeout - (int) TimestampDifferenceMilliseconds(begun, GetCurrentTimestamp());
		bool		last = taker->here_only;
		Attempt		result;

		if (LockTimeout > 0 && left <= timeout)
		{
			last = true;
			timeout = Max(left, 1);
		}
		else if (in_block && deadlock_interval() > 0 && number > ATTEMPTS_IN_BLOCK)
		{
			last = true;
			timeout = 0;
		}
		else if (in_block && number >= ATTEMPTS_IN_BLOCK_ALONE)
			last = true;
		result = try_locks(taker, number, timeout, last);
		if (result != ATTEMPT_BUSY)
			return result == ATTEMPT_DONE;
		if (taker->clear_way != NULL)
			taker->clear_way(taker->arg);
		pause_briefly();
	}
}
