/*-------------------------------------------------------------------------
 *
 * process.c
 *	  What a gateway process has from its supervisor: its number, the key, the
 *	  sockets that it listens on, the servers that it connects to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ip.h"
#include "nodes/pg_list.h"
#include "postmaster/postmaster.h"
#include "utils/varlena.h"

#include "compat/client_protocol.h"
#include "compat/foreach.h"
#include "gateway/pooler/message.h"
#include "gateway/pooler/process.h"

typedef struct Listener
{
	Stream		stream;			/* first */
} Listener;

const GatewayStart *gateway_start = NULL;

static List *gateway_listeners = NIL;

void
process_listen(int fd, const StreamHandler *handler)
{
	Listener   *listener = gateway_alloc(sizeof(Listener));

	stream_open(&listener->stream, fd, handler, false);
	listener->stream.listening = true;
	gateway_listeners = lappend(gateway_listeners, listener);
}

bool
process_is_listening(void)
{
	return gateway_listeners != NIL;
}

void
process_listen_again(void)
{
	foreach_ptr(Listener, listener, gateway_listeners)
		stream_pause(&listener->stream, false);
}

void
process_listen_failed(Stream *stream, const ErrorData *error)
{
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 errmsg("the gateway could not accept a connection: %s", error->message)));
}

/*
 * The address of this node's server: its first Unix-domain socket unless there
 * is none, or a setting says otherwise.
 */
static socklen_t
own_server_address(struct sockaddr_storage *address)
{
	static struct sockaddr_storage known;
	static socklen_t known_len = 0;

	if (known_len == 0)
	{
		List	   *folders = NIL;
		const char *host = gateway_server_host;

		(void) SplitDirectoriesString(pstrdup(Unix_socket_directories), ',', &folders);
		if (host[0] == '\0' && folders != NIL)
		{
			struct sockaddr_un *local = (struct sockaddr_un *) &known;

			local->sun_family = AF_UNIX;
			UNIXSOCK_PATH(local->sun_path, PostPortNumber, (char *) linitial(folders));
			known_len = sizeof(*local);
		}
		else
		{
			struct addrinfo hint = {.ai_flags = AI_NUMERICHOST,.ai_socktype = SOCK_STREAM};
			struct addrinfo *found = NULL;
			char		service[16];

			snprintf(service, sizeof(service), "%d", PostPortNumber);
			if (pg_getaddrinfo_all(host[0] == '\0' ? "127.0.0.1" : host, service, &hint, &found) != 0)
				return 0;
			memcpy(&known, found->ai_addr, found->ai_addrlen);
			known_len = found->ai_addrlen;
			pg_freeaddrinfo_all(hint.ai_family, found);
		}
	}
	*address = known;
	return known_len;
}

const ServerAddress own_server = {.len = 0};

int
process_connect(const ServerAddress *server)
{
	struct sockaddr_storage address = server->addr;
	socklen_t	len = server->len;
	int			fd;

	if (len == 0)
		len = own_server_address(&address);
	if (len == 0)
		return -1;
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *) &address, len) != 0 && errno != EINPROGRESS)
	{
		close(fd);
		return -1;
	}
	return fd;
}

void
send_startup_packet(Stream *stream, const char *user, const char *database, const char *request,
					const char *parameters, size_t parameters_len)
{
	StringInfoData packet;
	uint32		word = pg_hton32(PG_PROTOCOL(3, 0));

	initStringInfo(&packet);
	appendBinaryStringInfo(&packet, (char *) &word, 4);
	packet_string(&packet, "user");
	packet_string(&packet, user);
	packet_string(&packet, "database");
	packet_string(&packet, database);
	if (request != NULL)
	{
		packet_string(&packet, GATEWAY_PARAMETER);
		packet_hex(&packet, gateway_start->key, GATEWAY_KEY_SIZE);
		appendStringInfoChar(&packet, ' ');
		packet_string(&packet, request);
	}
	appendBinaryStringInfo(&packet, parameters, parameters_len);
	appendStringInfoChar(&packet, '\0');
	word = pg_hton32(packet.len + 4);
	stream_put(stream, &word, 4);
	stream_put(stream, packet.data, packet.len);
}
