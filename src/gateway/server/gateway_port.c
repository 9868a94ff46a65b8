/*-------------------------------------------------------------------------
 *
 * gateway_port.c
 *	  The addresses that the gateway listens on, and the claim to them.
 *
 * The processes of a gateway listen on the same addresses, by SO_REUSEPORT.
 * The kernel would let another server's gateway join them, if it runs as the
 * same user, and spread the clients over both servers.  So the supervisor
 * claims each address before it starts processes: it binds a socket that
 * shares nothing, which fails if anyone else uses the address.  Then it lets
 * the socket share its port, for its own processes, and keeps it, without
 * listening, so that another supervisor's claim fails.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/ip.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "gateway/server/gateway_port.h"

/*
 * How long to wait for an address that is in use: by processes of this
 * server's gateway before a crash, which are about to end.
 */
#define CLAIM_MS 10000
#define CLAIM_RETRY_MS 50

#define MAX_CLAIMS 64

static struct sockaddr_storage claimed_addresses[MAX_CLAIMS];
static int	claimed_count = 0;

int
gateway_socket(const struct addrinfo *address, bool shares_port)
{
	int			on = 1;
	int			fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (shares_port)
		(void) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (address->ai_family == AF_INET6)
		(void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) != 0)
	{
		int			save_errno = errno;

		close(fd);
		errno = save_errno;
		return -1;
	}
	return fd;
}

/* Calls visit for each address that a name stands for. */
static void
visit_name(const char *name, bool (*visit) (const struct addrinfo *address))
{
	struct addrinfo hint = {.ai_flags = AI_PASSIVE,.ai_socktype = SOCK_STREAM};
	struct addrinfo *addresses = NULL;
	char		service[16];
	int			rc;

	snprintf(service, sizeof(service), "%d", gateway_port);
	rc = pg_getaddrinfo_all(strcmp(name, "*") == 0 ? NULL : name, service, &hint, &addresses);
	if (rc != 0)
		ereport(LOG,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("the gateway could not resolve \"%s\": %s", name, gai_strerror(rc))));
	for (struct addrinfo *address = addresses; rc == 0 && address != NULL; address = address->ai_next)
		if (!visit(address))
			ereport(LOG,
					(errcode_for_socket_access(),
					 errmsg("the gateway could not listen on \"%s\", port %d: %m", name, gateway_port)));
	if (addresses != NULL)
		pg_freeaddrinfo_all(hint.ai_family, addresses);
}

void
gateway_addresses_visit(bool (*visit) (const struct addrinfo *address))
{
	List	   *names;
	ListCell   *cell;

	if (!SplitGUCList(pstrdup(gateway_listen_addresses), ',', &names))
		ereport(FATAL,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("invalid list syntax in parameter \"%s\"", "citus.gateway_listen_addresses")));
	foreach(cell, names)
		visit_name(lfirst(cell), visit);
}

/* Whether one address contains the other. */
static bool
addresses_overlap(const struct sockaddr_storage *claimed, const struct sockaddr *wanted)
{
	if (claimed->ss_family != wanted->sa_family)
		return false;
	if (wanted->sa_family == AF_INET)
	{
		in_addr_t	a = ((const struct sockaddr_in *) claimed)->sin_addr.s_addr;
		in_addr_t	b = ((const struct sockaddr_in *) wanted)->sin_addr.s_addr;

		return a == b || a == INADDR_ANY || b == INADDR_ANY;
	}
	else
	{
		const struct in6_addr *a = &((const struct sockaddr_in6 *) claimed)->sin6_addr;
		const struct in6_addr *b = &((const struct sockaddr_in6 *) wanted)->sin6_addr;

		return memcmp(a, b, sizeof(*a)) == 0 || IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_UNSPECIFIED(b);
	}
}

/* Whether this process itself has claimed the address, or a part of it. */
static bool
is_claimed_here(const struct addrinfo *address)
{
	for (int i = 0; i < claimed_count; i++)
		if (addresses_overlap(&claimed_addresses[i], address->ai_addr))
			return true;
	return false;
}

/*
 * Claims an address.  Ends the process if another one has it.  Other failures
 * are those of the processes that will listen there, too.
 */
static bool
claim_address(const struct addrinfo *address)
{
	TimestampTz begun = GetCurrentTimestamp();
	int			on = 1;
	int			off = 0;
	int			fd;

	if (is_claimed_here(address))
		return true;
	while ((fd = gateway_socket(address, false)) < 0 && errno == EADDRINUSE && !ShutdownRequestPending)
	{
		if (TimestampDifferenceExceeds(begun, GetCurrentTimestamp(), CLAIM_MS))
			ereport(FATAL,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("the gateway's port %d is in use by another server", gateway_port),
					 errhint("Give each server on this machine a citus.gateway_port of its own.")));
		pg_usleep(CLAIM_RETRY_MS * 1000L);
	}
	if (fd < 0)
		return true;
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (claimed_count < MAX_CLAIMS)
		memcpy(&claimed_addresses[claimed_count++], address->ai_addr, address->ai_addrlen);
	return true;
}

void
gateway_addresses_claim(void)
{
	gateway_addresses_visit(claim_address);
}
