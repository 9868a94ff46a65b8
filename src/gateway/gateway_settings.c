/*-------------------------------------------------------------------------
 *
 * gateway_settings.c
 *	  The gateway's settings, its key, and its init.
 *
 * The key is a random number, generated when the server starts.  It is in
 * shared memory for the server's processes; gateway processes, which have no
 * shared memory, inherit it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "gateway/server/client_limit.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"
#include "gateway/server/tls.h"
#include "lib/shared_area.h"
#include "remote/transport.h"

typedef struct GatewayShared
{
	SharedHeader header;
	uint8		key[GATEWAY_KEY_SIZE];	/* constant once the server has
										 * started */
} GatewayShared;

int			gateway_port = 0;
char	   *gateway_listen_addresses = NULL;
int			gateway_processes = 1;
int			gateway_pool_size = 20;
int			gateway_node_pool_size = 8;
int			gateway_clean_blocks = 100;
int			gateway_max_clients = 10000;
int			gateway_queue_timeout = 0;
int			gateway_idle_timeout = 600;
int			gateway_min_pool_size = 0;
int			gateway_session_lifetime = 3600;
int			gateway_pool_mode = POOL_TRANSACTION;
char	   *gateway_server_host = NULL;

static GatewayShared *gateway_shared = NULL;

static const struct config_enum_entry pool_modes[] = {
	{"transaction", POOL_TRANSACTION, false},
	{"session", POOL_SESSION, false},
	{NULL, 0, false}
};

static void
make_gateway_key(void)
{
	if (!pg_strong_random(gateway_shared->key, GATEWAY_KEY_SIZE))
		ereport(FATAL,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
}

void
gateway_key_copy(uint8 *key)
{
	memcpy(key, gateway_shared->key, GATEWAY_KEY_SIZE);
}

static void
define_listening(void)
{
	DefineCustomIntVariable("citus.gateway_port",
							"Sets the TCP port on which the gateway listens for clients.",
							"0 starts no gateway.",
							&gateway_port, 0, 0, 65535, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.gateway_listen_addresses",
							   "Sets the addresses on which the gateway listens for clients.",
							   "Numeric addresses or names, separated by commas; \"*\" stands for all of the machine's.",
							   &gateway_listen_addresses, "localhost", PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_processes",
							"Sets the number of processes that serve the gateway's clients.",
							NULL,
							&gateway_processes, 1, 1, MAX_GATEWAY_PROCESSES, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.gateway_server_host",
							   "Sets by which address the gateway connects to its own server.",
							   "Empty: the server's first Unix-domain socket. Otherwise a numeric address.",
							   &gateway_server_host, "", PGC_POSTMASTER, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);
}

static void
define_pooling(void)
{
	DefineCustomEnumVariable("citus.gateway_pool_mode",
							 "Sets how long a client of the gateway keeps a session.",
							 "With \"session\", from its first transaction there to its end, or until this is changed.",
							 &gateway_pool_mode, POOL_TRANSACTION, pool_modes, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_pool_size",
							"Sets how many sessions a process of the gateway opens per database and user.",
							NULL,
							&gateway_pool_size, 20, 1, 10000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_node_pool_size",
							"Sets how many sessions a process of the gateway opens on another node per database and user.",
							"Statements of one shard go to its node directly.",
							&gateway_node_pool_size, 8, 0, 10000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_clean_blocks",
							"Sets after how many transaction blocks the gateway begins such a block on another node.",
							"So many that began with the same statement must in a row have needed no session of this node. -1 begins all here.",
							&gateway_clean_blocks, 100, -1, INT_MAX, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_min_pool_size",
							"Sets how many sessions the gateway keeps per database and user that has clients.",
							NULL,
							&gateway_min_pool_size, 0, 0, 10000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_session_lifetime",
							"Sets how old the gateway lets a session become.",
							"It is closed between two transactions. 0 sets no limit.",
							&gateway_session_lifetime, 3600, 0, INT_MAX, PGC_POSTMASTER, GUC_UNIT_S,
							NULL, NULL, NULL);
}

static void
define_limits(void)
{
	DefineCustomIntVariable("citus.gateway_max_clients",
							"Sets how many clients each process of the gateway serves.",
							NULL,
							&gateway_max_clients, 10000, 1, 1000000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_queue_timeout",
							"Sets how long the gateway lets a client wait for a session of its pool.",
							"0 lets it wait for any time.",
							&gateway_queue_timeout, 0, 0, INT_MAX, PGC_POSTMASTER, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("citus.gateway_idle_timeout",
							"Sets after which time the gateway closes a session that no client has used.",
							"0 keeps such sessions.",
							&gateway_idle_timeout, 600, 0, INT_MAX, PGC_POSTMASTER, GUC_UNIT_S,
							NULL, NULL, NULL);
}

void
gateway_init(void)
{
	static SharedArea area = {
		.name = "citus_gateway",
		.fixed = sizeof(GatewayShared),
		.memory = (SharedHeader **) &gateway_shared,
		.fill = make_gateway_key,
	};

	define_listening();
	define_pooling();
	define_limits();
	shared_area_add(&area);
	login_hook_init();
	client_limit_init();
	session_state_init();
	session_answers_init();
	database_release_init();
	if (gateway_port != 0)
	{
		gateway_area_create();
		tls_init();
		client_number_init();
		supervisor_init();
		transport_set_gateways(gateway_processes);
	}
}
