/*-------------------------------------------------------------------------
 *
 * run_commands.h
 *	  Runs commands that this library has written, in this backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_RUN_COMMANDS_H
#define CITUS_DDL_RUN_COMMANDS_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "nodes/plannodes.h"

/*
 * Whether this library is running a utility statement of its own: the utility
 * hook passes it on untouched.
 */
extern int	own_utility_depth;

/* Runs SQL texts in order, with search_path = pg_catalog and without propagation. */
extern void run_commands(List *commands);

/*
 * Keeps messages below this level (WARNING, ERROR) about shards, and of other nodes, from the client
 * until the returned level is given to AtEOXact_GUC: the logical table has said them.
 */
extern int	quiet_begin(int least);

/* Parses one utility statement. */
extern Node *parse_utility(const char *text);

/* Runs one raw utility statement, without propagation; query is its text, for errors. */
extern void run_utility(Node *stmt, const char *query);

/* One command that runs others on the node that gets it: SELECT citus_internal.run_commands(..). */
extern char *run_commands_call(List *commands);

#endif							/* CITUS_DDL_RUN_COMMANDS_H */
