/*-------------------------------------------------------------------------
 *
 * text_cache.c
 *	  A cache of the texts of tasks.
 *
 * Statements with literals differ in their constants, which task_query_extract
 * has replaced by parameters; few different trees remain.  The
 * cache finds the text of such a tree by a hash of the query tree, and by
 * comparing the trees.  Deparsing takes ten times as long.
 *
 * Names of distributed tables and their columns change with
 * metadata_generation(), those of functions, types (also labels of enums and
 * fields of composite types) and the like with an invalidation of their system
 * cache.  Either empties the cache.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/ilist.h"
#include "nodes/nodeFuncs.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "planner/shippable.h"
#include "planner/task_query.h"

/*
 * The maximal size of the cache, in bytes that entries have allocated, and of
 * one entry.
 */
#define MAX_BYTES (4 * 1024 * 1024)
#define MAX_ENTRY_BYTES (MAX_BYTES / 8)

typedef struct TextEntry
{
	uint32		hash;			/* hash key */
	MemoryContext context;		/* of what follows */
	Size		bytes;			/* that it has allocated */
	Query	   *query;
	char	   *text;
	dlist_node	link;			/* in uses, most recent first */
} TextEntry;

static HTAB *task_texts = NULL;
static Size total_bytes = 0;
static dlist_head task_text_uses;
static uint64 filled_generation;	/* metadata_generation() of the entries */
static bool names_changed = false;

static void
add_hash(uint32 *hash, uint32 value)
{
	*hash = hash_combine(*hash, murmurhash32(value));
}

/*
 * Adds to the hash the parts of the tree that distinguish normalized queries.
 */
static bool
hash_walker(Node *node, void *context)
{
	uint32	   *hash = context;

	if (node == NULL)
	{
		add_hash(hash, 0);
		return false;
	}
	add_hash(hash, nodeTag(node));
	switch (nodeTag(node))
	{
		case T_Query:
			add_hash(hash, ((Query *) node)->commandType);
			return query_tree_walker((Query *) node, hash_walker, context, QTW_EXAMINE_RTES_BEFORE);
		case T_RangeTblEntry:
			add_hash(hash, ((RangeTblEntry *) node)->relid);
			return false;
		case T_TargetEntry:
			add_hash(hash, ((TargetEntry *) node)->resno);
			break;
		case T_Var:
			add_hash(hash, ((Var *) node)->varno << 16 | (uint16) ((Var *) node)->varattno);
			return false;
		case T_Param:
			add_hash(hash, ((Param *) node)->paramid);
			add_hash(hash, ((Param *) node)->paramtype);
			return false;
		case T_Const:
			add_hash(hash, ((Const *) node)->consttype);
			if (((Const *) node)->constbyval && !((Const *) node)->constisnull)
				add_hash(hash, (uint32) ((Const *) node)->constvalue);
			return false;
		case T_OpExpr:
			add_hash(hash, ((OpExpr *) node)->opno);
			break;
		case T_FuncExpr:
			add_hash(hash, ((FuncExpr *) node)->funcid);
			break;
		case T_Aggref:
			add_hash(hash, ((Aggref *) node)->aggfnoid);
			break;
		default:
			break;
	}
	return expression_tree_walker(node, hash_walker, context);
}

uint32
task_tree_hash(Node *node)
{
	uint32		hash = 0;

	(void) hash_walker(node, &hash);
	return hash;
}

static void
remove_text(TextEntry *entry)
{
	dlist_delete(&entry->link);
	total_bytes -= entry->bytes;
	MemoryContextDelete(entry->context);
	(void) hash_search(task_texts, &entry->hash, HASH_REMOVE, NULL);
}

/*
 * Whether a text that was made when the cache was checked last is still right.
 */
static bool
still_right(void)
{
	return !names_changed && filled_generation == metadata_generation();
}

/* Empties the cache if its texts may be wrong by now. */
static void
check_texts(void)
{
	if (task_texts == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(uint32), .entrysize = sizeof(TextEntry), .hcxt = CacheMemoryContext};

		task_texts = hash_create("citus task texts", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		dlist_init(&task_text_uses);
	}
	else if (!still_right())
	{
		while (!dlist_is_empty(&task_text_uses))
			remove_text(dlist_container(TextEntry, link, dlist_head_node(&task_text_uses)));
	}
	names_changed = false;
	filled_generation = metadata_generation();
}

/*
 * Adds a text; the query is the tree from before deparsing, which changes it.
 */
static void
add_text(uint32 hash, Query *query, MemoryContext context, const char *text)
{
	TextEntry  *entry = hash_search(task_texts, &hash, HASH_FIND, NULL);
	char	   *copy = MemoryContextStrdup(context, text);
	Size		bytes = MemoryContextMemAllocated(context, true);

	if (entry != NULL)
		remove_text(entry);
	if (bytes > MAX_ENTRY_BYTES)
		return;
	while (total_bytes + bytes > MAX_BYTES)
		remove_text(dlist_container(TextEntry, link, dlist_tail_node(&task_text_uses)));

	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(task_texts, &hash, HASH_ENTER, NULL);
	entry->context = context;
	entry->query = query;
	entry->text = copy;
	entry->bytes = bytes;
	total_bytes += bytes;
	dlist_push_head(&task_text_uses, &entry->link);
}

const char *
task_query_text(Query *query, const char **reason)
{
	uint32		hash;
	TextEntry  *entry;
	MemoryContext context;
	MemoryContext old_context;
	Query	   *key;
	char	   *text;

	*reason = NULL;
	query->stmt_location = -1;
	query->stmt_len = 0;
	check_texts();
	hash = task_tree_hash((Node *) query);
	entry = hash_search(task_texts, &hash, HASH_FIND, NULL);
	if (entry != NULL && equal(entry->query, query))
	{
		dlist_move_head(&task_text_uses, &entry->link);
		return pstrdup(entry->text);
	}

	*reason = shippable_query(query);
	if (*reason != NULL)
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext, "citus task text", ALLOCSET_SMALL_SIZES);
	old_context = MemoryContextSwitchTo(context);
	key = copyObject(query);
	MemoryContextSwitchTo(old_context);
	text = task_query_deparse(query);

	if (still_right())
		add_text(hash, key, context, text);
	return text;
}

static void
object_changed(Datum arg, int cache_id, uint32 hash_value)
{
	names_changed = true;
}

void
text_cache_init(void)
{
	static const int caches[] = {PROCOID, TYPEOID, ENUMOID, ATTNUM, OPEROID, COLLOID, NAMESPACEOID};

	for (int i = 0; i < lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], object_changed, (Datum) 0);
}
