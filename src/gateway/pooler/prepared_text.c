/*-------------------------------------------------------------------------
 *
 * prepared_text.c
 *	  Statements that clients have prepared, each kept once.
 *
 * A client's prepared statement is a name for a text; the text is prepared
 * under our name on each backend that the client uses it on.  Clients of a
 * pool share a text, also on backends, if their settings are the same and no
 * DDL has committed on this server in between, since these influence what a
 * text means, like the role and the database.  The meaning is fixed when a
 * text is first prepared, so another backend gets the same settings before it
 * prepares the text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "common/hashfn.h"

#include "gateway/pooler/prepared_text.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

/*
 * Texts that are cached with their routes even if no client uses them; of two
 * with the same hash slot, the last one.
 */
#define MAX_KEPT 2048
#define MAX_KEPT_LENGTH 8192

typedef struct TextEntry
{
	PreparedText *text;
	char		status;
} TextEntry;

/* A random seed, so that clients can't make texts that collide. */
static uint64 text_seed;

static inline bool
texts_are_equal(const PreparedText *left, const PreparedText *right)
{
	return left->pool == right->pool && left->private == right->private && left->ddl == right->ddl &&
		left->parse_len == right->parse_len && memcmp(left->parse, right->parse, left->parse_len) == 0 &&
		strcmp(left->settings, right->settings) == 0;
}

static uint32
prepared_text_hash(const PreparedText *text)
{
	const uint64 numbers[] = {text->pool, text->private, text->ddl};
	uint64		hash = hash_bytes_extended((const unsigned char *) numbers, sizeof(numbers), text_seed);

	hash = hash_bytes_extended((const unsigned char *) text->settings, strlen(text->settings), hash);
	return (uint32) hash_bytes_extended((const unsigned char *) text->parse, text->parse_len, hash);
}

#define SH_PREFIX texttable
#define SH_ELEMENT_TYPE TextEntry
#define SH_KEY_TYPE PreparedText *
#define SH_KEY text
#define SH_HASH_KEY(table, key) (key)->hash
#define SH_EQUAL(table, left, right) texts_are_equal(left, right)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static texttable_hash *known_texts = NULL;
static uint64 last_text_id = 0;
static PreparedText *kept_texts[MAX_KEPT];

static void
keep_text(PreparedText *text)
{
	PreparedText **slot = &kept_texts[text->hash % MAX_KEPT];

	if (*slot == text)
		return;
	if (*slot != NULL)
		prepared_text_release(*slot);
	prepared_text_hold(text);
	*slot = text;
}

PreparedText *
prepared_text_get(uint64 pool, const char *settings, uint64 private, const char *parse, size_t len)
{
	PreparedText wanted = {
		.pool = pool,.private = private,.ddl = pg_atomic_read_u64(&gateway_area->ddl),
		.settings = settings,.parse = parse,.parse_len = len,
	};
	size_t		settings_size = strlen(settings) + 1;
	PreparedText *text;
	TextEntry  *entry;
	bool		found;
	char	   *copy;

	if (known_texts == NULL)
	{
		known_texts = texttable_create(gateway_context, 64, NULL);
		if (!pg_strong_random(&text_seed, sizeof(text_seed)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a random number")));
	}
	wanted.hash = prepared_text_hash(&wanted);
	entry = texttable_lookup(known_texts, &wanted);
	if (entry != NULL)
	{
		entry->text->refs++;
		return entry->text;
	}
	copy = MemoryContextAllocHuge(gateway_context, settings_size + len);
	text = gateway_alloc(sizeof(PreparedText));
	*text = wanted;
	text->settings = memcpy(copy, settings, settings_size);
	text->parse = memcpy(copy + settings_size, parse, len);
	text->id = ++last_text_id;
	text->refs = 1;
	text->control = text_control(parse, len);
	text->names_statements = text_names_statements(parse, strnlen(parse, len));
	texttable_insert(known_texts, text, &found);
	if (len <= MAX_KEPT_LENGTH && (private == 0 || private == NORMALIZED_NUMBER))
		keep_text(text);
	return text;
}

bool
prepared_text_is_old(const PreparedText *text)
{
	return text->private != 0 || text->ddl != pg_atomic_read_u64(&gateway_area->ddl);
}

/*
 * Hash value of a RowDescription's columns, or of NoData: names, types, sizes
 * and modifiers.
 */
static uint64
hash_of_columns(const Message *description)
{
	const char *end = description->payload + description->len;
	const char *name = description->payload + sizeof(uint16);
	uint64		hash = 0;

	while (name < end)
	{
		const char *table = name + strnlen(name, end - name) + 1;
		const char *type = table + 6;
		const char *format = type + 10;

		if (format + 2 > end)
			break;
		hash = hash_bytes_extended((const unsigned char *) name, table - name, hash);
		hash = hash_bytes_extended((const unsigned char *) type, format - type, hash);
		name = format + 2;
	}
	return Max(hash, 1);
}

/* Goes behind blanks and comments in front of a statement. */
static const char *
behind_comments(const char *sql)
{
	int			depth = 0;

	for (; *sql != '\0'; sql++)
	{
		if (sql[0] == '/' && sql[1] == '*')
			depth++, sql++;
		else if (depth > 0 && sql[0] == '*' && sql[1] == '/')
			depth--, sql++;
		else if (depth == 0 && sql[0] == '-' && sql[1] == '-')
			sql += strcspn(sql, "\n") - 1;
		else if (depth == 0 && !isspace((unsigned char) *sql))
			break;
	}
	return sql;
}

/*
 * Whether the server fails if a text returns other columns than when it was
 * prepared: those of FETCH, EXECUTE and CALL are what the cursor, statement or
 * procedure has.
 */
static bool
has_fixed_columns(const PreparedText *text)
{
	const char *sql = behind_comments(text->parse);

	return *sql != '\0' && strchr("CEFcef", *sql) == NULL;
}

bool
prepared_text_described(PreparedText *text, const Message *description)
{
	uint64		hash = hash_of_columns(description);

	if (!has_fixed_columns(text))
		return true;
	if (text->columns == 0)
		text->columns = hash;
	return text->columns == hash;
}

void
prepared_text_hold(PreparedText *text)
{
	text->refs++;
}

void
prepared_text_release(PreparedText *text)
{
	if (--text->refs > 0)
		return;
	texttable_delete(known_texts, text);
	if (text->route != NULL)
		pfree(text->route);
	pfree(unconstify(char *, text->settings));	/* with the text after it */
	pfree(text);
}

void
prepared_text_name(const PreparedText *text, char *name)
{
	snprintf(name, PREPARED_NAME_SIZE, PREPARED_NAME_PREFIX "%llu", (unsigned long long) text->id);
}
