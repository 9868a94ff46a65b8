/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  EXPLAIN of distributed plan nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXPLAIN_H
#define CITUS_EXECUTOR_EXPLAIN_H

#include "commands/explain.h"
#include "nodes/execnodes.h"

extern void explain_init(void);

/* ExplainCustomScan of a DistributedScan. */
extern void explain_scan(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* CITUS_EXECUTOR_EXPLAIN_H */
