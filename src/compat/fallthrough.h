/*-------------------------------------------------------------------------
 *
 * fallthrough.h
 *	  The mark of a case of a switch that goes on with the next one.
 *
 * Version 19 has pg_fallthrough, and warns of cases that have but a comment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_FALLTHROUGH_H
#define CITUS_COMPAT_FALLTHROUGH_H

#include "postgres.h"

#if PG_VERSION_NUM < 190000
#define pg_fallthrough __attribute__((fallthrough))
#endif

#endif							/* CITUS_COMPAT_FALLTHROUGH_H */
