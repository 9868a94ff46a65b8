/*-------------------------------------------------------------------------
 *
 * tag.c
 *	  Reading and writing the tag in front of a task's text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "catalog/node_session.h"
#include "resolve/tag.h"

/*
 * Sizes of the longest tag as text, but for a set of shards, and of a member
 * of that.
 */
#define MAX_TAG_SIZE (192 + 3 * NAMEDATALEN)
#define MAX_RANGE_SIZE 36

/* Digits of the longest int. */
#define MAX_DIGITS 10

/* Words for the bits of TaskTag.rights, in this order. */
static const struct
{
	const char *word;
	int			bit;
}			rights_words[] = {
	{" policies ", TASK_FILTERED},	/* and their number */
	{" lock", TASK_LOCKS},
	{" blind", TASK_BLIND},
	{" unchecked", TASK_UNCHECKED},
	{" moves", TASK_MOVES},
	{" unpublished", TASK_UNPUBLISHED},
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

/* Reads " explain N" where it stands; false if N is missing. */
static bool
read_explain(const char **cursor, TaskTag *tag)
{
	return !skip_word(cursor, " explain ") || read_int(cursor, &tag->explain);
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

/* Reads " as ROLE" where it stands; false if it is damaged. */
static bool
read_as(const char **cursor, TaskTag *tag)
{
	int			len = 0;

	if (!skip_word(cursor, " as "))
		return true;
	while (len < NAMEDATALEN - 1)
	{
		const char *c = *cursor;

		if (is_plain(*c))
		{
			tag->as[len++] = *c;
			*cursor += 1;
		}
		else if (*c == '%' && hex_value(c[1]) >= 0 && hex_value(c[2]) >= 0)
		{
			tag->as[len++] = (char) (hex_value(c[1]) << 4 | hex_value(c[2]));
			*cursor += 3;
		}
		else
			break;
	}
	return len > 0;
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

/* Reads the words about rights; false if it is damaged. */
static bool
read_rights(const char **cursor, TaskTag *tag)
{
	for (int i = 0; i < lengthof(rights_words); i++)
	{
		if (!skip_word(cursor, rights_words[i].word))
			continue;
		tag->rights |= rights_words[i].bit;
		if (rights_words[i].bit == TASK_FILTERED && !read_int(cursor, &tag->npolicies))
			return false;
	}
	return true;
}

/* Reads " tenant N" where it stands; false if N is missing. */
static bool
read_tenant(const char **cursor, TaskTag *tag)
{
	if (!skip_word(cursor, " tenant "))
		return true;
	if (!read_int(cursor, &tag->tenant))
		return false;
	if (tag->tenant == 0)
		tag->tenant = TENANT_IS_GROUP;
	return true;
}

/* Reads what follows the start of a tag; false if it is damaged. */
static bool
read_tag(const char *cursor, TaskTag *tag)
{
	tag->call = skip_word(&cursor, "call");
	if (tag->call || skip_word(&cursor, "shard"))
	{
		bool		several = !tag->call && skip_word(&cursor, "s");

		if (!skip_word(&cursor, " ") || !read_int(&cursor, &tag->colocation_id) || !skip_word(&cursor, ".") ||
			!(several ? read_ranges(&cursor, tag) : read_range(&cursor, &tag->range)))
			return false;
		tag->snapshot = skip_word(&cursor, " at");
		tag->former = skip_word(&cursor, " former");
		tag->late = skip_word(&cursor, " late");
		tag->in_part = skip_word(&cursor, " part ");
		if (tag->in_part && !read_range(&cursor, &tag->part))
			return false;
		tag->partial = skip_word(&cursor, " partial");
		if (!read_tenant(&cursor, tag))
			return false;
		tag->kind = TAG_SHARD;
	}
	else if (skip_word(&cursor, "ddl"))
		tag->kind = TAG_DDL;
	else if (skip_word(&cursor, "node"))
		tag->kind = TAG_NODE;
	else if (skip_word(&cursor, "frames"))
		tag->kind = TAG_FRAMES;
	else
		return false;
	return read_rights(&cursor, tag) && read_as(&cursor, tag) && read_explain(&cursor, tag) && skip_word(&cursor, "*/");
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

bool
task_tag_parse(const char *source, TaskTag *tag)
{
	const char *cursor = source;

	tag->kind = TAG_NONE;
	if (likely(source == NULL || source[0] != '/' || !skip_word(&cursor, TASK_TAG_START)))
		return false;

	check_sender(source);
	memset(tag, 0, sizeof(TaskTag));
	if (!read_tag(cursor, tag))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid tag in front of a task"),
				 errdetail("The text starts with \"%.*s\".", (int) pg_mbcliplen(source, strlen(source), 60), source)));
	return true;
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

void
task_tag_set_as(TaskTag *tag, Oid role)
{
	if (OidIsValid(role))
		strlcpy(tag->as, GetUserNameFromId(role, false), NAMEDATALEN);
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

static char *
put_rights(char *cursor, const TaskTag *tag)
{
	for (int i = 0; i < lengthof(rights_words); i++)
	{
		if ((tag->rights & rights_words[i].bit) == 0)
			continue;
		cursor = put_text(cursor, rights_words[i].word);
		if (rights_words[i].bit == TASK_FILTERED)
			cursor = put_int(cursor, tag->npolicies);
	}
	return cursor;
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

char *
task_tag_write(const TaskTag *tag)
{
	char	   *buffer = palloc(MAX_TAG_SIZE + MAX_RANGE_SIZE * list_length(tag->runs));
	char	   *cursor = put_text(buffer, TASK_TAG_START);

	switch (tag->kind)
	{
		case TAG_SHARD:
			cursor = put_text(cursor, tag->call ? "call " : tag->runs ? "shards " : "shard ");
			cursor = put_int(cursor, tag->colocation_id);
			*cursor++ = '.';
			cursor = tag->runs ? put_runs(cursor, tag->runs) : put_range(cursor, tag->range);
			if (tag->snapshot)
				cursor = put_text(cursor, " at");
			if (tag->former)
				cursor = put_text(cursor, " former");
			if (tag->late)
				cursor = put_text(cursor, " late");
			if (tag->in_part)
				cursor = put_range(put_text(cursor, " part "), tag->part);
			if (tag->partial)
				cursor = put_text(cursor, " partial");
			if (tag->tenant != 0)
				cursor = put_int(put_text(cursor, " tenant "), Max(tag->tenant, 0));
			break;
		case TAG_NODE:
			cursor = put_text(cursor, "node");
			break;
		case TAG_DDL:
			cursor = put_text(cursor, "ddl");
			break;
		case TAG_FRAMES:
			cursor = put_text(cursor, "frames");
			break;
		case TAG_NONE:
			*buffer = '\0';
			return buffer;
	}
	cursor = put_rights(cursor, tag);
	if (tag->as[0] != '\0')
		cursor = put_name(put_text(cursor, " as "), tag->as);
	if (tag->explain != 0)
		cursor = put_int(put_text(cursor, " explain "), tag->explain);
	strcpy(cursor, "*/ ");
	return buffer;
}

char *
task_tag_shard(int colocation_id, HashRange range)
{
	TaskTag		tag = {.kind = TAG_SHARD, .colocation_id = colocation_id, .range = range};

	return task_tag_write(&tag);
}
