/*-------------------------------------------------------------------------
 *
 * stripe_scan.h
 *	  Scanning the stripes of a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_SCAN_H
#define CITUS_COLUMNAR_STRIPE_SCAN_H

#include "postgres.h"

#include "access/sdir.h"
#include "nodes/bitmapset.h"
#include "port/atomics.h"
#include "utils/snapshot.h"

#include "columnar/row_marks.h"
#include "columnar/stripe_reader.h"

/* Whether a chunk group may have rows that the scan wants. */
typedef bool (*ChunkGroupTest) (void *arg, const StripeReader *reader, int group);

/*
 * Which rows of the chunk group that a reader is at are wanted.  Gets the
 * numbers of rows in the group, ascending, keeps the wanted ones in front, and
 * returns how many these are.  Columns that it wants to look at are loaded by
 * stripe_reader_need().
 */
typedef uint32 (*ChunkRowsFilter) (void *arg, StripeReader *reader, StripeStore *store, uint32 *rows, uint32 count);

typedef struct StripeScan
{
	StripeStore store;
	bool		has_store;
	Snapshot	snapshot;
	TupleDesc	tupdesc;
	MemoryContext context;
	StripeInfo *stripes;
	int			nstripes;
	int		   *first_group;	/* of each stripe, all groups being numbered */
	int			ngroups;
	int			stripe;			/* of the reader */
	StripeReader *reader;
	Arena	   *arena;			/* of the reader's values */
	RowMarks	marks;
	bool		marked_too;		/* rows that are gone are returned as well */
	int			group;			/* -1, ngroups: before the first, after the
								 * last */
	bool		loaded;
	int64		row;			/* in the stripe */
	const Bitmapset *columns;	/* to read, from 0 */
	ChunkGroupTest test;
	void	   *test_arg;
	ChunkRowsFilter filter;		/* for stripe_scan_next_group(), or NULL */
	void	   *filter_arg;
	uint32	   *selected;		/* rows of the group that are wanted */
	uint32		nselected;
	pg_atomic_uint64 *shared;	/* the next group, of a parallel scan */
	uint64		groups_read;
	uint64		groups_skipped;
} StripeScan;

/*
 * Begins a scan of what a snapshot sees, in the current memory context, which
 * lasts until stripe_scan_end().  The table's columns are those of tupdesc;
 * the set, whose members count from 0, says which of them are read.
 */
extern StripeScan *stripe_scan_begin(Relation table, TupleDesc tupdesc, Snapshot snapshot,
									 const Bitmapset *columns, pg_atomic_uint64 *shared);

/* Goes to the next row; false at the end.  It is in scan->reader then. */
extern bool stripe_scan_next(StripeScan *scan, ScanDirection direction);

/*
 * Goes to the next chunk group that has wanted rows, which it selects; false
 * at the end.  The scan's columns are loaded then: those that the filter
 * didn't need only if it has left rows.  For scans that don't call
 * stripe_scan_next().
 */
extern bool stripe_scan_next_group(StripeScan *scan, bool backward);

/* Opens a stripe, unless it is open; closes the one that is open. */
extern void stripe_scan_enter(StripeScan *scan, int stripe);
extern void stripe_scan_leave(StripeScan *scan);

/*
 * Goes to a row of a stripe, whose columns are loaded then; false if the scan
 * doesn't see it.
 */
extern bool stripe_scan_goto_row(StripeScan *scan, int stripe, uint32 row);

/* The stripe with a ctid, as a number in the scan; -1: none has it. */
extern int	stripe_scan_find(const StripeScan *scan, ItemPointer ctid);

/* Goes to a chunk group, all of whose columns are loaded; its rows follow. */
extern void stripe_scan_goto_group(StripeScan *scan, int group);

static inline bool
stripe_scan_row_is_marked(const StripeScan *scan)
{
	return row_is_marked(&scan->marks, (uint32) scan->row);
}

/* Goes back before the stripe's first chunk group. */
extern void stripe_scan_rewind(StripeScan *scan);

/* Closes what the scan has opened, and frees it. */
extern void stripe_scan_end(StripeScan *scan);

#endif							/* CITUS_COLUMNAR_STRIPE_SCAN_H */
