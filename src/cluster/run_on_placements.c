/*-------------------------------------------------------------------------
 *
 * run_on_placements.c
 *	  run_command_on_shards and its like: a command for each shard of a table.
 *
 * In the command's text, %s stands for the shard's name, as an argument of
 * format().  The node runs it as
 * an ordinary statement on the shard's own relation; for a reference table,
 * which is the same relation on all nodes, a tag keeps it on the node's copy.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/node.h"
#include "resolve/tag.h"
#include "sharding/hash.h"
#include "cluster/run_command.h"

SQL_FUNCTION(run_command_on_placements);
SQL_FUNCTION(run_command_on_shards);
SQL_FUNCTION(run_command_on_colocated_placements);

/* A command with the shards that it is about. */
typedef struct PlacementCommand
{
	NodeCommand command;
	int64		shardid;
	int64		other_shardid;	/* of a second, colocated table */
} PlacementCommand;

/*
 * The name by which a node has a shard; the table's own for a reference table.
 */
static char *
placement_name(const DistTable *table, const ShardInfo *shard)
{
	if (table->kind == DIST_REFERENCE)
		return quote_qualified_identifier(get_namespace_name(get_rel_namespace(table->relid)),
										  get_rel_name(table->relid));
	return quote_qualified_identifier(SHARD_SCHEMA,
									  shard_relation_name(get_rel_name(table->relid), shard->shardid));
}

/*
 * The command for shards with these names, which stand in it as arguments of
 * format() would: %s, %1$s, %L, and %% for a percent sign.  The names are
 * quoted already, so %I is %s; other percent signs stay as they are.
 */
static char *
command_for_shards(const char *text, const char *const *names, int nnames)
{
	StringInfoData buf;
	int			next = 0;

	initStringInfo(&buf);
	for (const char *at = text; *at != '\0'; at++)
	{
		char	   *type = unconstify(char *, at + 1);
		int			position = next;

		if (*at == '%' && isdigit((unsigned char) at[1]))
		{
			position = (int) strtol(at + 1, &type, 10) - 1;
			type = *type == '$' ? type + 1 : unconstify(char *, at);
		}
		if (*at != '%' || strchr("sLI%", *type) == NULL || *type == '\0' || type == at)
		{
			appendStringInfoChar(&buf, *at);
			continue;
		}
		at = type;
		if (*type == '%')
		{
			appendStringInfoChar(&buf, '%');
			continue;
		}
		if (position < 0 || position >= nnames)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg_plural("the command has a placeholder for more than %d shard",
								   "the command has a placeholder for more than %d shards", nnames, nnames)));
		appendStringInfoString(&buf, *type == 'L' ? quote_literal_cstr(names[position]) : names[position]);
		next = position + 1;
	}
	return buf.data;
}

/* Nodes that have a shard: one, or all for a reference table (groupid -1). */
static List *
placement_nodes(int32 groupid, bool all_placements)
{
	List	   *nodes = node_active_primaries();
	ClusterNode *lone;

	if (nodes == NIL)
	{
		lone = palloc0(sizeof(ClusterNode));
		lone->host = node_local_hostname;
		lone->port = PostPortNumber;
		return list_make1(lone);
	}
	if (groupid >= 0)
		return list_make1((void *) node_of_group(groupid));
	return all_placements ? nodes : list_make1(linitial(nodes));
}

/*
 * A command for a node's copy of a reference table.  One that writes makes the
 * copies differ, which is for superusers.
 */
static char *
copy_placement_command(const char *sql)
{
	return psprintf(superuser() ? TASK_TAG_NODE "%s" : "SET LOCAL transaction_read_only = on; %s", sql);
}

static PlacementCommand *
make_placement_command(const ClusterNode *node, const DistTable *table, int64 shardid, char *sql)
{
	PlacementCommand *command = palloc0(sizeof(PlacementCommand));

	command->command.host = node->host;
	command->command.port = node->port;
	command->command.sql = table->kind == DIST_REFERENCE ? copy_placement_command(sql) : sql;
	command->shardid = shardid;
	return command;
}

static int
compare_commands(const ListCell *a, const ListCell *b)
{
	const PlacementCommand *left = lfirst(a);
	const PlacementCommand *right = lfirst(b);
	int			order = strcmp(left->command.host, right->command.host);

	if (order == 0)
		order = left->command.port - right->command.port;
	if (order == 0)
		order = left->shardid < right->shardid ? -1 : left->shardid > right->shardid;
	return order;
}

/*
 * Runs the command on the table's shards, on all their placements or on one of
 * each.
 */
static List *
run_on_table(Oid relid, const char *sql, bool all_placements, bool parallel)
{
	const DistTable *table = metadata_require(relid);
	List	   *commands = NIL;

	for (int i = 0; i < table->nshards; i++)
	{
		const ShardInfo *shard = &table->shards[i];
		const char *name = placement_name(table, shard);
		ListCell   *lc;

		foreach(lc, placement_nodes(shard->groupid, all_placements))
			commands = lappend(commands, make_placement_command(lfirst(lc), table, shard->shardid,
																command_for_shards(sql, &name, 1)));
	}
	list_sort(commands, compare_commands);
	run_node_commands(commands, parallel);
	return commands;
}

/* Columns of results that not all functions give. */
#define WITH_NODE 1
#define WITH_OTHER_SHARD 2

/* Returns what the commands gave, as the calling function's rows. */
static Datum
return_results(FunctionCallInfo fcinfo, List *commands, int columns)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	foreach_ptr(PlacementCommand, command, commands)
	{
		Datum		values[6];
		bool		nulls[6] = {false};
		int			n = 0;

		if (columns & WITH_NODE)
		{
			values[n++] = CStringGetTextDatum(command->command.host);
			values[n++] = Int32GetDatum(command->command.port);
		}
		values[n++] = Int64GetDatum(command->shardid);
		if (columns & WITH_OTHER_SHARD)
			values[n++] = Int64GetDatum(command->other_shardid);
		values[n++] = BoolGetDatum(command->command.success);
		values[n++] = CStringGetTextDatum(command->command.result);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* run_command_on_placements(table_name, command, parallel) */
Datum
run_command_on_placements(PG_FUNCTION_ARGS)
{
	List	   *commands = run_on_table(PG_GETARG_OID(0), text_to_cstring(PG_GETARG_TEXT_PP(1)), true,
										PG_GETARG_BOOL(2));

	return return_results(fcinfo, commands, WITH_NODE);
}

/* run_command_on_shards(table_name, command, parallel) */
Datum
run_command_on_shards(PG_FUNCTION_ARGS)
{
	List	   *commands = run_on_table(PG_GETARG_OID(0), text_to_cstring(PG_GETARG_TEXT_PP(1)), false,
										PG_GETARG_BOOL(2));

	return return_results(fcinfo, commands, 0);
}

/* Both tables, or an error if they aren't colocated. */
static void
require_colocated(const DistTable *table, const DistTable *other)
{
	if (table->kind == DIST_REFERENCE || other->kind == DIST_REFERENCE ||
		table->colocation_id == 0 || table->colocation_id != other->colocation_id)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("tables \"%s\" and \"%s\" are not colocated",
						get_rel_name(table->relid), get_rel_name(other->relid))));
}

/*
 * run_command_on_colocated_placements(table_name1, table_name2, command,
 * parallel)
 */
Datum
run_command_on_colocated_placements(PG_FUNCTION_ARGS)
{
	const DistTable *table = metadata_require(PG_GETARG_OID(0));
	const DistTable *other = metadata_require(PG_GETARG_OID(1));
	char	   *sql = text_to_cstring(PG_GETARG_TEXT_PP(2));
	List	   *commands = NIL;

	require_colocated(table, other);
	for (int i = 0; i < table->nshards; i++)
	{
		const ShardInfo *colocated = shard_colocated_with(table, other, &table->shards[i]);
		const char *names[] = {placement_name(table, &table->shards[i]), placement_name(other, colocated)};
		PlacementCommand *command;

		command = make_placement_command(linitial(placement_nodes(table->shards[i].groupid, false)), table,
										 table->shards[i].shardid, command_for_shards(sql, names, lengthof(names)));
		command->other_shardid = colocated->shardid;
		commands = lappend(commands, command);
	}
	list_sort(commands, compare_commands);
	run_node_commands(commands, PG_GETARG_BOOL(3));
	return return_results(fcinfo, commands, WITH_NODE | WITH_OTHER_SHARD);
}
