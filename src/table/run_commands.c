/*-------------------------------------------------------------------------
 *
 * run_commands.c
 *	  Runs commands that this library has written, in this backend.
 *
 * The definition of a table travels as one call of
 * citus_internal.run_commands(text[]): one round trip, and search_path is set
 * where the commands run.  They run with the rights of the caller, so the
 * function gives no right that sending them one by one doesn't.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/run_commands.h"

SQL_FUNCTION(citus_internal_run_commands);

static OwnStatement running_statement = {0, -1, false, false};

OwnStatement
run_commands_enter(ProcessUtilityContext context)
{
	OwnStatement before = running_statement;

	running_statement.own = before.own_depth == before.depth ||
		(context == PROCESS_UTILITY_SUBCOMMAND && before.own);
	running_statement.depth++;
	running_statement.rebuilds_keys = false;
	return before;
}

void
run_commands_leave(OwnStatement before)
{
	running_statement = before;
}

bool
run_commands_is_own(void)
{
	return running_statement.own;
}

void
run_commands_become_own(void)
{
	running_statement.own = true;
}

void
run_commands_set_rebuilds_keys(bool rebuilds)
{
	running_statement.rebuilds_keys = rebuilds;
}

bool
run_commands_rebuilds_keys(void)
{
	return running_statement.rebuilds_keys;
}

int
run_commands_depth(void)
{
	return running_statement.depth;
}

void
run_commands(List *commands)
{
	OwnStatement before = running_statement;
	NodeCall	call_before = node_call;
	int			level = NewGUCNestLevel();
	ListCell   *cell;

	(void) set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	/* which have been checked, with their own search_path */
	(void) set_config_option("check_function_bodies", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	running_statement.own_depth = before.depth;
	PG_TRY();
	{
		foreach(cell, commands)
		{
			node_call = (NodeCall) {lfirst(cell), NULL};
			(void) spi_exec(lfirst(cell));
		}
	}
	PG_FINALLY();
	{
		running_statement = before;
		node_call = call_before;
	}
	PG_END_TRY();
	AtEOXact_GUC(true, level);
}

int
quiet_begin(int least)
{
	const char *name = least == WARNING ? "warning" : "error";
	int			level = NewGUCNestLevel();

	if (client_min_messages < least)
		(void) set_config_option("client_min_messages", name, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	if (worker_min_messages < least)
		(void) set_config_option("citus.worker_min_messages", name, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

Node *
parse_utility(const char *text)
{
	List	   *stmts = raw_parser(text, RAW_PARSE_DEFAULT);

	if (list_length(stmts) != 1)
		elog(ERROR, "expected one statement: %s", text);
	return linitial_node(RawStmt, stmts)->stmt;
}

/* ProcessUtility for a statement of our own. */
static void
process_own_utility(Node *stmt, const char *query, ProcessUtilityContext context)
{
	OwnStatement before = running_statement;
	PlannedStmt *pstmt = makeNode(PlannedStmt);

	pstmt->commandType = CMD_UTILITY;
	pstmt->utilityStmt = stmt;
	pstmt->stmt_location = -1;
	running_statement.own_depth = before.depth;
	PG_TRY();
	{
		ProcessUtility(pstmt, query, false, context, NULL, NULL, None_Receiver, NULL);
	}
	PG_FINALLY();
	{
		running_statement = before;
	}
	PG_END_TRY();
}

void
run_raw_statement(Node *stmt, const char *query)
{
	int			level = quiet_begin(WARNING);

	process_own_utility(stmt, query, PROCESS_UTILITY_SUBCOMMAND);
	AtEOXact_GUC(true, level);
	CommandCounterIncrement();
}

void
run_utility_alone(Node *stmt, const char *query)
{
	MemoryContext context = CurrentMemoryContext;
	bool		snapshot = !ActiveSnapshotSet();

	if (snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	process_own_utility(stmt, query, PROCESS_UTILITY_TOPLEVEL);
	/* it may have found nothing to do, and ended no transaction */
	while (snapshot && ActiveSnapshotSet())
		PopActiveSnapshot();
	MemoryContextSwitchTo(context);
}

void
run_commands_next_transaction(void)
{
	MemoryContext context = CurrentMemoryContext;

	while (ActiveSnapshotSet())
		PopActiveSnapshot();
	CommitTransactionCommand();
	StartTransactionCommand();
	MemoryContextSwitchTo(context);
}

char *
run_commands_call(List *commands)
{
	return node_call(NODE_run_commands, node_texts(commands));
}

List *
run_commands_of_array(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	List	   *result = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			result = lappend(result, TextDatumGetCString(elements[i]));
	}
	return result;
}

/* citus_internal.run_commands(commands text[]) */
Datum
citus_internal_run_commands(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	run_commands(run_commands_of_array(PG_GETARG_ARRAYTYPE_P(0)));
	PG_RETURN_VOID();
}
