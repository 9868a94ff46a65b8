/*-------------------------------------------------------------------------
 *
 * maintains_table.h
 *	  Who may refresh a materialized view, as a callback of the lookup of its
 *	  name.  Version 17 renamed it, with the privilege MAINTAIN.
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
