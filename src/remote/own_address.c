/*-------------------------------------------------------------------------
 *
 * own_address.c
 *	  Whether this server is the node that its catalogs say it is.
 *
 * A copy of a node's data (a restored backup, a cloned disk) has the secret of
 * the cluster and the addresses of all its nodes, so it would use the original
 * nodes as its own.  Nothing in the data tells a copy from the original, nor
 * from a promoted standby, which must take the node's place.  What tells them
 * apart is the address of the node in pg_dist_node: it leads to the server
 * that the other nodes use.
 *
 * So before a server connects to other nodes for the first time after its
 * start, it connects to its own address, and asks for the *instance*, a random
 * number that each server makes when it starts.  Only one answer makes this
 * server a copy: another instance, of a server that takes writes and has this
 * server's id (pg_dist_node_metadata).  Then this server opens no connections
 * to nodes, and its daemon does nothing.  A cluster in order must never be
 * refused, so everything else (nobody answers, the address leads to a standby,
 * to another node or to another kind of server) is logged, and passes: the
 * node may be about to get the address, or another one.  Before that, another
 * node is asked which address it knows for this one, which may have changed
 * since the copy was made; if it is another address, the server there is
 * asked.
 *
 * The answer is kept in shared memory, by database and address: for good if it
 * is this server, else for a while, since it may change.  That is a second, or
 * longer if it took long to get.  While an answer is too old, one process asks
 * again, the daemon usually, and the others use the old one.
 *
 * Lock: the lightweight lock of citus_own_address protects `answers` and
 * `next`.  `instance` doesn't change, and `copies` is read without the lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "lib/shared_area.h"
#include "lib/spi_query.h"
#include "remote/own_address.h"
#include "remote/private.h"

#define INSTANCE_SIZE 16
#define ANSWERS 64

/* How long the server at the address may take to answer. */
#define ASK_MS 2000

/*
 * For how long an answer is used that may change: so many times the time that
 * it took, and at least this.
 */
#define USE_FACTOR 30
#define USE_MS 1000

/* How many other nodes are asked, one after another, until one answers. */
#define MAX_OTHERS 3

#define CLUSTER_OF_METADATA "coalesce(metadata OPERATOR(pg_catalog.->>) 'cluster_id', metadata OPERATOR(pg_catalog.->>) 'server_id')"
#define OTHER_ADDRESS_QUERY "SELECT nodename, nodeport FROM pg_catalog.pg_dist_node, pg_catalog.pg_dist_node_metadata " \
	"WHERE groupid = %d AND noderole = 'primary' AND " CLUSTER_OF_METADATA " = %s"
#define ASK_QUERY "SELECT citus_internal.server_instance(), pg_catalog.pg_is_in_recovery(), pg_catalog.citus_server_id()"

typedef struct AddressAnswer
{
	Oid			database;		/* InvalidOid: unused */
	int			port;
	char		host[256];
	OwnAddressAnswer answer;
	TimestampTz asked;			/* the last time */
	int			use_ms;			/* since then, if the answer may change */
} AddressAnswer;

typedef struct OwnAddress
{
	SharedHeader header;
	uint8		instance[INSTANCE_SIZE];
	int			next;			/* the entry to be replaced next */
	bool		copies;			/* an answer is OWN_ADDRESS_ORIGINAL */
	AddressAnswer answers[ANSWERS];
} OwnAddress;

static OwnAddress *own_address = NULL;
static bool check_own_address = true;

/* The address that this process knows to be this server's. */
static AddressAnswer confirmed_address;

SQL_FUNCTION(citus_internal_server_instance);

static void
fill_own_address(void)
{
	if (!pg_strong_random(own_address->instance, INSTANCE_SIZE))
		ereport(FATAL,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
}

void
own_address_init(void)
{
	static SharedArea area = {
		.name = "citus_own_address",
		.fixed = sizeof(OwnAddress),
		.memory = (SharedHeader **) &own_address,
		.fill = fill_own_address,
	};

	DefineCustomBoolVariable("citus.check_own_address",
							 "Connects to no node if this node's address in pg_dist_node leads to another server with its data.",
							 "Keeps a copy of a node, such as a restored backup, away from the nodes of the original.",
							 &check_own_address, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	shared_area_add(&area);
}

char *
own_address_instance(void)
{
	char	   *text = palloc(2 * INSTANCE_SIZE + 1);

	text[hex_encode((const char *) own_address->instance, INSTANCE_SIZE, text)] = '\0';
	return text;
}

/* citus_internal.server_instance() */
Datum
citus_internal_server_instance(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(own_address_instance()));
}

static bool
is_for_node(const AddressAnswer *entry, const ClusterNode *node)
{
	return entry->database == MyDatabaseId && entry->port == node->port && strcmp(entry->host, node->host) == 0;
}

/* The entry of an address, or NULL; the lock must be held. */
static AddressAnswer *
find_address_answer(const ClusterNode *node)
{
	for (int i = 0; i < ANSWERS; i++)
		if (is_for_node(&own_address->answers[i], node))
			return &own_address->answers[i];
	return NULL;
}

/* Whether an answer is too old to be used. */
static bool
address_answer_is_old(const AddressAnswer *entry)
{
	return entry->answer != OWN_ADDRESS_OURS &&
		TimestampDifferenceExceeds(entry->asked, GetCurrentTimestamp(), entry->use_ms);
}

/*
 * The answer that is known; OWN_ADDRESS_NONE if this process is to ask.  It is
 * the only one to ask if there is an old answer.
 */
static OwnAddressAnswer
known_answer(const ClusterNode *node)
{
	OwnAddressAnswer answer = OWN_ADDRESS_NONE;
	AddressAnswer *entry;

	LWLockAcquire(own_address->header.lock, LW_EXCLUSIVE);
	entry = find_address_answer(node);
	if (entry != NULL && !address_answer_is_old(entry))
		answer = entry->answer;
	else if (entry != NULL)
		entry->asked = GetCurrentTimestamp();
	if (answer == OWN_ADDRESS_OURS)
		confirmed_address = *entry;
	LWLockRelease(own_address->header.lock);
	return answer;
}

/* Keeps an answer that took some time; returns the one that it replaces. */
static OwnAddressAnswer
keep_answer(const ClusterNode *node, OwnAddressAnswer answer, long took_ms)
{
	AddressAnswer *entry;
	OwnAddressAnswer former;

	LWLockAcquire(own_address->header.lock, LW_EXCLUSIVE);
	entry = find_address_answer(node);
	if (entry == NULL)
	{
		entry = &own_address->answers[own_address->next];
		own_address->next = (own_address->next + 1) % ANSWERS;
		memset(entry, 0, sizeof(AddressAnswer));
	}
	former = entry->answer;
	entry->database = MyDatabaseId;
	entry->port = node->port;
	strlcpy(entry->host, node->host, sizeof(entry->host));
	entry->answer = answer;
	entry->asked = GetCurrentTimestamp();
	entry->use_ms = (int) Max(USE_MS, USE_FACTOR * took_ms);
	own_address->copies = false;
	for (int i = 0; i < ANSWERS; i++)
		own_address->copies |= own_address->answers[i].answer == OWN_ADDRESS_ORIGINAL;
	LWLockRelease(own_address->header.lock);
	return former;
}

/*
 * What the row of ASK_QUERY says; *detail is why the answer is unknown.
 */
static OwnAddressAnswer
judge_answer(const RemoteResult *row, const char **detail)
{
	char	   *own_id;

	if (row->nrows == 1 && row->values[0] != NULL && strcmp(row->values[0], own_address_instance()) == 0)
		return OWN_ADDRESS_OURS;
	*detail = "The server there is in recovery.";
	if (row->nrows != 1 || row->values[1] == NULL || strcmp(row->values[1], "f") != 0)
		return OWN_ADDRESS_UNKNOWN;
	*detail = "The server there is another node.";
	own_id = spi_value("SELECT metadata ->> 'server_id' FROM pg_catalog.pg_dist_node_metadata");
	if (own_id == NULL || row->values[2] == NULL || strcmp(own_id, row->values[2]) != 0)
		return OWN_ADDRESS_UNKNOWN;
	return OWN_ADDRESS_ORIGINAL;
}

/*
 * Asks the server at an address which one it is; *detail is why the answer is
 * unknown.
 */
static OwnAddressAnswer
ask_address(const char *host, int port, const char **detail)
{
	char	   *error = NULL;
	RemoteConn *conn = remote_plain_open_unchecked(host, port, ASK_MS, &error);
	RemoteResult *row = NULL;

	if (conn != NULL)
	{
		remote_plain_limit(conn, ASK_MS);
		remote_plain_send(conn, ASK_QUERY);
		row = remote_plain_result(conn, &error);
		remote_plain_close(conn);
	}
	if (row != NULL)
		return judge_answer(row, detail);
	*detail = error;
	return OWN_ADDRESS_UNKNOWN;
}

/*
 * Asks another node which address it has for this one, and, if that isn't the
 * one that is known here, the server there.  Only superusers may connect to an
 * address that is no node's here, so others leave it to the daemon.
 */
static OwnAddressAnswer
ask_other_node(const ClusterNode *own)
{
	int			tries = 0;
	char	   *query = psprintf(OTHER_ADDRESS_QUERY, own->groupid,
								 quote_literal_cstr(spi_value("SELECT " CLUSTER_OF_METADATA " FROM pg_catalog.pg_dist_node_metadata")));

	if (!superuser())
		return OWN_ADDRESS_UNKNOWN;
	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
	{
		char	   *error = NULL;
		const char *detail;
		RemoteConn *conn;
		RemoteResult *row;

		if (++tries > MAX_OTHERS)
			break;
		conn = remote_plain_open_unchecked(node->host, node->port, ASK_MS, &error);
		if (conn == NULL)
			continue;
		remote_plain_limit(conn, ASK_MS);
		remote_plain_send(conn, query);
		row = remote_plain_result(conn, &error);
		remote_plain_close(conn);
		if (row == NULL || row->nrows != 1)
			continue;
		if (strcmp(remote_value(row, 0, 0), own->host) == 0 && atoi(remote_value(row, 0, 1)) == own->port)
			return OWN_ADDRESS_UNKNOWN;
		return ask_address(remote_value(row, 0, 0), atoi(remote_value(row, 0, 1)), &detail);
	}
	return OWN_ADDRESS_UNKNOWN;
}

/*
 * Finds out whether the node's address is this server's, and keeps the answer.
 * One that is unknown is logged when it is new.  The client isn't told: it
 * can't change that.
 */
static OwnAddressAnswer
ask_own_address(const ClusterNode *node)
{
	TimestampTz begun = GetCurrentTimestamp();
	const char *detail = NULL;
	OwnAddressAnswer answer = ask_address(node->host, node->port, &detail);
	OwnAddressAnswer former;

	if (answer == OWN_ADDRESS_UNKNOWN)
		answer = ask_other_node(node);
	former = keep_answer(node, answer, TimestampDifferenceMilliseconds(begun, GetCurrentTimestamp()));
	if (answer == OWN_ADDRESS_UNKNOWN && former != answer)
		ereport(MyProcPort == NULL ? WARNING : LOG_SERVER_ONLY,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not find out whether %s:%d, the address of this node in pg_dist_node, leads to this server",
						node->host, node->port),
				 errdetail_internal("%s", detail),
				 errhint("If this server has a copy of a node's data, keep it away from the nodes of the original.")));
	return answer;
}

/* The row of this node, if it is to be checked; NULL: nothing is to do. */
static const ClusterNode *
node_to_check(void)
{
	const ClusterNode *node;

	if (!check_own_address || own_address == NULL || list_length(node_all()) < 2)
		return NULL;
	node = node_primary_of(metadata_local_group());
	if (node == NULL || is_for_node(&confirmed_address, node) || RecoveryInProgress())
		return NULL;
	return node;
}

OwnAddressAnswer
own_address_answer(void)
{
	const ClusterNode *node = node_to_check();
	OwnAddressAnswer answer;

	if (node == NULL)
		return OWN_ADDRESS_OURS;
	answer = known_answer(node);
	return answer == OWN_ADDRESS_NONE ? ask_own_address(node) : answer;
}

void
own_address_require(void)
{
	const ClusterNode *node;

	if (own_address_answer() != OWN_ADDRESS_ORIGINAL)
		return;
	node = node_primary_of(metadata_local_group());
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this server is not the node at %s:%d", node->host, node->port),
			 errdetail("Another server that has this node's data answers there, or where other nodes know this node to be."),
			 errhint("If this server has a copy of a node's data, run citus_separate_copy on the copied coordinator.")));
}

void
own_address_require_again(void)
{
	if (own_address != NULL && own_address->copies)
		own_address_require();
}
