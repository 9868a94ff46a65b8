/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  EXPLAIN of distributed plan nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_EXPLAIN_H
#define CITUS_EXECUTOR_EXPLAIN_H

#include "compat/explain.h"
#include "nodes/execnodes.h"

extern void explain_init(void);

/*
 * Notes the options of an EXPLAIN statement that is about to run, for the
 * tasks that it starts; returns those of the EXPLAIN that runs it, if any, to
 * be noted again when it has ended.
 */
extern const ExplainStmt *explain_note_statement(const ExplainStmt *statement);

/*
 * TaskTraits.explain for the tasks of a plan that is executed with these
 * instruments; 0 if not by EXPLAIN.
 */
extern int	explain_task_mask(int instrument);

/* ExplainCustomScan of a DistributedScan. */
extern void explain_scan(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* CITUS_EXECUTOR_EXPLAIN_H */
