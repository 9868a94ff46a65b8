/*-------------------------------------------------------------------------
 *
 * logical_error.c
 *	  Errors from a shard that this backend writes speak of its table.
 *
 * Errors of other nodes are converted where they arrive (src/remote).  Those of
 * this node's own shards pass through here.  Buffer locks and the like may
 * still be held, so this works on the text alone: it knows which shard it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"

#include "catalog/metadata.h"
#include "copy/logical_error.h"

typedef struct ShardNames
{
	const char *table_schema;
	const char *table_name;
	const char *shard_name;
	char		suffix[32];		/* what ends the names of the shard's objects */
} ShardNames;

static bool
is_name_char(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' || IS_HIGHBIT_SET(c);
}

/* Appends a name that stands in a message, without the shard's suffix. */
static void
append_name(StringInfo out, const ShardNames *names, const char *word, int len)
{
	int			suffix_len = strlen(names->suffix);

	if (len == strlen(names->shard_name) && strncmp(word, names->shard_name, len) == 0)
		appendStringInfoString(out, names->table_name);
	else if (len > suffix_len && strncmp(word + len - suffix_len, names->suffix, suffix_len) == 0)
		appendBinaryStringInfo(out, word, len - suffix_len);
	else
		appendBinaryStringInfo(out, word, len);
}

/* The text with logical names; NULL for NULL. */
static char *
logical_text(const ShardNames *names, const char *text)
{
	static const char shard_schema[] = SHARD_SCHEMA ".";
	StringInfoData out;

	if (text == NULL)
		return NULL;
	initStringInfo(&out);
	while (*text != '\0')
	{
		const char *word = text;

		if (!is_name_char(*text))
		{
			appendStringInfoChar(&out, *text++);
			continue;
		}
		if (strncmp(text, shard_schema, strlen(shard_schema)) == 0)
		{
			appendStringInfo(&out, "%s.", names->table_schema);
			text += strlen(shard_schema);
			continue;
		}
		while (is_name_char(*text))
			text++;
		append_name(&out, names, word, text - word);
	}
	return out.data;
}

void
rethrow_logical_error(const char *table_schema, const char *table_name, const char *shard_name, int64 shardid)
{
	ShardNames	names = {table_schema, table_name, shard_name, ""};
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	snprintf(names.suffix, sizeof(names.suffix), "_" INT64_FORMAT, shardid);
	error->message = logical_text(&names, error->message);
	error->detail = logical_text(&names, error->detail);
	error->hint = logical_text(&names, error->hint);
	error->context = logical_text(&names, error->context);
	error->table_name = logical_text(&names, error->table_name);
	error->constraint_name = logical_text(&names, error->constraint_name);
	if (error->schema_name != NULL && strcmp(error->schema_name, SHARD_SCHEMA) == 0)
		error->schema_name = pstrdup(table_schema);
	ReThrowError(error);
}
