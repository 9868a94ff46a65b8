/*-------------------------------------------------------------------------
 *
 * lock_attempt.h
 *	  Locks on several nodes: takes all of them or none.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_LOCK_ATTEMPT_H
#define CITUS_TABLE_LOCK_ATTEMPT_H

#include "postgres.h"

/* Callbacks of the caller; arg is passed to each function. */
typedef struct LockTaker
{
	/*
	 * Takes the locks, in attempt number 1, 2, ...  Waits on which others may
	 * depend end after timeout ms, unless that is 0 (lock_attempt_limit).
	 * False if what is to be locked has changed: then nothing stays locked.
	 */
	bool		(*take) (void *arg, int number, int timeout);

	/*
	 * Called after an attempt in which a lock was not granted in time.  May be
	 * NULL; if not, attempts go on forever in a transaction block, too.
	 */
	void		(*clear_way) (void *arg);

	bool		here_only;		/* one attempt suffices: all waits are on this
								 * node */
	void	   *arg;
} LockTaker;

/*
 * Takes the locks until the transaction ends.  False, and nothing is locked,
 * if what is to be locked has changed.
 */
extern bool lock_in_attempts(const LockTaker *taker);

/*
 * Sets lock_timeout, here and in what is sent, until the caller's GUC nest
 * level ends.
 */
extern void lock_attempt_limit(int timeout);

#endif							/* CITUS_TABLE_LOCK_ATTEMPT_H */
