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
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"
#include "utils/resowner.h"

#include "compat/client_protocol.h"
#include "compat/signal_handler.h"
#include "gateway/link/tunnel.h"
#include "gateway/pooler/process.h"
#include "gateway/pooler/session.h"
#include "gateway/relay.h"
#include "gateway/routing/policy.h"
#include "gateway/server/gateway_port.h"
#include "gateway/server/gateway_stats.h"

#define TICK_MS 100
#define BACKLOG 1024
#define ACCEPTS_PER_ITERATION 64

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
	for (int i = 0; i < ACCEPTS_PER_ITERATION; i++)
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

static const StreamHandler accept_handler = {
	.arrived = accept_clients,
	.failed = process_listen_failed,
};

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
	process_listen(fd, &accept_handler);
	return true;
}

static void
open_listeners(void)
{
	gateway_addresses_visit(listen_on);
	if (!process_is_listening())
		ereport(FATAL,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("the gateway could not listen on any address")));
	cancel_open_mailbox();
}

/* Obeys what sessions have ordered, before messages of clients are read. */
static void
relay_begin(void)
{
	client_orders_take(gateway_start->number, client_obey);
	client_release_held();
}

static void
relay_tick(void)
{
	process_listen_again();
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

static const LoopHandler relay_handler = {
	.begin = relay_begin,
	.tick = relay_tick,
	.run = session_run,
	.tick_ms = TICK_MS,
};

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

	dlist_foreach_modify(iter, &gateway_clients)
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
	pqsignal(SIGINT, PG_SIG_IGN);
	pqsignal(SIGPIPE, PG_SIG_IGN);
	pqsignal(SIGUSR1, PG_SIG_IGN);
	pqsignal(SIGUSR2, PG_SIG_IGN);
	pqsignal(SIGALRM, PG_SIG_IGN);
	pqsignal(SIGCHLD, PG_SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	snprintf(title, sizeof(title), "process %d", start->number + 1);
	set_ps_display(title);
	gateway_start = start;
	gateway_stats = &gateway_area->processes[start->number];
	memset(gateway_stats, 0, sizeof(*gateway_stats));
	session_entries_clear(start->number);
	client_entries_clear(start->number);
	gateway_stats->pid = getpid();
	PG_exception_stack = NULL;
	error_context_stack = NULL;
	raise_file_limit();
	stream_loop_init();
	tls_load();
	MemoryContextSwitchTo(gateway_context);

	/* hashes that are computed are stored there */
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "citus gateway");
	client_first_policy = &policy_direct;
	open_listeners();
	tunnel_init();
	stream_loop(&stop_relay, &relay_handler);
	say_farewell();
	tunnel_end();
	_exit(0);
}
