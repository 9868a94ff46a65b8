/*-------------------------------------------------------------------------
 *
 * error.c
 *	  Errors and notices of other nodes become this session's own.
 *
 * Users know logical tables only, so names of shards, of their indexes and
 * constraints are replaced by those of the logical objects (shard_names.c).
 * Many shards may send the same notice for one statement; it is shown once for
 * each local statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "libpq-fe.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "lib/catch_error.h"
#include "remote/private.h"
#include "remote/shard_names.h"

#define SEEN_NOTICES 64

typedef struct SeenNotice
{
	uint32		hash;
	uint64		statement;		/* the remote statement that sent it first */
} SeenNotice;

int			worker_min_messages = NOTICE;

static SeenNotice seen_messages[SEEN_NOTICES];
static int	nseen_messages = 0;
static TimestampTz seen_at = 0; /* start of the local statement */

static const struct config_enum_entry message_level_options[] = {
	{"debug5", DEBUG5, false},
	{"debug4", DEBUG4, false},
	{"debug3", DEBUG3, false},
	{"debug2", DEBUG2, false},
	{"debug1", DEBUG1, false},
	{"debug", DEBUG2, true},
	{"log", LOG, false},
	{"info", INFO, true},
	{"notice", NOTICE, false},
	{"warning", WARNING, false},
	{"error", ERROR, false},
	{"off", FATAL, false},
	{NULL, 0, false}
};

void
error_init(void)
{
	DefineCustomEnumVariable("citus.worker_min_messages",
							 "Sets the lowest level of messages that other nodes send to this session.",
							 NULL, &worker_min_messages, NOTICE, message_level_options, PGC_USERSET, 0,
							 NULL, NULL, NULL);
}

/* A remote message's fields, palloc'd; NULL where there is none. */
typedef struct RemoteMessage
{
	int			sqlstate;		/* 0: not from a server, but from libpq */
	char	   *primary;
	char	   *detail;
	char	   *hint;
	char	   *context;
	char	   *schema;
	char	   *table;
	char	   *column;
	char	   *datatype;
	char	   *constraint;
} RemoteMessage;

static char *
message_field(const RemoteError *error, int code)
{
	const char *value = PQresultErrorField(error, code);

	return value == NULL ? NULL : shard_names_to_logical(value);
}

int
remote_error_sqlstate(const RemoteError *error)
{
	const char *state = PQresultErrorField(error, PG_DIAG_SQLSTATE);

	if (state == NULL || strlen(state) != 5)
		return 0;
	return MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
}

const char *
remote_error_message(RemoteConn *conn, const RemoteError *error)
{
	const char *text = PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY);

	if (text == NULL)
		text = PQresultErrorMessage(error);
	if (text[0] == '\0')
		text = channel_failure(&conn->priv->channel);
	return text;
}

void
remote_error_free(RemoteError *error)
{
	PQclear(error);
}

static void
read_error_message(RemoteMessage *message, RemoteConn *conn, const RemoteError *error)
{
	memset(message, 0, sizeof(*message));
	message->sqlstate = remote_error_sqlstate(error);
	message->primary = message_field(error, PG_DIAG_MESSAGE_PRIMARY);
	if (message->primary == NULL)
		message->primary = pchomp(remote_error_message(conn, error));
	message->detail = message_field(error, PG_DIAG_MESSAGE_DETAIL);
	message->hint = message_field(error, PG_DIAG_MESSAGE_HINT);
	message->context = message_field(error, PG_DIAG_CONTEXT);
	message->schema = message_field(error, PG_DIAG_SCHEMA_NAME);
	message->table = message_field(error, PG_DIAG_TABLE_NAME);
	message->column = message_field(error, PG_DIAG_COLUMN_NAME);
	message->datatype = message_field(error, PG_DIAG_DATATYPE_NAME);
	message->constraint = message_field(error, PG_DIAG_CONSTRAINT_NAME);
	shard_names_fix_schema(PQresultErrorField(error, PG_DIAG_SCHEMA_NAME),
						   PQresultErrorField(error, PG_DIAG_TABLE_NAME), &message->schema);
}

static int
optional_field(int code, const char *value)
{
	return value != NULL ? err_generic_string(code, value) : 0;
}

/* Whether an error means that the node's session has ended. */
static bool
session_ended(RemoteConn *conn, const RemoteMessage *message)
{
	return message->sqlstate == 0 || !channel_ok(&conn->priv->channel);
}

/* read_message that frees error, whatever happens. */
static void
take_error_message(RemoteMessage *message, RemoteConn *conn, RemoteError *error)
{
	PG_TRY();
	{
		read_error_message(message, conn, error);
	}
	PG_CATCH();
	{
		PQclear(error);
		PG_RE_THROW();
	}
	PG_END_TRY();
	PQclear(error);
}

void
remote_raise(int elevel, RemoteConn *conn, RemoteError *error)
{
	RemoteMessage message;

	take_error_message(&message, conn, error);
	if (session_ended(conn, &message))
	{
		char	   *silence = keepalive_failure(conn);

		if (silence != NULL)
			message.primary = silence;
		ereport(elevel,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to node %s:%d was lost", conn->nodename, conn->nodeport),
				 message.primary[0] != '\0' ? errdetail_internal("%s", message.primary) : 0));
		return;
	}

	ereport(elevel,
			(errcode(message.sqlstate),
			 errmsg_internal("%s", message.primary),
			 message.detail ? errdetail_internal("%s", message.detail) : 0,
			 message.hint ? errhint("%s", message.hint) : 0,
			 message.context ? errcontext("%s", message.context) : 0,
			 errcontext("while executing on node %s:%d", conn->nodename, conn->nodeport),
			 optional_field(PG_DIAG_SCHEMA_NAME, message.schema),
			 optional_field(PG_DIAG_TABLE_NAME, message.table),
			 optional_field(PG_DIAG_COLUMN_NAME, message.column),
			 optional_field(PG_DIAG_DATATYPE_NAME, message.datatype),
			 optional_field(PG_DIAG_CONSTRAINT_NAME, message.constraint)));
}

/*
 * Whether another remote statement has sent the same notice for this local
 * statement.
 */
static bool
seen_before(RemoteConn *conn, const RemoteError *error)
{
	const char *primary = PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY);
	uint32		hash;

	if (primary == NULL)
		return false;
	if (seen_at != GetCurrentStatementStartTimestamp())
	{
		seen_at = GetCurrentStatementStartTimestamp();
		nseen_messages = 0;
	}
	hash = hash_bytes((const unsigned char *) primary, strlen(primary));
	for (int i = 0; i < nseen_messages; i++)
		if (seen_messages[i].hash == hash)
			return seen_messages[i].statement != conn->priv->statement;
	if (nseen_messages < SEEN_NOTICES)
	{
		seen_messages[nseen_messages].hash = hash;
		seen_messages[nseen_messages].statement = conn->priv->statement;
		nseen_messages++;
	}
	return false;
}

static int
level_of(const RemoteError *error)
{
	static const struct
	{
		const char *severity;
		int			level;
	}			levels[] = {
		{"WARNING", WARNING}, {"NOTICE", NOTICE}, {"INFO", INFO}, {"LOG", LOG}, {"DEBUG", DEBUG1}
	};
	const char *severity = PQresultErrorField(error, PG_DIAG_SEVERITY_NONLOCALIZED);

	for (int i = 0; severity != NULL && i < lengthof(levels); i++)
		if (strcmp(severity, levels[i].severity) == 0)
			return levels[i].level;
	return severity == NULL ? LOG : 0;
}

/*
 * Called by the channel for each notice, which is an error but for its level;
 * must not leave by an error.
 */
void
notice_receiver(void *arg, const RemoteError *notice)
{
	RemoteConn *conn = arg;
	int			level = level_of(notice);
	CatchPoint	point;

	copy_note_notice(conn);

	/* the notice of an idle connection is the reason why it ends */
	if (conn->state == REMOTE_IDLE || conn->state == REMOTE_DEAD || level == 0 ||
		seen_before(conn, notice))
		return;

	HOLD_INTERRUPTS();
	point = catch_point();
	PG_TRY();
	{
		RemoteMessage message;

		read_error_message(&message, conn, notice);
		ereport(level,
				(message.sqlstate != 0 ? errcode(message.sqlstate) : 0,
				 errmsg_internal("%s", message.primary),
				 message.detail ? errdetail_internal("%s", message.detail) : 0,
				 message.hint ? errhint("%s", message.hint) : 0,
				 message.context ? errcontext("%s", message.context) : 0));
	}
	PG_CATCH();
	{
		catch_end(&point);
	}
	PG_END_TRY();
	RESUME_INTERRUPTS();
}
