/*-------------------------------------------------------------------------
 *
 * run_command.c
 *	  run_command_on_workers and its like: commands on single nodes, outside
 *	  the transaction.
 *
 * They are tools for administrators: each command is committed by itself,
 * over a connection made for it, and its failure is a row of the result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "remote/connection.h"
#include "cluster/run_command.h"

SQL_FUNCTION(run_command_on_workers);
SQL_FUNCTION(run_command_on_all_nodes);
SQL_FUNCTION(run_command_on_coordinator);

/*
 * The commands for a node that are still to be run, and the connection for
 * them.
 */
typedef struct NodeQueue
{
	const char *host;
	int32		port;
	RemoteConn *conn;			/* NULL if the node can't be reached */
	char	   *error;
	List	   *commands;		/* NodeCommand */
} NodeQueue;

/*
 * Waits for the answer to a command that was sent: its only value, its tag, or
 * what is wrong with it.
 */
static void
finish_command(RemoteConn *conn, NodeCommand *command)
{
	char	   *error;
	RemoteResult *result = remote_plain_result(conn, &error);

	command->connected = true;
	command->success = false;
	if (result == NULL)
		command->result = psprintf("ERROR: %s", error);
	else if (result->ncolumns >= 0 && result->ncolumns != 1)
		command->result = "expected a single column in query target";
	else if (result->nrows > 1)
		command->result = "expected a single row in query result";
	else
	{
		command->success = true;
		command->result = result->ncolumns < 0 ? result->tag : remote_only_value(result);
		if (command->result == NULL)
			command->result = "";
	}
}

/*
 * The queue of a command's node, made and connected if it is the node's first.
 */
static NodeQueue *
queue_for(List **queues, NodeCommand *command)
{
	NodeQueue  *queue;
	ListCell   *lc;

	foreach(lc, *queues)
	{
		queue = lfirst(lc);
		if (queue->port == command->port && strcmp(queue->host, command->host) == 0)
			return queue;
	}

	queue = palloc0(sizeof(NodeQueue));
	queue->host = command->host;
	queue->port = command->port;
	queue->conn = remote_plain_open(command->host, command->port, &queue->error);
	if (queue->conn != NULL)
		(void) remote_plain_exec(queue->conn, "SET citus.enable_metadata_sync = off", WARNING);
	*queues = lappend(*queues, queue);
	return queue;
}

/*
 * Runs the first of each node's commands at once, then the second, and so on.
 */
static void
run_in_rounds(List *queues)
{
	bool		more = true;

	for (int round = 0; more; round++)
	{
		more = false;
		foreach_ptr(NodeQueue, queue, queues)
			if (round < list_length(queue->commands))
				remote_plain_send(queue->conn, ((NodeCommand *) list_nth(queue->commands, round))->sql);
		foreach_ptr(NodeQueue, queue, queues)
		{
			if (round < list_length(queue->commands))
			{
				finish_command(queue->conn, list_nth(queue->commands, round));
				more = true;
			}
		}
	}
}

void
run_node_commands(List *commands, bool parallel)
{
	List	   *queues = NIL;

	foreach_ptr(NodeCommand, command, commands)
	{
		NodeQueue  *queue = queue_for(&queues, command);

		if (queue->conn == NULL)
			command->result = psprintf("failed to connect to %s:%d: %s", command->host, command->port,
									   queue->error == NULL ? "unknown reason" : queue->error);
		else if (parallel)
			queue->commands = lappend(queue->commands, command);
		else
		{
			remote_plain_send(queue->conn, command->sql);
			finish_command(queue->conn, command);
		}
	}

	run_in_rounds(queues);
	foreach_ptr(NodeQueue, queue, queues)
		if (queue->conn != NULL)
			remote_plain_close(queue->conn);
}

/* A command for a node. */
static NodeCommand *
make_run_command(const ClusterNode *node, const char *sql)
{
	NodeCommand *command = palloc0(sizeof(NodeCommand));

	command->host = node->host;
	command->port = node->port;
	command->sql = sql;
	return command;
}

/* This server, when pg_dist_node is empty. */
static ClusterNode *
lone_node(void)
{
	ClusterNode *node = palloc0(sizeof(ClusterNode));

	node->groupid = metadata_local_group();
	node->host = node_local_hostname;
	node->port = PostPortNumber;
	return node;
}

/* Bits. */
typedef enum NodeChoice
{
	CHOOSE_COORDINATOR = 1,
	CHOOSE_WORKERS = 2,
} NodeChoice;

/* The active nodes of a choice. */
static List *
chosen_nodes(int choice)
{
	List	   *nodes = node_active_primaries();
	List	   *result = NIL;

	if (nodes == NIL)
		nodes = list_make1(lone_node());
	foreach_ptr(ClusterNode, node, nodes)
		if (node->groupid == COORDINATOR_GROUP ? choice & CHOOSE_COORDINATOR : choice & CHOOSE_WORKERS)
			result = lappend(result, node);
	return result;
}

static List *
commands_for(List *nodes, const char *sql)
{
	List	   *commands = NIL;
	ListCell   *lc;

	foreach(lc, nodes)
		commands = lappend(commands, make_run_command(lfirst(lc), sql));
	return commands;
}

Datum
run_command_on_workers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *commands = commands_for(chosen_nodes(CHOOSE_WORKERS), text_to_cstring(PG_GETARG_TEXT_PP(0)));

	InitMaterializedSRF(fcinfo, 0);
	run_node_commands(commands, PG_GETARG_BOOL(1));
	foreach_ptr(NodeCommand, command, commands)
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		values[0] = CStringGetTextDatum(command->host);
		values[1] = Int32GetDatum(command->port);
		values[2] = BoolGetDatum(command->success);
		values[3] = CStringGetTextDatum(command->result);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* Runs a command on nodes, and returns (nodeid, success, result) of each. */
static void
run_on_nodes(FunctionCallInfo fcinfo, List *nodes, const char *sql, bool parallel, bool warn)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *commands = commands_for(nodes, sql);
	ListCell   *node_cell;
	ListCell   *command_cell;

	InitMaterializedSRF(fcinfo, 0);
	run_node_commands(commands, parallel);
	forboth(node_cell, nodes, command_cell, commands)
	{
		ClusterNode *node = lfirst(node_cell);
		NodeCommand *command = lfirst(command_cell);
		Datum		values[3];
		bool		nulls[3] = {false};

		if (!command->connected)
			ereport(warn ? WARNING : ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("could not connect to node %s:%d", node->host, node->port),
					 errdetail_internal("%s", command->result)));
		values[0] = Int32GetDatum(node->nodeid);
		values[1] = BoolGetDatum(command->success);
		values[2] = CStringGetTextDatum(command->result);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

Datum
run_command_on_all_nodes(PG_FUNCTION_ARGS)
{
	run_on_nodes(fcinfo, chosen_nodes(CHOOSE_COORDINATOR | CHOOSE_WORKERS), text_to_cstring(PG_GETARG_TEXT_PP(0)),
				 PG_GETARG_BOOL(1), PG_GETARG_BOOL(2));
	return (Datum) 0;
}

Datum
run_command_on_coordinator(PG_FUNCTION_ARGS)
{
	List	   *nodes = chosen_nodes(CHOOSE_COORDINATOR);

	if (nodes == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the coordinator is not in pg_dist_node"),
				 errhint("Run citus_set_coordinator_host on the coordinator.")));
	run_on_nodes(fcinfo, nodes, text_to_cstring(PG_GETARG_TEXT_PP(0)), false, PG_GETARG_BOOL(1));
	return (Datum) 0;
}
