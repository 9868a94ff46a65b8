/*-------------------------------------------------------------------------
 *
 * utility_hook.c
 *	  The only owner of ProcessUtility_hook: passes statements to their
 *	  handlers.
 *
 * A statement is, in this order:
 * - run by this library itself, tagged TAG_NODE, or about transactions: passed
 *   on, except the end of a prepared transaction (src/txn);
 * - COPY, or tagged TAG_FRAMES: offered to src/copy;
 * - tagged TAG_SHARD: passed on after its names were replaced by the shard's;
 * - of a kind that has a row in handlers[]: offered to that function, which
 *   checks whether it names distributed or reference tables;
 * - about objects other than tables: run on all nodes (object.c).  Statements
 *   that no handler takes are passed to the next hook, or the server.
 *   Afterwards, metadata and shards of dropped tables are removed (drop.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "catalog/node.h"
#include "compat/repack.h"
#include "copy/copy.h"
#include "copy/stored_rows.h"
#include "ddl/drop.h"
#include "ddl/handlers.h"
#include "ddl/object.h"
#include "ddl/object_statements.h"
#include "ddl/utility_call.h"
#include "ddl/utility_hook.h"
#include "executor/explain.h"
#include "executor/fire_triggers.h"
#include "executor/statement_snapshot.h"
#include "remote/shard_names.h"
#include "resolve/manual_change.h"
#include "resolve/tag.h"
#include "resolve/utility.h"
#include "table/run_commands.h"
#include "txn/commit_ring.h"
#include "txn/notify.h"
#include "txn/snapshot.h"
#include "txn/transaction.h"
#include "txn/unpublished.h"

void		(*utility_announce) (const Node *statement) = NULL;
void		(*utility_watch) (const Node *statement) = NULL;

/*
 * Errors if EXPLAIN ANALYZE would create a materialized view, since other
 * nodes would not get it.
 */
static void
check_explained(const ExplainStmt *stmt)
{
	const Node *made = IsA(stmt->query, Query) ? ((const Query *) stmt->query)->utilityStmt : NULL;
	bool		analyze = false;
	ListCell   *cell;

	foreach(cell, stmt->options)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, "analyze") == 0)
			analyze = defGetBoolean(lfirst(cell));
	}
	if (analyze && made != NULL && IsA(made, CreateTableAsStmt) &&
		((const CreateTableAsStmt *) made)->objtype == OBJECT_MATVIEW && node_active_primaries_remote() != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("EXPLAIN ANALYZE cannot create a materialized view in a cluster"),
				 errhint("Create the materialized view, and use EXPLAIN ANALYZE on its query.")));
}

/* EXPLAIN: tells the executor its options, which it passes on to tasks. */
static bool
explain_utility(UtilityCall *call)
{
	const ExplainStmt *outer;

	check_explained(castNode(ExplainStmt, call->pstmt->utilityStmt));
	outer = explain_note_statement(castNode(ExplainStmt, call->pstmt->utilityStmt));
	PG_TRY();
	{
		utility_run(call);
	}
	PG_FINALLY();
	{
		explain_note_statement(outer);
	}
	PG_END_TRY();
	return true;
}

/* Kinds of statements that may concern distributed or reference tables. */
static const struct
{
	NodeTag		tag;
	UtilityHandler handler;
}			handlers[] = {
	{T_AlterEnumStmt, alter_enum_utility},
	{T_AlterExtensionStmt, update_extension_utility},
	{T_AlterObjectSchemaStmt, alter_schema_utility},
	{T_AlterOwnerStmt, alter_owner_utility},
	{T_AlterPolicyStmt, alter_policy_utility},
	{T_AlterPublicationStmt, alter_publication_utility},
	{T_AlterStatsStmt, alter_statistics_utility},
	{T_AlterSubscriptionStmt, alter_subscription_utility},
	{T_AlterTableStmt, alter_table_utility},
	{T_RepackStmt, cluster_utility},
	{T_CommentStmt, comment_utility},
	{T_ConstraintsSetStmt, set_constraints_utility},
	{T_CreatePolicyStmt, create_policy_utility},
	{T_CreatePublicationStmt, create_publication_utility},
	{T_CreateSchemaStmt, create_schema_utility},
	{T_CreateStatsStmt, create_statistics_utility},
	{T_CreateStmt, create_table_utility},
	{T_CreateSubscriptionStmt, create_subscription_utility},
	{T_CreateTableAsStmt, create_table_as_utility},
	{T_CreateTrigStmt, create_trigger_utility},
	{T_DropStmt, drop_utility},
	{T_ExplainStmt, explain_utility},
	{T_GrantStmt, grant_utility},
	{T_IndexStmt, create_index_utility},
	{T_LockStmt, lock_utility},
	{T_ReindexStmt, reindex_utility},
	{T_RenameStmt, rename_utility},
	{T_RuleStmt, rule_utility},
	{T_TruncateStmt, truncate_utility},
	{T_VacuumStmt, vacuum_utility},
};

/* The handler of a kind of statements, or NULL. */
static UtilityHandler
find_handler(NodeTag tag)
{
	for (int i = 0; i < lengthof(handlers); i++)
	{
		if (handlers[i].tag == tag)
			return handlers[i].handler;
	}
	return NULL;
}

/*
 * Calls the handler for a statement; errors about shards get the names of
 * their tables.
 */
static bool
run_handler(UtilityHandler handler, UtilityCall *call)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool handled = false;

	PG_TRY();
	{
		handled = handler(call);
	}
	PG_CATCH();
	{
		shard_names_rethrow(context);
	}
	PG_END_TRY();
	return handled;
}

/* COPY in a task, which leaves no settings (executor/task_settings.h). */
static bool
run_task_copy(UtilityCall *call)
{
	int			nest = NewGUCNestLevel();
	bool		done = copy_utility(call->pstmt, call->query, call->env, call->qc);

	AtEOXact_GUC(false, nest);
	return done;
}

/*
 * Whether the server refuses a statement on a standby, and says so better than
 * a handler that fails at its first lock.
 */
static bool
is_refused_in_recovery(const Node *stmt)
{
	return RecoveryInProgress() && !IsA(stmt, ExplainStmt) && !IsA(stmt, LockStmt) && !IsA(stmt, ConstraintsSetStmt);
}

/* Passes a statement to its handler; false if no handler takes it. */
static bool
utility_dispatch(UtilityCall *call, const TaskTag *tag)
{
	Node	   *stmt = call->pstmt->utilityStmt;
	UtilityHandler handler = find_handler(nodeTag(stmt));

	if (IsA(stmt, CallStmt) && tag->kind == TAG_SHARD && (tag->traits.flags & TASK_CALL) != 0)
	{
		call_run_for_node(call);
		return true;
	}
	if (IsA(stmt, CallStmt))
		return tag->kind == TAG_NONE && call_utility(call);
	if (tag->kind == TAG_SHARD && !IsA(stmt, ExplainStmt) && !IsA(stmt, DeclareCursorStmt))
	{
		call->pstmt = copyObject(call->pstmt);
		resolve_utility(call->pstmt->utilityStmt, tag->colocation_id, tag->range, true);
	}
	if (IsA(stmt, CopyStmt) || tag->kind == TAG_FRAMES)
		return tag->kind == TAG_NONE ? copy_utility(call->pstmt, call->query, call->env, call->qc) : run_task_copy(call);
	if (tag->kind == TAG_SHARD || (!enable_ddl_propagation && !call->relayed))
		return false;
	/* ALTER TABLE of an identity column */
	if (IsA(stmt, AlterSeqStmt) && call->context == PROCESS_UTILITY_SUBCOMMAND)
		object_forget_closed_value(castNode(AlterSeqStmt, stmt));
	if (call->context == PROCESS_UTILITY_SUBCOMMAND || (handler == NULL && !object_statement_is_known(stmt)) ||
		is_refused_in_recovery(stmt))
		return false;
	call->pstmt = copyObject(call->pstmt);
	return (handler != NULL && run_handler(handler, call)) || run_handler(object_utility, call);
}

static void
run_call(void *call)
{
	utility_run(call);
}

/* Whether a statement is COMMIT PREPARED or ROLLBACK PREPARED. */
static bool
is_finish_prepared(Node *stmt)
{
	TransactionStmtKind kind;

	if (!IsA(stmt, TransactionStmt))
		return false;
	kind = castNode(TransactionStmt, stmt)->kind;
	return kind == TRANS_STMT_COMMIT_PREPARED || kind == TRANS_STMT_ROLLBACK_PREPARED;
}

/* The id in SET TRANSACTION SNAPSHOT; NULL for other statements. */
static const char *
imported_snapshot(Node *stmt)
{
	VariableSetStmt *set = (VariableSetStmt *) stmt;

	if (!IsA(stmt, VariableSetStmt) || set->kind != VAR_SET_MULTI || strcmp(set->name, "TRANSACTION SNAPSHOT") != 0)
		return NULL;
	return strVal(&linitial_node(A_Const, set->args)->val);
}

/* Whether a statement is SET citus.snapshot. */
static bool
sets_snapshot(Node *stmt)
{
	VariableSetStmt *set = (VariableSetStmt *) stmt;

	return IsA(stmt, VariableSetStmt) && set->kind == VAR_SET_VALUE && strcmp(set->name, "citus.snapshot") == 0;
}

/* Called after a statement has run. */
static void
follow_statement(UtilityCall *call, bool commits)
{
	Node	   *stmt = call->pstmt->utilityStmt;

	drop_follow_up(call);
	if (commits)
		check_deferred_constraints();
	if (imported_snapshot(stmt) != NULL)
		statement_snapshot_imported(imported_snapshot(stmt));
	if (sets_snapshot(stmt))
		snapshot_setting_changed();
	if (IsA(stmt, DeclareCursorStmt))
		txn_note_cursor();
	if (IsA(stmt, NotifyStmt))
		notify_note(castNode(NotifyStmt, stmt)->conditionname, castNode(NotifyStmt, stmt)->payload);
	if (utility_watch != NULL)
		utility_watch(stmt);
}

/* Runs the statement. */
static void
run_statement(UtilityCall *call, const TaskTag *tag, bool read_only_tree)
{
	if (tag->kind == TAG_NODE ? !stored_rows_receive(call->pstmt, call->query, call->qc) : !utility_dispatch(call, tag))
		utility_run_next(call, read_only_tree);
}

static void
run_unpublished(UtilityCall *call, const TaskTag *tag, bool read_only_tree)
{
	ReplOriginId before = unpublished_begin();

	PG_TRY();
	{
		run_statement(call, tag, read_only_tree);
	}
	PG_FINALLY();
	{
		unpublished_end(before);
	}
	PG_END_TRY();
}

/* Whether a command may be traced: of those of transactions, only COMMIT. */
static bool
is_traced(const Node *stmt)
{
	return !IsA(stmt, TransactionStmt) || ((const TransactionStmt *) stmt)->kind == TRANS_STMT_COMMIT;
}

static void
run_hooked(UtilityCall call, bool read_only_tree)
{
	PlannedStmt *pstmt = call.pstmt;
	const char *query = call.query;
	bool		commits = commits_block(pstmt->utilityStmt);
	bool		runs_others = IsA(pstmt->utilityStmt, CallStmt) || IsA(pstmt->utilityStmt, DoStmt);
	TaskTag		tag = {TAG_NONE};

	txn_statement_begins();
	if (unlikely(trace_sampling) && call.context == PROCESS_UTILITY_TOPLEVEL && is_traced(pstmt->utilityStmt))
		trace_statement(query, false);
	if (unlikely(triggers_are_called()))
		triggers_statement_starts(NULL);
	if (run_commands_is_own() || IsA(pstmt->utilityStmt, TransactionStmt) || !metadata_available())
		tag.kind = TAG_NODE;
	else
		(void) task_tag_parse(query, &tag);
	if (unlikely(tag.trace != NULL))
		trace_task_begin(tag.trace);
	if (tag.kind == TAG_NONE)
		manual_change_check_utility(pstmt->utilityStmt);
	call.relayed = (tag.kind == TAG_DDL || tag.kind == TAG_NODE);
	call.follows = (tag.kind == TAG_DDL || run_commands_is_own());
	if (IsA(pstmt->utilityStmt, TransactionStmt))
		prepared_ring_before(castNode(TransactionStmt, pstmt->utilityStmt), query);

	if (utility_announce != NULL)
		utility_announce(pstmt->utilityStmt);

	if (is_finish_prepared(pstmt->utilityStmt))
		txn_finish_prepared(castNode(TransactionStmt, pstmt->utilityStmt), run_call, &call);
	else if (unlikely((tag.traits.flags & TASK_UNPUBLISHED) != 0))
		run_unpublished(&call, &tag, read_only_tree);
	else
		run_statement(&call, &tag, read_only_tree);

	/*
	 * a COMMIT in a procedure has freed the tree; and the statements that
	 * these run are handled themselves
	 */
	if (!runs_others)
		follow_statement(&call, commits);
	if (unlikely(trace_running) && call.context == PROCESS_UTILITY_TOPLEVEL && !commits)
		trace_utility_ended();
}

/*
 * ProcessUtility_hook.  An error may be caught by a function of users that one
 * of our own commands runs.
 */
static void
utility_hook(PlannedStmt *pstmt, const char *query, bool read_only_tree, ProcessUtilityContext context,
			 ParamListInfo params, QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	OwnStatement before = run_commands_enter(context);

	PG_TRY();
	{
		run_hooked((UtilityCall) {pstmt, query, context, params, env, dest, qc}, read_only_tree);
	}
	PG_FINALLY();
	{
		run_commands_leave(before);
	}
	PG_END_TRY();
}

void
utility_hook_init(void)
{
	DefineCustomBoolVariable("citus.enable_ddl_propagation",
							 "Applies DDL on distributed and reference tables to all nodes and shards.",
							 "When off, DDL acts on this node's own copy of the table only.",
							 &enable_ddl_propagation, true, PGC_USERSET, 0, NULL, NULL, NULL);
	utility_next_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility_hook;
}
