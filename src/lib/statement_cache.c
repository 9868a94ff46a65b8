/*-------------------------------------------------------------------------
 *
 * statement_cache.c
 *	  A cache of prepared statements, by text.
 *
 * Each connection to another node has such a cache, for statements prepared
 * there (remote/prepared.c), and this backend has one for plans of its own
 * shards (executor/local_plan.c).  A statement is added when it is used a
 * second time, or at once if its user says so.
 * citus.max_prepared_tasks_per_connection limits the number; the least
 * recently used one is evicted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "lib/statement_cache.h"

static int	max_statements = 1000;

static uint64
hash_statement(const StatementKey *key)
{
	uint64		hash = hash_bytes_extended(key->scope, key->scope_size, 0);

	hash = hash_bytes_extended((const unsigned char *) key->text, strlen(key->text), hash);
	if (key->ntypes > 0)
		hash = hash_bytes_extended((const unsigned char *) key->types, sizeof(Oid) * key->ntypes, hash);
	return hash == 0 ? 1 : hash;
}

StatementCache *
statement_cache_create(MemoryContext parent, const char *name, Size entry_size)
{
	MemoryContext context = AllocSetContextCreate(parent, "citus statements", ALLOCSET_SMALL_SIZES);
	StatementCache *cache = MemoryContextAllocZero(context, sizeof(StatementCache));
	HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = entry_size, .hcxt = context};

	MemoryContextSetIdentifier(context, name);
	cache->context = context;
	cache->statements = hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	dlist_init(&cache->uses);
	return cache;
}

/* Whether the hash was seen before; adds it if not. */
static bool
statement_seen(StatementCache *cache, uint64 hash)
{
	uint64	   *entry = &cache->seen[hash % lengthof(cache->seen)];
	bool		seen = *entry == hash;

	*entry = hash;
	return seen;
}

void *
statement_cache_find(StatementCache *cache, const StatementKey *key, bool at_once, uint64 *hash)
{
	KeptStatement *statement;

	*hash = 0;
	if (max_statements == 0)
		return NULL;
	*hash = hash_statement(key);
	statement = hash_search(cache->statements, hash, HASH_FIND, NULL);
	if (statement == NULL)
	{
		if (!at_once && !statement_seen(cache, *hash))
			*hash = 0;
		return NULL;
	}
	if (memcmp(statement->content, key->scope, key->scope_size) != 0 ||
		strcmp(statement->content + key->scope_size, key->text) != 0)
	{
		*hash = 0;				/* another one with the same hash */
		return NULL;
	}
	dlist_move_head(&cache->uses, &statement->link);
	return statement;
}

void *
statement_cache_add(StatementCache *cache, const StatementKey *key, uint64 hash)
{
	Size		text_size = strlen(key->text) + 1;
	char	   *content = MemoryContextAlloc(cache->context, key->scope_size + text_size);
	KeptStatement *statement = hash_search(cache->statements, &hash, HASH_ENTER, NULL);

	memcpy(content, key->scope, key->scope_size);
	memcpy(content + key->scope_size, key->text, text_size);
	statement->content = content;
	dlist_push_head(&cache->uses, &statement->link);
	return statement;
}

void *
statement_cache_superfluous(const StatementCache *cache)
{
	if (hash_get_num_entries(cache->statements) < Max(max_statements, 1))
		return NULL;
	return dlist_container(KeptStatement, link, dlist_tail_node(unconstify(dlist_head *, &cache->uses)));
}

void
statement_cache_remove(StatementCache *cache, void *statement)
{
	KeptStatement *kept = statement;

	dlist_delete(&kept->link);
	pfree(kept->content);
	(void) hash_search(cache->statements, &kept->hash, HASH_REMOVE, NULL);
}

void
statement_cache_init(void)
{
	DefineCustomIntVariable("citus.max_prepared_tasks_per_connection",
							"Number of statements that are kept prepared on each connection to another node.",
							"Tasks that come again on a connection are prepared there, so that the node plans "
							"them only once. 0 prepares none.",
							&max_statements, 1000, 0, 100000, PGC_USERSET, 0, NULL, NULL, NULL);
}
