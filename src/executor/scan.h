/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  The executor node of a DistributedScan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_SCAN_H
#define CITUS_EXECUTOR_SCAN_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"
#include "utils/resowner.h"

#include "executor/task_set.h"
#include "lib/expr_values.h"
#include "planner/dist_plan.h"

typedef struct DistScanState
{
	CustomScanState css;		/* must be first */
	DistPlan	plan;
	ExprValues *exprs;			/* custom_exprs */
	List	   *tables;			/* Relation of each table that is read, kept open */
	TupleDesc	columns;		/* that the text returns */
	AttrNumber *positions;
	MemoryContext run_context;	/* reset by a rescan */
	Oid			user;			/* current user at its start, */
	bool		row_security;	/* and the setting of that name */
	DistSnapshot *snapshot;		/* of the statement; NULL if it needs none */
	TaskSetSpec spec;
	TaskSet    *set;			/* NULL before the first row is asked for */
	bool		finished;
	bool		same_rows;		/* all runs return the same rows */
	bool		broadcast;		/* the child plans have run */
	bool		prefetched;		/* all rows were read before anything was written */
	bool		rest_read;		/* all rows that are still to come have been read */
	bool		repeats;		/* may have several runs */
	int			runs;			/* that have ended */
	TaskSet    *kept;			/* the rows of every run; NULL if they are not kept */
	bool		from_kept;		/* this run takes them */
	bool		too_many;		/* to be kept */
	TaskSetSpec keep_spec;
	MemoryContext keep_context;
	TupleDesc	keep_columns;	/* that the text for them returns */
	ExprState  *keep_quals;		/* which of those that are kept belong to a run */
	bool		busy;			/* a row is being fetched */
	bool		too_late;		/* to begin a run: it would see what its statement has written */
	bool		failed;			/* to read ahead: its rows are lost */
	struct DistScanState *next; /* in the list of all scans, see read_ahead.c */
	SubTransactionId subid;		/* where the scan began */
	ResourceOwner resowner;		/* what it uses belongs to */
	int			explain;		/* for the tasks' tags, see tag.h */
} DistScanState;

extern void scan_init(void);

/* Reads all rows that are still to come; starts the tasks if need be.  See read_ahead.c for when. */
extern void scan_read_rest(DistScanState *state);

/* An error came while rows were read ahead: whoever asks for a row gets another one. */
extern void scan_fail(DistScanState *state);

/* Has later runs take rows that are read now, at most so many; whether there were no more. */
extern bool scan_keep_rows(DistScanState *state, int most);

/*
 * Evaluates the parameters and finds the tasks, in the run context.  Sets
 * spec.  Used by execution and by EXPLAIN.
 */
extern void scan_prepare(DistScanState *state);

/* Whose rights to tables count. */
extern Oid	scan_rights(const DistScanState *state);

/* The tasks for all nodes of a write to a reference table; lowest group first. */
extern List *reference_tasks(const DistTable *table, const char *text, ParamListInfo params);

/*
 * Orders writers of a reference table, to the end of the transaction: shared for
 * INSERT, exclusive for writes that don't commute with it.  Also keeps the set of
 * nodes from changing.  To be called before anything is read or written.
 */
extern void reference_lock(Oid relid, bool exclusive);

/* The same on this node alone, where rows are about to be written. */
extern void reference_lock_here(Oid relid, bool exclusive);

/* A task that writes this node's copy of a reference table starts: takes its lock, and then a new snapshot. */
extern void reference_task_starts(QueryDesc *query_desc, int eflags);

/* A tuple descriptor from lists of types and typmods. */
extern TupleDesc scan_columns(List *types, List *typmods);

#endif							/* CITUS_EXECUTOR_SCAN_H */
