/*-------------------------------------------------------------------------
 *
 * constraint_modes.c
 *	  SET CONSTRAINTS on other nodes.
 *
 * The set of deferred constraints belongs to a transaction, and is restored
 * when a subtransaction aborts.  So a command is sent at once to the nodes in
 * the transaction, whose constraints may fail by it, and stored for nodes that
 * join later.  These get it at the nesting level at which it was given: after
 * BEGIN, or after the level's savepoint.  So a node that has savepoints up to
 * a level has all commands up to that level.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "txn/dist_transaction.h"
#include "txn/private.h"
#include "txn/transaction.h"

typedef struct ConstraintMode
{
	char	   *sql;
	int			level;			/* of nesting */
} ConstraintMode;

static void
keep_mode(const char *sql)
{
	MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);
	ConstraintMode *mode = palloc(sizeof(ConstraintMode));

	mode->sql = pstrdup(sql);
	mode->level = GetCurrentTransactionNestLevel();
	dist_transaction.constraint_modes = lappend(dist_transaction.constraint_modes, mode);
	MemoryContextSwitchTo(old_context);
}

void
txn_set_constraints(const char *sql)
{
	foreach_int(groupid, txn_groups())
		(void) remote_read(groupid, sql);
	keep_mode(sql);
}

void
constraint_modes_queue(RemoteConn *conn, int level)
{
	foreach_ptr(const ConstraintMode, mode, dist_transaction.constraint_modes)
	{
		if (mode->level == level)
		{
			/* it is tagged, so the proof that we are a node must precede it */
			remote_queue_settings(conn);
			remote_queue_command(conn, mode->sql);
		}
	}
}

/*
 * As in the server, settings of a subtransaction that has ended can later be
 * undone only by the nearest enclosing one that has also set something.
 */
void
constraint_modes_end_level(int level, bool commit)
{
	int			outer = 1;
	ListCell   *cell;

	foreach_ptr(const ConstraintMode, mode, dist_transaction.constraint_modes)
		if (mode->level < level)
			outer = Max(outer, mode->level);
	foreach(cell, dist_transaction.constraint_modes)
	{
		ConstraintMode *mode = lfirst(cell);

		if (mode->level < level)
			continue;
		if (commit)
			mode->level = outer;
		else
			dist_transaction.constraint_modes = foreach_delete_current(dist_transaction.constraint_modes, cell);
	}
}
