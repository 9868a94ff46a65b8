/*-------------------------------------------------------------------------
 *
 * expiry.c
 *	  Wakes up an idle session whose cached connections have become too old.
 *
 * Connections are closed at the end of transactions only, and an idle session
 * has none.  So a timeout stands for the moment at which the oldest cached
 * connection expires.  It must not close anything itself, being a signal
 * handler; instead it pretends that other sessions wait for this one to read
 * its invalidation messages.  The server then wakes up an idle session in an
 * orderly way and has it run an empty transaction, at whose end the pool is
 * looked after like after any other.
 *
 * The timeout is set in signal-safe variables only: it may fire at any time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "storage/sinval.h"
#include "utils/timeout.h"

#include "remote/private.h"

/* MAX_TIMEOUTS: this process has not registered the timeout yet. */
static TimeoutId expiry_timeout = MAX_TIMEOUTS;

/* Something may have expired that was not looked at since. */
static volatile sig_atomic_t expiry_is_due = false;

static void
note_expiry(void)
{
	expiry_is_due = true;
	catchupInterruptPending = true;
}

void
expiry_look_again(void)
{
	expiry_is_due = true;
}

/*
 * A timeout that isn't active was lost: an error disables all of them.
 */
bool
expiry_due(void)
{
	return expiry_is_due || expiry_timeout == MAX_TIMEOUTS || !get_timeout_active(expiry_timeout);
}

void
expiry_set(TimestampTz when)
{
	if (!expiry_due())
		return;
	if (expiry_timeout == MAX_TIMEOUTS)
		expiry_timeout = RegisterTimeout(USER_TIMEOUT, note_expiry);
	expiry_is_due = false;
	enable_timeout_at(expiry_timeout, when);
}
