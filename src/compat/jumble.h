/*-------------------------------------------------------------------------
 *
 * jumble.h
 *	  Hooks after analysis may not change the query's jumble since version 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_JUMBLE_H
#define CITUS_COMPAT_JUMBLE_H

#include "postgres.h"

#include "parser/analyze.h"

#if PG_VERSION_NUM >= 190000
#define JUMBLE_STATE const JumbleState
#else
#define JUMBLE_STATE JumbleState
#endif

#endif							/* CITUS_COMPAT_JUMBLE_H */
