/*-------------------------------------------------------------------------
 *
 * prepared.c
 *	  Statements that a connection's node has prepared for us.
 *
 * A text (which names its shard in its tag) that is sent a second time on a
 * connection, or takes long to plan, is prepared there, so that the node
 * needn't parse and plan it again (lib/statement_cache.c).  Names are unique
 * over all sessions: so it does no harm if the node still has a statement that
 * we have forgotten, and no session executes a statement that another one has
 * prepared.  Statements are forgotten when a distributed table changes, since
 * the node would refuse to execute one whose columns have other types now.  A
 * node that has lost them raises an error before any effect, and the executor
 * sends the task again.  With a pooler in between, where each transaction may
 * run in another session of the node, nothing is prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "lib/statement_cache.h"
#include "remote/prepared.h"
#include "remote/private.h"

typedef struct PreparedStatement
{
	KeptStatement kept;			/* must be first; its scope is the tag */
	char		name[PREPARED_NAME_SIZE];
} PreparedStatement;

struct PreparedCache
{
	StatementCache *statements;
	uint64		generation;		/* metadata_generation when it was filled */
	PreparedStatement *unproven;	/* prepared last, until its segment has
									 * succeeded; NULL if none */
};

/*
 * Names of this backend's statements: a random number, 0 before the first, and
 * a count.
 */
static uint64 backend_key = 0;
static uint64 last_number = 0;

static PreparedCache *
create_prepared(void)
{
	PreparedCache *cache = MemoryContextAllocZero(TopMemoryContext, sizeof(PreparedCache));

	cache->statements = statement_cache_create(TopMemoryContext, "prepared on another node", sizeof(PreparedStatement));
	return cache;
}

/* The connection's cache, without outdated entries. */
static PreparedCache *
current_cache(RemoteConn *conn)
{
	if (conn->priv->prepared == NULL)
		conn->priv->prepared = create_prepared();
	else if (conn->priv->prepared->generation != metadata_generation())
		prepared_forget(conn);
	conn->priv->prepared->generation = metadata_generation();
	return conn->priv->prepared;
}

/* Writes a name that no session has used. */
static void
make_name(char *name)
{
	while (backend_key == 0)
		if (!pg_strong_random(&backend_key, sizeof(backend_key)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a random name for a prepared statement")));
	snprintf(name, PREPARED_NAME_SIZE, "citus_" UINT64_FORMAT "_" UINT64_FORMAT, backend_key, ++last_number);
}

bool
prepared_use(RemoteConn *conn, const char *tag, const char *text, const RemoteParams *params,
			 bool at_once, PreparedUse *use)
{
	PreparedCache *cache = current_cache(conn);
	StatementKey key = {.scope = tag,.scope_size = strlen(tag),.text = text};
	PreparedStatement *statement;
	PreparedStatement *oldest;
	char		name[PREPARED_NAME_SIZE];
	uint64		hash;

	if (params != NULL)
	{
		key.types = params->types;
		key.ntypes = params->count;
	}
	statement = statement_cache_find(cache->statements, &key, at_once, &hash);
	use->first = statement == NULL;
	use->evicted[0] = '\0';
	if (statement == NULL)
	{
		if (hash == 0 || !conn->priv->direct)
			return false;
		make_name(name);
		oldest = statement_cache_superfluous(cache->statements);
		if (oldest != NULL)
		{
			strcpy(use->evicted, oldest->name);
			if (oldest == cache->unproven)
				cache->unproven = NULL;
			statement_cache_remove(cache->statements, oldest);
		}
		statement = statement_cache_add(cache->statements, &key, hash);
		strcpy(statement->name, name);
		cache->unproven = statement;
	}
	use->name = statement->name;
	use->sql = statement->kept.content;
	return true;
}

void
prepared_failed(RemoteConn *conn)
{
	PreparedCache *cache = conn->priv->prepared;

	if (cache == NULL || cache->unproven == NULL)
		return;
	statement_cache_remove(cache->statements, cache->unproven);
	cache->unproven = NULL;
}

void
prepared_succeeded(RemoteConn *conn)
{
	if (conn->priv->prepared != NULL)
		conn->priv->prepared->unproven = NULL;
}

void
prepared_forget(RemoteConn *conn)
{
	if (conn->priv->prepared == NULL)
		return;
	prepared_free(conn);
	conn->priv->prepared = create_prepared();
}

void
prepared_free(RemoteConn *conn)
{
	if (conn->priv->prepared != NULL)
	{
		MemoryContextDelete(conn->priv->prepared->statements->context);
		pfree(conn->priv->prepared);
	}
	conn->priv->prepared = NULL;
}
