/*-------------------------------------------------------------------------
 *
 * frame_runner.h
 *	  Stores frames in this node's shards with the server's own COPY.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_FRAME_RUNNER_H
#define CITUS_COPY_FRAME_RUNNER_H

#include "postgres.h"

#include "commands/copy.h"
#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "copy/frame.h"

typedef struct FrameRunner FrameRunner;

/*
 * Makes *frame the next frame for the same shard and returns true; false if
 * there is none.  Called in the memory context and error context that
 * frame_runner_run was called in.
 */
typedef bool (*FrameRefill) (void *arg, Frame *frame);

/*
 * The default (planned) of a column if it means the same on every node and at
 * any time, else NULL.  A column that the rows of frames lack gets it from the
 * node that stores them; all other defaults are for the sender to compute.
 */
extern Expr *frame_local_default(Relation rel, AttrNumber attno);

/*
 * A runner for rows of rel (the logical table, open and locked by the caller,
 * who has checked permissions).  columns (List of String nodes) and options
 * (List of DefElem) are those of the COPY statement that describes the rows.
 * refill may be NULL.
 */
extern FrameRunner *frame_runner_create(Relation rel, const DistTable *table, List *columns, List *options,
										FrameRefill refill, void *refill_arg);

/*
 * Stores a frame's rows, and those of the frames that refill brings, in the
 * local relation of the frame's shard (of a reference table: the table);
 * returns how many were stored.  Constraints, triggers, indexes and generated
 * columns act as for COPY; errors speak of the logical table and of the
 * rows' own line numbers.  Errors with ERRCODE_SHARD_NOT_HERE when this node
 * has no such shard.
 */
extern uint64 frame_runner_run(FrameRunner *runner, const Frame *frame);

/* As above, but all frames come from refill, and may be none. */
extern uint64 frame_runner_run_all(FrameRunner *runner, HashRange range);

/*
 * Makes a COPY FROM that has begun read values of domains as those of their
 * base types: they were checked when they became values of the domains, and
 * may violate a constraint that was added as NOT VALID.  In binary rows, types
 * made by users, whose oids are the sender's, get this node's, and domains
 * aren't checked at any depth.
 */
extern void frame_trust_domains(CopyFromState cstate);

/* A relation whose CHECK constraints are hidden; the caller's variable. */
typedef struct HiddenChecks
{
	Relation	rel;
	struct HiddenChecks *outer;
} HiddenChecks;

/*
 * Between the two calls, rows that are stored in a relation aren't compared
 * with its CHECK constraints: they were when they became rows of the table,
 * and may violate a constraint that was added as NOT VALID.  The relation is
 * open until the second, which is called after an error, too.  Calls may be
 * nested.
 */
extern void frame_checks_hide(HiddenChecks *hidden, Relation rel);
extern void frame_checks_show(HiddenChecks *hidden);

#endif							/* CITUS_COPY_FRAME_RUNNER_H */
