/*-------------------------------------------------------------------------
 *
 * session_answers.c
 *	  A session that sends the answers to several clients' statements together.
 *
 * A gateway process sends the statements of several clients to a session of
 * another node before it has the first answer (session_queue.c).  The server
 * flushes its output at each ReadyForQuery, so each statement costs a system
 * call, the way of a packet through the kernel, and often a wake-up of the
 * gateway.  With citus.answers_together, which the gateway sets for such
 * sessions, the flush at ReadyForQuery is left out while input is waiting that
 * has been received already; that input's answer, or the end of the input,
 * flushes both.
 *
 * The input that is waiting must be a whole message, or the rest of it must
 * come without an answer: the gateway shares only sessions that it sends whole
 * statements to.  An answer is held for HOLD_TIME and one statement at most,
 * so that a client waits for another client's statement no longer than it
 * would behind it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/ipc.h"
#include "utils/guc.h"

#include "catalog/node_session.h"
#include "compat/client_protocol.h"
#include "executor/task_settings.h"
#include "gateway/server/gateway.h"

/* Microseconds after which no further answer is held. */
#define HOLD_TIME 250

static bool answers_together = false;

static ExecutorRun_hook_type shared_run_next = NULL;
static const PQcommMethods *answer_methods_next = NULL;
static PQcommMethods answer_methods;

/* The last message that was put. */
static char answer_last_type = '\0';

/* When the first of the answers was put that are held; zero: none is. */
static instr_time answer_held_since;

static int
put_answer(char type, const char *data, size_t len)
{
	answer_last_type = type;
	return answer_methods_next->putmessage(type, data, len);
}

/* Whether an answer that has just been put may wait for the next one. */
static bool
may_hold_answer(void)
{
	instr_time	now;

	if (answer_last_type != 'Z' || pq_buffer_remaining_data() == 0)
		return false;
	INSTR_TIME_SET_CURRENT(now);
	if (INSTR_TIME_IS_ZERO(answer_held_since))
	{
		answer_held_since = now;
		return true;
	}
	INSTR_TIME_SUBTRACT(now, answer_held_since);
	return INSTR_TIME_GET_MICROSEC(now) < HOLD_TIME;
}

static int
flush_answers(void)
{
	if (may_hold_answer())
		return 0;
	INSTR_TIME_SET_ZERO(answer_held_since);
	return answer_methods_next->flush();
}

/* The session ends: nobody puts another answer. */
static void
flush_last_answers(int code, Datum arg)
{
	if (!INSTR_TIME_IS_ZERO(answer_held_since))
		(void) answer_methods_next->flush();
}

/* ExecutorRun_hook: the next statement may be another client's. */
static void
run_shared(QueryDesc *query_desc, ScanDirection direction, uint64 count EXECUTE_ONCE_PARAMETER)
{
	bool		restores = strncmp(query_desc->sourceText, FRESH_SESSION, strlen(FRESH_SESSION)) == 0;

	if (!restores && is_client_text(query_desc->sourceText))
		task_settings_run(shared_run_next, query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else if (shared_run_next != NULL)
		shared_run_next(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
	else
		standard_ExecutorRun(query_desc, direction, count EXECUTE_ONCE_ARGUMENT);
}

static void
assign_answers_together(bool together, void *extra)
{
	if (!together || answer_methods_next != NULL || MyProcPort == NULL)
		return;
	answer_methods_next = PqCommMethods;
	answer_methods = *PqCommMethods;
	answer_methods.flush = flush_answers;
	answer_methods.putmessage = put_answer;
	PqCommMethods = &answer_methods;
	shared_run_next = ExecutorRun_hook;
	ExecutorRun_hook = run_shared;
	on_proc_exit(flush_last_answers, 0);
}

bool
session_is_shared(void)
{
	return answers_together;
}

void
session_answers_init(void)
{
	DefineCustomBoolVariable(ANSWERS_TOGETHER_SETTING,
							 "Sends answers together that were asked for together.",
							 "A gateway sets this for the sessions that several clients' statements share.",
							 &answers_together, false, PGC_BACKEND,
							 GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							 NULL, assign_answers_together, NULL);
}
