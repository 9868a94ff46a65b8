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

typedef struct DistScanState
{
	CustomScanState css;		/* must be first */
	DistPlan	plan;
	ExprValues *exprs;			/* custom_exprs */
	List	   *tables;			/* Relation of each table that is read, kept
								 * open */
	TupleDesc	columns;		/* that the text returns */
	AttrNumber *positions;
	MemoryContext run_context;	/* reset by a rescan */
	Oid			user;			/* current user at its start, */
	bool		row_security;	/* and the setting of that name */
	DistSnapshot *snapshot;		/* of the statement; NULL if it needs none */
	TaskSetSpec spec;
	TaskSet    *set;			/* NULL before the first row is requested */
	bool		finished;
	bool		same_rows;		/* all runs return the same rows */
	bool		broadcast;		/* the child plans have run */
	bool		prefetched;		/* all rows were read before anything was
								 * written */
	bool		rest_read;		/* all rows that are still to come have been
								 * read */
	bool		repeats;		/* may have several runs */
	int			runs;			/* that have ended */
	TaskSet    *kept;			/* the rows of every run; NULL if they are not
								 * kept */
	bool		from_kept;		/* this run uses them */
	int			keep_at;		/* the number of runs after which they are to
								 * be kept; 0: they are too many */
	struct KeptIndex *index;	/* by which a run finds its rows among them
								 * (kept_rows.h); NULL: by looking at all */
	TaskSetSpec keep_spec;
	MemoryContext keep_context;
	TupleDesc	keep_columns;	/* that the text for them returns */
	ExprState  *keep_quals;		/* which of those that are kept belong to a
								 * run */
	bool		busy;			/* a row is being fetched */
	bool		too_late;		/* to begin a run, which would see what its
								 * statement has written */
	bool		failed;			/* reading ahead has failed: its rows are
								 * lost */
	struct DistScanState *next; /* in the list of all scans, see
								 * read_ahead.c */
	SubTransactionId subid;		/* where the scan began */
	ResourceOwner resowner;		/* what it uses belongs to */
	int			explain;		/* for the tasks' tags, see tag.h */
	uint64		received;		/* bytes of rows, if that is not 0 */

	/* of a scan that sends its rows to the nodes of its parent's tasks */
	const char *exchange;		/* its name */
	ArrayType  *exchange_map;	/* which node gets which hash values */
	List	   *exchange_conns; /* RemoteConn of each node that holds it */
	MemoryContextCallback exchange_end; /* if the scan isn't ended itself */
	ParamExternData *exchange_params;	/* with which the parent's tasks find
										 * the rows */
	bool		exchange_sent;	/* it has run */
	bool		many_shards;	/* the present run asks several */
} DistScanState;

#endif							/* CITUS_EXECUTOR_SCAN_STATE_H */
