/*-------------------------------------------------------------------------
 *
 * sql_function.h
 *	  Declares a C function that SQL calls.
 *
 * Our symbols are hidden by default.  PG_FUNCTION_INFO_V1 exports the
 * function itself only since version 16, so it is exported here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_SQL_FUNCTION_H
#define CITUS_COMPAT_SQL_FUNCTION_H

#include "postgres.h"

#include "fmgr.h"

#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#endif							/* CITUS_COMPAT_SQL_FUNCTION_H */
