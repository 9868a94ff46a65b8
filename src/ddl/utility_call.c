/*-------------------------------------------------------------------------
 *
 * utility_call.c
 *	  Functions for the handlers of utility statements: running, locking,
 *	  relaying.
 *
 * A handler gets its own copy of the parse tree.  It runs the statement on
 * this node's logical table, relays the original text with TASK_TAG_DDL to the
 * other nodes, and applies the statement to this node's shards; each node
 * handles its own shards in the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "analyze/kept_sizes.h"
#include "catalog/node.h"
#include "columnar/table_options.h"
#include "compat/event_triggers.h"
#include "compat/maintains_table.h"
#include "ddl/utility_call.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "resolve/utility.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"

bool		enable_ddl_propagation = true;
ProcessUtility_hook_type utility_next_hook = NULL;

/*
 * The context in which the server runs a statement: event triggers fire on the
 * node of the user's statement, not for the resulting statements on other
 * nodes and on shards.  The server fires none for subcommands.  Statements
 * that can't be such, outside of transaction blocks, fire none before version
 * 17; since then REINDEX does, but for run_quiet_reindex.
 */
static ProcessUtilityContext
context_of_run(const UtilityCall *call)
{
	return call->follows && IsTransactionBlock() ? PROCESS_UTILITY_SUBCOMMAND : call->context;
}

/* Passes a statement that the server understands on. */
static void
run_by_server(UtilityCall *call, PlannedStmt *pstmt, bool read_only_tree)
{
	ProcessUtility_hook_type next = utility_next_hook ? utility_next_hook : standard_ProcessUtility;

	next(pstmt, call->query, read_only_tree, context_of_run(call), call->params, call->env, call->dest, call->qc);
}

/* The same of a REINDEX for which no event triggers fire. */
static void
run_quiet_reindex(UtilityCall *call, PlannedStmt *pstmt, bool read_only_tree)
{
	bool		fire = compat_set_event_triggers(false);

	PG_TRY();
	{
		run_by_server(call, pstmt, read_only_tree);
	}
	PG_FINALLY();
	{
		(void) compat_set_event_triggers(fire);
	}
	PG_END_TRY();
}

void
utility_run_next(UtilityCall *call, bool read_only_tree)
{
	PlannedStmt *pstmt = call->pstmt;
	OptionChange *change = columnar_options_take(&pstmt);
	List	   *sizes = kept_sizes_note(pstmt->utilityStmt);

	if (call->follows && IsA(pstmt->utilityStmt, ReindexStmt))
		run_quiet_reindex(call, pstmt, read_only_tree);
	else
		run_by_server(call, pstmt, read_only_tree);
	kept_sizes_restore(sizes);
	if (change != NULL)
		columnar_options_apply(change);
}

void
utility_run(UtilityCall *call)
{
	utility_run_next(call, false);
}

char *
utility_text(const UtilityCall *call)
{
	int			location = Max(call->pstmt->stmt_location, 0);

	if (call->pstmt->stmt_len > 0)
		return pnstrdup(call->query + location, call->pstmt->stmt_len);
	return pstrdup(call->query + location);
}

void
utility_check_initiator(const UtilityCall *call)
{
	if (!call->relayed)
		node_share_set_for_ddl();
}

/*
 * Whether the statement may skip inactive nodes, since the shards that they
 * keep are no longer needed.
 */
static bool
is_drop_table(Node *stmt)
{
	return IsA(stmt, DropStmt) && castNode(DropStmt, stmt)->removeType == OBJECT_TABLE;
}

bool
utility_take_lock(const UtilityCall *call, Oid relid, LOCKMODE mode, LOCKMODE local_mode)
{
	bool		distributed = metadata_find(relid) != NULL;

	if (distributed)
		utility_check_initiator(call);
	else if (relid < FirstNormalObjectId ||
			 (get_rel_relkind(relid) != RELKIND_RELATION && get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE))
		return true;
	if (call->relayed || !compat_may_maintain(relid))
		return true;
	if (!lock_everywhere(list_make1_oid(relid), distributed ? mode : local_mode))
		return false;
	/* it may have been undistributed meanwhile */
	if (distributed && !is_drop_table(call->pstmt->utilityStmt) && metadata_lookup(relid) != NULL)
		shards_check_active(metadata_lookup(relid));
	return true;
}

const DistTable *
utility_table(const UtilityCall *call, const RangeVar *relation, LOCKMODE mode, LOCKMODE local_mode)
{
	Oid			relid = table_of_relation(RangeVarGetRelid(relation, NoLock, true));
	Oid			locked;

	/*
	 * the name may be an index's, which may be renamed before its table is
	 * locked
	 */
	do
	{
		if (!OidIsValid(relid))
			return NULL;
		locked = utility_take_lock(call, relid, mode, local_mode) ? relid : InvalidOid;
		relid = table_of_relation(RangeVarGetRelid(relation, NoLock, true));
	} while (relid != locked);
	/* tables with damaged metadata can be dropped */
	return IsA(call->pstmt->utilityStmt, DropStmt) ? metadata_find(relid) : metadata_lookup(relid);
}

/*
 * Sends tag and text to all other nodes, which don't repeat the notices and
 * warnings of this one.
 */
static void
relay_tagged(UtilityCall *call, const char *tag, const char *text)
{
	int			level;

	if (call->relayed || node_active_primaries_remote() == NIL)
		return;
	level = quiet_begin(ERROR);
	remote_exec_on_all(psprintf("%s%s", tag, text));
	AtEOXact_GUC(true, level);
}

void
utility_relay_text(UtilityCall *call, const char *text)
{
	relay_tagged(call, TASK_TAG_DDL, text);
}

void
utility_relay_call(UtilityCall *call, const char *text)
{
	relay_tagged(call, "", text);
}

void
utility_relay(UtilityCall *call)
{
	utility_relay_text(call, utility_text(call));
}

void
utility_run_with_shards(UtilityCall *call, const DistTable *table)
{
	Node	   *copy = copyObject(call->pstmt->utilityStmt);

	utility_run(call);
	utility_relay(call);
	run_on_local_shards(table, copy, call->query);
}
