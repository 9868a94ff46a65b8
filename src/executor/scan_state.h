/*-------------------------------------------------------------------------
 *
 * scan_state.h
 *	  The state of a DistributedScan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_SCAN_STATE_H
#define CITUS_EXECUTOR_SCAN_STATE_H

#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/resowner.h"

#include "executor/task_set.h"
#include "lib/expr_values.h"
#include "planner/dist_plan.h"

/* Where a run is; scan_enter changes it. */
typedef enum ScanPhase
{
	SCAN_NEW,					/* no row has been requested */
	SCAN_STREAMS,				/* its tasks run */
	SCAN_READ,					/* all rows that are still to come have been
								 * read */
	SCAN_KEPT,					/* it returns rows that are kept for all
								 * runs */
	SCAN_ENDED,					/* it has returned its last row */
	SCAN_FAILED,				/* reading ahead has failed: the rows of the
								 * scan are lost, also for later runs */
} ScanPhase;

/* What a run will do after the first one, if no rows are kept. */
typedef enum ScanRerun
{
	RERUN_TASKS,				/* run its own tasks */
	RERUN_SAME,					/* return the same rows: the second run reads
								 * them for all that follow */
	RERUN_STORED,				/* return the rows of the set again */
	RERUN_REFUSED,				/* error: it would see what its statement has
								 * written */
} ScanRerun;

/* The rows for all runs, or for several, which they filter (scan.c). */
typedef struct KeptRows
{
	TaskSet    *set;			/* NULL if they are not kept */
	int			after;			/* the number of runs after which they are to
								 * be kept; 0: they are too many */
	struct KeptIndex *index;	/* by which a run finds its rows among them
								 * (kept_rows.h); NULL: by looking at all */
	TaskSetSpec spec;
	MemoryContext context;
} KeptRows;

/*
 * Of a scan that sends its rows to the nodes of its parent's tasks
 * (repartition_run.c).
 */
typedef struct ScanExchange
{
	const char *name;
	ArrayType  *map;			/* which node gets which hash values */
	ParamExternData *params;	/* with which the parent's tasks find the
								 * rows */
} ScanExchange;

typedef struct DistScanState
{
	CustomScanState css;		/* must be first */

	/* set when the scan begins */
	DistPlan	plan;
	ExprValues *exprs;			/* custom_exprs */
	TupleDesc	keep_columns;	/* that the text for kept rows returns */
	ExprState  *keep_quals;		/* which of them belong to a run */
	List	   *tables;			/* Relation of each table that is read, kept
								 * open */
	TupleDesc	columns;		/* that the text returns */
	AttrNumber *positions;
	MemoryContext run_context;	/* reset by a rescan */
	Oid			user;			/* current user at its start, */
	bool		row_security;	/* and the setting of that name */
	DistSnapshot *snapshot;		/* of the statement; NULL if it needs none */
	bool		repeats;		/* may have several runs */
	bool		rechecks;		/* in a plan by which the server rechecks a row
								 * that has changed, but in none of its
								 * subqueries */
	int			explain;		/* for the tasks' tags, see tag.h */
	uint64		received;		/* bytes of rows, if that is not 0 */

	/* the present run */
	ScanPhase	phase;
	TaskSetSpec spec;
	TaskSet    *set;			/* NULL before its tasks start */
	bool		busy;			/* a row is being fetched */
	bool		broadcast;		/* the child plans have run */
	ScanExchange exchange;
	List	   *exchanges;		/* names (char *) of the child scans' that are
								 * open */
	List	   *holders;		/* RemoteConn of each other node that holds
								 * them */
	MemoryContextCallback exchanges_end;	/* if the scan isn't ended
											 * itself */

	/* all runs */
	int			runs;			/* that have ended */
	ScanRerun	rerun;
	KeptRows	kept;
	KeptRows	batch;			/* those for the values that a LookAhead knows
								 * (look_ahead_run.h) */
	int			batch_size;		/* how many values the next batch may have; 0:
								 * no more batches */
	int			largest_batch;	/* that there was, for EXPLAIN */
	int			asked;			/* how often the nodes were asked for rows */
	KeptRows   *found_in;		/* of a run in phase SCAN_KEPT */

	/* read_ahead.c */
	struct DistScanState *next; /* in the list of all scans */
	SubTransactionId subid;		/* where the scan began */
	ResourceOwner resowner;		/* what it uses belongs to */
} DistScanState;

#endif							/* CITUS_EXECUTOR_SCAN_STATE_H */
