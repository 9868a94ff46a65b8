/*-------------------------------------------------------------------------
 *
 * definition_parts.c
 *	  Writes the parts of a table: constraints, indexes, replica identity,
 *	  statistics objects, row security, comments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_statistic_ext.h"
#include "commands/comment.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "compat/constraint.h"
#include "compat/stats_target.h"
#include "table/definition.h"
#include "table/table_definition.h"

typedef void (*ConstraintFunction) (Definition *def, Form_pg_constraint con);

/*
 * Calls a function for each constraint of the table, in the order in which
 * they were made.
 */
static void
for_each_constraint(Definition *def, ConstraintFunction function)
{
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintRelidTypidNameIndexId,
													 Anum_pg_constraint_conrelid, RelationGetRelid(def->rel)))
		function(def, (Form_pg_constraint) GETSTRUCT(row->tuple));
}

NotNull *
not_null_constraints(Relation rel)
{
	NotNull    *result = palloc0(sizeof(NotNull) * RelationGetNumberOfAttributes(rel));

	if (!NOT_NULL_HAS_NAMES)
		return result;
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintRelidTypidNameIndexId,
													 Anum_pg_constraint_conrelid, RelationGetRelid(rel)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(row->tuple);
		int16		attno;

		if (form->contype != CONSTRAINT_NOTNULL)
			continue;
		attno = *(int16 *) ARR_DATA_PTR(DatumGetArrayTypeP(row->values[Anum_pg_constraint_conkey - 1]));
		result[attno - 1] = (NotNull) {form->oid, pstrdup(NameStr(form->conname)), form->convalidated, form->connoinherit};
	}
	return result;
}

static void
add_check(Definition *def, Form_pg_constraint con)
{
	if (con->contype == CONSTRAINT_CHECK || (con->contype == CONSTRAINT_NOTNULL && !con->convalidated))
		definition_add(def, "%s", pg_get_constraintdef_command(con->oid));
}

static void
add_index_constraint(Definition *def, Form_pg_constraint con)
{
	if (con->contype == CONSTRAINT_PRIMARY || con->contype == CONSTRAINT_UNIQUE ||
		con->contype == CONSTRAINT_EXCLUSION)
		definition_add(def, "%s", pg_get_constraintdef_command(con->oid));
}

static void
add_foreign_key(Definition *def, Form_pg_constraint con)
{
	if (con->contype == CONSTRAINT_FOREIGN && !OidIsValid(con->conparentid))
		definition_add(def, "%s", pg_get_constraintdef_command(con->oid));
}

void
definition_checks(Definition *def)
{
	for_each_constraint(def, add_check);
}

void
definition_index_constraints(Definition *def)
{
	for_each_constraint(def, add_index_constraint);
}

static void
add_shard_foreign_key(Definition *def, Form_pg_constraint con)
{
	if (!constraint_becomes_global(con->oid))
		add_foreign_key(def, con);
}

List *
shard_foreign_key_commands(Oid relid)
{
	Definition *def = definition_begin(relid, false);

	if (!table_of_extension(relid))
		for_each_constraint(def, add_shard_foreign_key);
	return definition_end(def);
}

/* The name of the key that an inherited one comes from in the end. */
static char *
root_key_name(Form_pg_constraint con)
{
	HeapTuple	tuple = catalog_tuple(CONSTROID, con->conparentid, "constraint");
	Form_pg_constraint parent = (Form_pg_constraint) GETSTRUCT(tuple);
	char	   *name = OidIsValid(parent->conparentid) ? root_key_name(parent) : pstrdup(NameStr(parent->conname));

	ReleaseSysCache(tuple);
	return name;
}

/*
 * A key that a partition inherits is made with the partitioned table's, and
 * named as that; it has another name if the partition had it before.
 */
static void
add_table_foreign_key(Definition *def, Form_pg_constraint con)
{
	add_foreign_key(def, con);
	if (con->contype == CONSTRAINT_FOREIGN && OidIsValid(con->conparentid) && foreign_key_whole(con->oid) == con->oid &&
		strcmp(root_key_name(con), NameStr(con->conname)) != 0)
		definition_add(def, "ALTER TABLE %s RENAME CONSTRAINT %s TO %s", relation_qualified_name(con->conrelid),
					   quote_identifier(root_key_name(con)), quote_identifier(NameStr(con->conname)));
}

List *
table_foreign_key_commands(Oid relid)
{
	Definition *def = definition_begin(relid, false);

	if (!table_of_extension(relid))
		for_each_constraint(def, add_table_foreign_key);
	return definition_end(def);
}

/* Statistics targets of an index' expression columns. */
static void
index_statistics_targets(Definition *def, Oid indexid, int natts)
{
	for (int attno = 1; attno <= natts; attno++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(indexid), Int16GetDatum(attno));
		Datum		target;
		bool		isnull;

		if (!HeapTupleIsValid(tuple))
			continue;
		target = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attstattarget, &isnull);
		if (!isnull && compat_stats_target(target) >= 0)
			definition_add(def, "ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d",
						   relation_qualified_name(indexid), attno, compat_stats_target(target));
		ReleaseSysCache(tuple);
	}
}

/*
 * Indexes that are not part of a constraint, except invalid ones; and which
 * index the table is clustered on.
 */
void
definition_indexes(Definition *def)
{
	foreach_oid(indexid, RelationGetIndexList(def->rel))
	{
		HeapTuple	tuple = catalog_tuple(INDEXRELID, indexid, "index");
		Form_pg_index form;

		form = (Form_pg_index) GETSTRUCT(tuple);
		if (form->indisvalid)
		{
			if (!OidIsValid(get_index_constraint(indexid)))
				definition_add(def, "%s", pg_get_indexdef_string(indexid));
			index_statistics_targets(def, indexid, form->indnatts);
			if (form->indisclustered)
				definition_add(def, "ALTER TABLE %s CLUSTER ON %s", def->name,
							   quote_identifier(get_rel_name(indexid)));
		}
		ReleaseSysCache(tuple);
	}
}

void
definition_replica_identity(Definition *def)
{
	switch (def->rel->rd_rel->relreplident)
	{
		case REPLICA_IDENTITY_FULL:
			definition_add(def, "ALTER TABLE %s REPLICA IDENTITY FULL", def->name);
			break;
		case REPLICA_IDENTITY_NOTHING:
			definition_add(def, "ALTER TABLE %s REPLICA IDENTITY NOTHING", def->name);
			break;
		case REPLICA_IDENTITY_INDEX:
			{
				Oid			indexid = RelationGetReplicaIndex(def->rel);

				if (OidIsValid(indexid))
					definition_add(def, "ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", def->name,
								   quote_identifier(get_rel_name(indexid)));
				break;
			}
		default:
			break;
	}
}

/* Extended statistics. */
void
definition_statistics(Definition *def)
{
	foreach_oid(statistics, RelationGetStatExtList(def->rel))
	{
		HeapTuple	tuple = catalog_tuple(STATEXTOID, statistics, "statistics object");
		Form_pg_statistic_ext form;
		const char *name;
		Datum		target;
		bool		isnull;

		form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
		name = quote_qualified_identifier(get_namespace_name(form->stxnamespace), NameStr(form->stxname));
		if (!def->for_shard)
			definition_schema(def, form->stxnamespace);
		definition_add(def, "%s", pg_get_statisticsobjdef_string(form->oid));
		target = SysCacheGetAttr(STATEXTOID, tuple, Anum_pg_statistic_ext_stxstattarget, &isnull);
		if (!isnull && compat_stats_target(target) >= 0)
			definition_add(def, "ALTER STATISTICS %s SET STATISTICS %d", name, compat_stats_target(target));
		definition_add(def, "ALTER STATISTICS %s OWNER TO %s", name,
					   quote_identifier(GetUserNameFromId(form->stxowner, false)));
		ReleaseSysCache(tuple);
	}
}

/* Appends the roles of a policy. */
static void
append_policy_roles(StringInfo buf, Datum roles)
{
	Datum	   *elements;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(roles), OIDOID, sizeof(Oid), true, TYPALIGN_INT, &elements, NULL, &count);
	for (int i = 0; i < count; i++)
	{
		Oid			role = DatumGetObjectId(elements[i]);

		appendStringInfo(buf, "%s%s", i == 0 ? "" : ", ",
						 role == ACL_ID_PUBLIC ? "PUBLIC" : quote_identifier(GetUserNameFromId(role, false)));
	}
}

/* Appends USING or WITH CHECK of a policy, unless it is null. */
static void
append_policy_qual(StringInfo buf, Definition *def, const CatalogRow *row, AttrNumber attno, const char *clause)
{
	if (row->nulls[attno - 1])
		return;
	appendStringInfo(buf, " %s (%s)", clause, definition_expression(def, TextDatumGetCString(row->values[attno - 1])));
}

/* CREATE POLICY. */
static char *
policy_command(Definition *def, const CatalogRow *row)
{
	static const struct
	{
		char		code;
		const char *name;
	}			commands[] = {
		{ACL_SELECT_CHR, "SELECT"},
		{ACL_INSERT_CHR, "INSERT"},
		{ACL_UPDATE_CHR, "UPDATE"},
		{ACL_DELETE_CHR, "DELETE"},
	};
	Form_pg_policy form = (Form_pg_policy) GETSTRUCT(row->tuple);
	const char *command = "ALL";
	StringInfoData buf;

	for (int i = 0; i < lengthof(commands); i++)
	{
		if (commands[i].code == form->polcmd)
			command = commands[i].name;
	}
	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE POLICY %s ON %s AS %s FOR %s TO ",
					 quote_identifier(NameStr(form->polname)), def->name,
					 form->polpermissive ? "PERMISSIVE" : "RESTRICTIVE", command);
	append_policy_roles(&buf, row->values[Anum_pg_policy_polroles - 1]);
	append_policy_qual(&buf, def, row, Anum_pg_policy_polqual, "USING");
	append_policy_qual(&buf, def, row, Anum_pg_policy_polwithcheck, "WITH CHECK");
	return buf.data;
}

/*
 * Row level security.  Queries get the logical table's policies before its
 * shards replace it, so a shard has none: row security is enabled there so
 * that only the owner can read it directly.
 */
void
definition_row_security(Definition *def)
{
	if (def->rel->rd_rel->relrowsecurity)
		definition_add(def, "ALTER TABLE %s ENABLE ROW LEVEL SECURITY", def->name);
	if (def->for_shard)
		return;
	if (def->rel->rd_rel->relforcerowsecurity)
		definition_add(def, "ALTER TABLE %s FORCE ROW LEVEL SECURITY", def->name);
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(PolicyRelationId, PolicyPolrelidPolnameIndexId,
													 Anum_pg_policy_polrelid, RelationGetRelid(def->rel)))
		definition_add(def, "%s", policy_command(def, row));
}

/* COMMENT ON kind name, if the object has a comment. */
static void
add_comment(Definition *def, Oid objid, Oid classid, int32 subid, const char *kind, const char *name)
{
	char	   *comment = GetComment(objid, classid, subid);

	if (comment != NULL)
		definition_add(def, "COMMENT ON %s %s IS %s", kind, name, quote_literal_cstr(comment));
}

static void
constraint_comment(Definition *def, Form_pg_constraint con)
{
	if (con->contype != CONSTRAINT_FOREIGN && con->contype != CONSTRAINT_TRIGGER)
		add_comment(def, con->oid, ConstraintRelationId, 0, "CONSTRAINT",
					psprintf("%s ON %s", quote_identifier(NameStr(con->conname)), def->name));
}

/*
 * Comments on the table, its columns, constraints, indexes and statistics
 * objects.
 */
void
definition_comments(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);

	add_comment(def, RelationGetRelid(def->rel), RelationRelationId, 0, "TABLE", def->name);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped)
			add_comment(def, RelationGetRelid(def->rel), RelationRelationId, att->attnum, "COLUMN",
						psprintf("%s.%s", def->name, quote_identifier(NameStr(att->attname))));
	}
	for_each_constraint(def, constraint_comment);
	foreach_oid(index, RelationGetIndexList(def->rel))
		add_comment(def, index, RelationRelationId, 0, "INDEX",
					relation_qualified_name(index));
}
