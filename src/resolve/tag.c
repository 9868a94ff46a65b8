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
		tag->explain = skip_word(&cursor, " explain");
		tag->kind = TAG_SHARD;
	}
	else if (skip_word(&cursor, "ddl"))
		tag->kind = TAG_DDL;
	else if (skip_word(&cursor, "node"))
	{
		tag->explain = skip_word(&cursor, " explain");
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
