/*-------------------------------------------------------------------------
 *
 * deadlock_victim.c
 *	  Cancelling a transaction as the victim of a deadlock.
 *
 * The victim gets the signal of an ordinary cancel request.  Wherever it
 * waits, for a lock or for another node, the server then raises its error
 * "canceling statement due to user request".  A callback at the bottom of the
 * stack of error contexts sees it before it is caught, and makes it the error
 * that PostgreSQL raises for a deadlock, if shared memory has a sentence for
 * this very transaction.
 *
 * The callback is there from the session's start, since the first query may
 * wait for a lock before it is planned.  It stays where it is put: the stack
 * is emptied after an error only, and at the end of a portal that found it
 * empty.  The statement after an error may run without other code of ours (a
 * cached plan of this node's own shard).  So the callback is pushed again when
 * the failed transaction is cleaned up, after the last error that its
 * statements can raise, and when ROLLBACK TO restarts its subtransaction.  The
 * utility hook can't do that, since the portal that runs ROLLBACK restores the
 * empty stack.
 *
 * Sentences are stored in a few slots under a lightweight lock.  One that
 * isn't collected is overwritten later; it doesn't apply to a later
 * transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"

#include "compat/client_protocol.h"
#include "compat/proc.h"
#include "lib/debug_point.h"
#include "lib/shared_area.h"
#include "txn/deadlock_victim.h"

#define MAX_SENTENCES 16
#define DETAIL_SIZE 2048

typedef struct Sentence
{
	int			pid;			/* 0: none */
	uint32		lxid;
	char		detail[DETAIL_SIZE];
} Sentence;

typedef struct VictimShared
{
	SharedHeader header;
	int			next;			/* slot to overwrite next */
	Sentence	sentences[MAX_SENTENCES];
} VictimShared;

static VictimShared *victims_shared = NULL;

static ClientAuthentication_hook_type authentication_next = NULL;

/* ClientAuthentication_hook: a client's session, or another node's, begins. */
static void
prepare_session(Port *port, int status)
{
	if (authentication_next != NULL)
		authentication_next(port, status);
	deadlock_victim_prepare();
}

void
deadlock_victim_init(void)
{
	static SharedArea area = {
		.name = "citus_deadlock_victims",
		.fixed = sizeof(VictimShared),
		.memory = (SharedHeader **) &victims_shared,
	};

	shared_area_add(&area);
	authentication_next = ClientAuthentication_hook;
	ClientAuthentication_hook = prepare_session;
}

static void
put_sentence(int pid, uint32 lxid, const char *detail)
{
	Sentence   *sentence;

	LWLockAcquire(victims_shared->header.lock, LW_EXCLUSIVE);
	sentence = &victims_shared->sentences[victims_shared->next];
	victims_shared->next = (victims_shared->next + 1) % MAX_SENTENCES;
	sentence->pid = pid;
	sentence->lxid = lxid;
	strlcpy(sentence->detail, detail, DETAIL_SIZE);
	LWLockRelease(victims_shared->header.lock);
}

/*
 * Removes the sentence for a process and transaction, and returns it; false if
 * there is none.
 */
static bool
take_sentence(int pid, uint32 lxid, char *detail)
{
	bool		found = false;

	LWLockAcquire(victims_shared->header.lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_SENTENCES && !found; i++)
	{
		Sentence   *sentence = &victims_shared->sentences[i];

		if (sentence->pid != pid || sentence->lxid != lxid)
			continue;
		strlcpy(detail, sentence->detail, DETAIL_SIZE);
		sentence->pid = 0;
		found = true;
	}
	LWLockRelease(victims_shared->header.lock);
	return found;
}

/*
 * A transaction releases its locks, among them the fast-path locks of its
 * process, before the next one begins.  So while the process's fpInfoLock is
 * held, the signal can't reach a later transaction, and a session that has
 * ended this one ignores it.
 */
bool
deadlock_victim_cancel(int pid, uint32 lxid, const char *detail)
{
	PGPROC	   *proc = BackendPidGetProc(pid);
	char		unused[DETAIL_SIZE];
	bool		done;

	if (proc == NULL)
		return false;
	put_sentence(pid, lxid, detail);
	LWLockAcquire(&proc->fpInfoLock, LW_SHARED);
	done = proc->pid == pid && PROC_LXID(proc) == lxid;
	if (done)
	{
		DEBUG_POINT("deadlock-victim-found");
		done = kill(pid, SIGINT) == 0;
	}
	LWLockRelease(&proc->fpInfoLock);
	if (!done)
		(void) take_sentence(pid, lxid, unused);
	return done;
}

/* Makes the error of a cancel request that of a deadlock. */
static void
translate_cancel(void *arg)
{
	char		detail[DETAIL_SIZE];

	if (geterrcode() != ERRCODE_QUERY_CANCELED || MyProc == NULL ||
		!take_sentence(MyProcPid, PROC_LXID(MyProc), detail))
		return;
	errcode(ERRCODE_T_R_DEADLOCK_DETECTED);
	errmsg("deadlock detected");
	errdetail_internal("%s", detail);
	errhint("See server log for query details.");
}

static void
prepare_after_cleanup(void *arg)
{
	deadlock_victim_prepare();
}

void
deadlock_victim_prepare_next(void)
{
	static MemoryContextCallback callback = {.func = prepare_after_cleanup};

	MemoryContextRegisterResetCallback(TopTransactionContext, &callback);
}

void
deadlock_victim_prepare(void)
{
	static ErrorContextCallback callback = {NULL, translate_cancel, NULL};
	ErrorContextCallback *last = error_context_stack;

	if (last == NULL)
		error_context_stack = &callback;
	while (last != NULL && last != &callback)
	{
		if (last->previous == NULL)
			last->previous = &callback;
		last = last->previous;
	}
}
