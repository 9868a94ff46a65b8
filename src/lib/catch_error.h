/*-------------------------------------------------------------------------
 *
 * catch_error.h
 *	  Catching an error and continuing.
 *
 * The server ends all sections that hold interrupts when an error is raised
 * (errfinish), since most handlers pass the error on to the end of the
 * transaction.  A handler that continues may itself be inside such a section,
 * for instance in a transaction callback.  It has to restore the counters: the
 * section's end would decrement a counter that is 0 already, and the session
 * would never process interrupts again.
 *
 *	  const CatchPoint point = catch_point();
 *
 *	  PG_TRY();
 *	  {
 *		  ...
 *	  }
 *	  PG_CATCH();
 *	  {
 *		  ErrorData  *error = catch_copy(&point);
 *
 *		  if (...)
 *			  PG_RE_THROW();
 *		  catch_end(&point);
 *		  ...
 *	  }
 *	  PG_END_TRY();
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_CATCH_ERROR_H
#define CITUS_LIB_CATCH_ERROR_H

#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat/noreturn.h"

/*
 * The state that an error changes and a handler that continues has to restore.
 */
typedef struct CatchPoint
{
	MemoryContext context;
	uint32		interrupt_holdoff;
	uint32		cancel_holdoff;
} CatchPoint;

static inline CatchPoint
catch_point(void)
{
	CatchPoint	point = {CurrentMemoryContext, InterruptHoldoffCount, QueryCancelHoldoffCount};

	return point;
}

/*
 * In PG_CATCH: a copy of the error, in the memory context of the point, which
 * becomes the current one.  PG_RE_THROW may follow.
 */
static inline ErrorData *
catch_copy(const CatchPoint *point)
{
	MemoryContextSwitchTo(point->context);
	return CopyErrorData();
}

/* In PG_CATCH: ends the error, and restores the state of the point. */
static inline void
catch_end(const CatchPoint *point)
{
	MemoryContextSwitchTo(point->context);
	FlushErrorState();
	InterruptHoldoffCount = point->interrupt_holdoff;
	QueryCancelHoldoffCount = point->cancel_holdoff;
}

/* After catch_end: raises the error after all. */
pg_noreturn static inline void
catch_rethrow(ErrorData *error)
{
	InterruptHoldoffCount = 0;
	QueryCancelHoldoffCount = 0;
	ReThrowError(error);
}

#endif							/* CITUS_LIB_CATCH_ERROR_H */
