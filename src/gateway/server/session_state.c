/*-------------------------------------------------------------------------
 *
 * session_state.c
 *	  The state that a gateway's session reports when a transaction ends.
 *
 * A session of the gateway serves one client after another.  So at the end of
 * each transaction it reports state that the next client must not inherit, and
 * that this client must find again, as the value of citus.gateway_state, a
 * setting that the server reports to its client (GUC_REPORT).  The value is
 *
 *	  PINS GENERATION ROLE DATABASE IDLE IDLE_IN_BLOCK SQL
 *
 * PINS is a letter for each thing that can't be carried to another backend,
 * and for citus.gateway_pool_mode = session (there the client stays while it
 * has such a thing; "-" if there is none), GENERATION counts how often all
 * prepared statements were dropped, ROLE and DATABASE are the Oids of what the
 * session was opened for, whose names may have been reused, IDLE and
 * IDLE_IN_BLOCK are how long the client may be idle, and SQL is a
 * command that recreates the settings, including the role, in a new session.
 *
 * No texts are parsed for this.  The utility hook sees all executed
 * statements, also those in functions; whether an object still exists is
 * looked up in the server's own structures.
 *
 * The text is made while the server reports settings, just before
 * ReadyForQuery: only then are the transaction's locks released, and its
 * settings final.  To trigger this, the end of each transaction sets the
 * setting, whose value doesn't matter, in a way that isn't undone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "commands/prepare.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/portal.h"

#include "catalog/backends.h"
#include "catalog/catalog_rows.h"
#include "compat/client_protocol.h"
#include "compat/guc.h"
#include "compat/proc.h"
#include "ddl/utility_hook.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

#define PIN_TEMPORARY 't'
#define PIN_LISTEN 'l'
#define PIN_LOCK 'k'
#define PIN_CURSOR 'c'
#define PIN_PREPARED 'p'
#define PIN_LIBRARY 'b'
#define PIN_MODE 's'
#define PIN_SETTING 'r'

static int	state_counter = 0;	/* citus.gateway_state */
static bool gateway_session = false;

static bool has_temporary = false;
static bool has_listened = false;
static bool has_loaded = false;
static bool has_ddl = false;	/* in this transaction */
static bool has_defaults = false;	/* of these, of ALTER ROLE or DATABASE ..
									 * SET */
static bool has_roles = false;	/* or of what a login checks */
static uint32 session_deallocations = 0;

/*
 * Names of cursors and statements that SQL commands have made, some of which
 * are gone.
 */
static List *held_cursors = NIL;
static List *sql_statements = NIL;

/* Settings of a transaction, or that can't be restored. */
static const char *const state_excluded[] = {
	"transaction_isolation", "transaction_read_only", "transaction_deferrable", "seed",
	"citus.node_proof", GATEWAY_STATE_SETTING,
};

static void
remember_name(List **names, const char *name)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	ListCell   *cell;

	foreach(cell, *names)
		if (strcmp(lfirst(cell), name) == 0)
			break;
	if (cell == NULL)
		*names = lappend(*names, pstrdup(name));
	MemoryContextSwitchTo(old);
}

/* Makes the server report the state before the next ReadyForQuery. */
static void
tell_state(void)
{
	/* this source makes it a change that no rollback undoes */
	SetConfigOption(GATEWAY_STATE_SETTING, (state_counter & 1) ? "0" : "1", PGC_INTERNAL, PGC_S_DYNAMIC_DEFAULT);
}

/* Reports at once that a prepared statement has been dropped. */
static void
report_deallocated(const char *name)
{
	StringInfoData report;

	if (whereToSendOutput != DestRemote)
		return;
	pq_beginmessage(&report, 'S');
	pq_sendstring(&report, GATEWAY_DEALLOCATED);
	pq_sendstring(&report, name);
	pq_endmessage(&report);
}

/* A utility statement has been run. */
static void
watch_statement(const Node *statement)
{
	has_ddl |= GetCommandLogLevel((Node *) statement) == LOGSTMT_DDL;
	has_defaults |= IsA(statement, AlterRoleSetStmt) || IsA(statement, AlterDatabaseSetStmt);
	has_roles |= IsA(statement, AlterRoleStmt) || IsA(statement, DropRoleStmt) || IsA(statement, AlterDatabaseStmt) ||
		(IsA(statement, RenameStmt) && (((const RenameStmt *) statement)->renameType == OBJECT_ROLE ||
										((const RenameStmt *) statement)->renameType == OBJECT_DATABASE));
	if (!gateway_session)
		return;
	switch (nodeTag(statement))
	{
		case T_TransactionStmt:

			/*
			 * a failed block was aborted before its end, where nothing is
			 * reported
			 */
			if (((const TransactionStmt *) statement)->kind == TRANS_STMT_ROLLBACK ||
				((const TransactionStmt *) statement)->kind == TRANS_STMT_COMMIT)
				tell_state();
			break;
		case T_ListenStmt:
			has_listened = true;
			break;
		case T_UnlistenStmt:
			if (((const UnlistenStmt *) statement)->conditionname == NULL)
				has_listened = false;
			break;
		case T_LoadStmt:
			has_loaded = true;
			break;
		case T_PrepareStmt:
			remember_name(&sql_statements, ((const PrepareStmt *) statement)->name);
			break;
		case T_DeallocateStmt:
			if (((const DeallocateStmt *) statement)->name == NULL)
				session_deallocations++;
			else
				report_deallocated(((const DeallocateStmt *) statement)->name);
			break;
		case T_DeclareCursorStmt:
			if (((const DeclareCursorStmt *) statement)->options & CURSOR_OPT_HOLD)
				remember_name(&held_cursors, ((const DeclareCursorStmt *) statement)->portalname);
			break;
		case T_DiscardStmt:
			if (((const DiscardStmt *) statement)->target == DISCARD_ALL)
			{
				has_listened = false;
				session_deallocations++;
			}
			break;
		default:
			break;
	}
}

static bool
cursor_exists(const char *name)
{
	Portal		portal = GetPortalByName(name);

	return PortalIsValid(portal) && (portal->cursorOptions & CURSOR_OPT_HOLD);
}

static bool
statement_exists(const char *name)
{
	return FetchPreparedStatement(name, false) != NULL;
}

/*
 * Removes names that don't exist any more from a list; returns whether any is
 * left.
 */
static bool
any_exists(List **names, bool (*exists) (const char *name))
{
	ListCell   *cell;

	foreach(cell, *names)
	{
		if (exists(lfirst(cell)))
			continue;
		pfree(lfirst(cell));
		*names = foreach_delete_current(*names, cell);
	}
	return *names != NIL;
}

/*
 * Whether the session's temporary schema will hold anything after the commit
 * that has begun.  The server is about to drop tables of ON COMMIT DROP; it is
 * done here instead, since afterwards no catalog can be read.
 */
static bool
temporary_schema_used(void)
{
	Oid			schema;
	Oid			toast_schema;

	GetTempNamespaceState(&schema, &toast_schema);
	if (!OidIsValid(schema))
		return false;
	PreCommit_on_commit_actions();
	CommandCounterIncrement();
	return catalog_dependents(NamespaceRelationId, schema) != NIL;
}

static void
transaction_event(XactEvent event, void *arg)
{
	if (has_ddl && (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE || event == XACT_EVENT_ABORT))
	{
		if (event != XACT_EVENT_ABORT && (has_defaults || has_roles))
			backend_defaults_changed();
		if (event != XACT_EVENT_ABORT && gateway_area != NULL)
		{
			pg_atomic_fetch_add_u64(&gateway_area->ddl, 1);
			if (has_defaults)
				pg_atomic_fetch_add_u64(&gateway_area->defaults, 1);
		}
		has_ddl = false;
		has_defaults = has_roles = false;
	}
	if (!gateway_session)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			if (has_temporary || (MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE))
				has_temporary = temporary_schema_used();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			tell_state();
			break;
		default:
			break;
	}
}

static bool
setting_is_carried(const struct config_generic *setting)
{
	if (setting->source != PGC_S_SESSION)
		return false;
	for (int i = 0; i < lengthof(state_excluded); i++)
		if (strcmp(setting->name, state_excluded[i]) == 0)
			return false;
	return true;
}

/*
 * Appends a literal that has the same value in a session with any settings,
 * client_encoding among them.
 */
static void
append_plain_literal(StringInfo sql, const char *value)
{
	appendStringInfoString(sql, "E'");
	for (const char *c = value; *c != '\0'; c++)
	{
		if (IS_HIGHBIT_SET(*c))
			appendStringInfo(sql, "\\x%02x", (unsigned char) *c);
		else if (SQL_STR_DOUBLE(*c, true))
			appendStringInfo(sql, "%c%c", *c, *c);
		else
			appendStringInfoChar(sql, *c);
	}
	appendStringInfoChar(sql, '\'');
}

static void
append_setting(StringInfo sql, struct config_generic *setting)
{
	char	   *value = guc_text(setting);

	appendStringInfo(sql, "%spg_catalog.set_config(", sql->len == 0 ? "SELECT " : ", ");
	append_plain_literal(sql, setting->name);
	appendStringInfoString(sql, ", ");
	append_plain_literal(sql, value);
	appendStringInfoString(sql, ", false)");
	pfree(value);
}

/*
 * Whether a setting was made with rights that the session's user need not
 * have, perhaps by a SECURITY DEFINER function: another session may refuse it.
 */
static bool
has_borrowed_setting(void)
{
	int			n;
	struct config_generic **all = guc_all(&n);

	for (int i = 0; i < n; i++)
		if (all[i]->context == PGC_SUSET && all[i]->srole != GetAuthenticatedUserId() && setting_is_carried(all[i]))
			return true;
	return false;
}

/*
 * The command that gives a new session our settings, in the current context.
 */
static char *
state_command(void)
{
	StringInfoData sql;
	int			n;
	struct config_generic **all = guc_all(&n);

	initStringInfo(&sql);
	for (int i = 0; i < n; i++)
		if (setting_is_carried(all[i]) && strcmp(all[i]->name, "role") != 0 &&
			strcmp(all[i]->name, "session_authorization") != 0)
			append_setting(&sql, all[i]);

	/*
	 * last, since another role may not be allowed to change the other settings
	 */
	if (setting_is_carried(guc_find("session_authorization")))
		append_setting(&sql, guc_find("session_authorization"));
	if (setting_is_carried(guc_find("role")))
		append_setting(&sql, guc_find("role"));
	return sql.data;
}

static const char *
show_state(void)
{
	static char *reported = NULL;
	static MemoryContext context = NULL;
	MemoryContext old;
	char		pins[16];
	int			n = 0;

	if (!gateway_session)
		return "";
	if (IsTransactionOrTransactionBlock() && reported != NULL)
		return reported;

	if (any_exists(&held_cursors, cursor_exists))
		pins[n++] = PIN_CURSOR;
	if (any_exists(&sql_statements, statement_exists))
		pins[n++] = PIN_PREPARED;
	if (has_temporary)
		pins[n++] = PIN_TEMPORARY;
	if (has_listened)
		pins[n++] = PIN_LISTEN;
	if (has_loaded)
		pins[n++] = PIN_LIBRARY;
	if (!IsTransactionOrTransactionBlock() && proc_holds_locks(MyProc))
		pins[n++] = PIN_LOCK;
	if (has_borrowed_setting())
		pins[n++] = PIN_SETTING;
	if (gateway_pool_mode == POOL_SESSION)
		pins[n++] = PIN_MODE;
	if (n == 0)
		pins[n++] = '-';
	pins[n] = '\0';

	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "citus gateway state", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	reported = psprintf("%s %u %u %u %d %d %d %s", pins, session_deallocations, GetAuthenticatedUserId(), MyDatabaseId,
						IdleSessionTimeout, IdleInTransactionSessionTimeout, StatementTimeout, state_command());
	MemoryContextSwitchTo(old);
	return reported;
}

void
session_state_begin(void)
{
	gateway_session = true;
	session_client_begin();

	/* only sessions of the gateway need to report it */
	guc_find(GATEWAY_STATE_SETTING)->flags |= GUC_REPORT;
}

void
session_state_init(void)
{
	DefineCustomIntVariable(GATEWAY_STATE_SETTING,
							"Shows to a gateway process what its session is like.",
							"Empty in all other sessions.",
							&state_counter, 0, 0, 1, PGC_INTERNAL,
							GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							NULL, NULL, show_state);
	RegisterXactCallback(transaction_event, NULL);
	utility_watch = watch_statement;
}
