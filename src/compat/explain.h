/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  The server's EXPLAIN and its output.
 *
 * Version 18 split the header.
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

#endif							/* CITUS_COMPAT_EXPLAIN_H */
