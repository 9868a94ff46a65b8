/*-------------------------------------------------------------------------
 *
 * definition_needs.c
 *	  Writes the objects that must exist before a table: schemas, types,
 *	  collations, sequences.
 *
 * Each is created only where it is missing (if_missing.c).  Members of an
 * extension are left to CREATE EXTENSION.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_range.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "catalog/catalog_rows.h"
#include "compat/collation.h"
#include "compat/constraint.h"
#include "compat/identity_sequence.h"
#include "table/definition.h"
#include "table/sequence.h"

/* Quoted, schema-qualified name of a relation. */
char *
relation_qualified_name(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name);
}

bool
definition_is_needed(Oid classid, Oid objid)
{
	return objid >= FirstNormalObjectId && !OidIsValid(getExtensionOfObject(classid, objid));
}

/* Owner and definition in one text; the definition is in commands. */
static char *
identity_text(const char *kind, const char *name, Oid owner, List *commands)
{
	StringInfoData buf;
	ListCell   *cell;

	initStringInfo(&buf);
	appendStringInfoString(&buf, owner_command(kind, name, owner));
	foreach(cell, commands)
		appendStringInfo(&buf, "; %s", (char *) lfirst(cell));
	return buf.data;
}

void
definition_add_object(Definition *def, const char *kind, const char *name, List *commands, Datum acl, bool acl_isnull,
					  Oid owner)
{
	char	   *identity = identity_text(kind, name, owner, commands);

	commands = privilege_commands(commands, kind, name, acl, acl_isnull, owner);
	definition_add_if_missing(def, asc_tolower(kind, strlen(kind)), name, identity, commands);
}

void
definition_schema(Definition *def, Oid schema)
{
	HeapTuple	tuple;
	const char *name;
	Datum		acl;
	bool		isnull;

	if (list_member_oid(def->schemas_done, schema))
		return;
	def->schemas_done = lappend_oid(def->schemas_done, schema);
	if (!definition_is_needed(NamespaceRelationId, schema))
		return;

	tuple = catalog_tuple(NAMESPACEOID, schema, "schema");
	name = quote_identifier(NameStr(((Form_pg_namespace) GETSTRUCT(tuple))->nspname));
	acl = SysCacheGetAttr(NAMESPACEOID, tuple, Anum_pg_namespace_nspacl, &isnull);
	definition_add_object(def, "SCHEMA", name, list_make1(psprintf("CREATE SCHEMA %s", name)), acl, isnull,
			   ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner);
	ReleaseSysCache(tuple);
}

/* Appends ", NAME = 'value'" unless the column is null. */
static void
append_collation_option(StringInfo buf, HeapTuple tuple, AttrNumber attno, const char *name)
{
	bool		isnull;
	Datum		datum = SysCacheGetAttr(COLLOID, tuple, attno, &isnull);

	if (!isnull)
		appendStringInfo(buf, ", %s = %s", name, quote_literal_cstr(TextDatumGetCString(datum)));
}

/* The options of CREATE COLLATION; palloc'd. */
static char *
collation_options(HeapTuple tuple)
{
	Form_pg_collation form = (Form_pg_collation) GETSTRUCT(tuple);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "PROVIDER = %s, DETERMINISTIC = %s",
					 form->collprovider == COLLPROVIDER_LIBC ? "libc" :
					 form->collprovider == COLLPROVIDER_ICU ? "icu" : "builtin",
					 form->collisdeterministic ? "true" : "false");
	append_collation_option(&buf, tuple, Anum_pg_collation_colllocale, "LOCALE");
	append_collation_option(&buf, tuple, Anum_pg_collation_collcollate, "LC_COLLATE");
	append_collation_option(&buf, tuple, Anum_pg_collation_collctype, "LC_CTYPE");
	if (Anum_pg_collation_collicurules != InvalidAttrNumber)
		append_collation_option(&buf, tuple, Anum_pg_collation_collicurules, "RULES");
	return buf.data;
}

void
definition_collation(Definition *def, Oid collation)
{
	HeapTuple	tuple;
	Form_pg_collation form;
	char	   *name;

	if (!OidIsValid(collation) || list_member_oid(def->types_done, collation))
		return;
	def->types_done = lappend_oid(def->types_done, collation);
	if (!definition_is_needed(CollationRelationId, collation))
		return;

	tuple = catalog_tuple(COLLOID, collation, "collation");
	form = (Form_pg_collation) GETSTRUCT(tuple);
	definition_schema(def, form->collnamespace);
	name = generate_collation_name(collation);
	definition_add_object(def, "COLLATION", name,
			   list_make1(psprintf("CREATE COLLATION %s (%s)", name, collation_options(tuple))),
			   (Datum) 0, true, form->collowner);
	ReleaseSysCache(tuple);
}

/* Labels of an enum in their order: CREATE TYPE .. AS ENUM. */
static char *
enum_command(Oid typid, const char *name)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE TYPE %s AS ENUM (", name);
	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(EnumRelationId, EnumTypIdSortOrderIndexId,
													 Anum_pg_enum_enumtypid, typid))
		appendStringInfo(&buf, "%s%s", foreach_current_index(row) == 0 ? "" : ", ",
						 quote_literal_cstr(NameStr(((Form_pg_enum) GETSTRUCT(row->tuple))->enumlabel)));
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

static int
compare_texts(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/*
 * CREATE DOMAIN and its constraints, in an order that is the same on all
 * nodes.
 */
static List *
domain_commands(Definition *def, HeapTuple type_tuple, const char *name)
{
	Form_pg_type form = (Form_pg_type) GETSTRUCT(type_tuple);
	StringInfoData buf;
	List	   *constraints = NIL;
	bool		named = false;	/* is NOT NULL one of them? */
	Datum		datum;
	bool		isnull;

	definition_type(def, form->typbasetype);
	definition_collation(def, form->typcollation);

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE DOMAIN %s AS %s", name,
					 format_type_with_typemod(form->typbasetype, form->typtypmod));
	if (OidIsValid(form->typcollation) && form->typcollation != get_typcollation(form->typbasetype))
		appendStringInfo(&buf, " COLLATE %s", generate_collation_name(form->typcollation));
	datum = SysCacheGetAttr(TYPEOID, type_tuple, Anum_pg_type_typdefaultbin, &isnull);
	if (!isnull)
		appendStringInfo(&buf, " DEFAULT %s",
						 deparse_expression(stringToNode(TextDatumGetCString(datum)), NIL, false, false));

	foreach_ptr(CatalogRow, row, catalog_rows_by_oid(ConstraintRelationId, ConstraintTypidIndexId,
													 Anum_pg_constraint_contypid, form->oid))
	{
		Form_pg_constraint con = (Form_pg_constraint) GETSTRUCT(row->tuple);

		named |= (con->contype == CONSTRAINT_NOTNULL);
		constraints = lappend(constraints, pg_get_constraintdef_command(con->oid));
	}
	if (form->typnotnull && !named)
		appendStringInfoString(&buf, " NOT NULL");
	list_sort(constraints, compare_texts);
	return lcons(buf.data, constraints);
}

/* CREATE TYPE .. AS (columns). */
static char *
composite_command(Definition *def, Oid relid, const char *name)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData buf;
	bool		first = true;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE TYPE %s AS (", name);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		definition_type(def, att->atttypid);
		definition_collation(def, att->attcollation);
		appendStringInfo(&buf, "%s%s %s", first ? "" : ", ", quote_identifier(NameStr(att->attname)),
						 format_type_with_typemod(att->atttypid, att->atttypmod));
		if (OidIsValid(att->attcollation) && att->attcollation != get_typcollation(att->atttypid))
			appendStringInfo(&buf, " COLLATE %s", generate_collation_name(att->attcollation));
		first = false;
	}
	relation_close(rel, AccessShareLock);
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

/* CREATE TYPE .. AS RANGE. */
static char *
range_command(Definition *def, Oid typid, const char *name)
{
	HeapTuple	tuple = catalog_tuple(RANGETYPE, typid, "range type");
	Form_pg_range form;
	StringInfoData buf;

	form = (Form_pg_range) GETSTRUCT(tuple);
	definition_type(def, form->rngsubtype);
	definition_collation(def, form->rngcollation);

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE TYPE %s AS RANGE (SUBTYPE = %s, SUBTYPE_OPCLASS = %s", name,
					 format_type_be_qualified(form->rngsubtype), generate_opclass_name(form->rngsubopc));
	if (OidIsValid(form->rngcollation))
		appendStringInfo(&buf, ", COLLATION = %s", generate_collation_name(form->rngcollation));
	if (OidIsValid(form->rngsubdiff))
		appendStringInfo(&buf, ", SUBTYPE_DIFF = %s",
						 quote_qualified_identifier(get_namespace_name(get_func_namespace(form->rngsubdiff)),
													get_func_name(form->rngsubdiff)));
	if (OidIsValid(form->rngmultitypid))
		appendStringInfo(&buf, ", MULTIRANGE_TYPE_NAME = %s", format_type_be_qualified(form->rngmultitypid));
	appendStringInfoChar(&buf, ')');
	ReleaseSysCache(tuple);
	return buf.data;
}

/* Writes the types that a type consists of, and then the type. */
void
definition_type(Definition *def, Oid typid)
{
	Oid			element = get_element_type(typid);
	HeapTuple	tuple;
	Form_pg_type form;
	const char *name;
	List	   *commands = NIL;
	Datum		acl;
	bool		isnull;

	if (OidIsValid(element))
	{
		definition_type(def, element);
		return;
	}
	if (list_member_oid(def->types_done, typid))
		return;
	def->types_done = lappend_oid(def->types_done, typid);
	if (!definition_is_needed(TypeRelationId, typid))
		return;

	tuple = catalog_tuple(TYPEOID, typid, "type");
	form = (Form_pg_type) GETSTRUCT(tuple);
	definition_schema(def, form->typnamespace);
	name = quote_qualified_identifier(get_namespace_name(form->typnamespace), NameStr(form->typname));

	if (form->typtype == TYPTYPE_ENUM)
		commands = list_make1(enum_command(typid, name));
	else if (form->typtype == TYPTYPE_DOMAIN)
		commands = domain_commands(def, tuple, name);
	else if (form->typtype == TYPTYPE_COMPOSITE && get_rel_relkind(form->typrelid) == RELKIND_COMPOSITE_TYPE)
		commands = list_make1(composite_command(def, form->typrelid, name));
	else if (form->typtype == TYPTYPE_RANGE)
		commands = list_make1(range_command(def, typid, name));
	else if (form->typtype == TYPTYPE_MULTIRANGE)
		definition_type(def, get_multirange_range(typid));

	if (commands != NIL)
	{
		acl = SysCacheGetAttr(TYPEOID, tuple, Anum_pg_type_typacl, &isnull);
		definition_add_object(def, "TYPE", name, commands, acl, isnull, form->typowner);
	}
	ReleaseSysCache(tuple);
}

/*
 * Options of a sequence, each with a blank before it, as CREATE SEQUENCE and
 * identity columns take them.
 */
char *
sequence_options_text(Oid seqid)
{
	HeapTuple	tuple = catalog_tuple(SEQRELID, seqid, "sequence");
	Form_pg_sequence form;
	char	   *result;

	form = (Form_pg_sequence) GETSTRUCT(tuple);
	result = psprintf(" INCREMENT BY " INT64_FORMAT " MINVALUE " INT64_FORMAT " MAXVALUE " INT64_FORMAT
					  " START WITH " INT64_FORMAT " CACHE " INT64_FORMAT " %sCYCLE",
					  form->seqincrement, form->seqmin, form->seqmax, form->seqstart, form->seqcache,
					  form->seqcycle ? "" : "NO ");
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Writes one sequence, which continues after this node's values
 * (../objects/sequence_values.c).
 */
void
definition_sequence(Definition *def, Oid seqid)
{
	HeapTuple	tuple;
	Form_pg_class form;
	HeapTuple	seq_tuple;
	char	   *name = relation_qualified_name(seqid);
	char	   *type;
	List	   *commands;
	Datum		acl;
	bool		isnull;

	if (list_member_oid(def->sequences_done, seqid) || get_rel_relkind(seqid) != RELKIND_SEQUENCE)
		return;
	def->sequences_done = lappend_oid(def->sequences_done, seqid);

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(seqid));
	seq_tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(seqid));
	if (!HeapTupleIsValid(tuple) || !HeapTupleIsValid(seq_tuple))
		elog(ERROR, "cache lookup failed for sequence %u", seqid);
	form = (Form_pg_class) GETSTRUCT(tuple);
	definition_schema(def, form->relnamespace);
	type = psprintf("CREATE %sSEQUENCE %s AS %s",
					form->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED " : "", name,
					format_type_be(((Form_pg_sequence) GETSTRUCT(seq_tuple))->seqtypid));
	commands = list_make2(psprintf("%s%s", type, sequence_options_text(seqid)),
						  sequence_adopt_command(seqid));
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	commands = privilege_commands(commands, "SEQUENCE", name, acl, isnull, form->relowner);
	definition_add_if_missing(def, "sequence", name,
							  identity_text("SEQUENCE", name, form->relowner, list_make1(type)), commands);
	ReleaseSysCache(seq_tuple);
	ReleaseSysCache(tuple);
}

/* Sequences that a column's default uses. */
static void
definition_default_sequences(Definition *def, AttrNumber attno)
{
	Oid			attrdef = GetAttrDefaultOid(RelationGetRelid(def->rel), attno);

	if (!OidIsValid(attrdef))
		return;
	foreach_ptr(CatalogRow, row, catalog_needs(AttrDefaultRelationId, attrdef))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (depend->refclassid == RelationRelationId && get_rel_relkind(depend->refobjid) == RELKIND_SEQUENCE)
			definition_sequence(def, depend->refobjid);
	}
}

/* Sequences that the table owns (serial), and others in its defaults. */
void
definition_sequences(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);

	foreach_oid(sequence, getOwnedSequences(RelationGetRelid(def->rel)))
	{
		Oid			table;
		int32		column;

		if (sequenceIsOwned(sequence, DEPENDENCY_AUTO, &table, &column))
			definition_sequence(def, sequence);
	}
	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			definition_default_sequences(def, i + 1);
	}
}

/*
 * Called after the table has its owner: writes the ownership of sequences, and
 * the next values of those of identity columns.
 */
void
definition_sequence_owners(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);

	foreach_oid(sequence, def->sequences_done)
	{
		Oid			table;
		int32		column;

		if (sequenceIsOwned(sequence, DEPENDENCY_AUTO, &table, &column) &&
			table == RelationGetRelid(def->rel))
			definition_add(def, "ALTER SEQUENCE %s OWNED BY %s.%s", relation_qualified_name(sequence),
						   def->name, quote_identifier(get_attname(table, column, false)));
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (has_own_identity(def->rel, att))
			definition_add(def, "%s", sequence_adopt_command(getIdentitySequence(def->rel, att->attnum, false)));
	}
}
