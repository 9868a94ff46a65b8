/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  The executor node of a DistributedScan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_SCAN_H
#define CITUS_EXECUTOR_SCAN_H

extern void scan_init(void);

#endif							/* CITUS_EXECUTOR_SCAN_H */
