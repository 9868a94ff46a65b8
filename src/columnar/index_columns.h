/*-------------------------------------------------------------------------
 *
 * index_columns.h
 *	  The columns that a plan's index scans fetch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_INDEX_COLUMNS_H
#define CITUS_COLUMNAR_INDEX_COLUMNS_H

#include "postgres.h"

#include "nodes/execnodes.h"

/*
 * Called when the executor has started a plan, to run it: index scans of
 * columnar tables will fetch only the columns that the plan needs.
 */
extern void index_columns_choose(PlanState *plan);

#endif							/* CITUS_COLUMNAR_INDEX_COLUMNS_H */
