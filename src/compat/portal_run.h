/*-------------------------------------------------------------------------
 *
 * portal_run.h
 *	  Running a portal.
 *
 * Version 18 took away the argument run_once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PORTAL_RUN_H
#define CITUS_COMPAT_PORTAL_RUN_H

#include "postgres.h"

#include "tcop/pquery.h"

#if PG_VERSION_NUM < 180000
#define PortalRun(portal, count, is_top_level, dest, alternative, completion) \
	PortalRun(portal, count, is_top_level, true, dest, alternative, completion)
#endif

#endif							/* CITUS_COMPAT_PORTAL_RUN_H */
