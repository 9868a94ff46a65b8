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

static inline bool
texts_are_equal(const PreparedText *left, const PreparedText *right)
{
	return left->len == right->len && left->body_parse == right->body_parse &&
		memcmp(left->body, right->body, left->len) == 0;
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

/* A random seed, so that clients can't make texts that collide. */
static uint64 text_seed;

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
	const uint64 numbers[] = {pool, private, pg_atomic_read_u64(&gateway_board->ddl)};
	size_t		settings_len = strlen(settings) + 1 + sizeof(numbers);
	PreparedText wanted = {.len = settings_len + len,.body_parse = settings_len};
	PreparedText *text;
	TextEntry  *entry;
	bool		found;

	if (known_texts == NULL)
	{
		known_texts = texttable_create(gateway_context, 64, NULL);
		if (!pg_strong_random(&text_seed, sizeof(text_seed)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a random number")));
	}
	wanted.body = MemoryContextAllocHuge(gateway_context, wanted.len);
	memcpy(wanted.body, settings, settings_len - sizeof(numbers));
	memcpy(wanted.body + settings_len - sizeof(numbers), numbers, sizeof(numbers));
	memcpy(wanted.body + settings_len, parse, len);
	wanted.hash = (uint32) hash_bytes_extended((unsigned char *) wanted.body, wanted.len, text_seed);

	entry = texttable_lookup(known_texts, &wanted);
	if (entry != NULL)
	{
		pfree(wanted.body);
		entry->text->refs++;
		return entry->text;
	}
	text = gateway_alloc(sizeof(PreparedText));
	*text = wanted;
	text->id = ++last_text_id;
	text->refs = 1;
	text->control = text_control(parse, len);
	text->names_statements = text_names_statements(parse, strnlen(parse, len));
	texttable_insert(known_texts, text, &found);
	if (len <= MAX_KEPT_LENGTH && (private == 0 || private == SHAPE_NUMBER))
		keep_text(text);
	return text;
}

bool
prepared_text_is_old(const PreparedText *text)
{
	uint64		numbers[2];		/* the last of those in prepared_text_get */

	memcpy(numbers, text->body + text->body_parse - sizeof(numbers), sizeof(numbers));
	return numbers[0] != 0 || numbers[1] != pg_atomic_read_u64(&gateway_board->ddl);
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
	const char *sql = behind_comments(text->body + text->body_parse);

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
	pfree(text->body);
	pfree(text);
}

void
prepared_text_name(const PreparedText *text, char *name)
{
	snprintf(name, PREPARED_NAME_SIZE, PREPARED_NAME_PREFIX "%llu", (unsigned long long) text->id);
}
