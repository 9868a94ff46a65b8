/*-------------------------------------------------------------------------
 *
 * scan_node.h
 *	  The scan node of columnar tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_SCAN_NODE_H
#define CITUS_COLUMNAR_SCAN_NODE_H

#include "postgres.h"

#include "nodes/extensible.h"

/* What makes the node's state (CustomScan.methods). */
extern const CustomScanMethods columnar_scan_methods;

extern void scan_node_init(void);

#endif							/* CITUS_COLUMNAR_SCAN_NODE_H */
