/*-------------------------------------------------------------------------
 *
 * stats_target.h
 *	  A statistics target as a catalog stores it.
 *
 * Since version 17 "not set" is null, and the columns are smallint; before,
 * it is -1 in an integer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_STATS_TARGET_H
#define CITUS_COMPAT_STATS_TARGET_H

#include "postgres.h"

#if PG_VERSION_NUM >= 170000
#define compat_stats_target(datum) ((int) DatumGetInt16(datum))
#else
#define compat_stats_target(datum) ((int) DatumGetInt32(datum))
#endif

#endif							/* CITUS_COMPAT_STATS_TARGET_H */
