/*-------------------------------------------------------------------------
 *
 * conforming_strings.h
 *	  Backslashes in strings mean nothing since version 19, whatever is set.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_CONFORMING_STRINGS_H
#define CITUS_COMPAT_CONFORMING_STRINGS_H

#include "postgres.h"

#include "parser/parser.h"

#if PG_VERSION_NUM >= 190000
#define standard_conforming_strings true
#endif

#endif							/* CITUS_COMPAT_CONFORMING_STRINGS_H */
