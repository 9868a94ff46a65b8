/*-------------------------------------------------------------------------
 *
 * replication_origin.h
 *	  The origin of what this session writes, named anew in version 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_REPLICATION_ORIGIN_H
#define CITUS_COMPAT_REPLICATION_ORIGIN_H

#include "postgres.h"

#include "replication/origin.h"

#if PG_VERSION_NUM >= 190000
#define SESSION_ORIGIN replorigin_xact_state.origin
#else
#define ReplOriginId RepOriginId
#define InvalidReplOriginId InvalidRepOriginId
#define SESSION_ORIGIN replorigin_session_origin
#endif

#endif							/* CITUS_COMPAT_REPLICATION_ORIGIN_H */
