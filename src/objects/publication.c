/*-------------------------------------------------------------------------
 *
 * publication.c
 *	  The definition of a publication.
 *
 * When the last local table of a publication is distributed, the other nodes
 * get the publication (dependents.c).  They may already have it: if a table
 * was made local before, the publication stayed there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_rel.h"
#include "commands/comment.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "compat/published_generated.h"
#include "compat/published_tables.h"
#include "objects/publication.h"

Oid
publication_of_member(Oid member)
{
	HeapTuple	tuple = catalog_tuple(PUBLICATIONREL, member, "publication table");
	Oid			result;

	result = ((Form_pg_publication_rel) GETSTRUCT(tuple))->prpubid;
	ReleaseSysCache(tuple);
	return result;
}

/* Appends the list of columns, if there is one. */
static void
append_published_columns(StringInfo buf, Oid relid, HeapTuple member)
{
	bool		isnull;
	Datum		attrs = SysCacheGetAttr(PUBLICATIONRELMAP, member, Anum_pg_publication_rel_prattrs, &isnull);
	int2vector *columns;

	if (isnull)
		return;
	columns = (int2vector *) DatumGetPointer(attrs);
	for (int i = 0; i < columns->dim1; i++)
		appendStringInfo(buf, "%s%s", i == 0 ? " (" : ", ", quote_identifier(get_attname(relid, columns->values[i], false)));
	appendStringInfoChar(buf, ')');
}

/* Appends a table, with its columns and its filter. */
static void
append_published_table(StringInfo buf, Oid publication, Oid relid)
{
	HeapTuple	member = SearchSysCache2(PUBLICATIONRELMAP, ObjectIdGetDatum(relid), ObjectIdGetDatum(publication));
	bool		isnull;
	Datum		filter;

	if (!HeapTupleIsValid(member))
		elog(ERROR, "cache lookup failed for table %u of publication %u", relid, publication);
	appendStringInfo(buf, "TABLE ONLY %s", relation_qualified_name(relid));
	append_published_columns(buf, relid, member);
	filter = SysCacheGetAttr(PUBLICATIONRELMAP, member, Anum_pg_publication_rel_prqual, &isnull);
	if (!isnull)
		appendStringInfo(buf, " WHERE (%s)",
						 TextDatumGetCString(DirectFunctionCall2(pg_get_expr, filter, ObjectIdGetDatum(relid))));
	ReleaseSysCache(member);
}

/* The published kinds of changes. */
static char *
published_actions(Form_pg_publication form)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%s%s%s%s", form->pubinsert ? ", insert" : "", form->pubupdate ? ", update" : "",
					 form->pubdelete ? ", delete" : "", form->pubtruncate ? ", truncate" : "");
	return buf.len == 0 ? buf.data : buf.data + 2;
}

void
definition_publication(Definition *def, Oid publication)
{
	HeapTuple	tuple = catalog_tuple(PUBLICATIONOID, publication, "publication");
	Form_pg_publication form;
	const char *name;
	char	   *comment = GetComment(publication, PublicationRelationId, 0);
	const char *separator = " FOR ";
	StringInfoData buf;

	form = (Form_pg_publication) GETSTRUCT(tuple);
	name = quote_identifier(NameStr(form->pubname));
	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE PUBLICATION %s", name);
	foreach_oid(relid, GetIncludedPublicationRelations(publication, PUBLICATION_PART_ROOT))
	{
		appendStringInfoString(&buf, separator);
		append_published_table(&buf, publication, relid);
		separator = ", ";
	}
	foreach_oid(schema, GetPublicationSchemas(publication))
	{
		appendStringInfo(&buf, "%sTABLES IN SCHEMA %s", separator, quote_identifier(get_namespace_name(schema)));
		separator = ", ";
	}
	appendStringInfo(&buf, " WITH (publish = %s, publish_via_partition_root = %s%s)",
					 quote_literal_cstr(published_actions(form)), form->pubviaroot ? "true" : "false",
					 compat_published_generated(form));
	definition_add(def, "DROP PUBLICATION IF EXISTS %s", name);
	definition_add(def, "%s", buf.data);
	definition_add(def, "%s", owner_command("PUBLICATION", name, form->pubowner));
	if (comment != NULL)
		definition_add(def, "COMMENT ON PUBLICATION %s IS %s", name, quote_literal_cstr(comment));
	ReleaseSysCache(tuple);
}
