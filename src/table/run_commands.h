/*-------------------------------------------------------------------------
 *
 * run_commands.h
 *	  Runs commands that this library has written, in this backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_RUN_COMMANDS_H
#define CITUS_TABLE_RUN_COMMANDS_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "tcop/utility.h"
#include "utils/array.h"

#include "compat/foreach.h"

/*
 * Which utility statement runs.  The utility hook keeps it: enter at the start
 * of a statement with its context, leave with what that returned at its end;
 * if an error skips the end, run_commands and run_raw_statement restore the
 * state for their caller.
 */
typedef struct OwnStatement
{
	int			depth;			/* statements that have been entered */
	int			own_depth;		/* depth that run_commands or run_raw_statement
								 * was called at: those entered there are this
								 * library's; -1: none */
	bool		own;			/* the innermost statement is this library's */
	bool		rebuilds_keys;	/* the innermost statement changes the type
								 * of columns, for which the server makes
								 * the foreign keys to them again, also of
								 * shards */
} OwnStatement;

/*
 * A utility statement begins, in a context; returns the former state, which
 * run_commands_leave takes when it has ended, also with an error.
 */
extern OwnStatement run_commands_enter(ProcessUtilityContext context);
extern void run_commands_leave(OwnStatement before);

/*
 * Whether the utility statement that runs is one of this library's own, not
 * one that a function runs in the middle of it.  The utility hook passes it on
 * untouched.
 */
extern bool run_commands_is_own(void);

/*
 * Says of the innermost statement whether the server makes foreign keys of
 * shards again; and whether it does, not a function in the middle of it.
 */
extern void run_commands_set_rebuilds_keys(bool rebuilds);
extern bool run_commands_rebuilds_keys(void);

/* How many utility statements run, each within the one before. */
extern int	run_commands_depth(void);

/* Has the running statement, the user's own, count as one of ours. */
extern void run_commands_become_own(void);

/* The commands in a text[] argument, without NULLs. */
extern List *run_commands_of_array(ArrayType *array);

/*
 * Runs SQL texts in order, with search_path = pg_catalog and without
 * propagation.
 */
extern void run_commands(List *commands);

/*
 * Hides messages below this level (WARNING, ERROR), about shards and of other
 * nodes, from the client until the returned level is passed to AtEOXact_GUC,
 * since the server has already sent those about the logical table.
 */
extern int	quiet_begin(int least);

/* Parses one utility statement. */
extern Node *parse_utility(const char *text);

/*
 * Runs one raw utility statement, without propagation; query is its text, for
 * errors.
 */
extern void run_raw_statement(Node *stmt, const char *query);

/*
 * The same for a statement that ends the transaction and starts others (CREATE
 * INDEX CONCURRENTLY): on the top level, with no GUC nest level open.
 */
extern void run_utility_alone(Node *stmt, const char *query);

/*
 * Commits what has been done so far, on all nodes, and starts another
 * transaction, as the server does between such statements.
 */
extern void run_commands_next_transaction(void);

/*
 * One command that runs others on the node that gets it: SELECT
 * citus_internal.run_commands(..).
 */
extern char *run_commands_call(List *commands);

#endif							/* CITUS_TABLE_RUN_COMMANDS_H */
