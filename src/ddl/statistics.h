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

/* The distributed table that a statistics object belongs to, or NULL. */
extern const DistTable *dist_table_of_statistics(List *names);

#endif							/* CITUS_DDL_STATISTICS_H */
