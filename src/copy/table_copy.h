/*-------------------------------------------------------------------------
 *
 * table_copy.h
 *	  Copies the rows of a table of this node to the same table of another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_TABLE_COPY_H
#define CITUS_COPY_TABLE_COPY_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* Whether a row of the table is wanted. */
typedef bool (*RowFilter) (void *arg, TupleTableSlot *slot);

/* A copy that has begun. */
typedef struct TableCopy
{
	Oid			relid;
	int32		groupid;
	const char *name;			/* of the relation that gets the rows, in the
								 * table's schema */
	RowFilter	filter;			/* NULL: all rows are wanted */
	void	   *filter_arg;
	void		(*sent) (size_t bytes); /* called after some have been sent;
										 * NULL: not counted */
	Snapshot	snapshot;		/* what was copied; registered */
} TableCopy;

/*
 * Copies what the snapshot shows into the relation of that name on the group's
 * node, in the distributed transaction; copy has all but that.
 */
extern void table_copy_snapshot(const TableCopy *copy, Snapshot snapshot);

/*
 * The same in two steps, for the relation of the table's own name, while other
 * sessions write the table.  table_copy_begin copies all rows that are
 * committed now; for a materialized view, they replace those on the node.
 * table_copy_complete, for which the caller has locked the table against
 * writers, copies the changes since; if the table has no primary key and has
 * lost rows, it copies all rows again.
 */
extern TableCopy *table_copy_begin(Oid relid, int32 groupid);
extern void table_copy_complete(TableCopy *copy);

/*
 * The same for some rows of the table and a relation of another name: copy has
 * all but the snapshot.  table_copy_follow, which may be repeated, copies the
 * changes since, and table_copy_finish the rest, in a subtransaction that may
 * fail and be repeated; table_copy_end must be called at the end.
 */
extern void table_copy_start(TableCopy *copy);
extern void table_copy_follow(TableCopy *copy);
extern void table_copy_finish(const TableCopy *copy);
extern void table_copy_end(TableCopy *copy);

/*
 * Whether a row of a scan of all row versions was visible to the copy's
 * snapshot, and is visible now.
 */
extern void table_copy_compare(const TableCopy *copy, Relation rel, TupleTableSlot *slot, Snapshot now, bool *was, bool *is);

#endif							/* CITUS_COPY_TABLE_COPY_H */
