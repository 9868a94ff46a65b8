/*-------------------------------------------------------------------------
 *
 * transport.c
 *	  Connections to other nodes through this node's gateway.
 *
 * With citus.transport = multiplexed, a connection to a node for which
 * pg_dist_poolinfo names a gateway leads to a Unix-domain socket of a gateway
 * process of this node, and from there, together with those of other sessions,
 * over one TCP connection to that gateway (gateway/link/tunnel.c).  An option
 * in the startup packet has the destination.  The host name is looked up here,
 * since the gateway can't wait for that.
 *
 * The gateway encrypts, not libpq; so the option contains the TLS settings of
 * citus.node_conninfo.  A connection that needs features that the gateway
 * lacks (a client certificate, for instance) is made directly.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ip.h"
#include "lib/stringinfo.h"
#include "libpq/pqcomm.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "remote/transport.h"

/* Addresses of a name that are tried. */
#define MAX_ADDRESSES 4

typedef enum TransportKind
{
	TRANSPORT_DIRECT,
	TRANSPORT_MULTIPLEXED,
} TransportKind;

static int	transport_kind = TRANSPORT_DIRECT;

/* Processes of this node's gateway; 0: it has none. */
static int	transport_gateways = 0;

static const struct config_enum_entry transport_kinds[] = {
	{"direct", TRANSPORT_DIRECT, false},
	{"multiplexed", TRANSPORT_MULTIPLEXED, false},
	{NULL, 0, false}
};

/* Parameters that a connection through the gateway doesn't support. */
static const char *const direct_keywords[] = {
	"gsslib", "krbsrvname", "replication", "require_auth", "sslcert", "sslcompression", "sslcrl", "sslcrldir", "sslkey",
	"sslkeylogfile", "ssl_max_protocol_version", "ssl_min_protocol_version", "sslnegotiation", NULL
};

/*
 * Environment variables by which libpq gets such parameters, and others that
 * aren't passed to the gateway.
 */
static const char *const direct_variables[] = {
	"PGCHANNELBINDING", "PGREQUIREAUTH", "PGSSLCERT", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLKEY", "PGSSLMAXPROTOCOLVERSION",
	"PGSSLMINPROTOCOLVERSION", "PGSSLMODE", "PGSSLROOTCERT", NULL
};

void
transport_init(void)
{
	DefineCustomEnumVariable("citus.transport",
							 "Sets how connections between nodes travel.",
							 "\"direct\": each by itself. \"multiplexed\": those to a node for which pg_dist_poolinfo "
							 "names its gateway, over one connection between the gateways of the two nodes.",
							 &transport_kind, TRANSPORT_DIRECT, transport_kinds, PGC_USERSET, 0, NULL, NULL, NULL);
}

void
transport_set_gateways(int processes)
{
	transport_gateways = processes;
}

/* The value that the connection has; NULL: none. */
static const char *
param_value(const char *const *keywords, const char *const *values, const char *keyword)
{
	for (int i = 0; keywords[i] != NULL; i++)
		if (strcmp(keywords[i], keyword) == 0 && values[i][0] != '\0')
			return values[i];
	return NULL;
}

/*
 * Whether the server's user has a root certificate file, by which libpq
 * verifies servers by default.
 */
static bool
has_root_certificate(void)
{
	char		home[MAXPGPATH];
	char		path[MAXPGPATH + 32];

	if (!get_home_path(home))
		return false;
	snprintf(path, sizeof(path), "%s/.postgresql/root.crt", home);
	return access(path, F_OK) == 0;
}

/* Whether it needs something that only a direct connection supports. */
static bool
needs_own_connection(const char *const *keywords, const char *const *values)
{
	const char *binding = param_value(keywords, values, "channel_binding");
	const char *gss = param_value(keywords, values, "gssencmode");
	const char *root = param_value(keywords, values, "sslrootcert");
	const char *mode = param_value(keywords, values, "sslmode");

	for (int i = 0; direct_keywords[i] != NULL; i++)
		if (param_value(keywords, values, direct_keywords[i]) != NULL)
			return true;
	for (int i = 0; direct_variables[i] != NULL; i++)
		if (getenv(direct_variables[i]) != NULL)
			return true;
	if (root == NULL && mode != NULL && strcmp(mode, "require") == 0 && has_root_certificate())
		return true;
	return (binding != NULL && strcmp(binding, "require") == 0) || (gss != NULL && strcmp(gss, "require") == 0) ||
		(root != NULL && strcmp(root, "system") == 0) ||
		(root == NULL && mode != NULL && strncmp(mode, "verify", 6) == 0);
}

static void
append_hex(StringInfo buf, const void *data, size_t len)
{
	enlargeStringInfo(buf, 2 * len);
	buf->len += hex_encode(data, len, buf->data + buf->len);
	buf->data[buf->len] = '\0';
}

/* Appends the socket addresses of a name; false if it has none. */
static bool
append_addresses(StringInfo buf, const char *host, const char *port)
{
	struct addrinfo hint = {.ai_family = AF_UNSPEC,.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int			n = 0;

	if (pg_getaddrinfo_all(host, port, &hint, &found) != 0)
		found = NULL;
	for (struct addrinfo *address = found; address != NULL && n < MAX_ADDRESSES; address = address->ai_next, n++)
	{
		appendStringInfoChar(buf, '.');
		append_hex(buf, address->ai_addr, address->ai_addrlen);
	}
	if (found != NULL)
		pg_freeaddrinfo_all(hint.ai_family, found);
	return n > 0;
}

bool
transport_route(const char *const *keywords, const char *const *values, char **host, char **port, char **options)
{
	const char *to_host = param_value(keywords, values, "host");
	const char *to_port = param_value(keywords, values, "port");
	const char *address = param_value(keywords, values, "hostaddr");
	const char *own_options = param_value(keywords, values, "options");
	const char *sslmode = param_value(keywords, values, "sslmode");
	const char *sslrootcert = param_value(keywords, values, "sslrootcert");
	char	   *names;
	StringInfoData request;

	if (transport_kind != TRANSPORT_MULTIPLEXED || transport_gateways == 0 || to_host == NULL || to_port == NULL ||
		to_host[0] == '/' || to_host[0] == '@' || needs_own_connection(keywords, values))
		return false;
	*host = psprintf("%s/" TRANSPORT_FOLDER, DataDir);
	*port = psprintf("%d", 1 + MyProcPid % transport_gateways);
	if (strchr(*host, ',') != NULL || strlen(*host) + strlen(*port) + strlen("/.s.PGSQL.") >= sizeof(((struct sockaddr_un *) 0)->sun_path))
		return false;

	names = psprintf("%s\n%s\n%s\n%s\n%s", to_host, to_port, sslmode != NULL ? sslmode : "prefer",
					 sslrootcert != NULL ? sslrootcert : "", address != NULL ? address : "");
	initStringInfo(&request);
	appendStringInfoString(&request, TRANSPORT_OPTION);
	append_hex(&request, names, strlen(names));
	if (!append_addresses(&request, address != NULL ? address : to_host, to_port))
		return false;
	if (own_options != NULL)
		appendStringInfo(&request, " %s", own_options);
	*options = request.data;
	return true;
}
