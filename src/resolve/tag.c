/*-------------------------------------------------------------------------
 *
 * tag.c
 *	  Reading and writing the tag in front of a task's text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <inttypes.h>

#include "access/parallel.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "resolve/tag.h"

/*
 * Sizes of the longest tag as text, but for a set of shards, and of a member
 * of that.
 */
#define MAX_TAG_SIZE (320 + 3 * NAMEDATALEN)
#define MAX_RANGE_SIZE 36

/* Digits of the longest int. */
#define MAX_DIGITS 10

/* How a word stands in a TaskTag, and what follows it in the text. */
typedef enum TagWordType
{
	WORD_FLAG,					/* a bit of traits.flags; an int, if the word
								 * has a field */
	WORD_READS,					/* the value of reads */
	WORD_NUMBER,				/* an int, which is 0 without the word */
	WORD_RANGE,					/* a pointer to a range, or NULL */
	WORD_ROLE,					/* a role's Oid, its name in the text */
	WORD_TRACE,					/* a pointer to three numbers, in hexadecimal
								 * digits, or NULL */
} TagWordType;

/*
 * What may follow the start of a tag and its shards, in this order; read and
 * written by the same table.
 */
static const struct TagWord
{
	const char *word;
	bool		of_shards;		/* TAG_SHARD only */
	TagWordType type;
	int			value;			/* the bit, the value of reads, or the least
								 * number */
	Size		field;			/* offset in TaskTag of what follows the
								 * word */
}			tag_words[] = {
	{" at", true, WORD_FLAG, TASK_AS_OF},
	{" former", true, WORD_READS, TASK_READS_FORMER},
	{" late", true, WORD_READS, TASK_READS_LATE},
	{" part ", true, WORD_RANGE, 0, offsetof(TaskTag, part)},
	{" partial", true, WORD_FLAG, TASK_PARTIAL},
	{" tenant ", true, WORD_NUMBER, TENANT_IS_GROUP, offsetof(TaskTag, traits.tenant)},
	{" policies ", false, WORD_FLAG, TASK_FILTERED, offsetof(TaskTag, traits.npolicies)},
	{" lock", false, WORD_FLAG, TASK_LOCKS},
	{" blind", false, WORD_FLAG, TASK_BLIND},
	{" unchecked", false, WORD_FLAG, TASK_UNCHECKED},
	{" moves", false, WORD_FLAG, TASK_MOVES},
	{" allowed", false, WORD_FLAG, TASK_ALLOWED},
	{" unpublished", false, WORD_FLAG, TASK_UNPUBLISHED},
	{" as ", false, WORD_ROLE, 0, offsetof(TaskTag, traits.check_as)},
	{" explain ", false, WORD_NUMBER, 0, offsetof(TaskTag, traits.explain)},
	{" trace ", false, WORD_TRACE, 0, offsetof(TaskTag, trace)},
};

/* Words for the other kinds of tags. */
static const char *const tag_kinds[] = {
	[TAG_DDL] = "ddl",
	[TAG_NODE] = "node",
	[TAG_FRAMES] = "frames",
};

/* A text of this node's own making that is being worked on, or NULL. */
static const char *own_text = NULL;

/* Skips word at *cursor; false if it isn't there. */
static bool
skip_word(const char **cursor, const char *word)
{
	const char *c = *cursor;

	for (; *word != '\0'; word++, c++)
	{
		if (*c != *word)
			return false;
	}
	*cursor = c;
	return true;
}

/* Reads an int at *cursor that is not below least; false if there is none. */
static bool
read_number(const char **cursor, int least, int *value)
{
	const char *c = *cursor;
	bool		negative = *c == '-';
	const char *digits = c + negative;
	uint64		magnitude = 0;
	unsigned	digit;
	int64		number;

	for (c = digits; (digit = (unsigned char) *c - '0') <= 9; c++)
		magnitude = magnitude * 10 + digit;
	if (c == digits || c - digits > MAX_DIGITS)
		return false;
	number = negative ? -(int64) magnitude : (int64) magnitude;
	if (number < least || number > PG_INT32_MAX)
		return false;
	*value = (int) number;
	*cursor = c;
	return true;
}

static bool
read_int(const char **cursor, int *value)
{
	return read_number(cursor, 0, value);
}

static bool
read_hash(const char **cursor, int32 *value)
{
	return read_number(cursor, PG_INT32_MIN, value);
}

/* Whether a character of a role's name needs no escape. */
static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a role's name; false if it is damaged. */
static bool
read_role(const char **cursor, Oid *role)
{
	char		name[NAMEDATALEN] = "";
	int			len = 0;

	while (len < NAMEDATALEN - 1)
	{
		const char *c = *cursor;

		if (is_plain(*c))
		{
			name[len++] = *c;
			*cursor += 1;
		}
		else if (*c == '%' && hex_value(c[1]) >= 0 && hex_value(c[2]) >= 0)
		{
			name[len++] = (char) (hex_value(c[1]) << 4 | hex_value(c[2]));
			*cursor += 3;
		}
		else
			break;
	}
	if (name[0] == '\0')
		return false;
	*role = get_role_oid(name, false);
	return true;
}

/* Reads "-64:63"; false if it is damaged. */
static bool
read_range(const char **cursor, HashRange *range)
{
	return read_hash(cursor, &range->min) && skip_word(cursor, ":") && read_hash(cursor, &range->max) &&
		range->min <= range->max;
}

/* Reads "-64:63x77,128:511", in ascending order; false if it is damaged. */
static bool
read_ranges(const char **cursor, TaskTag *tag)
{
	int64		least = PG_INT32_MIN;

	do
	{
		ShardRun   *run = palloc(sizeof(ShardRun));

		run->cuts = 0;
		if (!read_range(cursor, &run->range) || run->range.min < least ||
			(skip_word(cursor, "x") && !read_int(cursor, &run->cuts)))
			return false;
		tag->runs = lappend(tag->runs, run);
		least = (int64) run->range.max + 1;
	} while (skip_word(cursor, ","));
	tag->range = ((ShardRun *) linitial(tag->runs))->range;
	return true;
}

static bool
read_hex(const char **cursor, uint64 *value)
{
	*value = 0;
	for (int i = 0; i < 16; i++)
	{
		int			digit = hex_value(**cursor);

		if (digit < 0)
			return false;
		*value = *value << 4 | digit;
		*cursor += 1;
	}
	return true;
}

static bool
read_trace(const char **cursor, const TraceContext **trace)
{
	TraceContext *read = palloc(sizeof(TraceContext));

	*trace = read;
	return read_hex(cursor, &read->high) && read_hex(cursor, &read->low) && read_hex(cursor, &read->span);
}

/* Reads what follows a word into the tag; false if it is damaged. */
static bool
read_word(const char **cursor, const struct TagWord *word, TaskTag *tag)
{
	void	   *field = (char *) tag + word->field;

	switch (word->type)
	{
		case WORD_FLAG:
			tag->traits.flags |= word->value;
			return word->field == 0 || read_int(cursor, field);
		case WORD_READS:
			if (tag->reads != TASK_READS_PRESENT)
				return false;
			tag->reads = word->value;
			return true;
		case WORD_NUMBER:
			return read_number(cursor, word->value, field);
		case WORD_RANGE:
			tag->part = palloc(sizeof(HashRange));
			return read_range(cursor, unconstify(HashRange *, tag->part));
		case WORD_ROLE:
			return read_role(cursor, field);
		case WORD_TRACE:
			return read_trace(cursor, field);
	}
	return false;
}

/* Reads the shards that a tag is about; false if it is damaged. */
static bool
read_shards(const char **cursor, bool several, TaskTag *tag)
{
	tag->kind = TAG_SHARD;
	return read_int(cursor, &tag->colocation_id) && skip_word(cursor, ".") &&
		(several ? read_ranges(cursor, tag) : read_range(cursor, &tag->range));
}

/* Reads the kind of a tag, and its shards; false if it is damaged. */
static bool
read_kind(const char **cursor, TaskTag *tag)
{
	if (skip_word(cursor, "shard "))
		return read_shards(cursor, false, tag);
	if (skip_word(cursor, "shards "))
		return read_shards(cursor, true, tag);
	if (skip_word(cursor, "call "))
	{
		tag->traits.flags |= TASK_CALL;
		return read_shards(cursor, false, tag);
	}
	for (int i = 0; i < lengthof(tag_kinds); i++)
	{
		if (tag_kinds[i] != NULL && skip_word(cursor, tag_kinds[i]))
		{
			tag->kind = i;
			return true;
		}
	}
	return false;
}

/* Reads what follows the start of a tag; false if it is damaged. */
static bool
read_tag(const char *cursor, TaskTag *tag)
{
	if (!read_kind(&cursor, tag))
		return false;
	for (int i = 0; i < lengthof(tag_words); i++)
	{
		const struct TagWord *word = &tag_words[i];

		if ((tag->kind == TAG_SHARD || !word->of_shards) && skip_word(&cursor, word->word) &&
			!read_word(&cursor, word, tag))
			return false;
	}
	return skip_word(&cursor, "*/");
}

/*
 * Errors unless the tag is a node's.  A parallel worker runs its leader's
 * statement, which was checked there.
 */
static void
check_sender(const char *source)
{
	if (likely((is_client_text(source) && (node_session() || IsParallelWorker())) || source == own_text))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to tag a statement as a task"),
			 errdetail("Comments that start with \"%s\" are reserved for statements that nodes of the cluster send.",
					   TASK_TAG_START),
			 errhint("Send the statement without the comment.")));
}

/* task_tag_parse; without a check of the sender if trusted. */
static bool
parse_tag(const char *source, bool trusted, TaskTag *tag)
{
	const char *cursor = source;

	tag->kind = TAG_NONE;
	if (likely(source == NULL || source[0] != '/' || !skip_word(&cursor, TASK_TAG_START)))
		return false;

	if (!trusted)
		check_sender(source);
	memset(tag, 0, sizeof(TaskTag));
	if (!read_tag(cursor, tag))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid tag in front of a task"),
				 errdetail("The text starts with \"%.*s\".", (int) pg_mbcliplen(source, strlen(source), 60), source)));
	return true;
}

bool
task_tag_parse(const char *source, TaskTag *tag)
{
	return parse_tag(source, false, tag);
}

/* Reads a tag and writes it; declared by tests only. */
SQL_FUNCTION(task_tag_again);

Datum
task_tag_again(PG_FUNCTION_ARGS)
{
	TaskTag		tag;

	if (!parse_tag(text_to_cstring(PG_GETARG_TEXT_PP(0)), true, &tag))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(task_tag_write(&tag)));
}

const char *
task_tag_begin_own(const char *text)
{
	const char *outer = own_text;

	own_text = text;
	return outer;
}

void
task_tag_end_own(const char *outer)
{
	own_text = outer;
}

int
task_tag_execute_own(const char *command, ParamListInfo params)
{
	SPIExecuteOptions options = {.params = params};
	const char *outer = task_tag_begin_own(command);
	volatile int result = 0;

	PG_TRY();
	{
		result = SPI_execute_extended(command, &options);
	}
	PG_FINALLY();
	{
		task_tag_end_own(outer);
	}
	PG_END_TRY();
	return result;
}

/* Appends at cursor; returns the new end. */
static char *
put_text(char *cursor, const char *text)
{
	size_t		len = strlen(text);

	memcpy(cursor, text, len);
	return cursor + len;
}

static char *
put_int(char *cursor, int number)
{
	return cursor + pg_ltoa(number, cursor);
}

/* A role's name, in which the end of a comment can't be hidden. */
static char *
put_name(char *cursor, const char *name)
{
	for (; *name != '\0'; name++)
	{
		if (is_plain(*name))
			*cursor++ = *name;
		else
			cursor += sprintf(cursor, "%%%02x", (unsigned char) *name);
	}
	return cursor;
}

static char *
put_range(char *cursor, HashRange range)
{
	return put_int(put_text(put_int(cursor, range.min), ":"), range.max);
}

static char *
put_runs(char *cursor, const List *runs)
{
	ListCell   *cell;

	foreach(cell, runs)
	{
		const ShardRun *run = lfirst(cell);

		if (cell != list_head(runs))
			*cursor++ = ',';
		cursor = put_range(cursor, run->range);
		if (run->cuts != 0)
			cursor = put_int(put_text(cursor, "x"), run->cuts);
	}
	return cursor;
}

/* Writes a word, and what follows it, if the tag has it. */
static char *
put_word(char *cursor, const struct TagWord *word, const TaskTag *tag)
{
	const void *field = (const char *) tag + word->field;

	switch (word->type)
	{
		case WORD_FLAG:
			if ((tag->traits.flags & word->value) == 0)
				return cursor;
			cursor = put_text(cursor, word->word);
			return word->field == 0 ? cursor : put_int(cursor, *(const int *) field);
		case WORD_READS:
			return tag->reads == word->value ? put_text(cursor, word->word) : cursor;
		case WORD_NUMBER:
			return *(const int *) field == 0 ? cursor : put_int(put_text(cursor, word->word), *(const int *) field);
		case WORD_RANGE:
			return tag->part == NULL ? cursor : put_range(put_text(cursor, word->word), *tag->part);
		case WORD_ROLE:
			return !OidIsValid(*(const Oid *) field) ? cursor :
				put_name(put_text(cursor, word->word), GetUserNameFromId(*(const Oid *) field, false));
		case WORD_TRACE:
			return tag->trace == NULL ? cursor :
				cursor + sprintf(cursor, "%s%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
								 word->word, tag->trace->high, tag->trace->low, tag->trace->span);
	}
	return cursor;
}

char *
task_tag_write(const TaskTag *tag)
{
	char	   *buffer = palloc(MAX_TAG_SIZE + MAX_RANGE_SIZE * list_length(tag->runs));
	char	   *cursor = put_text(buffer, TASK_TAG_START);

	if (tag->kind == TAG_SHARD)
	{
		cursor = put_text(cursor, tag->traits.flags & TASK_CALL ? "call " : tag->runs ? "shards " : "shard ");
		cursor = put_text(put_int(cursor, tag->colocation_id), ".");
		cursor = tag->runs ? put_runs(cursor, tag->runs) : put_range(cursor, tag->range);
	}
	else
		cursor = put_text(cursor, tag_kinds[tag->kind]);
	for (int i = 0; i < lengthof(tag_words); i++)
	{
		if (tag->kind == TAG_SHARD || !tag_words[i].of_shards)
			cursor = put_word(cursor, &tag_words[i], tag);
	}
	strcpy(cursor, "*/ ");
	return buffer;
}

char *
task_tag_shard(int colocation_id, HashRange range)
{
	TaskTag		tag = {.kind = TAG_SHARD, .colocation_id = colocation_id, .range = range};

	return task_tag_write(&tag);
}
