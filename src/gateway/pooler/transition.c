/*-------------------------------------------------------------------------
 *
 * transition.c
 *	  Changes of state of clients and backends, and the loop's run queue.
 *
 * A handler of an event changes states, and notes which clients and pools
 * have something to do now.  The loop does that at the end of its iteration,
 * after all events: so no client's messages are processed while another
 * object's handler is at work.  Pools come first, since their clients have
 * waited.  A client that is lent a shared session by pool_serve is processed
 * at once: its statement must be sent before those of clients that join the
 * session's queue behind it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "gateway/pooler/session.h"
#include "lib/catch_error.h"

dlist_head	gateway_clients = DLIST_STATIC_INIT(gateway_clients);
dlist_head	gateway_pools = DLIST_STATIC_INIT(gateway_pools);
dlist_head	login_queue = DLIST_STATIC_INIT(login_queue);
int			ngateway_clients = 0;

static dlist_head ready_clients = DLIST_STATIC_INIT(ready_clients);
static dlist_head ready_pools = DLIST_STATIC_INIT(ready_pools);

static dlist_head *
list_of_client(Client *client)
{
	switch (client->state)
	{
		case CLIENT_LOGIN_WAITING:
			return &login_queue;
		case CLIENT_GREETING:
			return &client->pool->greeted;
		case CLIENT_WAITING:
			return &client->wanted->queue;
		default:
			return NULL;
	}
}

/* Enters the client into the list of all, or removes it from all lists. */
static void
count_client(Client *client, bool closed)
{
	if (closed)
	{
		dlist_delete(&client->link);
		if (client->ready)
			dlist_delete(&client->ready_link);
	}
	else
		dlist_push_tail(&gateway_clients, &client->link);
	ngateway_clients += closed ? -1 : 1;
	gateway_stats->clients = ngateway_clients;
}

void
client_change_state(Client *client, ClientState state)
{
	dlist_head *list = list_of_client(client);
	int64		waited = client->state == CLIENT_WAITING ? stream_now - client->since : 0;

	if (list != NULL)
		dlist_delete(&client->state_link);
	if (client->state == CLIENT_NEW || state == CLIENT_CLOSED)
		count_client(client, state == CLIENT_CLOSED);
	client->state = state;
	client->since = stream_now;
	list = list_of_client(client);
	if (list != NULL)
		dlist_push_tail(list, &client->state_link);
	if (state == CLIENT_IDLE)
		client_show_idle(client);
	else if (state == CLIENT_WAITING)
		client_show_active(client);
	else if (state == CLIENT_ACTIVE)
	{
		gateway_stats_waited(waited);
		client_show_active(client);
	}
}

void
client_change_policy(Client *client, const ClientPolicy *policy)
{
	client->policy = policy;
}

static bool
is_opening(const Backend *backend)
{
	return backend->state == BACKEND_CONNECTING || backend->state == BACKEND_LOGIN;
}

/* Enters the backend into its pool's list, or removes it. */
static void
count_backend(Backend *backend, bool closed)
{
	Pool	   *pool = backend->pool;
	int64	   *counter = pool->address.len == 0 ? &gateway_stats->sessions : &gateway_stats->node_sessions;

	if (closed)
		dlist_delete(&backend->link);
	else
		dlist_push_tail(&pool->backends, &backend->link);
	pool->nbackends += closed ? -1 : 1;
	*counter += closed ? -1 : 1;
}

void
backend_change_state(Backend *backend, SessionState state)
{
	Pool	   *pool = backend->pool;

	if (backend->state == BACKEND_NEW || state == BACKEND_CLOSED)
		count_backend(backend, state == BACKEND_CLOSED);
	if (backend->state == BACKEND_IDLE)
		dlist_delete(&backend->idle_link);
	pool->nopening -= is_opening(backend);
	backend->state = state;
	backend->since = stream_now;
	pool->nopening += is_opening(backend);
	if (state == BACKEND_IDLE)
		dlist_push_head(&pool->idle, &backend->idle_link);
}

void
session_attach(Client *client, Backend *backend)
{
	client->backend = backend;
	if (backend->state == BACKEND_IDLE)
		backend->client = client;
	else
		backend->queue.behind[backend->queue.nbehind++] = client;
}

void
session_detach(Client *client)
{
	Backend    *backend = client->backend;

	if (backend == NULL)
		return;
	client->backend = NULL;
	if (backend->client == client)
		backend->client = NULL;
	for (int i = 0; i < backend->queue.nbehind; i++)
		if (backend->queue.behind[i] == client)
			backend->queue.behind[i] = NULL;
}

void
client_ready(Client *client)
{
	if (client->ready || client->state == CLIENT_CLOSED)
		return;
	client->ready = true;
	dlist_push_tail(&ready_clients, &client->ready_link);
}

void
pool_ready(Pool *pool)
{
	if (pool->ready)
		return;
	pool->ready = true;
	dlist_push_tail(&ready_pools, &pool->ready_link);
}

/* The client that a pool serves next; an error leaves its clients waiting. */
static Client *
serve_safely(Pool *pool)
{
	const CatchPoint point = catch_point();
	Client	   *volatile client = NULL;

	PG_TRY();
	{
		client = pool_serve(pool);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		ereport(LOG,
				(errcode(error->sqlerrcode),
				 errmsg("the gateway could not serve its clients: %s", error->message)));
	}
	PG_END_TRY();
	return client;
}

static void
run_pool(void)
{
	Pool	   *pool = dlist_container(Pool, ready_link, dlist_pop_head_node(&ready_pools));
	Client	   *client;

	pool->ready = false;
	while ((client = serve_safely(pool)) != NULL)
		client_process(client);
}

static void
run_client(void)
{
	Client	   *client = dlist_container(Client, ready_link, dlist_pop_head_node(&ready_clients));

	client->ready = false;
	client_process(client);
}

bool
session_run(void)
{
	bool		done = false;

	while (!dlist_is_empty(&ready_pools) || !dlist_is_empty(&ready_clients))
	{
		done = true;
		if (!dlist_is_empty(&ready_pools))
			run_pool();
		else
			run_client();
	}
	return done;
}
