/*-------------------------------------------------------------------------
 *
 * stat_counters.h
 *	  How often connections were made and statements ran, by database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_STAT_COUNTERS_H
#define CITUS_CATALOG_STAT_COUNTERS_H

/* In the order of citus_stat_counters()'s columns. */
typedef enum StatCounter
{
	STAT_CONNECTION_MADE,
	STAT_CONNECTION_FAILED,
	STAT_CONNECTION_REUSED,
	STAT_SINGLE_SHARD,
	STAT_MULTI_SHARD,
	STAT_COUNTERS				/* how many there are */
} StatCounter;

extern void stat_counters_init(void);

/* Counts one, if citus.enable_stat_counters is on. */
extern void stat_counter_add(StatCounter counter);

#endif							/* CITUS_CATALOG_STAT_COUNTERS_H */
