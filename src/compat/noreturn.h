/*-------------------------------------------------------------------------
 *
 * noreturn.h
 *	  The mark of functions that don't return.
 *
 * Version 18 has pg_noreturn, in front of a declaration, in the place of
 * pg_attribute_noreturn(), which stood behind it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_NORETURN_H
#define CITUS_COMPAT_NORETURN_H

#include "postgres.h"

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

#endif							/* CITUS_COMPAT_NORETURN_H */
