/*-------------------------------------------------------------------------
 *
 * run_sql.c
 *	  Runs a text of SQL at the top level of a process.
 *
 * SPI can't do that: a task may be a statement that commits (CALL) or that
 * refuses to run inside a transaction or function (VACUUM, a move of a shard).
 * So this does what the server does with a client's simple query, without the
 * client: each statement is a transaction, unless there are several, which are
 * one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "parser/analyze.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "compat/portal_run.h"
#include "jobs/private.h"

/* The plans of a statement. */
static List *
plan_statement(RawStmt *statement, const char *sql)
{
	bool		with_snapshot = analyze_requires_snapshot(statement);
	List	   *plans;

	if (with_snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	plans = pg_plan_queries(pg_analyze_and_rewrite_fixedparams(statement, sql, NULL, 0, NULL), sql,
							CURSOR_OPT_PARALLEL_OK, NULL);
	if (with_snapshot)
		PopActiveSnapshot();
	return plans;
}

/* Runs a statement in the transaction that is open; its tag. */
static void
run_top_statement(RawStmt *statement, const char *sql, QueryCompletion *completion)
{
	List	   *plans = plan_statement(statement, sql);
	Portal		portal = CreatePortal("", true, true);

	portal->visible = false;
	PortalDefineQuery(portal, NULL, sql, CreateCommandTag(statement->stmt), plans, NULL);
	PortalStart(portal, NULL, 0, InvalidSnapshot);
	(void) PortalRun(portal, FETCH_ALL, true, None_Receiver, None_Receiver, completion);
	PortalDrop(portal, false);
}

/* The command tag of a statement that has run: "SELECT 1". */
static char *
completion_tag(const QueryCompletion *completion)
{
	if (!command_tag_display_rowcount(completion->commandTag))
		return pstrdup(GetCommandTagName(completion->commandTag));
	return psprintf("%s " UINT64_FORMAT, GetCommandTagName(completion->commandTag), completion->nprocessed);
}

char *
run_sql(const char *sql)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "background task", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = CurrentMemoryContext;
	QueryCompletion completion = {0};
	List	   *statements;
	ListCell   *cell;
	bool		is_open = true;
	char	   *tag;

	StartTransactionCommand();
	MemoryContextSwitchTo(context);
	statements = pg_parse_query(sql);
	foreach(cell, statements)
	{
		if (!is_open)
			StartTransactionCommand();
		is_open = true;
		if (list_length(statements) > 1)
			BeginImplicitTransactionBlock();
		MemoryContextSwitchTo(context);
		InitializeQueryCompletion(&completion);
		run_top_statement(lfirst_node(RawStmt, cell), sql, &completion);
		if (lnext(statements, cell) == NULL)
			EndImplicitTransactionBlock();
		if (lnext(statements, cell) == NULL || IsA(lfirst_node(RawStmt, cell)->stmt, TransactionStmt))
		{
			CommitTransactionCommand();
			is_open = false;
		}
		else
			CommandCounterIncrement();
	}
	if (is_open)
		CommitTransactionCommand();
	if (IsTransactionBlock())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("the command has left a transaction open")));
	MemoryContextSwitchTo(caller);
	tag = completion_tag(&completion);
	MemoryContextDelete(context);
	return tag;
}
