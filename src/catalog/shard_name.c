/*-------------------------------------------------------------------------
 *
 * shard_name.c
 *	  Names of shards' relations.
 *
 * A shard, its indexes and its constraints have the names of those of the
 * table, followed by the shard's id.  A name that would be too long is
 * truncated, and a hash of the whole name inserted, so that long names with
 * the same beginning differ.  Each node derives the names: the rule must
 * depend only on the name, the id and the database's encoding.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat/sql_function.h"
#include "catalog/metadata.h"
#include "catalog/metadata_rows.h"

SQL_FUNCTION(shard_name);
SQL_FUNCTION(citus_internal_shard_relation);
SQL_FUNCTION(citus_internal_logical_relation);

char *
shard_relation_name(const char *name, int64 shardid)
{
	char		suffix[32];
	int			name_length = strlen(name);
	int			suffix_length;
	uint32		hash;

	suffix_length = snprintf(suffix, sizeof(suffix), "_" INT64_FORMAT, shardid);
	if (name_length + suffix_length < NAMEDATALEN)
		return psprintf("%s%s", name, suffix);

	hash = DatumGetUInt32(hash_any((const unsigned char *) name, name_length));
	suffix_length = snprintf(suffix, sizeof(suffix), "_%08x_" INT64_FORMAT, hash, shardid);
	name_length = pg_mbcliplen(name, name_length, NAMEDATALEN - 1 - suffix_length);
	return psprintf("%.*s%s", name_length, name, suffix);
}

Oid
shard_local_relid(Oid relid, int64 shardid)
{
	Oid			schema = get_namespace_oid(SHARD_SCHEMA, true);
	char	   *name = get_rel_name(relid);
	char	   *shard;
	Oid			result;

	if (name == NULL || !OidIsValid(schema))
		return InvalidOid;

	shard = shard_relation_name(name, shardid);
	result = get_relname_relid(shard, schema);
	pfree(shard);
	pfree(name);
	return result;
}

/*
 * shard_name(object_name regclass, shard_id bigint, skip_qualify_public bool)
 *
 * The qualified name of a shard, which for a reference table is the table
 * itself.  Shards have a schema of their own, so there is never a "public" to
 * leave out.  NULL if there is no such relation.
 */
Datum
shard_name(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	int64		shardid = PG_GETARG_INT64(1);
	char	   *name = get_rel_name(relid);
	const DistTable *table = metadata_lookup(relid);

	if (shardid <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("shard id must be greater than zero")));
	if (name == NULL)
		PG_RETURN_NULL();

	if (table != NULL && table->kind == DIST_REFERENCE)
		PG_RETURN_TEXT_P(cstring_to_text(quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
																	name)));
	PG_RETURN_TEXT_P(cstring_to_text(quote_qualified_identifier(SHARD_SCHEMA,
																shard_relation_name(name, shardid))));
}

/*
 * citus_internal.shard_relation(shard_id bigint): what tableoid is in a task
 * for rows of the shard.
 */
Datum
citus_internal_shard_relation(PG_FUNCTION_ARGS)
{
	Oid			relid = metadata_shard_relid(PG_GETARG_INT64(0));

	if (!OidIsValid(relid))
		PG_RETURN_NULL();
	PG_RETURN_OID(relid);
}

/* citus_internal.logical_relation(shard oid) */
Datum
citus_internal_logical_relation(PG_FUNCTION_ARGS)
{
	const char *name = get_rel_name(PG_GETARG_OID(0));
	const char *number = name == NULL ? NULL : strrchr(name, '_');
	Oid			relid = number == NULL ? InvalidOid : metadata_shard_relid(strtoi64(number + 1, NULL, 10));

	if (!OidIsValid(relid))
		PG_RETURN_NULL();
	PG_RETURN_OID(relid);
}
