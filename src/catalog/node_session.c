/*-------------------------------------------------------------------------
 *
 * node_session.c
 *	  Whether this session is another node's, and checks of functions for
 *	  nodes.
 *
 * Nodes tag the texts of tasks, and call functions that keep their metadata
 * the same.  Both would let a client bypass the checks of its own node, so
 * they are only for sessions that have proven to be a node's.  The cluster has
 * a secret (pg_dist_node_secret, which only superusers may read); a node that
 * opens a session sends a keyed hash of it with its settings
 * (remote/settings.c), as citus.node_proof.  The setting can't be read, isn't
 * part of a statement's text, and isn't valid for another login role.  It is
 * verified once per session; later statements only compare it.
 *
 * The proof contains the process id that the client knows.  If that is the
 * backend's own, the backend serves this client until it ends, so it stays a
 * node's session, also when the setting is rolled back.  Otherwise there is a
 * pooler in between, whose next transaction may be another client's: then the
 * session is a node's as long as the setting exists, which the node sets for
 * each transaction.
 *
 * A session that is being opened has no process id yet: what comes with the
 * login has a proof for 0, which only spares the session login triggers.
 *
 * A session of a superuser need not know the secret: a superuser may read it.
 * So a node can join before it has the cluster's secret.
 *
 * The client of a node's session runs no statements of users; but user-defined
 * functions may run in it, in a CHECK constraint for instance.  So tags count
 * only in the text that the client has sent (is_client_text), and functions
 * for nodes work only if that text calls them: the first one called, before
 * any user code that it may execute.  The same holds for commands that this
 * library composes and runs here, since these may execute user code, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "commands/dbcommands.h"
#include "common/cryptohash.h"
#include "common/hmac.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"

#include "catalog/catalog_rows.h"
#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/client_protocol.h"
#include "compat/login_triggers.h"

#define NONCE_SIZE 16

/* The start of texts that only call a function for nodes. */
#define NODE_CALL "SELECT citus_internal."

/* The tag of a call that uses this node alone (resolve/tag.h). */
#define LONE_CALL "/*citus:call "

typedef enum Verdict
{
	VERDICT_NONE,				/* citus.node_proof has not been looked at */
	VERDICT_CLIENT,
	VERDICT_NODE,
} Verdict;

NodeCall	node_call = {NULL, NULL};

static bool proof_is_right(const char *proof, int *pid);

static char *node_proof = NULL;
static Verdict session_verdict = VERDICT_NONE;
static bool verdict_stays = false;

/*
 * A proof that comes with the login has the session fire no login triggers:
 * they are about clients, and one that fails would keep the nodes out.  The
 * server applies the options of a login in a transaction, before it fires
 * them.
 */
static bool
check_node_proof(char **newval, void **extra, GucSource source)
{
	int			pid;

	if (source == PGC_S_CLIENT && compat_login_triggers_due() && MyProcPort != NULL && IsTransactionState() &&
		metadata_available() && *newval != NULL && (*newval)[0] != '\0' && proof_is_right(*newval, &pid))
		compat_login_triggers_skip();
	return true;
}

static void
assign_node_proof(const char *newval, void *extra)
{
	if (!verdict_stays)
		session_verdict = VERDICT_NONE;
}

static const char *
show_node_proof(void)
{
	return "";
}

/* The cluster's secret, or NULL; palloc'd. */
static bytea *
read_secret(void)
{
	List	   *rows = catalog_rows("pg_dist_node_secret", NULL, NULL);

	return rows == NIL ? NULL : DatumGetByteaP(((CatalogRow *) linitial(rows))->values[0]);
}

/*
 * The keyed hash, in hexadecimal digits, of a session; false if there is no
 * secret.  claim is nonce and process id.
 */
static bool
write_hash(const char *claim, const char *role, char *hash)
{
	bytea	   *secret = read_secret();
	char	   *message = psprintf("citus node session\n%s\n%s\n%s", claim, get_database_name(MyDatabaseId), role);
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	pg_hmac_ctx *context;

	if (secret == NULL)
		return false;
	context = pg_hmac_create(PG_SHA256);
	if (context == NULL ||
		pg_hmac_init(context, (uint8 *) VARDATA(secret), VARSIZE(secret) - VARHDRSZ) < 0 ||
		pg_hmac_update(context, (uint8 *) message, strlen(message)) < 0 ||
		pg_hmac_final(context, digest, sizeof(digest)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute the proof of a node's session: %s", pg_hmac_error(context))));
	pg_hmac_free(context);
	hex_encode((char *) digest, sizeof(digest), hash);
	hash[2 * sizeof(digest)] = '\0';
	return true;
}

void
node_proof_write(Oid login_role, int pid, char *proof)
{
	uint8		nonce[NONCE_SIZE];
	char		hash[2 * PG_SHA256_DIGEST_LENGTH + 1];
	size_t		len = 2 * NONCE_SIZE;

	if (!pg_strong_random(nonce, sizeof(nonce)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	hex_encode((char *) nonce, sizeof(nonce), proof);
	len += snprintf(proof + len, NODE_PROOF_SIZE - len, ".%d", pid);
	if (!write_hash(proof, GetUserNameFromId(login_role, false), hash))
		strcpy(hash, "-");
	snprintf(proof + len, NODE_PROOF_SIZE - len, ".%s", hash);
}

char *
node_secret_text(void)
{
	bytea	   *secret = read_secret();

	if (secret == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this node has no secret for its cluster"),
				 errdetail("The table pg_dist_node_secret is empty."),
				 errhint("Insert the row of the coordinator.")));
	return DatumGetCString(DirectFunctionCall1(byteaout, PointerGetDatum(secret)));
}

/* Compares two hashes in constant time. */
static bool
same_hash(const char *left, const char *right)
{
	int			differ = 0;

	if (strlen(left) != strlen(right))
		return false;
	for (; *left != '\0'; left++, right++)
		differ |= *left ^ *right;
	return differ == 0;
}

/*
 * Whether a node has written the proof for a session of this login role; *pid
 * is the process id in it.  If that is 0, it is for the login only.
 */
static bool
proof_is_right(const char *proof, int *pid)
{
	char		hash[2 * PG_SHA256_DIGEST_LENGTH + 1];
	const char *end = strrchr(proof, '.');
	bool		whole = strlen(proof) > 2 * NONCE_SIZE && proof[2 * NONCE_SIZE] == '.';

	*pid = whole ? atoi(proof + 2 * NONCE_SIZE + 1) : 0;
	if (superuser_arg(GetAuthenticatedUserId()))
		return true;
	return whole && write_hash(pnstrdup(proof, end - proof), MyProcPort->user_name, hash) && same_hash(hash, end + 1);
}

bool
node_session(void)
{
	int			pid;

	if (likely(session_verdict != VERDICT_NONE))
		return session_verdict == VERDICT_NODE;
	if (node_proof == NULL || node_proof[0] == '\0' || MyProcPort == NULL)
	{
		session_verdict = VERDICT_CLIENT;
		return false;
	}
	if (!IsTransactionState())
		return false;
	session_verdict = proof_is_right(node_proof, &pid) && (pid != 0 || superuser_arg(GetAuthenticatedUserId())) ?
		VERDICT_NODE : VERDICT_CLIENT;
	verdict_stays = session_verdict == VERDICT_NODE && pid == MyProcPid;
	return session_verdict == VERDICT_NODE;
}

/*
 * The server passes debug_query_string itself along, or, once there is a
 * portal, that portal's copy of it.  The protocol's own portal has an empty
 * name, which no cursor of a function can have.
 */
bool
is_client_text(const char *text)
{
	return text != NULL &&
		(text == debug_query_string ||
		 (ActivePortal != NULL && ActivePortal->name[0] == '\0' && text == ActivePortal->sourceText));
}

static void
refuse_call(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for a function that nodes call on each other"),
			 errhint("Only nodes of the cluster, and superusers, may call it.")));
}

void
node_call_forget(const char *text)
{
	if (node_call.function != NULL && is_client_text(text))
		node_call.function = NULL;
}

/* Whether the call is the first one, or the same for another row. */
static bool
is_first_call(FunctionCallInfo fcinfo)
{
	if (node_call.function == NULL)
		node_call.function = fcinfo->flinfo;
	return node_call.function == fcinfo->flinfo;
}

void
node_function_check(FunctionCallInfo fcinfo)
{
	const char *text = node_call.own_command;
	bool		first = is_first_call(fcinfo);

	if (superuser())
		return;
	if (text == NULL && node_session())
		text = debug_query_string;
	if (!first || text == NULL || strncmp(text, NODE_CALL, strlen(NODE_CALL)) != 0)
		refuse_call();
}

void
node_function_check_superuser(FunctionCallInfo fcinfo)
{
	(void) is_first_call(fcinfo);
	if (!superuser())
		refuse_call();
}

bool		node_session_asks = false;

/* The start of the message in which a call was refused. */
static TimestampTz call_refused_at = 0;

bool
node_session_runs_call(void)
{
	return unlikely(debug_query_string != NULL && strncmp(debug_query_string, LONE_CALL, strlen(LONE_CALL)) == 0) &&
		node_session();
}

/* Whether the call is a procedure's, which has ended a transaction. */
static bool
call_has_committed(void)
{
	return !IsTransactionBlock() && GetCurrentTransactionStartTimestamp() > GetCurrentStatementStartTimestamp();
}

static void
refuse_to_run_call(void)
{
	call_refused_at = GetCurrentStatementStartTimestamp();
	ereport(ERROR,
			(errcode(ERRCODE_CALL_NEEDS_NODES),
			 errmsg("a delegated call needs other nodes")));
}

void
node_session_check_call(void)
{
	if (node_session_asks || !node_session_runs_call())
		return;
	if (call_has_committed())	/* can't be done again elsewhere */
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot use other nodes after a delegated procedure has ended a transaction"),
				 errhint("Use create_distributed_function() without a distribution argument for the procedure.")));
	refuse_to_run_call();
}

void
node_session_call_ends(void)
{
	if (unlikely(call_refused_at != 0) && call_refused_at == GetCurrentStatementStartTimestamp() && node_session_runs_call())
		refuse_to_run_call();
}

void
node_session_call_fails(int sqlerrcode)
{
	static const int lacks[] = {
		ERRCODE_UNDEFINED_TABLE, ERRCODE_UNDEFINED_FUNCTION, ERRCODE_UNDEFINED_SCHEMA, ERRCODE_UNDEFINED_OBJECT,
		ERRCODE_UNDEFINED_PSTATEMENT, ERRCODE_UNDEFINED_CURSOR, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		ERRCODE_INVALID_TRANSACTION_TERMINATION,
	};

	for (int i = 0; i < lengthof(lacks); i++)
	{
		if (sqlerrcode == lacks[i] && !call_has_committed())
		{
			FlushErrorState();
			refuse_to_run_call();
		}
	}
}

void
node_session_init(void)
{
	DefineCustomStringVariable(NODE_PROOF_SETTING,
							   "Proves that a session is opened by another node of the cluster.",
							   "Set by nodes when they connect; its value is never shown.",
							   &node_proof, "", PGC_USERSET,
							   GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							   check_node_proof, assign_node_proof, show_node_proof);
}
