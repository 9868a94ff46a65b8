/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  Settings of this session that change answers, on other nodes.
 *
 * A table names the server's own settings that travel; of settings with a dot
 * in their name (of applications and other extensions) those travel that the
 * session has set, superusers' only to superusers' sessions.  Each connection
 * remembers the values that it has sent, so that a statement costs a
 * comparison each, and a command is sent only when something differs: one
 * statement that calls set_config() for each, in order.
 *
 * It travels in the statement's own segment (pipeline.c), so what was sent
 * is undone when the statement fails outside a transaction, or when the remote
 * transaction is rolled back.  Until then it is *tentative*; after an undo,
 * nothing is known of the connection, and all values are sent again.
 *
 * Where a pooler stands between, each transaction may find another session of
 * the node, and other nodes' sessions find this one later.  So there the
 * values hold for the transaction only, and are sent with each.  That needs no
 * configuration: a pooler has to answer to cancel requests itself, and so to
 * give its clients process ids of its own; the node compares the one that we
 * know with its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "catalog/extension_version.h"
#include "catalog/node_session.h"
#include "compat/guc.h"
#include "remote/private.h"

/*
 * The server's settings that travel.  Names that a version lacks are skipped.
 */
static const char *const traveling_settings[] = {
	/*
	 * reading statements; not array_nulls, under which nodes couldn't read
	 * each other's arrays
	 */
	"search_path", "standard_conforming_strings", "backslash_quote", "transform_null_equals",
	"xmloption", "default_text_search_config",
	/* writing values */
	"TimeZone", "timezone_abbreviations", "DateStyle", "IntervalStyle", "extra_float_digits",
	"bytea_output", "xmlbinary", "lc_monetary", "lc_numeric", "lc_time", "quote_all_identifiers",
	/* what may be done and how */
	"row_security", "lock_timeout", "citus.snapshot_timeout", "citus.distributed_snapshots", "citus.max_follower_staleness",
	"citus.follower_wait_timeout", "citus.serializable_over_nodes", "synchronous_commit", "check_function_bodies",
	"default_tablespace", "default_table_access_method", "default_toast_compression",
	"default_with_oids", "createrole_self_grant", "restrict_nonsystem_relation_kind",
};

/*
 * Of superusers only; sent if they differ from the server's default.  In the
 * sessions of other login roles, which may not set them on a node, our own
 * code sets them for what is done here.
 */
static const char *const traveling_superuser[] = {
	"session_replication_role",
};

/*
 * How a node works, not what it answers: sent if the session has set them.
 * Otherwise those of the node hold, which may be another machine.
 */
static const char *const traveling_tuning[] = {
	/* plans */
	"enable_async_append", "enable_bitmapscan", "enable_distinct_reordering", "enable_eager_aggregate", "enable_gathermerge",
	"enable_group_by_reordering", "enable_hashagg", "enable_hashjoin", "enable_incremental_sort", "enable_indexonlyscan",
	"enable_indexscan", "enable_material", "enable_memoize", "enable_mergejoin", "enable_nestloop", "enable_parallel_append",
	"enable_parallel_hash", "enable_partition_pruning", "enable_partitionwise_aggregate", "enable_partitionwise_join",
	"enable_presorted_aggregate", "enable_seqscan", "enable_self_join_elimination", "enable_sort", "enable_tidscan",
	"constraint_exclusion", "cursor_tuple_fraction", "from_collapse_limit", "join_collapse_limit", "plan_cache_mode",
	"geqo", "geqo_effort", "geqo_generations", "geqo_pool_size", "geqo_seed", "geqo_selection_bias", "geqo_threshold",
	"seq_page_cost", "random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost", "effective_cache_size",
	"recursive_worktable_factor", "jit", "jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost",
	/* memory, processes, what is read in advance */
	"work_mem", "hash_mem_multiplier", "maintenance_work_mem", "effective_io_concurrency", "maintenance_io_concurrency",
	"io_combine_limit", "max_parallel_workers", "max_parallel_workers_per_gather", "max_parallel_maintenance_workers",
	"parallel_leader_participation", "parallel_setup_cost", "parallel_tuple_cost", "min_parallel_index_scan_size",
	"min_parallel_table_scan_size", "debug_parallel_query",
	/* VACUUM, ANALYZE, indexes */
	"default_statistics_target", "gin_fuzzy_search_limit", "gin_pending_list_limit", "vacuum_buffer_usage_limit", "vacuum_cost_delay",
	"vacuum_cost_limit", "vacuum_failsafe_age", "vacuum_freeze_min_age", "vacuum_freeze_table_age", "vacuum_multixact_failsafe_age",
	"vacuum_multixact_freeze_min_age", "vacuum_multixact_freeze_table_age", "vacuum_truncate",
};

/*
 * Keeps the proof of a node's session (catalog/node_session.h) from messages
 * to the client: a role could have its sessions log parse trees.  The
 * following settings set client_min_messages to the session's value.
 */
#define HIDE_COMMAND "SELECT pg_catalog.set_config('client_min_messages', 'error', true)"

/* The initiator's limits hold, not the node's. */
static const char *const fixed_settings[][2] = {
	{"statement_timeout", "0"},
	{"idle_in_transaction_session_timeout", "0"},
	{"idle_session_timeout", "0"},

	/*
	 * of statements that are sent without BEGIN, which are READ COMMITTED
	 * here, and of a plain BEGIN
	 */
	{"default_transaction_isolation", "read committed"},
	{"default_transaction_read_only", "off"},
	{"default_transaction_deferrable", "off"},
};

#define MAX_SETTINGS (lengthof(traveling_settings) + lengthof(traveling_superuser) + lengthof(traveling_tuning))

/* A setting, and what is looked at in each statement: close together. */
typedef struct TravelingEntry
{
	const void *variable;
	enum config_type type;
	struct config_generic *setting;
} TravelingEntry;

static TravelingEntry setting_entries[MAX_SETTINGS];
static int	nsetting_entries = -1;
static int	first_superuser_entry;
static int	first_tuning_entry;

/* A value in the form that its type has. */
typedef union SettingValue
{
	int			number;
	double		real;
	char	   *string;			/* in TopMemoryContext; NULL: not sent */
} SettingValue;

typedef struct CustomValue
{
	char	   *name;
	char	   *value;			/* NULL: not known */
} CustomValue;

typedef struct RemoteSettings
{
	bool		known;			/* values and role are what the node has */
	bool		tentative;		/* sent in a transaction that is not over */
	SettingValue values[MAX_SETTINGS];
	bool		tuned[MAX_SETTINGS];	/* the node may not have its own
										 * value */
	Oid			session_user;	/* that was sent; invalid: the login role */
	Oid			role;			/* of SET ROLE, or the session's user */
	int			messages;		/* client_min_messages */
	int			ncustom;
	CustomValue *custom;
} RemoteSettings;

static const void *
variable_of(struct config_generic *setting)
{
	switch (setting->vartype)
	{
		case PGC_BOOL:
			return GUC_BOOL(setting)->variable;
		case PGC_INT:
			return GUC_INT(setting)->variable;
		case PGC_ENUM:
			return GUC_ENUM(setting)->variable;
		case PGC_REAL:
			return GUC_REAL(setting)->variable;
		case PGC_STRING:
			return GUC_STRING(setting)->variable;
	}
	return NULL;
}

static void
add_entries(const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
	{
		struct config_generic *setting = guc_find(names[i]);

		if (setting == NULL)
			continue;
		setting_entries[nsetting_entries].setting = setting;
		setting_entries[nsetting_entries].type = setting->vartype;
		setting_entries[nsetting_entries].variable = variable_of(setting);
		nsetting_entries++;
	}
}

static void
find_entries(void)
{
	nsetting_entries = 0;
	add_entries(traveling_settings, lengthof(traveling_settings));
	first_superuser_entry = nsetting_entries;
	add_entries(traveling_superuser, lengthof(traveling_superuser));
	first_tuning_entry = nsetting_entries;
	add_entries(traveling_tuning, lengthof(traveling_tuning));
}

struct RemoteSettings *
settings_create(void)
{
	if (nsetting_entries < 0)
		find_entries();
	return MemoryContextAllocZero(TopMemoryContext, sizeof(RemoteSettings));
}

/* The string in a string setting's variable. */
static const char *
string_in(const void *variable)
{
	const char *value = *(char *const *) variable;

	return value == NULL ? "" : value;
}

/* Whether value is what entry has now. */
static inline bool
is_current(const TravelingEntry *entry, const SettingValue *value)
{
	if (entry->type == PGC_STRING)
		return value->string != NULL && strcmp(string_in(entry->variable), value->string) == 0;
	if (entry->type == PGC_BOOL)
		return (int) *(const bool *) entry->variable == value->number;
	if (entry->type == PGC_REAL)
		return *(const double *) entry->variable == value->real;
	return *(const int *) entry->variable == value->number;
}

/* Whether entry has the value that it has by default. */
static bool
is_default(struct config_generic *entry)
{
	return entry->source == PGC_S_DEFAULT ||
		(entry->vartype == PGC_ENUM &&
		 *GUC_ENUM(entry)->variable == GUC_ENUM(entry)->boot_val);
}

static void
remember_setting(const TravelingEntry *entry, SettingValue *value)
{
	char	   *copy;

	switch (entry->type)
	{
		case PGC_BOOL:
			value->number = *(const bool *) entry->variable;
			break;
		case PGC_INT:
		case PGC_ENUM:
			value->number = *(const int *) entry->variable;
			break;
		case PGC_REAL:
			value->real = *(const double *) entry->variable;
			break;
		case PGC_STRING:
			copy = MemoryContextStrdup(TopMemoryContext, string_in(entry->variable));
			if (value->string != NULL)
				pfree(value->string);
			value->string = copy;
			break;
	}
}

/*
 * The present value as text that set_config() accepts; palloc'd, or constant.
 */
static const char *
text_of(struct config_generic *entry)
{
	switch (entry->vartype)
	{
		case PGC_BOOL:
			return *GUC_BOOL(entry)->variable ? "on" : "off";
		case PGC_INT:
			return psprintf("%d", *GUC_INT(entry)->variable);
		case PGC_ENUM:
			return guc_enum_text(entry, *GUC_ENUM(entry)->variable);
		case PGC_REAL:
			return psprintf("%.17g", *GUC_REAL(entry)->variable);
		case PGC_STRING:
			return string_in(GUC_STRING(entry)->variable);
	}
	return "";
}

/* Whether a connection's session may set a custom setting. */
static bool
custom_is_allowed(const RemoteConn *conn, struct config_generic *entry)
{
	return entry->context == PGC_USERSET ||
		(entry->context == PGC_SUSET && superuser_arg(conn->login_role));
}

/* Whether this session, or its client when it connected, has set a setting. */
static bool
session_has_set(const struct config_generic *entry)
{
	return entry->source == PGC_S_SESSION || entry->source == PGC_S_CLIENT ||
		entry->source == PGC_S_INTERACTIVE;
}

/* Whether this session has set a custom setting. */
static bool
custom_is_set(struct config_generic *entry)
{
	/*
	 * one that was reset is an empty string from then on, where others don't
	 * know it at all
	 */
	if (entry->source == PGC_S_DEFAULT)
		return (entry->flags & GUC_CUSTOM_PLACEHOLDER) != 0;
	return session_has_set(entry);
}

static CustomValue *
find_custom(RemoteSettings *settings, const char *name)
{
	for (int i = 0; i < settings->ncustom; i++)
		if (pg_strcasecmp(settings->custom[i].name, name) == 0)
			return &settings->custom[i];
	return NULL;
}

static bool
custom_differs(const RemoteConn *conn, struct config_generic *entry)
{
	CustomValue *known = find_custom(conn->priv->settings, entry->name);

	if (known == NULL)
		return custom_is_set(entry) && custom_is_allowed(conn, entry);
	return (known->value == NULL || strcmp(known->value, text_of(entry)) != 0) && custom_is_allowed(conn, entry);
}

static void
remember_custom(RemoteSettings *settings, const char *name, const char *text)
{
	CustomValue *known = find_custom(settings, name);
	char	   *copy = MemoryContextStrdup(TopMemoryContext, text);

	if (known == NULL)
	{
		Size		size = (settings->ncustom + 1) * sizeof(CustomValue);

		settings->custom = settings->custom == NULL ?
			MemoryContextAlloc(TopMemoryContext, size) : repalloc(settings->custom, size);
		known = &settings->custom[settings->ncustom];
		known->value = NULL;
		known->name = MemoryContextStrdup(TopMemoryContext, name);
		settings->ncustom++;
	}
	if (known->value != NULL)
		pfree(known->value);
	known->value = copy;
}

/* Whether an entry of the server's settings must be sent. */
static bool
entry_differs(const RemoteConn *conn, int i)
{
	const RemoteSettings *settings = conn->priv->settings;

	if (i >= first_tuning_entry)
		return settings->known ? !is_current(&setting_entries[i], &settings->values[i]) :
			settings->tuned[i] || session_has_set(setting_entries[i].setting);
	if (i >= first_superuser_entry && !superuser_arg(conn->login_role))
		return false;
	if (settings->known)
		return !is_current(&setting_entries[i], &settings->values[i]);
	return i < first_superuser_entry || !is_default(setting_entries[i].setting);
}

/*
 * What is sent for an entry; palloc'd, or constant; NULL: the node's own
 * value.
 */
static const char *
text_to_send(int i)
{
	struct config_generic *setting = setting_entries[i].setting;

	return i >= first_tuning_entry && !session_has_set(setting) ? NULL : text_of(setting);
}

/* The session's user on the node, when its settings are known. */
static Oid
known_session_user(const RemoteConn *conn)
{
	Oid			sent = conn->priv->settings->session_user;

	return OidIsValid(sent) ? sent : conn->login_role;
}

/* Whether anything must be sent. */
static bool
anything_differs(RemoteConn *conn, struct config_generic **custom, int ncustom)
{
	RemoteSettings *settings = conn->priv->settings;

	if (!settings->known || settings->role != GetOuterUserId() ||
		known_session_user(conn) != GetSessionUserId() || settings->messages != worker_min_messages)
		return true;
	for (int i = 0; i < nsetting_entries; i++)
		if (!is_current(&setting_entries[i], &settings->values[i]))
			return true;
	for (int i = 0; i < ncustom; i++)
		if (custom_differs(conn, custom[i]))
			return true;
	return false;
}

/* The two arrays of the command, as array literals. */
typedef struct SettingLists
{
	StringInfoData names;
	StringInfoData values;
} SettingLists;

/* Appends text, or null if it is NULL. */
static void
append_element(StringInfo list, const char *text)
{
	appendStringInfoChar(list, list->len == 0 ? '{' : ',');
	if (text == NULL)
	{
		appendStringInfoString(list, "NULL");
		return;
	}
	appendStringInfoChar(list, '"');
	for (const char *p = text; *p != '\0'; p++)
	{
		if (*p == '"' || *p == '\\')
			appendStringInfoChar(list, '\\');
		appendStringInfoChar(list, *p);
	}
	appendStringInfoChar(list, '"');
}

static void
add_setting(SettingLists *lists, const char *name, const char *value)
{
	append_element(&lists->names, name);
	append_element(&lists->values, value);
}

/*
 * The level of messages that another node sends; an error it sends always.
 */
static const char *
messages_text(void)
{
	struct config_generic *entry = guc_find("citus.worker_min_messages");

	return guc_enum_text(entry, Min(worker_min_messages, ERROR));
}

/*
 * Collects what differs.  The session's user and the role come last, since
 * others may not be allowed to change the rest; and if a superuser's setting
 * changes, the login role is taken first.
 */
static void
collect_settings(RemoteConn *conn, SettingLists *lists, struct config_generic **custom, int ncustom)
{
	RemoteSettings *settings = conn->priv->settings;
	bool		all = !settings->known;
	Oid			session_user = GetSessionUserId();
	Oid			role = GetOuterUserId();

	if (all || settings->role != conn->login_role)
		add_setting(lists, "role", "none");
	if (OidIsValid(settings->session_user))
		add_setting(lists, "session_authorization", GetUserNameFromId(conn->login_role, false));
	if (all)
	{
		char		proof[NODE_PROOF_SIZE];
		char	   *version = extension_version();

		if (version != NULL)
			add_setting(lists, NODE_VERSION_SETTING, version);
		node_proof_write(conn->login_role, channel_peer_pid(&conn->priv->channel), proof);
		add_setting(lists, NODE_PROOF_SETTING, proof);
		for (int i = 0; i < lengthof(fixed_settings); i++)
			add_setting(lists, fixed_settings[i][0], fixed_settings[i][1]);
	}
	if (all || settings->messages != worker_min_messages)
		add_setting(lists, "client_min_messages", messages_text());
	for (int i = 0; i < nsetting_entries; i++)
		if (entry_differs(conn, i))
			add_setting(lists, setting_entries[i].setting->name, text_to_send(i));
	for (int i = 0; i < ncustom; i++)
		if (custom_differs(conn, custom[i]))
			add_setting(lists, custom[i]->name, text_of(custom[i]));
	if (session_user != conn->login_role)
		add_setting(lists, "session_authorization", GetUserNameFromId(session_user, false));
	if (role != session_user)
		add_setting(lists, "role", GetUserNameFromId(role, false));

	appendStringInfoChar(&lists->names, '}');
	appendStringInfoChar(&lists->values, '}');
}

static void
remember_all(RemoteConn *conn, struct config_generic **custom, int ncustom)
{
	RemoteSettings *settings = conn->priv->settings;

	for (int i = 0; i < ncustom; i++)
		if (custom_differs(conn, custom[i]))
			remember_custom(settings, custom[i]->name, text_of(custom[i]));
	for (int i = 0; i < nsetting_entries; i++)
	{
		if (i >= first_tuning_entry && session_has_set(setting_entries[i].setting))
			settings->tuned[i] = true;
		remember_setting(&setting_entries[i], &settings->values[i]);
	}
	settings->messages = worker_min_messages;
	if (known_session_user(conn) != GetSessionUserId())
		settings->session_user = GetSessionUserId();
	settings->role = GetOuterUserId();
	settings->known = true;
	settings->tentative = true;
}

void
settings_send(RemoteConn *conn)
{
	static const char command[] =
		"SELECT pg_catalog.bool_or(pooled), pg_catalog.count(pg_catalog.set_config(n, v, pooled)) "
		"FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS s(n, v), "
		"(SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) $3 AS pooled) AS p";
	static Oid	types[] = {TEXTARRAYOID, TEXTARRAYOID, INT4OID};
	int			ncustom;
	struct config_generic **custom = guc_custom(&ncustom);
	SettingLists lists;
	char	   *values[3];
	RemoteParams params = {lengthof(types), types, values, NULL, NULL};
	char		pid[12];
	bool		was_known;

	if (!anything_differs(conn, custom, ncustom))
		return;

	initStringInfo(&lists.names);
	initStringInfo(&lists.values);
	collect_settings(conn, &lists, custom, ncustom);
	values[0] = lists.names.data;
	values[1] = lists.values.data;
	pg_ltoa(channel_peer_pid(&conn->priv->channel), pid);
	values[2] = pid;
	was_known = conn->priv->settings->known;
	remember_all(conn, custom, ncustom);
	if (!was_known)
		remote_queue_command(conn, HIDE_COMMAND);
	if (channel_send_text(&conn->priv->channel, command, &params, false))
		pipeline_sent(conn, ITEM_SETTINGS);
	pfree(lists.names.data);
	pfree(lists.values.data);
}

void
remote_queue_settings(RemoteConn *conn)
{
	settings_send(conn);
}

void
remote_prove_again(RemoteConn *conn)
{
	char		proof[NODE_PROOF_SIZE];
	char	   *values[] = {proof};
	RemoteParams params = {1, (Oid[]) {TEXTOID}, values, NULL, NULL};

	if (conn->priv->direct && conn->priv->settings->known)
		return;
	node_proof_write(conn->login_role, channel_peer_pid(&conn->priv->channel), proof);
	remote_queue_command(conn, HIDE_COMMAND);
	pipeline_queue(conn, "SELECT pg_catalog.set_config('" NODE_PROOF_SETTING "', $1, true)", &params);
}

void
settings_answered(RemoteConn *conn, const RemoteRow *row)
{
	conn->priv->direct = strcmp(row->values[0].data, "f") == 0;

	/* the process id is the pooler's */
	if (!conn->priv->direct)
		connect_hide(conn);
}

void
settings_committed(RemoteConn *conn)
{
	if (conn->priv->settings != NULL)
		conn->priv->settings->tentative = false;
}

void
settings_rolled_back(RemoteConn *conn)
{
	RemoteSettings *settings = conn->priv->settings;

	if (settings == NULL || !settings->tentative)
		return;
	settings->tentative = false;
	settings->known = false;
	for (int i = 0; i < settings->ncustom; i++)
	{
		if (settings->custom[i].value != NULL)
			pfree(settings->custom[i].value);
		settings->custom[i].value = NULL;
	}
}

void
remote_settings_rolled_back(RemoteConn *conn)
{
	settings_rolled_back(conn);
}

void
settings_free(struct RemoteSettings *settings)
{
	for (int i = 0; i < nsetting_entries; i++)
		if (setting_entries[i].type == PGC_STRING && settings->values[i].string != NULL)
			pfree(settings->values[i].string);
	for (int i = 0; i < settings->ncustom; i++)
	{
		pfree(settings->custom[i].name);
		if (settings->custom[i].value != NULL)
			pfree(settings->custom[i].value);
	}
	if (settings->custom != NULL)
		pfree(settings->custom);
	pfree(settings);
}

bool
remote_settings_known(const RemoteConn *conn)
{
	return conn->priv->settings != NULL && conn->priv->settings->known;
}

bool
remote_is_direct(const RemoteConn *conn)
{
	return conn->priv->direct;
}
