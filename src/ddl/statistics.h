/*-------------------------------------------------------------------------
 *
 * statistics.h
 *	  Extended statistics of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_STATISTICS_H
#define CITUS_DDL_STATISTICS_H

#include "catalog/metadata.h"
#include "ddl/utility_call.h"

/*
 * The table that a statistics object belongs to; InvalidOid if there is no
 * object of that name.
 */
extern Oid	table_of_statistics(List *names);

/* The same, locked by utility_take_lock, if it is distributed; else NULL. */
extern const DistTable *utility_table_of_statistics(const UtilityCall *call, List *names, LOCKMODE mode);

#endif							/* CITUS_DDL_STATISTICS_H */
