/*-------------------------------------------------------------------------
 *
 * expiry.c
 *	  Wakes up an idle session whose cached connections have become too old.
 *
 * Connections are closed at the end of transactions only, and an idle session
 * runs none.  So a timeout is set to the time when the oldest cached
 * connection expires.  Its signal handler can't close connections; instead, it
 * requests a catchup interrupt, as if other sessions waited for this one to
 * read its invalidation messages.  The server then has the idle session run an
 * empty transaction, at whose end old connections are closed as usual.
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
