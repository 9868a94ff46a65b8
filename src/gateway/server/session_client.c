/*-------------------------------------------------------------------------
 *
 * session_client.c
 *	  The address of the client that a session of the gateway serves.
 *
 * The gateway process writes the address of a session's client to the area
 * (gateway_stats.c).  The session reads it when a statement begins, and
 * reports it in the place of its own connection's: in pg_stat_activity,
 * inet_client_addr(), inet_server_port() and the log.  There is no lock: the
 * writer increments a counter before and after each change, so the session
 * detects a concurrent change.  Sessions on other nodes run statements of many
 * clients alternately, and report the gateway's address.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>

#include "common/ip.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "tcop/utility.h"
#include "utils/backend_status.h"

#include "compat/client_protocol.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

/*
 * The gateway
 */

SessionEntry *
session_entry_take(int process, int32 pid)
{
	int			share = MAX_SESSION_ENTRIES / gateway_processes;
	SessionEntry *sessions = &gateway_area->sessions[process * share];

	for (int i = 0; i < share; i++)
	{
		if (gateway_area->session_pids[process * share + i] != 0)
			continue;
		sessions[i].address.salen = 0;
		sessions[i].client = 0;
		sessions[i].last_number = 0;
		pg_write_barrier();
		gateway_area->session_pids[process * share + i] = pid;
		return &sessions[i];
	}
	return NULL;
}

void
session_entry_drop(SessionEntry *session)
{
	if (session != NULL)
		gateway_area->session_pids[session - gateway_area->sessions] = 0;
}

void
session_entry_lend(SessionEntry *session, ClientEntry *client, const SockAddr *address, const SockAddr *server_address)
{
	if (session == NULL)
		return;
	session->client = client == NULL ? 0 : client - client_entries + 1;
	session->last_number = client == NULL ? 0 : client->number;
	session->changes++;
	pg_write_barrier();
	session->address = *address;
	session->server_address = *server_address;
	pg_write_barrier();
	session->changes++;
}

void
session_entries_clear(int process)
{
	int			share = MAX_SESSION_ENTRIES / gateway_processes;

	memset((void *) &gateway_area->session_pids[process * share], 0, share * sizeof(int32));
}

/*
 * The session
 */

static ExecutorStart_hook_type executor_start_next = NULL;
static ProcessUtility_hook_type utility_next_in_session = NULL;

static const SessionEntry *
find_own_session(void)
{
	for (int i = 0; i < MAX_SESSION_ENTRIES; i++)
		if (gateway_area->session_pids[i] == MyProcPid)
			return &gateway_area->sessions[i];
	return NULL;
}

/* Sets the address that the server reports for this session. */
static void
set_client_address(const SockAddr *address)
{
	static char host[NI_MAXHOST];
	static char port[NI_MAXSERV];

	if (pg_getnameinfo_all(&address->addr, address->salen, host, sizeof(host), port, sizeof(port),
						   NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	MyProcPort->raddr = *address;
	MyProcPort->remote_host = host;
	MyProcPort->remote_port = port;
	if (MyBEEntry == NULL)
		return;
	PGSTAT_BEGIN_WRITE_ACTIVITY(MyBEEntry);
	MyBEEntry->st_clientaddr = *address;
	PGSTAT_END_WRITE_ACTIVITY(MyBEEntry);
}

/* Checks whether another client has the session now. */
static void
look_for_client(void)
{
	static const SessionEntry *own = NULL;
	static bool looked = false;
	static uint32 seen = 0;
	uint32		changes;
	SockAddr	address;
	SockAddr	server_address;

	if (!looked)
		own = find_own_session();
	looked = true;
	if (own == NULL || own->changes == seen)
		return;
	changes = own->changes;
	pg_read_barrier();
	address = own->address;
	server_address = own->server_address;
	pg_read_barrier();

	/* a concurrent change: the next statement reads it again */
	if ((changes & 1) != 0 || own->changes != changes)
		return;
	seen = changes;
	if (address.salen > 0)
		set_client_address(&address);
	if (server_address.salen > 0)
		MyProcPort->laddr = server_address;
}

static void
start_for_client(QueryDesc *query_desc, int eflags)
{
	look_for_client();
	executor_start_next(query_desc, eflags);
}

/* A client doesn't know our names of prepared statements. */
static void
refuse_own_names(const Node *statement)
{
	const char *name = IsA(statement, ExecuteStmt) ? ((const ExecuteStmt *) statement)->name :
		IsA(statement, DeallocateStmt) ? ((const DeallocateStmt *) statement)->name : NULL;

	if (name != NULL && strncmp(name, PREPARED_NAME_PREFIX, strlen(PREPARED_NAME_PREFIX)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_PSTATEMENT),
				 errmsg("prepared statement \"%s\" does not exist", name)));
}

static void
run_utility_for_client(PlannedStmt *pstmt, const char *query, bool read_only_tree, ProcessUtilityContext context,
					   ParamListInfo params, QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	look_for_client();
	refuse_own_names(pstmt->utilityStmt);
	utility_next_in_session(pstmt, query, read_only_tree, context, params, env, dest, qc);
}

void
session_client_begin(void)
{
	client_number_begin();
	executor_start_next = ExecutorStart_hook;
	ExecutorStart_hook = start_for_client;
	utility_next_in_session = ProcessUtility_hook;
	ProcessUtility_hook = run_utility_for_client;
}
