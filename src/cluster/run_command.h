/*-------------------------------------------------------------------------
 *
 * run_command.h
 *	  Commands on single nodes, outside the transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_RUN_COMMAND_H
#define CITUS_CLUSTER_RUN_COMMAND_H

#include "postgres.h"

#include "compat/foreach.h"

/* A command for one node, and its result. */
typedef struct NodeCommand
{
	const char *host;
	int32		port;
	const char *sql;
	bool		success;
	bool		connected;		/* false: the node could not be reached */
	char	   *result;			/* first column of the only row, or command
								 * tag, or error message */
} NodeCommand;

/*
 * Runs the commands (List of NodeCommand *), each in a transaction of its own;
 * those for one node in their order, over one connection.  Sets the results;
 * doesn't raise errors of nodes.
 */
extern void run_node_commands(List *commands, bool parallel);

#endif							/* CITUS_CLUSTER_RUN_COMMAND_H */
