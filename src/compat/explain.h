/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  The server's EXPLAIN and its output.
 *
 * Version 18 split the header; GENERIC_PLAN is new in 16.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_EXPLAIN_H
#define CITUS_COMPAT_EXPLAIN_H

#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "nodes/execnodes.h"

/*
 * Whether this is EXPLAIN (GENERIC_PLAN), for which parameters have no values.
 */
static inline bool
explain_is_generic(const EState *estate)
{
#if PG_VERSION_NUM >= 160000
	return (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_GENERIC) != 0;
#else
	return false;
#endif
}

#endif							/* CITUS_COMPAT_EXPLAIN_H */
