/*-------------------------------------------------------------------------
 *
 * trace.c
 *	  Traces: what a sampled statement does on all nodes, and how long it
 *	  takes.
 *
 * A client's statement is sampled when it is planned, or when it is executed
 * with an older plan: citus.trace_sample_rate of all are, and those whose
 * sqlcommenter comment has a W3C traceparent with the flag "sampled", whose
 * trace they continue.  Statements that functions execute belong to that of
 * the client.  The statement's tasks carry its trace in their tags, and the
 * nodes that run them measure, too, whatever their own setting.
 *
 * Each node keeps its spans in a ring in shared memory, whose size is
 * citus.trace_spans: the newest replace the oldest.  A span is written when it
 * ends, under the ring's lightweight lock, so one that an error ends is not
 * written, but for the statement's own.
 *
 * A statement ends with the client's transaction, so that its span includes
 * the commit; in a transaction block, with its executor state, or with the
 * command.
 *
 * While nothing is sampled, a statement costs the test of a variable in each
 * place that measures.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <inttypes.h>
#include <math.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "catalog/pg_authid.h"
#include "compat/sql_function.h"
#include "lib/shared_area.h"
#include "lib/trace.h"

SQL_FUNCTION(citus_internal_local_traces);

/* Bytes of a span's text; spans of one statement on one node. */
#define DETAIL_SIZE 200
#define MAX_SPANS 1000

/* Lengths of hexadecimal ids. */
#define TRACE_ID_DIGITS 32
#define SPAN_ID_DIGITS 16

static const char *const trace_kind_names[] = {
	[TRACE_STATEMENT] = "statement",
	[TRACE_EXECUTE] = "execute",
	[TRACE_PLAN] = "plan",
	[TRACE_SNAPSHOT] = "snapshot",
	[TRACE_CONNECT] = "connect",
	[TRACE_QUEUE] = "queue",
	[TRACE_TASK] = "task",
	[TRACE_COMMAND] = "command",
	[TRACE_COPY] = "copy",
	[TRACE_WAIT] = "wait",
	[TRACE_PREPARE] = "prepare",
	[TRACE_COMMIT] = "commit",
	[TRACE_LOCAL_COMMIT] = "local commit",
	[TRACE_COMMIT_PREPARED] = "commit prepared",
};

/* A span that has ended. */
typedef struct StoredSpan
{
	TraceContext parent;		/* whose span may be 0: there is none */
	uint64		id;
	TraceKind	kind;
	int			node;
	int			pid;
	Oid			role;
	Oid			database;
	bool		failed;
	int64		amount;
	TimestampTz start;
	int64		duration;		/* microseconds */
	char		detail[DETAIL_SIZE];
} StoredSpan;

typedef struct TraceShared
{
	SharedHeader header;
	uint64		written;		/* spans since the server started */
	StoredSpan	spans[FLEXIBLE_ARRAY_MEMBER];
} TraceShared;

/* The statement that is traced. */
static struct
{
	TraceContext context;		/* its span */
	uint64		parent;
	TraceKind	kind;
	Oid			role;
	TimestampTz start;
	bool		executing;		/* its executor has started */
	int			spans;
	TraceSpan	local_commit;
	char		text[DETAIL_SIZE];
} traced;

bool		trace_sampling = false;
bool		trace_running = false;

static double trace_sample_rate = 0;
static int	trace_spans = 4096;
static TraceShared *trace_shared = NULL;

/* The statement that was sampled last, or planned and not yet executed. */
static TimestampTz trace_decided = 0;
static bool trace_planned = false;

static uint64
trace_new_id(void)
{
	uint64		id;

	do
		id = pg_prng_uint64(&pg_global_prng_state);
	while (id == 0);
	return id;
}

static void
trace_copy_text(char *to, const char *text)
{
	int			length = text == NULL ? 0 : pg_mbcliplen(text, strlen(text), DETAIL_SIZE - 1);

	memcpy(to, text == NULL ? "" : text, length);
	to[length] = '\0';
}

static void
trace_store(const StoredSpan *span)
{
	StoredSpan *stored;

	if (trace_spans == 0 || traced.spans++ >= MAX_SPANS)
		return;
	LWLockAcquire(trace_shared->header.lock, LW_EXCLUSIVE);
	stored = &trace_shared->spans[trace_shared->written++ % trace_spans];
	*stored = *span;
	stored->pid = MyProcPid;
	stored->database = MyDatabaseId;
	stored->role = traced.role;
	LWLockRelease(trace_shared->header.lock);
}

TraceSpan
trace_start_span(void)
{
	return (TraceSpan) {trace_new_id(), GetCurrentTimestamp()};
}

void
trace_end_span(const TraceSpan *span, TraceKind kind, int node, int64 amount, const char *detail, int least_us)
{
	StoredSpan	stored = {
		.parent = traced.context,
		.id = span->id,
		.kind = kind,
		.node = node,
		.amount = amount,
		.start = span->start,
		.duration = GetCurrentTimestamp() - span->start,
	};

	if (!trace_running || stored.duration < least_us)
		return;
	trace_copy_text(stored.detail, detail);
	trace_store(&stored);
}

TraceSpan
trace_since_begin(void)
{
	return (TraceSpan) {trace_new_id(), traced.start};
}

TraceContext
trace_context_of(const TraceSpan *span)
{
	return (TraceContext) {traced.context.high, traced.context.low, span->id};
}

/* Ends the statement. */
static void
trace_finish(bool failed)
{
	StoredSpan	stored = {
		.parent = {traced.context.high, traced.context.low, traced.parent},
		.id = traced.context.span,
		.kind = traced.kind,
		.node = TRACE_NO_NODE,
		.failed = failed,
		.amount = -1,
		.start = traced.start,
		.duration = GetCurrentTimestamp() - traced.start,
	};

	if (!trace_running)
		return;
	traced.spans = 0;			/* this one is always written */
	strcpy(stored.detail, traced.text);
	trace_store(&stored);
	trace_running = false;
}

static void
trace_start(TraceContext parent, TraceKind kind, const char *text)
{
	if (trace_running)
		trace_finish(false);
	traced.context = (TraceContext) {parent.high, parent.low, trace_new_id()};
	traced.parent = parent.span;
	traced.kind = kind;
	traced.role = GetUserId();
	traced.start = GetCurrentTimestamp();
	traced.executing = false;
	traced.spans = 0;
	traced.local_commit.id = 0;
	trace_copy_text(traced.text, text);
	trace_running = true;
}

/* Reads digits in lower case; false if there are others. */
static bool
trace_read_hex(const char *text, int digits, uint64 *value)
{
	*value = 0;
	for (int i = 0; i < digits; i++)
	{
		char		c = text[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		*value = *value << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

/*
 * The traceparent of a text: traceparent='00-<trace>-<span>-<flags>', in a
 * comment.  False if there is none that is valid.
 */
static bool
trace_read_parent(const char *text, TraceContext *parent, bool *sampled)
{
	static const char start[] = "traceparent='00-";
	const char *comment = text == NULL ? NULL : strstr(text, "/*");
	const char *found = comment == NULL ? NULL : strstr(comment, start);
	uint64		flags;

	if (found == NULL)
		return false;
	found += strlen(start);
	if (strnlen(found, 53) < 53 || !trace_read_hex(found, 16, &parent->high) || !trace_read_hex(found + 16, 16, &parent->low) ||
		found[TRACE_ID_DIGITS] != '-' || !trace_read_hex(found + 33, SPAN_ID_DIGITS, &parent->span) || found[49] != '-' ||
		!trace_read_hex(found + 50, 2, &flags) || found[52] != '\'' || (parent->high | parent->low) == 0 || parent->span == 0)
		return false;
	*sampled = (flags & 1) != 0;
	return true;
}

/* Decides about a statement of the client. */
static void
trace_sample(const char *text)
{
	TraceContext parent;
	bool		sampled;

	if (!trace_read_parent(text, &parent, &sampled))
	{
		sampled = pg_prng_double(&pg_global_prng_state) < trace_sample_rate;
		parent = (TraceContext) {trace_new_id(), trace_new_id(), 0};
	}
	if (sampled)
		trace_start(parent, TRACE_STATEMENT, text);
}

/*
 * All statements that one message of the client runs have the same time; but
 * a statement may be planned by one message and executed by another.
 */
void
trace_statement(const char *text, bool planning)
{
	TimestampTz now = GetCurrentStatementStartTimestamp();
	bool		planned = trace_planned;

	if (IsParallelWorker())
		return;
	if (!planning)
		trace_planned = false;
	if (now == trace_decided)
		return;
	trace_decided = now;
	if ((!planning && planned) || (trace_running && traced.executing))
		return;
	trace_planned = planning;
	trace_sample(text);
}

void
trace_task_begin(const TraceContext *context)
{
	if (IsParallelWorker() || (trace_running && traced.parent == context->span))
		return;
	trace_start(*context, TRACE_EXECUTE, NULL);
	/* what the task executes isn't sampled by itself */
	trace_decided = GetCurrentStatementStartTimestamp();
}

/*
 * The executor state of a statement is freed: ends the statement in a block.
 */
static void
trace_executor_ended(void *arg)
{
	const uint64 *span = arg;

	if (!trace_running || traced.context.span != *span)
		return;
	traced.executing = false;
	if (IsTransactionBlock())
		trace_finish(false);
}

void
trace_executor_started(QueryDesc *query_desc)
{
	struct
	{
		MemoryContextCallback callback;
		uint64		span;
	}		   *end;

	if (traced.executing)
		return;
	end = MemoryContextAllocZero(query_desc->estate->es_query_cxt, sizeof(*end));
	end->span = traced.context.span;
	end->callback.func = trace_executor_ended;
	end->callback.arg = &end->span;
	MemoryContextRegisterResetCallback(query_desc->estate->es_query_cxt, &end->callback);
	traced.executing = true;
}

void
trace_utility_ended(void)
{
	if (trace_running && !traced.executing && IsTransactionBlock())
		trace_finish(false);
}

void
trace_transaction_ended(bool committed)
{
	trace_planned = false;
	if (unlikely(trace_running))
		trace_finish(!committed);
}

void
trace_local_commit_begins(void)
{
	if (unlikely(trace_running))
		traced.local_commit = trace_start_span();
}

void
trace_local_commit_ended(void)
{
	if (unlikely(trace_running))
		trace_end_wait(&traced.local_commit, TRACE_LOCAL_COMMIT, TRACE_NO_NODE, NULL);
}

static Datum
trace_hex(uint64 high, uint64 low, bool long_id)
{
	char		text[TRACE_ID_DIGITS + 1];

	if (long_id)
		snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, high, low);
	else
		snprintf(text, sizeof(text), "%016" PRIx64, low);
	return CStringGetTextDatum(text);
}

/* The columns of citus_internal.local_traces() for a span. */
static void
trace_put_row(ReturnSetInfo *result, const StoredSpan *span)
{
	Datum		values[13];
	bool		nulls[lengthof(values)] = {0};

	values[0] = trace_hex(span->parent.high, span->parent.low, true);
	values[1] = trace_hex(0, span->id, false);
	values[2] = trace_hex(0, span->parent.span, false);
	nulls[2] = span->parent.span == 0;
	values[3] = CStringGetTextDatum(trace_kind_names[span->kind]);
	values[4] = TimestampTzGetDatum(span->start);
	values[5] = Float8GetDatum(span->duration / 1000.0);
	values[6] = Int32GetDatum(span->pid);
	values[7] = ObjectIdGetDatum(span->role);
	values[8] = Int32GetDatum(span->node);
	nulls[8] = span->node == TRACE_NO_NODE;
	values[9] = Int64GetDatum(span->amount);
	nulls[9] = span->amount < 0;
	values[10] = CStringGetTextDatum(span->detail);
	nulls[10] = span->detail[0] == '\0';
	values[11] = BoolGetDatum(span->failed);
	values[12] = ObjectIdGetDatum(span->database);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * citus_internal.local_traces(): the spans of this node, in this database,
 * that the current user may see, oldest first.
 */
Datum
citus_internal_local_traces(PG_FUNCTION_ARGS)
{
	bool		sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	StoredSpan *spans;
	uint64		first;
	uint64		end;

	InitMaterializedSRF(fcinfo, 0);
	spans = palloc_extended(mul_size(trace_spans, sizeof(StoredSpan)), MCXT_ALLOC_HUGE);
	LWLockAcquire(trace_shared->header.lock, LW_SHARED);
	end = trace_shared->written;
	first = end - Min(end, (uint64) trace_spans);
	for (uint64 i = first; i < end; i++)
		spans[i - first] = trace_shared->spans[i % trace_spans];
	LWLockRelease(trace_shared->header.lock);
	for (uint64 i = first; i < end; i++)
	{
		const StoredSpan *span = &spans[i - first];

		if (span->database == MyDatabaseId && (sees_all || has_privs_of_role(GetUserId(), span->role)))
			trace_put_row((ReturnSetInfo *) fcinfo->resultinfo, span);
	}
	pfree(spans);
	return (Datum) 0;
}

static void
trace_rate_assign(double rate, void *extra)
{
	trace_sampling = rate > 0;
}

static Size
trace_ring_size(void)
{
	return mul_size(trace_spans, sizeof(StoredSpan));
}

void
trace_init(void)
{
	static SharedArea area = {
		.name = "citus_traces",
		.fixed = offsetof(TraceShared, spans),
		.more = trace_ring_size,
		.memory = (SharedHeader **) &trace_shared,
	};

	DefineCustomRealVariable("citus.trace_sample_rate",
							 "Sets the fraction of statements that are traced over all nodes.",
							 "The view citus_traces shows them. 0 traces none. A statement whose comment has a W3C traceparent is traced as that says.",
							 &trace_sample_rate, 0, 0, 1, PGC_SUSET, 0, NULL, trace_rate_assign, NULL);
	DefineCustomIntVariable("citus.trace_spans",
							"Sets the number of spans of traces that a node keeps.",
							NULL, &trace_spans, 4096, 0, 1000000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	shared_area_add(&area);
}
