/*-------------------------------------------------------------------------
 *
 * trace.h
 *	  Traces: what a sampled statement does on all nodes, and how long it
 *	  takes.
 *
 * A trace consists of spans.  A statement has one on the node that its client
 * is connected to, and one on each node that runs a task of it; what is
 * measured within is a child of that.  See trace.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_TRACE_H
#define CITUS_LIB_TRACE_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "utils/timestamp.h"

/* What a span measures; docs/monitoring.md describes them. */
typedef enum TraceKind
{
	TRACE_STATEMENT,
	TRACE_EXECUTE,				/* a task, on the node that runs it */
	TRACE_PLAN,
	TRACE_SNAPSHOT,
	TRACE_CONNECT,
	TRACE_QUEUE,
	TRACE_TASK,					/* a task, until its last row has been read */
	TRACE_COMMAND,				/* of DDL and the like, to other nodes */
	TRACE_COPY,					/* rows sent to a node */
	TRACE_WAIT,
	TRACE_PREPARE,
	TRACE_COMMIT,
	TRACE_LOCAL_COMMIT,
	TRACE_COMMIT_PREPARED,
} TraceKind;

/* A trace, and the span that is the parent of others. */
typedef struct TraceContext
{
	uint64		high;			/* the trace's id */
	uint64		low;
	uint64		span;
} TraceContext;

/* Something that is being measured. */
typedef struct TraceSpan
{
	uint64		id;				/* 0: it isn't */
	TimestampTz start;
} TraceSpan;

/* No node. */
#define TRACE_NO_NODE (-1)

extern void trace_init(void);

/* Whether statements are sampled; whether the present one is traced. */
extern bool trace_sampling;
extern bool trace_running;

/*
 * A client's statement is about to be planned, or executed with a plan that
 * exists: decides whether to trace it.  Called if trace_sampling.
 */
extern void trace_statement(const char *text, bool planning);

/* A task of a traced statement arrives from another node. */
extern void trace_task_begin(const TraceContext *context);

/* The executor has started a traced statement. */
extern void trace_executor_started(QueryDesc *query_desc);

/* A command that isn't planned has ended. */
extern void trace_utility_ended(void);

/* The transaction has ended, and with it its last statement. */
extern void trace_transaction_ended(bool committed);

/*
 * Around the server's own commit: it begins, and has ended (no errors are
 * raised).
 */
extern void trace_local_commit_begins(void);
extern void trace_local_commit_ended(void);

/* The trace as it is passed on with a task, whose span is the parent. */
extern TraceContext trace_context_of(const TraceSpan *span);

/* What has been measured since the statement began, which is traced. */
extern TraceSpan trace_since_begin(void);

/* trace_begin of a statement that is traced. */
extern TraceSpan trace_start_span(void);

/* trace_end of such a span, which is kept if it took at least least_us. */
extern void trace_end_span(const TraceSpan *span, TraceKind kind, int node, int64 amount, const char *detail,
						   int least_us);

/* Starts measuring, if the statement is traced. */
static inline TraceSpan
trace_begin(void)
{
	if (unlikely(trace_running))
		return trace_start_span();
	return (TraceSpan) {0};
}

/*
 * Ends it.  node: the group of the node that it is about; amount: how many
 * rows, nodes or the like, or -1; detail: a text of any length, or NULL.
 * Never raises an error.
 */
static inline void
trace_end(const TraceSpan *span, TraceKind kind, int node, int64 amount, const char *detail)
{
	if (unlikely(span->id != 0))
		trace_end_span(span, kind, node, amount, detail, 0);
}

/* The same for what is usually too short to be of interest. */
#define TRACE_LEAST_US 100
static inline void
trace_end_wait(const TraceSpan *span, TraceKind kind, int node, const char *detail)
{
	if (unlikely(span->id != 0))
		trace_end_span(span, kind, node, -1, detail, TRACE_LEAST_US);
}

#endif							/* CITUS_LIB_TRACE_H */
