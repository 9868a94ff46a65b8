/*-------------------------------------------------------------------------
 *
 * relay.c
 *	  A gateway process: its start, its sockets, its end.
 *
 * The process has detached from the server (supervisor.c): it has no shared
 * memory, latch, transactions or catalogs, and must not call server functions
 * that use them.  It uses memory contexts, errors, and settings as of its
 * start.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ip.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"
#include "utils/resowner.h"
#include "utils/varlena.h"

#include "compat/client_protocol.h"
#include "compat/foreach.h"
#include "gateway/gateway_port.h"
#include "gateway/gateway_stats.h"
#include "gateway/relay.h"

#define TICK_MS 100
#define BACKLOG 1024
#define ACCEPTS_PER_TURN 64

/* A cancel request on its way to another process. */
typedef struct CancelLetter
{
	int32		pid;
	CancelKey	key;
} CancelLetter;

typedef struct Listener
{
	Stream		stream;			/* first */
} Listener;

const GatewayStart *relay_start = NULL;

static volatile sig_atomic_t stop_relay = false;
static volatile sig_atomic_t load_again = false;

static void
request_stop(SIGNAL_ARGS)
{
	stop_relay = true;
}

static void
request_load(SIGNAL_ARGS)
{
	load_again = true;
}

static void
quit_now(SIGNAL_ARGS)
{
	_exit(2);
}

static void
accept_clients(Stream *stream)
{
	for (int i = 0; i < ACCEPTS_PER_TURN; i++)
	{
		SockAddr	address = {.salen = sizeof(address.addr)};
		int			fd = accept(stream->fd, (struct sockaddr *) &address.addr, &address.salen);

		if (fd >= 0)
			(void) client_accept(fd, &address);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		{
			/* go on when something may have been closed: relay_tick */
			stream_pause(stream, true);
			break;
		}
		else if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
}

static void
listener_failed(Stream *stream, const ErrorData *error)
{
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 errmsg("the gateway could not accept a connection: %s", error->message)));
}

static const StreamHandler accept_handler = {
	.arrived = accept_clients,
	.failed = listener_failed,
};

static void
cancel_here(int32 pid, const CancelKey *key)
{
	if (!client_cancel(pid, key, false))
		cancel_stray(pid, key);
}

static void
read_mailbox(Stream *stream)
{
	CancelLetter letter;

	while (recv(stream->fd, &letter, sizeof(letter), 0) == sizeof(letter))
		cancel_here(letter.pid, &letter.key);
}

static const StreamHandler mailbox_handler = {
	.arrived = read_mailbox,
	.failed = listener_failed,
};

void
relay_cancel(int32 pid, const CancelKey *key)
{
	CancelLetter letter = {pid, *key};
	int			number = CANCEL_PID_PROCESS(pid);

	if (number < 0 || number >= relay_start->processes || number == relay_start->number)
		cancel_here(pid, key);
	else
		(void) send(relay_start->mailboxes[number][1], &letter, sizeof(letter), MSG_NOSIGNAL);
}

static List *relay_listeners = NIL;

void
relay_listen(int fd, const StreamHandler *handler)
{
	Listener   *listener = gateway_alloc(sizeof(Listener));

	stream_open(&listener->stream, fd, handler, false);
	listener->stream.listening = true;
	relay_listeners = lappend(relay_listeners, listener);
}

/* Listens on one address; several processes do so on the same. */
static bool
listen_on(const struct addrinfo *address)
{
	int			fd = gateway_socket(address, true);

	if (fd < 0)
		return false;
	if (listen(fd, BACKLOG) != 0)
	{
		int			save_errno = errno;

		close(fd);
		errno = save_errno;
		return false;
	}
	relay_listen(fd, &accept_handler);
	return true;
}

static void
open_listeners(void)
{
	gateway_addresses_visit(listen_on);
	if (relay_listeners == NIL)
		ereport(FATAL,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("the gateway could not listen on any address")));
	relay_listen(relay_start->mailboxes[relay_start->number][0], &mailbox_handler);
}

/*
 * The address of this node's server: its first Unix-domain socket unless there
 * is none, or a setting says otherwise.
 */
static socklen_t
server_address(struct sockaddr_storage *address)
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

const ServerAddress relay_own_server = {.len = 0};

int
relay_connect(const ServerAddress *server)
{
	struct sockaddr_storage address = server->addr;
	socklen_t	len = server->len;
	int			fd;

	if (len == 0)
		len = server_address(&address);
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
		packet_hex(&packet, relay_start->key, GATEWAY_KEY_SIZE);
		appendStringInfoChar(&packet, ' ');
		packet_string(&packet, request);
	}
	appendBinaryStringInfo(&packet, parameters, parameters_len);
	appendStringInfoChar(&packet, '\0');
	word = pg_hton32(packet.len + 4);
	stream_put(stream, &word, 4);
	stream_put(stream, packet.data, packet.len);
}

/* Obeys what sessions have ordered, before messages of clients are read. */
static void
relay_begin(void)
{
	board_orders_take(relay_start->number, client_obey);
	client_release_held();
}

static void
relay_tick(void)
{
	foreach_ptr(Listener, listener, relay_listeners)
		stream_pause(&listener->stream, false);
	if (load_again)
	{
		load_again = false;
		tls_load();
	}
	cancel_take_passed();
	login_tick();
	pool_tick();
	cancel_tick();
	node_watch_tick();
	tunnel_tick();
}

/* Raises the limit of open files to the maximum. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max)
	{
		limit.rlim_cur = limit.rlim_max;
		(void) setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void
say_farewell(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &relay_clients)
		client_fail_text(dlist_container(Client, link, iter.cur), ERRCODE_ADMIN_SHUTDOWN,
						 "terminating connection due to administrator command");
}

void
relay_main(const GatewayStart *start)
{
	sigset_t	none;
	char		title[32];

	pqsignal(SIGTERM, request_stop);
	pqsignal(SIGQUIT, quit_now);
	pqsignal(SIGHUP, request_load);
	pqsignal(SIGINT, SIG_IGN);
	pqsignal(SIGPIPE, SIG_IGN);
	pqsignal(SIGUSR1, SIG_IGN);
	pqsignal(SIGUSR2, SIG_IGN);
	pqsignal(SIGALRM, SIG_IGN);
	pqsignal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	snprintf(title, sizeof(title), "process %d", start->number + 1);
	set_ps_display(title);
	relay_start = start;
	gateway_stats = &gateway_board->processes[start->number];
	memset(gateway_stats, 0, sizeof(*gateway_stats));
	board_sessions_clear(start->number);
	board_clients_clear(start->number);
	gateway_stats->pid = getpid();
	PG_exception_stack = NULL;
	error_context_stack = NULL;
	raise_file_limit();
	stream_loop_init();
	tls_load();
	MemoryContextSwitchTo(gateway_context);

	/* hashes that are computed are stored there */
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "citus gateway");
	open_listeners();
	tunnel_init();
	stream_loop(&stop_relay, TICK_MS, relay_begin, relay_tick);
	say_farewell();
	tunnel_end();
	_exit(0);
}
