/*-------------------------------------------------------------------------
 *
 * shard_names.c
 *	  Replaces names of shards in messages by those of logical tables.
 *
 * A word that ends in an underscore and the id of a shard names the shard, or
 * an index, constraint or trigger of it.  Ids begin far above numbers that are
 * common in names, and a word is changed only if the shard exists.  A name
 * that was truncated to make room for the id is searched among those of the
 * table, its indexes and its constraints.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"
#include "remote/shard_names.h"

#define MIN_SHARD_DIGITS 6		/* ids begin at 102008 */

static bool
is_word_char(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '$' || IS_HIGHBIT_SET(c);
}

/*
 * If the table is one of entries of a global index: its index's name for that
 * of its constraint, and *relid becomes the index's table, whose name is the
 * other one's.  Else NULL.
 */
static char *
name_for_entries(Oid *relid, const char *name, int name_len)
{
	Oid			index = index_of_entries(*relid);

	if (!OidIsValid(index))
		return NULL;
	*relid = IndexGetRelation(index, false);
	return get_rel_name(strncmp(name + name_len - strlen(GLOBAL_INDEX_KEY), GLOBAL_INDEX_KEY, strlen(GLOBAL_INDEX_KEY)) == 0 ?
						index : *relid);
}

/*
 * Whether the word of len bytes is a name with a shard's id; sets the length
 * of the name without it, and the logical table.
 */
static bool
split_shard_name(const char *word, int len, int *name_len, int64 *shardid, Oid *relid)
{
	int			digits = 0;

	while (digits < len && isdigit((unsigned char) word[len - 1 - digits]))
		digits++;
	if (digits < MIN_SHARD_DIGITS || digits > 18 || digits + 2 > len || word[len - 1 - digits] != '_')
		return false;

	*name_len = len - digits - 1;
	*shardid = strtoll(word + len - digits, NULL, 10);
	*relid = metadata_shard_relid(*shardid);
	return OidIsValid(*relid);
}

Oid
shard_name_table(const char *shard)
{
	int			name_len;
	int64		shardid;
	Oid			relid;

	return split_shard_name(shard, strlen(shard), &name_len, &shardid, &relid) ? relid : InvalidOid;
}

/*
 * If the word between start and end ends the name of the table's shard, how
 * many bytes of that stand in front of the word, as a name may have spaces;
 * else -1.
 */
static int
words_before(const char *text, const char *start, const char *end, const char *name, int64 shardid)
{
	char	   *shard;
	int			before;

	if (name == NULL)
		return -1;
	shard = shard_relation_name(name, shardid);
	before = (int) strlen(shard) - (int) (end - start);
	if (before < 0 || before > start - text || strncmp(start - before, shard, strlen(shard)) != 0)
		return -1;
	return before;
}

/* Names of a table, its indexes and its constraints. */
static List *
names_of_table(Oid relid)
{
	List	   *names = list_make1(get_rel_name(relid));
	ScanKeyData key;
	ListCell   *cell;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	foreach(cell, catalog_rows("pg_index", "pg_index_indrelid_index", &key))
		names = lappend(names,
						get_rel_name(DatumGetObjectId(((CatalogRow *) lfirst(cell))->values[Anum_pg_index_indexrelid - 1])));
	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	foreach(cell, catalog_rows("pg_constraint", "pg_constraint_conrelid_contypid_conname_index", &key))
		names = lappend(names, NameStr(*DatumGetName(((CatalogRow *) lfirst(cell))->values[Anum_pg_constraint_conname - 1])));
	return names;
}

/*
 * The name that the word between start and end ends with a shard's id, as
 * words_before() finds it, which sets *before; NULL if there is none.
 */
static char *
find_name(Oid relid, const char *text, const char *start, const char *end, int64 shardid, int *before)
{
	ListCell   *cell;

	foreach(cell, names_of_table(relid))
	{
		*before = words_before(text, start, end, lfirst(cell), shardid);
		if (*before >= 0)
			return lfirst(cell);
	}
	return NULL;
}

/* Whether names can be looked up now. */
static bool
can_look_up(void)
{
	return IsTransactionState() && !IsAbortedTransactionBlockState() && metadata_available();
}

char *
shard_names_to_logical(const char *text)
{
	static const char schema_prefix[] = SHARD_SCHEMA ".";
	StringInfoData out;
	const char *p = text;
	int			schema_at = -1; /* where out has the shards' schema just
								 * before */

	if (strchr(text, '_') == NULL || !can_look_up())
		return pstrdup(text);

	initStringInfo(&out);
	while (*p != '\0')
	{
		const char *start = p;
		int			name_len;
		int64		shardid;
		Oid			relid;

		if (!is_word_char(*p))
		{
			appendStringInfoChar(&out, *p++);
			continue;
		}
		while (is_word_char(*p))
			p++;

		if (strncmp(start, schema_prefix, strlen(schema_prefix)) == 0)
		{
			schema_at = out.len;
			appendStringInfoString(&out, schema_prefix);
			p = start + strlen(schema_prefix);
			continue;
		}
		if (split_shard_name(start, p - start, &name_len, &shardid, &relid))
		{
			char	   *other = name_for_entries(&relid, start, name_len);
			int			before = -1;
			char	   *name = other != NULL ? NULL : find_name(relid, text, start, p, shardid, &before);

			/* all of it must be in out as it was */
			if (before > out.len || (before > 0 && memcmp(out.data + out.len - before, start - before, before) != 0))
				before = -1;
			out.len -= Max(before, 0);
			out.data[out.len] = '\0';
			if (schema_at >= 0 && schema_at + (int) strlen(schema_prefix) == out.len)
			{
				out.len = schema_at;
				out.data[out.len] = '\0';
				appendStringInfo(&out, "%s.", get_namespace_name(get_rel_namespace(relid)));
			}
			if (before >= 0 || other != NULL)
				appendStringInfoString(&out, other != NULL ? other : name);
			else
				appendBinaryStringInfo(&out, start, name_len);
		}
		else
			appendBinaryStringInfo(&out, start, p - start);
	}
	return out.data;
}

void
shard_names_fix_schema(const char *shard_schema, const char *shard_table, char **schema)
{
	int			name_len;
	int64		shardid;
	Oid			relid;

	if (shard_schema == NULL || shard_table == NULL || strcmp(shard_schema, SHARD_SCHEMA) != 0 ||
		!can_look_up() ||
		!split_shard_name(shard_table, strlen(shard_table), &name_len, &shardid, &relid))
		return;
	(void) name_for_entries(&relid, shard_table, name_len);
	*schema = get_namespace_name(get_rel_namespace(relid));
}

/* shard_names_to_logical for a field of an error. */
static char *
logical_field(const char *field)
{
	return field ? shard_names_to_logical(field) : NULL;
}

void
shard_names_rethrow(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	shard_names_fix_schema(error->schema_name, error->table_name, &error->schema_name);
	error->message = logical_field(error->message);
	error->detail = logical_field(error->detail);
	error->hint = logical_field(error->hint);
	error->context = logical_field(error->context);
	error->table_name = logical_field(error->table_name);
	error->constraint_name = logical_field(error->constraint_name);
	ReThrowError(error);
}
