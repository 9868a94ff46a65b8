/*-------------------------------------------------------------------------
 *
 * tag.c
 *	  Reading and writing the tag in front of a task's text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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

char *
task_tag_shard(int colocation_id, int shard_index)
{
	return psprintf(TAG_START "shard %d.%d*/ ", colocation_id, shard_index);
}

char *
task_tag_make(const TaskTag *tag)
{
	char	   *explain = tag->explain ? psprintf(" explain %d", tag->explain) : "";

	switch (tag->kind)
	{
		case TAG_SHARD:
			return psprintf(TAG_START "shard %d.%d%s%s*/ ", tag->colocation_id, tag->shard_index,
							tag->snapshot ? " at" : "", explain);
		case TAG_NODE:
			return psprintf(TAG_START "node%s*/ ", explain);
		case TAG_DDL:
			return pstrdup(TASK_TAG_DDL);
		case TAG_FRAMES:
			return pstrdup(TASK_TAG_FRAMES);
		case TAG_NONE:
			break;
	}
	return pstrdup("");
}
