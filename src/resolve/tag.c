/*-------------------------------------------------------------------------
 *
 * tag.c
 *	  Reading and writing the tag in front of a task's text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "resolve/tag.h"

#define TAG_START "/*citus:"

/* Skips word at *cursor; false if it isn't there. */
static bool
skip_word(const char **cursor, const char *word)
{
	size_t		len = strlen(word);

	if (strncmp(*cursor, word, len) != 0)
		return false;
	*cursor += len;
	return true;
}

/* Reads a non-negative int at *cursor; false if there is none. */
static bool
read_int(const char **cursor, int *value)
{
	char	   *end;
	long		number;

	if (**cursor < '0' || **cursor > '9')
		return false;
	errno = 0;
	number = strtol(*cursor, &end, 10);
	if (errno != 0 || number > PG_INT32_MAX)
		return false;
	*value = (int) number;
	*cursor = end;
	return true;
}

/* Reads " explain N" where it stands; false if N is missing. */
static bool
read_explain(const char **cursor, TaskTag *tag)
{
	return !skip_word(cursor, " explain ") || read_int(cursor, &tag->explain);
}

bool
task_tag_parse(const char *source, TaskTag *tag)
{
	const char *cursor = source;

	memset(tag, 0, sizeof(TaskTag));
	if (source == NULL || !skip_word(&cursor, TAG_START))
		return false;

	if (skip_word(&cursor, "shard "))
	{
		if (!read_int(&cursor, &tag->colocation_id) || !skip_word(&cursor, ".") ||
			!read_int(&cursor, &tag->shard_index))
			return false;
		tag->snapshot = skip_word(&cursor, " at");
		tag->locks = skip_word(&cursor, " lock");
		if (!read_explain(&cursor, tag))
			return false;
		tag->kind = TAG_SHARD;
	}
	else if (skip_word(&cursor, "ddl"))
		tag->kind = TAG_DDL;
	else if (skip_word(&cursor, "node"))
	{
		if (!read_explain(&cursor, tag))
			return false;
		tag->kind = TAG_NODE;
	}
	else if (skip_word(&cursor, "frames"))
		tag->kind = TAG_FRAMES;

	if (tag->kind != TAG_NONE && !skip_word(&cursor, "*/"))
		tag->kind = TAG_NONE;
	return tag->kind != TAG_NONE;
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

void
task_tag_write(const TaskTag *tag, char *buffer)
{
	char	   *cursor = put_text(buffer, TAG_START);

	switch (tag->kind)
	{
		case TAG_SHARD:
			cursor = put_text(cursor, "shard ");
			cursor = put_int(cursor, tag->colocation_id);
			*cursor++ = '.';
			cursor = put_int(cursor, tag->shard_index);
			if (tag->snapshot)
				cursor = put_text(cursor, " at");
			if (tag->locks)
				cursor = put_text(cursor, " lock");
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
			return;
	}
	if (tag->explain != 0)
		cursor = put_int(put_text(cursor, " explain "), tag->explain);
	strcpy(cursor, "*/ ");
}

char *
task_tag_shard(int colocation_id, int shard_index)
{
	TaskTag		tag = {.kind = TAG_SHARD, .colocation_id = colocation_id, .shard_index = shard_index};
	char	   *text = palloc(TASK_TAG_SIZE);

	task_tag_write(&tag, text);
	return text;
}
