/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  Pools of sessions, and the clients that wait for one.
 *
 * A pool belongs to a database, a user and the startup parameters of its
 * sessions; only clients of that user get its sessions.  Users and databases
 * can be renamed, so their Oids are part of the key, as the client's login and
 * the pool's sessions report them.  A client that logs in after the settings
 * of roles or databases have changed needs sessions that began later, so it
 * gets another pool.
 *
 * Clients are served in the order of their requests.  An idle session with the
 * client's settings is preferred, and among these the one that was used last,
 * whose caches are warm; sessions that aren't needed stay unused and are
 * closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "postmaster/postmaster.h"
#include "utils/memutils.h"

#include "gateway/pooler/session.h"
#include "gateway/server/gateway_stats.h"

/* How many idle sessions are examined for one with the client's settings. */
#define LOOK_AT 64

#define SECOND INT64CONST(1000000)

/*
 * A node that could not be reached is not tried again before this time has
 * passed.
 */
#define RETRY_NODE (5 * SECOND)

static bool
is_pool_of(const Pool *pool, const Pool *wanted)
{
	return pool->role == wanted->role && pool->database_id == wanted->database_id && pool->defaults == wanted->defaults &&
		strcmp(pool->user, wanted->user) == 0 && strcmp(pool->database, wanted->database) == 0 &&
		pool->parameters_len == wanted->parameters_len &&
		memcmp(pool->parameters, wanted->parameters, pool->parameters_len) == 0 &&
		pool->address.len == wanted->address.len &&
		memcmp(&pool->address.addr, &wanted->address.addr, pool->address.len) == 0;
}

/* The pool with the same key as wanted. */
static Pool *
get_pool(const Pool *wanted)
{
	static uint64 last_number = 0;
	Pool	   *pool;
	dlist_iter	iter;

	dlist_foreach(iter, &gateway_pools)
	{
		pool = dlist_container(Pool, link, iter.cur);
		if (is_pool_of(pool, wanted))
			return pool;
	}
	pool = gateway_alloc(sizeof(Pool));
	pool->number = ++last_number;
	pool->role = wanted->role;
	pool->database_id = wanted->database_id;
	pool->defaults = wanted->defaults;
	pool->address = wanted->address;
	pool->user = gateway_strdup(wanted->user);
	pool->database = gateway_strdup(wanted->database);
	pool->parameters = MemoryContextAlloc(gateway_context, wanted->parameters_len + 1);
	memcpy(pool->parameters, wanted->parameters, wanted->parameters_len);
	pool->parameters_len = wanted->parameters_len;
	dlist_init(&pool->backends);
	dlist_init(&pool->idle);
	dlist_init(&pool->queue);
	dlist_init(&pool->greeted);
	dlist_push_tail(&gateway_pools, &pool->link);
	return pool;
}

Pool *
pool_find(Client *client)
{
	Pool		wanted = {
		.role = client->who.role,
		.database_id = client->who.database_id,
		.defaults = pg_atomic_read_u64(&gateway_area->defaults),
		.user = client->who.user,
		.database = client->who.database,
		.parameters = client->who.parameters,
		.parameters_len = client->who.parameters_len,
	};
	Pool	   *pool = get_pool(&wanted);

	pool->nclients++;
	return pool;
}

Pool *
pool_find_node(const Pool *own, const ServerAddress *address)
{
	Pool		wanted = *own;
	Pool	   *pool;

	wanted.address = *address;
	pool = get_pool(&wanted);
	pool->key = own->key;
	return pool;
}

bool
pool_works(const Pool *pool)
{
	return pool->failed == 0 || stream_now - pool->failed > RETRY_NODE;
}

void
pool_leave(Pool *pool)
{
	pool->nclients--;
}

/*
 * An idle session, if possible with the client's settings; else one that can
 * queue its statement; NULL if there is none.
 */
static Backend *
choose_backend(Pool *pool, const Client *client)
{
	Backend    *first = pool_is_remote(pool) ? session_queue_find(pool, client, SHORT_WAIT) : NULL;
	int			looked = 0;
	dlist_iter	iter;

	if (first != NULL)
		return first;

	dlist_foreach(iter, &pool->idle)
	{
		Backend    *backend = dlist_container(Backend, idle_link, iter.cur);

		if (strcmp(backend->settings, client->settings) == 0)
			return backend;
		if (first == NULL)
			first = backend;
		if (++looked >= LOOK_AT)
			break;
	}
	return first == NULL && pool_is_remote(pool) ? session_queue_find(pool, client, LONG_WAIT) : first;
}

static void
lend_backend(Backend *backend, Client *client)
{
	if (backend->state == BACKEND_IDLE)
		backend_lend(backend, client);
	else
		session_queue_join(backend, client);
}

int
pool_blocks(const Pool *pool, bool waiting)
{
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, (dlist_head *) &pool->backends)
	{
		const Backend *backend = dlist_container(Backend, link, iter.cur);

		count += backend->client != NULL && backend->client->policy->in_block;
	}
	if (waiting)
		dlist_foreach(iter, (dlist_head *) &pool->queue)
			count += dlist_container(Client, state_link, iter.cur)->policy->in_block;
	return count;
}

/* Opens sessions for waiting clients, if there is room. */
static void
open_for_queue(Pool *pool)
{
	int			waiting = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &pool->queue)
		if (++waiting > pool->nopening)
			break;
	if (waiting > pool->nopening &&
		pool->nbackends < (pool_is_remote(pool) ? gateway_node_pool_size + pool_blocks(pool, false) : gateway_pool_size))
		backend_open(pool);
}

void
pool_request(Client *client, Pool *pool)
{
	Backend    *backend = !gateway_area->paused && dlist_is_empty(&pool->queue) ? choose_backend(pool, client) : NULL;

	if (backend != NULL)
	{
		lend_backend(backend, client);
		return;
	}
	client->wanted = pool;
	client_change_state(client, CLIENT_WAITING);
	open_for_queue(pool);
}

void
pool_request_greeting(Client *client)
{
	Pool	   *pool = client->pool;

	if (queue_length(&pool->greeting) > 0)
		client_greet(client);
	else if (pool->nopening == 0)
		backend_open(pool);
}

Client *
pool_serve(Pool *pool)
{
	while (!dlist_is_empty(&pool->greeted) && queue_length(&pool->greeting) > 0)
		client_greet(dlist_head_element(Client, state_link, &pool->greeted));
	cancel_pass_on(pool);
	if (!gateway_area->paused && !dlist_is_empty(&pool->queue))
	{
		Client	   *client = dlist_head_element(Client, state_link, &pool->queue);
		Backend    *backend = choose_backend(pool, client);

		if (backend != NULL)
		{
			lend_backend(backend, client);
			return client;
		}
	}
	open_for_queue(pool);
	return NULL;
}

/* At most one per second, so that not all are replaced at the same time. */
bool
pool_renews(Pool *pool, const Backend *backend)
{
	if (gateway_session_lifetime == 0 || stream_now - backend->opened < gateway_session_lifetime * SECOND ||
		stream_now - pool->renewed < SECOND)
		return false;
	pool->renewed = stream_now;
	return true;
}

void
pool_open_failed(Pool *pool, const char *payload, size_t len)
{
	while (!dlist_is_empty(&pool->greeted))
		client_fail_message(dlist_head_element(Client, state_link, &pool->greeted), payload, len);

	/* statements run on this server instead */
	if (pool_is_remote(pool))
	{
		pool->failed = stream_now;
		while (!dlist_is_empty(&pool->queue))
		{
			Client	   *client = dlist_head_element(Client, state_link, &pool->queue);

			session_queue_forget(client);
			client_change_state(client, CLIENT_IDLE);
			client_ready(client);
		}
		return;
	}

	/* clients that wait may get another session, if there are any */
	while (pool->nbackends == 0 && !dlist_is_empty(&pool->queue))
		client_fail_message(dlist_head_element(Client, state_link, &pool->queue), payload, len);
}

/* Fails clients that have waited too long. */
static void
end_waiting(Pool *pool)
{
	while (gateway_queue_timeout > 0 && !gateway_area->paused && !dlist_is_empty(&pool->queue))
	{
		Client	   *client = dlist_head_element(Client, state_link, &pool->queue);

		if (stream_now - client->since < gateway_queue_timeout * INT64CONST(1000))
			break;
		client_fail_text(client, ERRCODE_TOO_MANY_CONNECTIONS,
						 "no session of the gateway became free within citus.gateway_queue_timeout");
	}
}

/* How many sessions to keep even if no client needs them. */
static int
kept_sessions(const Pool *pool)
{
	return pool->nclients > 0 && !pool_is_remote(pool) ? Min(gateway_min_pool_size, gateway_pool_size) : 0;
}

/*
 * Ends sessions that have not been used for a while, or that are too old; the
 * pool itself if it has no client.  Opens sessions up to the minimum.
 */
static void
end_idle(Pool *pool)
{
	Backend    *oldest = NULL;
	dlist_iter	iter;

	while (gateway_idle_timeout > 0 && !dlist_is_empty(&pool->idle))
	{
		Backend    *backend = dlist_tail_element(Backend, idle_link, &pool->idle);

		if (stream_now - backend->since < gateway_idle_timeout * SECOND || pool->nbackends <= kept_sessions(pool))
			break;
		backend_close(backend);
	}
	dlist_foreach(iter, &pool->idle)
	{
		Backend    *backend = dlist_container(Backend, idle_link, iter.cur);

		if (oldest == NULL || backend->opened < oldest->opened)
			oldest = backend;
	}
	if (oldest != NULL && pool_renews(pool, oldest))
		backend_close(oldest);
	if (pool->nbackends < kept_sessions(pool) && pool->nopening == 0)
		backend_open(pool);
	if (pool->nclients > 0 || pool->nbackends > 0 || !dlist_is_empty(&pool->queue))
		return;
	dlist_delete(&pool->link);
	if (pool->ready)
		dlist_delete(&pool->ready_link);
	queue_free(&pool->greeting);
	explicit_bzero(&pool->key, sizeof(pool->key));
	pfree(pool->user);
	pfree(pool->database);
	pfree(pool->parameters);
	pfree(pool);
}

/*
 * Closes sessions that nobody uses, which keep a database from being dropped.
 */
static void
release_database(Oid database)
{
	dlist_iter	iter;

	if (!OidIsValid(database))
		return;
	dlist_foreach(iter, &gateway_pools)
	{
		Pool	   *pool = dlist_container(Pool, link, iter.cur);

		while (pool->database_id == database && pool->nclients == 0 && !pool_is_remote(pool) && !dlist_is_empty(&pool->idle))
			backend_close(dlist_head_element(Backend, idle_link, &pool->idle));
	}
}

/* Fails clients whose login takes too long, or that are idle for too long. */
static void
end_slow_clients(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &gateway_clients)
	{
		Client	   *client = dlist_container(Client, link, iter.cur);

		if (client->state <= CLIENT_GREETING && stream_now - client->since > AuthenticationTimeout * SECOND)
			client_fail_text(client, ERRCODE_QUERY_CANCELED, "canceling authentication due to timeout");
		else
			client_check_idle(client);
	}
}

/*
 * If all sessions of this server's pools are busy, one more may be opened for
 * this.
 */
static void
serve_forwarded_cancel(Pool *pool)
{
	cancel_pass_on(pool);
	if (!pool_is_remote(pool) && pool->nopening == 0 && pool->nbackends <= gateway_pool_size &&
		dlist_is_empty(&pool->idle))
		backend_open(pool);
}

/* Computes the counters that aren't kept continuously. */
static void
count_clients(void)
{
	int64		waiting = 0;
	int64		active = 0;
	int64		npools = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &gateway_clients)
	{
		ClientState state = dlist_container(Client, link, iter.cur)->state;

		waiting += state == CLIENT_WAITING;
		active += state == CLIENT_ACTIVE;
	}
	dlist_foreach(iter, &gateway_pools)
		npools++;
	gateway_stats->waiting = waiting;
	gateway_stats->active = active;
	gateway_stats->pools = npools;
}

void
pool_tick(void)
{
	static int64 last_look = 0;
	static bool was_paused = false;
	dlist_mutable_iter iter;

	if (was_paused && !gateway_area->paused)
		dlist_foreach_modify(iter, &gateway_pools)
			pool_ready(dlist_container(Pool, link, iter.cur));
	was_paused = gateway_area->paused;

	dlist_foreach_modify(iter, &gateway_pools)
	{
		Pool	   *pool = dlist_container(Pool, link, iter.cur);

		end_waiting(pool);
		session_queue_tick(pool);
		if (cancel_waits())
			serve_forwarded_cancel(pool);
	}
	release_database(database_released(stream_now));
	if (stream_now - last_look < SECOND)
		return;
	last_look = stream_now;
	count_clients();
	end_slow_clients();
	dlist_foreach_modify(iter, &gateway_pools)
		end_idle(dlist_container(Pool, link, iter.cur));
}
