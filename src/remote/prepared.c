/*-------------------------------------------------------------------------
 *
 * prepared.c
 *	  Statements that a connection's node has prepared for us.
 *
 * A text (which names its shard in its tag) that comes a second time on a
 * connection is prepared there, so that the node parses and plans it no more.
 * The least recently used statements make room for new ones.
 *
 * Names are never used twice, by any session: so whether the node still has
 * a statement that we have forgotten does not matter, and no session executes
 * what another has prepared.  Statements are forgotten when a distributed table
 * changes, since the node would refuse to execute one whose columns have other
 * types now.  A node that has lost them says so before anything happens, and
 * the executor sends the task again.  Where a pooler stands between, and another
 * session of the node may get the next transaction, nothing is prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/ilist.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "catalog/metadata.h"
#include "lib/seen_hashes.h"
#include "remote/prepared.h"
#include "remote/private.h"

typedef struct PreparedStatement
{
	uint64		hash;			/* hash key: of text and types */
	char	   *sql;
	char		name[PREPARED_NAME_SIZE];
	dlist_node	link;			/* in uses, most recent first */
} PreparedStatement;

struct PreparedCache
{
	MemoryContext context;
	HTAB	   *statements;
	dlist_head	uses;
	uint64		generation;		/* metadata_generation when it was filled */
	uint64		unproven;		/* hash of the statement prepared last, until
								 * its segment has succeeded; 0 is none */
	SeenHashes	seen;			/* of texts */
};

static int	max_prepared = 1000;

/* Names of this backend's statements: a random number, 0 before the first, and a count. */
static uint64 backend_key = 0;
static uint64 last_number = 0;

int
prepared_limit(void)
{
	return max_prepared;
}

static uint64
hash_text(const char *text, uint64 seed)
{
	return DatumGetUInt64(hash_any_extended((const unsigned char *) text, strlen(text), seed));
}

static uint64
hash_statement(const char *tag, const char *text, const RemoteParams *params)
{
	uint64		hash = hash_text(text, hash_text(tag, 0));

	if (params != NULL && params->count > 0)
		hash = DatumGetUInt64(hash_any_extended((const unsigned char *) params->types,
												sizeof(Oid) * params->count, hash));
	return hash == 0 ? 1 : hash;
}

static PreparedCache *
create_cache(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "citus prepared statements",
												  ALLOCSET_SMALL_SIZES);
	PreparedCache *cache = MemoryContextAllocZero(context, sizeof(PreparedCache));
	HASHCTL		control = {.keysize = sizeof(uint64),.entrysize = sizeof(PreparedStatement),.hcxt = context};

	cache->context = context;
	cache->statements = hash_create("citus prepared statements", 64, &control,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	dlist_init(&cache->uses);
	return cache;
}

/* Forgets a statement. */
static void
remove_statement(PreparedCache *cache, PreparedStatement *statement)
{
	dlist_delete(&statement->link);
	pfree(statement->sql);
	(void) hash_search(cache->statements, &statement->hash, HASH_REMOVE, NULL);
}

/* The connection's cache, without what is out of date. */
static PreparedCache *
current_cache(RemoteConn *conn)
{
	if (conn->priv->prepared == NULL)
		conn->priv->prepared = create_cache();
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

/* Remembers a statement under a new name. */
static PreparedStatement *
add_statement(PreparedCache *cache, uint64 hash, const char *tag, const char *text)
{
	char		name[PREPARED_NAME_SIZE];
	PreparedStatement *statement;

	make_name(name);
	statement = hash_search(cache->statements, &hash, HASH_ENTER, NULL);
	strcpy(statement->name, name);
	statement->sql = MemoryContextAlloc(cache->context, strlen(tag) + strlen(text) + 1);
	strcpy(statement->sql, tag);
	strcat(statement->sql, text);
	dlist_push_head(&cache->uses, &statement->link);
	return statement;
}

/* Whether a statement has this text; not if only its hash is the same. */
static bool
is_text_of(const PreparedStatement *statement, const char *tag, const char *text)
{
	size_t		len = strlen(tag);

	return strncmp(statement->sql, tag, len) == 0 && strcmp(statement->sql + len, text) == 0;
}

bool
prepared_use(RemoteConn *conn, const char *tag, const char *text, const RemoteParams *params,
			 PreparedUse *use)
{
	PreparedCache *cache;
	PreparedStatement *statement;
	uint64		hash;

	if (max_prepared == 0)
		return false;
	cache = current_cache(conn);
	hash = hash_statement(tag, text, params);
	use->evicted[0] = '\0';
	statement = hash_search(cache->statements, &hash, HASH_FIND, NULL);
	use->first = statement == NULL;
	if (statement != NULL)
	{
		if (!is_text_of(statement, tag, text))
			return false;
		dlist_move_head(&cache->uses, &statement->link);
	}
	else
	{
		if (!seen_before(&cache->seen, hash) || !conn->priv->direct)
			return false;
		if (hash_get_num_entries(cache->statements) >= max_prepared)
		{
			PreparedStatement *oldest = dlist_container(PreparedStatement, link,
														dlist_tail_node(&cache->uses));

			strcpy(use->evicted, oldest->name);
			remove_statement(cache, oldest);
		}
		statement = add_statement(cache, hash, tag, text);
		cache->unproven = hash;
	}
	use->name = statement->name;
	use->sql = statement->sql;
	return true;
}

void
prepared_failed(RemoteConn *conn)
{
	PreparedCache *cache = conn->priv->prepared;
	PreparedStatement *statement;

	if (cache == NULL || cache->unproven == 0)
		return;
	statement = hash_search(cache->statements, &cache->unproven, HASH_FIND, NULL);
	if (statement != NULL)
		remove_statement(cache, statement);
	cache->unproven = 0;
}

void
prepared_succeeded(RemoteConn *conn)
{
	if (conn->priv->prepared != NULL)
		conn->priv->prepared->unproven = 0;
}

void
prepared_forget(RemoteConn *conn)
{
	if (conn->priv->prepared == NULL)
		return;
	prepared_free(conn);
	conn->priv->prepared = create_cache();
}

void
prepared_free(RemoteConn *conn)
{
	if (conn->priv->prepared != NULL)
		MemoryContextDelete(conn->priv->prepared->context);
	conn->priv->prepared = NULL;
}

void
prepared_init(void)
{
	DefineCustomIntVariable("citus.max_prepared_tasks_per_connection",
							"Number of statements that are kept prepared on each connection to another node.",
							"Tasks that come again on a connection are prepared there, so that the node plans "
							"them only once. 0 prepares none.",
							&max_prepared, 1000, 0, 100000, PGC_USERSET, 0, NULL, NULL, NULL);
}
