/*-------------------------------------------------------------------------
 *
 * maintains_table.h
 *	  Whether a user may refresh a materialized view: a callback for name
 *	  lookup.  Version 17 renamed it, with the privilege MAINTAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_MAINTAINS_TABLE_H
#define CITUS_COMPAT_MAINTAINS_TABLE_H

#include "postgres.h"

#include "commands/tablecmds.h"

#if PG_VERSION_NUM < 170000
#define RangeVarCallbackMaintainsTable RangeVarCallbackOwnsTable
#endif

#endif							/* CITUS_COMPAT_MAINTAINS_TABLE_H */
