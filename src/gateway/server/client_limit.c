/*-------------------------------------------------------------------------
 *
 * client_limit.c
 *	  A limit for connections of clients.
 *
 * Each node has sessions of clients and of other nodes, and max_connections is
 * for both.  citus.max_client_connections leaves the rest to the nodes.  The
 * sessions are told apart by application_name, as the login has it, since a
 * node's proof can't be checked before the session has begun: the limit guards
 * against too many clients, not against bad ones.  Superusers get in, and are
 * counted.  A gateway's sessions are not: it has limits of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "port/atomics.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "utils/acl.h"
#include "utils/guc.h"

#include "catalog/backends.h"
#include "compat/client_protocol.h"
#include "gateway/server/client_limit.h"
#include "lib/shared_area.h"

typedef struct ClientsShared
{
	SharedHeader header;
	pg_atomic_uint32 clients;	/* that have logged in */
} ClientsShared;

static ClientsShared *clients_shared = NULL;
static int	max_client_connections = -1;

static void
client_leaves(int code, Datum arg)
{
	(void) pg_atomic_fetch_sub_u32(&clients_shared->clients, 1);
}

void
client_limit_login(Port *port)
{
	uint32		before;

	if (am_walsender || backend_is_nodes(port->application_name))
		return;
	before = pg_atomic_fetch_add_u32(&clients_shared->clients, 1);
	before_shmem_exit(client_leaves, (Datum) 0);
	if (max_client_connections < 0 || before < (uint32) max_client_connections ||
		superuser_arg(get_role_oid(port->user_name, true)))
		return;
	ereport(FATAL,
			(errcode(ERRCODE_TOO_MANY_CONNECTIONS),
			 errmsg("sorry, too many clients already"),
			 errdetail("citus.max_client_connections is %d.", max_client_connections),
			 errhint("Connect to the gateway, or to another node.")));
}

static void
fill_clients(void)
{
	pg_atomic_init_u32(&clients_shared->clients, 0);
}

void
client_limit_init(void)
{
	static SharedArea area = {
		.name = "citus_clients",
		.fixed = sizeof(ClientsShared),
		.memory = (SharedHeader **) &clients_shared,
		.fill = fill_clients,
	};

	shared_area_add(&area);
	DefineCustomIntVariable("citus.max_client_connections",
							"Limits connections of clients to this server, besides those of superusers.",
							"The rest of max_connections is for sessions of other nodes. -1 means no limit. Clients of the gateway are not counted.",
							&max_client_connections, -1, -1, INT_MAX, PGC_SIGHUP, 0, NULL, NULL, NULL);
}
