/*-------------------------------------------------------------------------
 *
 * notify.c
 *	  NOTIFY for listeners on all nodes.
 *
 * The server queues a transaction's notifications for the listeners of its own
 * node when it commits.  This file remembers them as well, and passes them on
 * to the other nodes after the commit, also that of participants: a listener
 * that looks at once sees what the transaction has written.  Each node gets
 * one command, in which it queues them for its own listeners.
 *
 * The commit doesn't depend on it: a node that can't be reached, or doesn't
 * answer in time, is left out with a warning, and nothing is repeated.  So a
 * listener gets each notification once, or not at all if its node is not
 * reachable, and those of one session in the order of its transactions, since
 * the session awaits the answers.
 *
 * From queuing to commit, the server holds a lock by which all transactions
 * with notifications queue.  It is released before the other nodes are asked:
 * sessions on two nodes would wait for each other's.
 *
 * NOTIFY comes from the utility hook, and pg_notify() from the function that
 * the planner puts in its place (planner/replaced_function.c).  What C code of
 * other extensions queues directly stays on its node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "compat/acl.h"
#include "compat/foreach.h"
#include "compat/lock_held.h"
#include "compat/sql_function.h"
#include "lib/catch_error.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "txn/dist_transaction.h"
#include "txn/notify.h"

SQL_FUNCTION(citus_internal_pg_notify);
SQL_FUNCTION(citus_internal_notify);

/* Milliseconds that nodes may take to notify their listeners. */
#define NOTIFY_PATIENCE 5000

/*
 * A node that took that long to fail isn't tried for so many times as long,
 * and at most for so many milliseconds.
 */
#define LONG_FAILURE_MS 100
#define RETRY_FACTOR 10
#define LONGEST_RETRY_MS 30000

typedef enum NotifyReach
{
	NOTIFY_LOCAL,
	NOTIFY_CLUSTER,
} NotifyReach;

static int	notify_reach = NOTIFY_CLUSTER;

typedef struct NotedMessage
{
	char	   *channel;
	char	   *payload;
	int			level;			/* of the transaction's nesting */
} NotedMessage;

/* The key of noted_set: a message. */
typedef struct NotedKey
{
	const NotedMessage *message;
} NotedKey;

/* A node that took long to fail; in TopMemoryContext. */
typedef struct SilentNode
{
	int32		groupid;
	TimestampTz until;			/* isn't tried before */
} SilentNode;

static List *silent_nodes = NIL;

static uint32
noted_hash(const void *key, Size size)
{
	const NotedMessage *message = ((const NotedKey *) key)->message;

	return hash_combine(string_hash(message->channel, NAMEDATALEN), string_hash(message->payload, BLCKSZ));
}

static int
noted_compare(const void *a, const void *b, Size size)
{
	const NotedMessage *one = ((const NotedKey *) a)->message;
	const NotedMessage *other = ((const NotedKey *) b)->message;

	return strcmp(one->channel, other->channel) != 0 || strcmp(one->payload, other->payload) != 0;
}

static HTAB *
create_noted_set(void)
{
	HASHCTL		control = {
		.keysize = sizeof(NotedKey),
		.entrysize = sizeof(NotedKey),
		.hash = noted_hash,
		.match = noted_compare,
		.hcxt = TopTransactionContext,
	};

	return hash_create("citus notifications", 64, &control, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

bool
notify_concerns_others(void)
{
	return metadata_available() && node_active_primaries_remote() != NIL;
}

void
notify_note(const char *channel, const char *payload)
{
	NotedMessage message = {(char *) channel, (char *) (payload == NULL ? "" : payload)};
	NotedKey	key = {&message};
	MemoryContext old_context;
	NotedKey   *entry;
	NotedMessage *copy;
	bool		found;

	if (notify_reach == NOTIFY_LOCAL || !notify_concerns_others())
		return;
	node_session_check_call();
	if (dist_transaction.note_set == NULL)
		dist_transaction.note_set = create_noted_set();
	entry = hash_search(dist_transaction.note_set, &key, HASH_ENTER, &found);
	if (found)
		return;
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	copy = palloc(sizeof(NotedMessage));
	copy->channel = pstrdup(message.channel);
	copy->payload = pstrdup(message.payload);
	copy->level = GetCurrentTransactionNestLevel();
	entry->message = copy;
	dist_transaction.notes = lappend(dist_transaction.notes, copy);
	MemoryContextSwitchTo(old_context);
}

void
notify_end_level(int level, bool commit)
{
	while (dist_transaction.notes != NIL)
	{
		NotedMessage *last = llast(dist_transaction.notes);
		NotedKey	key = {last};

		if (last->level < level || commit)
			break;
		(void) hash_search(dist_transaction.note_set, &key, HASH_REMOVE, NULL);
		dist_transaction.notes = list_delete_last(dist_transaction.notes);
	}
	for (int i = list_length(dist_transaction.notes) - 1; i >= 0; i--)
	{
		NotedMessage *message = list_nth(dist_transaction.notes, i);

		if (message->level < level)
			break;
		message->level = level - 1;
	}
}

/* The command for other nodes. */
static char *
notify_command(void)
{
	List	   *texts = NIL;

	foreach_ptr(const NotedMessage, message, dist_transaction.notes)
		texts = lappend(lappend(texts, (char *) message->channel), (char *) message->payload);
	return node_call(NODE_notify, node_texts(texts));
}

static void
warn_of_node(const char *host, int port, const char *reason)
{
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("could not notify listeners on node %s:%d", host, port),
			 errdetail_internal("%s", reason)));
}

/* The owner's connections are released at once. */
static void
notify_yield(RemoteOwner *owner, RemoteConn *conn)
{
}

/* Whether a node was silent lately. */
static bool
is_silent(int32 groupid)
{
	foreach_ptr(SilentNode, silent, silent_nodes)
	{
		if (silent->groupid != groupid)
			continue;
		if (GetCurrentTimestamp() < silent->until)
			return true;
		silent_nodes = list_delete_ptr(silent_nodes, silent);
		pfree(silent);
		return false;
	}
	return false;
}

/* Remembers that a node has failed, if that took long. */
static void
note_failure(int32 groupid, TimestampTz since)
{
	TimestampTz now = GetCurrentTimestamp();
	SilentNode *silent;
	MemoryContext old_context;

	if (!TimestampDifferenceExceeds(since, now, LONG_FAILURE_MS) || is_silent(groupid))
		return;
	old_context = MemoryContextSwitchTo(TopMemoryContext);
	silent = palloc(sizeof(SilentNode));
	silent->groupid = groupid;
	silent->until = Min(now + RETRY_FACTOR * (now - since), TimestampTzPlusMilliseconds(now, LONGEST_RETRY_MS));
	silent_nodes = lappend(silent_nodes, silent);
	MemoryContextSwitchTo(old_context);
}

/*
 * A connection to a node, which is in no transaction any more when this one is
 * over; NULL, with a warning, if there is none.
 */
static RemoteConn *
connection_to(const ClusterNode *node)
{
	static RemoteOwner owner = {.yield = notify_yield};
	const CatchPoint point = catch_point();
	const TimestampTz since = GetCurrentTimestamp();
	RemoteConn *volatile conn = NULL;

	if (is_silent(node->groupid))
	{
		warn_of_node(node->host, node->port, "It has not answered lately.");
		return NULL;
	}
	PG_TRY();
	{
		conn = remote_acquire(node->groupid, &owner, false);
		remote_release(conn, &owner);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED || error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
			PG_RE_THROW();
		catch_end(&point);
		warn_of_node(node->host, node->port, error->message);
		note_failure(node->groupid, since);
		FreeErrorData(error);
		conn = NULL;
	}
	PG_END_TRY();
	return conn;
}

void
notify_before_commit(void)
{
	MemoryContext old_context;
	List	   *nodes;
	char	   *command;

	if (dist_transaction.notes == NIL)
		return;
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	nodes = node_active_primaries_remote();
	command = notify_command();
	dist_transaction.note_answers = palloc0(sizeof(RemoteAnswer) * Max(list_length(nodes), 1));
	foreach_ptr(const ClusterNode, node, nodes)
	{
		RemoteConn *conn = connection_to(node);

		if (conn != NULL)
			dist_transaction.note_answers[dist_transaction.nnote_answers++] = (RemoteAnswer) {.conn = conn,.sql = command};
	}
	MemoryContextSwitchTo(old_context);
}

void
notify_unlock(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, InvalidOid, 0);
	if (dist_transaction.nnote_answers > 0 && compat_lock_held(&tag, AccessExclusiveLock))
		UnlockSharedObject(DatabaseRelationId, InvalidOid, 0, AccessExclusiveLock);
}

void
notify_after_commit(void)
{
	int			n = dist_transaction.nnote_answers;
	TimestampTz since;

	dist_transaction.nnote_answers = 0;
	if (n == 0)
		return;
	since = GetCurrentTimestamp();
	remote_broadcast(dist_transaction.note_answers, n, Min(remote_connection_timeout(), NOTIFY_PATIENCE), NULL);
	for (int i = 0; i < n; i++)
	{
		RemoteConn *conn = dist_transaction.note_answers[i].conn;
		RemoteError *error = dist_transaction.note_answers[i].error;

		if (error == NULL && dist_transaction.note_answers[i].tag[0] != '\0')
			continue;
		note_failure(conn->groupid, since);
		warn_of_node(conn->nodename, conn->nodeport, error != NULL ? remote_error_message(conn, error) :
					 "It has not answered.");
		remote_error_free(error);
	}
}

/* Errors unless the user may call the server's function. */
static void
check_rights(void)
{
	AclResult	result = object_aclcheck(ProcedureRelationId, F_PG_NOTIFY, GetUserId(), ACL_EXECUTE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, "pg_notify");
}

/* citus_internal.pg_notify(channel text, payload text) */
Datum
citus_internal_pg_notify(PG_FUNCTION_ARGS)
{
	Datum		result;

	check_rights();
	result = pg_notify(fcinfo);
	notify_note(PG_ARGISNULL(0) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(0)),
				PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)));
	return result;
}

/*
 * citus_internal.notify(messages text[]): queues notifications, each a channel
 * and a payload, for this node's listeners.  They don't survive a crash, so
 * the commit needn't wait for the disk.
 */
Datum
citus_internal_notify(PG_FUNCTION_ARGS)
{
	Datum	   *texts;
	bool	   *nulls;
	int			n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &n);
	for (int i = 0; i + 1 < n; i += 2)
		Async_Notify(nulls[i] ? "" : TextDatumGetCString(texts[i]), nulls[i + 1] ? "" : TextDatumGetCString(texts[i + 1]));
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		PG_RETURN_VOID();
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	PG_RETURN_VOID();
}

void
notify_init(void)
{
	static const struct config_enum_entry choices[] = {
		{"local", NOTIFY_LOCAL, false},
		{"cluster", NOTIFY_CLUSTER, false},
		{NULL, 0, false},
	};

	DefineCustomEnumVariable("citus.notifications",
							 "Whether NOTIFY reaches listeners on all nodes, or on its own node only.",
							 NULL, &notify_reach, NOTIFY_CLUSTER, choices, PGC_USERSET, 0, NULL, NULL, NULL);
}
