/*-------------------------------------------------------------------------
 *
 * lock_attempt.c
 *	  Locks on several nodes, taken all together or given back.
 *
 * Writers start on any node, and hold locks there while they wait for those on
 * other nodes.  A session that locks something on all nodes meets these
 * writers in some order, and no order prevents deadlocks.  So the locks are
 * taken in a subtransaction with a short timeout: when that passes, all are
 * given back, which lets such a writer go on, and taken again a moment later.
 *
 * Locks that the transaction had before stay.  If they are what others wait
 * for, giving way doesn't help; so in a transaction block the attempts soon
 * end, and it is left to the search for deadlocks across nodes
 * (txn/deadlock.c) to end the wait.
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
#include "table/lock_attempt.h"
#include "txn/deadlock.h"

/*
 * Timeouts of the attempts, in ms: the first times the next of Luby's numbers,
 * and less than what the search for deadlocks waits.
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
	ATTEMPT_BUSY,				/* a lock was not to be had in time */
	ATTEMPT_CHANGED,			/* what is to be locked is not what it was */
} Attempt;

/* What an attempt is called with. */
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
	if (error == NULL || (taker->has_changed != NULL && taker->has_changed(taker->arg, error->sqlerrcode)))
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

	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * The longest timeout of an attempt: one that gives way is not to be taken for
 * a deadlock before it does.
 */
static int
longest_timeout(void)
{
	int			grace = deadlock_grace();

	return grace == 0 ? LAST_TIMEOUT : Min(LAST_TIMEOUT, Max(grace / 2, 1));
}

/*
 * The number-th of 1, 1, 2, 1, 1, 2, 4, 1, ...: how much time the attempt gets
 * (Luby, Sinclair, Zuckerman, "Optimal speedup of Las Vegas algorithms",
 * 1993).  Writers of short statements let an attempt through at once, or, by
 * bad luck, not at all: many short attempts succeed soonest.  If a lock is
 * held for longer, a long attempt is needed.
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
