/*-------------------------------------------------------------------------
 *
 * table_statistics.h
 *	  The server's functions for sizes and statistics, of logical tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_MONITOR_TABLE_STATISTICS_H
#define CITUS_MONITOR_TABLE_STATISTICS_H

extern void table_statistics_init(void);

#endif							/* CITUS_MONITOR_TABLE_STATISTICS_H */
