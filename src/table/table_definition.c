/*-------------------------------------------------------------------------
 *
 * table_definition.c
 *	  The commands that make a table on another node, or one of its shards.
 *
 * A distributed or reference table is made in the transaction that may also
 * have created the local table, so its definition can't come from a
 * pg_dump-like client: it is read from this backend's catalogs, and written
 * with the server's own deparsers.  They qualify what search_path does not
 * find; search_path is pg_catalog meanwhile, so everything is qualified.
 *
 * Attribute numbers of the copy equal those of the original: a dropped column
 * is created, and dropped again, in its place.
 *
 * definition_needs.c writes the objects that a table needs (schemas, types,
 * sequences), definition_parts.c its parts (constraints, indexes, comments,
 * ...).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
#include "utils/varlena.h"

#include "catalog/catalog_rows.h"
#include "compat/identity_sequence.h"
#include "compat/sql_function.h"
#include "compat/stats_target.h"
#include "table/definition.h"
#include "table/table_definition.h"

/*
 * Sets search_path to pg_catalog until the returned level is given to
 * AtEOXact_GUC.
 */
static int
search_path_pg_catalog(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * Starts a definition: opens the table and sets search_path, both until
 * definition_end.
 */
Definition *
definition_begin(Oid relid, bool for_shard)
{
	Definition *def = palloc0(sizeof(Definition));

	def->rel = table_open(relid, AccessShareLock);
	def->for_shard = for_shard;
	def->guc_level = search_path_pg_catalog();
	def->name = relation_qualified_name(relid);
	return def;
}

/*
 * Ends a definition and returns its commands; the lock on the table is kept.
 */
List *
definition_end(Definition *def)
{
	List	   *commands = def->commands;

	AtEOXact_GUC(true, def->guc_level);
	table_close(def->rel, NoLock);
	return commands;
}

void
definition_add(Definition *def, const char *format,...)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, format);
		needed = appendStringInfoVA(&buf, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&buf, needed);
	}
	def->commands = lappend(def->commands, buf.data);
}

char *
definition_expression(Definition *def, const char *expression)
{
	if (def->names == NIL)
		def->names = deparse_context_for(RelationGetRelationName(def->rel), RelationGetRelid(def->rel));
	return deparse_expression(stringToNode(expression), def->names, false, false);
}

/* The default or generation expression of a column as text, or NULL. */
static char *
column_expression(Definition *def, AttrNumber attno)
{
	const TupleConstr *constr = RelationGetDescr(def->rel)->constr;

	for (int i = 0; constr != NULL && i < constr->num_defval; i++)
	{
		if (constr->defval[i].adnum == attno)
			return definition_expression(def, constr->defval[i].adbin);
	}
	return NULL;
}

/* Appends GENERATED .. AS IDENTITY with the sequence's name and options. */
static void
append_identity(StringInfo buf, Relation rel, Form_pg_attribute att)
{
	Oid			seqid = getIdentitySequence(rel, att->attnum, true);

	if (!OidIsValid(seqid))
		return;
	appendStringInfo(buf, " GENERATED %s AS IDENTITY (SEQUENCE NAME %s%s)",
					 att->attidentity == ATTRIBUTE_IDENTITY_ALWAYS ? "ALWAYS" : "BY DEFAULT",
					 relation_qualified_name(seqid), sequence_options_text(seqid));
}

/*
 * Appends one column as CREATE TABLE has it.  NOT NULL that isn't known to
 * hold is among the checks.
 */
static void
append_column(StringInfo buf, Definition *def, Form_pg_attribute att, const NotNull *not_null)
{
	char	   *expression;

	if (att->attisdropped)
	{
		appendStringInfo(buf, "%s pg_catalog.int4", quote_identifier(NameStr(att->attname)));
		return;
	}

	appendStringInfo(buf, "%s %s", quote_identifier(NameStr(att->attname)),
					 format_type_with_typemod(att->atttypid, att->atttypmod));
	if (CompressionMethodIsValid(att->attcompression))
		appendStringInfo(buf, " COMPRESSION %s", GetCompressionMethodName(att->attcompression));
	if (OidIsValid(att->attcollation) && att->attcollation != get_typcollation(att->atttypid))
		appendStringInfo(buf, " COLLATE %s", generate_collation_name(att->attcollation));

	expression = def->for_shard && !att->attgenerated ? NULL : column_expression(def, att->attnum);
	if (att->attgenerated)
		appendStringInfo(buf, " GENERATED ALWAYS AS (%s) %s", expression,
						 att->attgenerated == ATTRIBUTE_GENERATED_STORED ? "STORED" : "VIRTUAL");
	else if (!def->for_shard && has_own_identity(def->rel, att))
		append_identity(buf, def->rel, att);
	else if (!def->for_shard && expression != NULL)
		appendStringInfo(buf, " DEFAULT %s", expression);
	if (OidIsValid(not_null->constraint) && not_null->valid)
		appendStringInfo(buf, " CONSTRAINT %s NOT NULL%s", quote_identifier(not_null->name),
						 not_null->no_inherit ? " NO INHERIT" : "");
	else if (!OidIsValid(not_null->constraint) && att->attnotnull)
		appendStringInfoString(buf, " NOT NULL");
}

/*
 * Appends "name = value" for each element of a text[] of options.  Options
 * that the server stores there for itself (pg_...) are left out.
 */
static bool
append_options(StringInfo buf, Datum reloptions, const char *prefix, bool first)
{
	foreach_ptr(DefElem, option, untransformRelOptions(reloptions))
	{
		if (strncmp(option->defname, "pg_", 3) == 0)
			continue;
		appendStringInfo(buf, "%s%s%s = %s", first ? "" : ", ", prefix, quote_identifier(option->defname),
						 quote_literal_cstr(defGetString(option)));
		first = false;
	}
	return first;
}

void
definition_append_options(StringInfo buf, Relation rel)
{
	Oid			relids[2] = {RelationGetRelid(rel), rel->rd_rel->reltoastrelid};
	const char *prefixes[2] = {"", "toast."};
	StringInfoData options;
	bool		first = true;

	initStringInfo(&options);
	for (int i = 0; i < 2; i++)
	{
		HeapTuple	tuple;
		Datum		reloptions;
		bool		isnull;

		tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relids[i]));
		if (!HeapTupleIsValid(tuple))
			continue;
		reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
		if (!isnull)
			first = append_options(&options, reloptions, prefixes[i], first);
		ReleaseSysCache(tuple);
	}
	if (!first)
		appendStringInfo(buf, " WITH (%s)", options.data);
}

/*
 * CREATE TABLE with all columns that the table ever had.  Its owner is set
 * next, so that commands that execute user code, such as CREATE INDEX, run it
 * as the owner.
 */
static void
definition_create_table(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);
	const NotNull *not_nulls = not_null_constraints(def->rel);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE %sTABLE %s (",
					 def->rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED " : "",
					 def->name);
	for (int i = 0; i < desc->natts; i++)
	{
		appendStringInfoString(&buf, i == 0 ? "" : ", ");
		append_column(&buf, def, TupleDescAttr(desc, i), &not_nulls[i]);
	}
	appendStringInfoChar(&buf, ')');
	if (def->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		appendStringInfo(&buf, " PARTITION BY %s",
						 TextDatumGetCString(DirectFunctionCall1(pg_get_partkeydef,
																 ObjectIdGetDatum(RelationGetRelid(def->rel)))));
	if (OidIsValid(def->rel->rd_rel->relam))
		appendStringInfo(&buf, " USING %s", quote_identifier(get_am_name(def->rel->rd_rel->relam)));
	definition_append_options(&buf, def->rel);
	if (OidIsValid(def->rel->rd_rel->reltablespace))
		appendStringInfo(&buf, " TABLESPACE %s", quote_identifier(get_tablespace_name(def->rel->rd_rel->reltablespace)));
	definition_add(def, "%s", buf.data);
	definition_add(def, "%s", owner_command("TABLE", def->name, def->rel->rd_rel->relowner));

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			definition_add(def, "ALTER TABLE %s DROP COLUMN %s", def->name,
						   quote_identifier(NameStr(att->attname)));
	}
	if (OidIsValid(def->rel->rd_rel->reloftype) && !def->for_shard)
		definition_add(def, "ALTER TABLE %s OF %s", def->name, format_type_be_qualified(def->rel->rd_rel->reloftype));
}

/*
 * SET STORAGE / STATISTICS / (options) of one column, where they are not the
 * default.
 */
static void
one_column_settings(Definition *def, Form_pg_attribute att)
{
	static const struct
	{
		char		code;
		const char *name;
	}			storages[] = {
		{TYPSTORAGE_PLAIN, "PLAIN"},
		{TYPSTORAGE_EXTERNAL, "EXTERNAL"},
		{TYPSTORAGE_EXTENDED, "EXTENDED"},
		{TYPSTORAGE_MAIN, "MAIN"},
	};
	const char *column = quote_identifier(NameStr(att->attname));
	HeapTuple	tuple;
	Datum		datum;
	bool		isnull;

	if (att->attstorage != get_typstorage(att->atttypid))
	{
		for (int i = 0; i < lengthof(storages); i++)
		{
			if (storages[i].code == att->attstorage)
				definition_add(def, "ALTER TABLE ONLY %s ALTER COLUMN %s SET STORAGE %s", def->name, column,
							   storages[i].name);
		}
	}

	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(def->rel)), Int16GetDatum(att->attnum));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", att->attnum,
			 RelationGetRelid(def->rel));
	datum = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attstattarget, &isnull);
	if (!isnull && compat_stats_target(datum) >= 0)
		definition_add(def, "ALTER TABLE ONLY %s ALTER COLUMN %s SET STATISTICS %d", def->name, column,
					   compat_stats_target(datum));
	datum = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attoptions, &isnull);
	if (!isnull)
	{
		StringInfoData buf;

		initStringInfo(&buf);
		if (!append_options(&buf, datum, "", true))
			definition_add(def, "ALTER TABLE ONLY %s ALTER COLUMN %s SET (%s)", def->name, column,
						   buf.data);
	}
	ReleaseSysCache(tuple);
}

void
definition_column_settings(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);

	for (int i = 0; i < desc->natts; i++)
	{
		if (!TupleDescAttr(desc, i)->attisdropped)
			one_column_settings(def, TupleDescAttr(desc, i));
	}
}

/* ATTACH PARTITION, to a table that was created before. */
static void
definition_attach(Definition *def)
{
	Oid			relid = RelationGetRelid(def->rel);
	HeapTuple	tuple;
	Datum		bound;
	bool		isnull;

	if (!def->rel->rd_rel->relispartition)
		return;
	tuple = catalog_tuple(RELOID, relid, "relation");
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	definition_add(def, "ALTER TABLE %s ATTACH PARTITION %s %s",
				   relation_qualified_name(get_partition_parent(relid, false)), def->name,
				   TextDatumGetCString(DirectFunctionCall2(pg_get_expr, bound, ObjectIdGetDatum(relid))));
	ReleaseSysCache(tuple);
}

/* Privileges of the table, and of its columns. */
static void
definition_privileges(Definition *def)
{
	HeapTuple	tuple;
	Datum		acl;
	bool		isnull;

	tuple = catalog_tuple(RELOID, RelationGetRelid(def->rel), "relation");
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	def->commands = acl_commands(def->commands, "TABLE", def->name, acl, isnull, def->rel->rd_rel->relowner);
	ReleaseSysCache(tuple);
	definition_column_privileges(def);
}

/*
 * Writes the objects that must exist before the table: types, collations,
 * sequences, functions.
 */
static void
definition_needs(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);

	definition_schema(def, RelationGetNamespace(def->rel));
	if (OidIsValid(def->rel->rd_rel->reloftype))
		definition_type(def, def->rel->rd_rel->reloftype);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		definition_type(def, att->atttypid);
		definition_collation(def, att->attcollation);
	}
	definition_called_functions(def);
	definition_sequences(def);
}

/* All parts that require a scan of the table's rows. */
static void
definition_all_indexes(Definition *def)
{
	definition_index_constraints(def);
	definition_indexes(def);
	definition_replica_identity(def);
}

/*
 * The table itself and all its parts, except foreign keys; indexes if
 * requested.
 */
static void
definition_table(Definition *def, bool indexes)
{
	definition_create_table(def);
	definition_column_settings(def);
	definition_checks(def);
	if (indexes)
		definition_all_indexes(def);
	definition_statistics(def);
	definition_row_security(def);
	if (!def->for_shard)
		definition_comments(def);
	definition_privileges(def);
	if (!def->for_shard)
		definition_sequence_owners(def);
	definition_attach(def);
}

bool
table_of_extension(Oid relid)
{
	return OidIsValid(getExtensionOfObject(RelationRelationId, relid));
}

List *
table_definition_commands(Oid relid)
{
	Definition *def = definition_begin(relid, false);

	if (table_of_extension(relid))
	{
		definition_add(def, "DELETE FROM ONLY %s", def->name);
		definition_privileges(def);
		return definition_end(def);
	}
	definition_needs(def);
	definition_table(def, true);
	return definition_end(def);
}

List *
table_shard_commands(Oid relid)
{
	Definition *def = definition_begin(relid, true);

	definition_table(def, true);
	return definition_end(def);
}

List *
table_shard_bare_commands(Oid relid)
{
	Definition *def = definition_begin(relid, true);

	definition_table(def, false);
	return definition_end(def);
}

List *
table_shard_index_commands(Oid relid)
{
	Definition *def = definition_begin(relid, true);

	definition_all_indexes(def);
	return definition_end(def);
}

char *
constraint_definition(Oid constraint)
{
	int			level = search_path_pg_catalog();
	char	   *result = pg_get_constraintdef_command(constraint);

	AtEOXact_GUC(true, level);
	return result;
}

char *
index_definition(Oid index, bool only)
{
	int			level = search_path_pg_catalog();
	char	   *result = only ? TextDatumGetCString(DirectFunctionCall1(pg_get_indexdef, ObjectIdGetDatum(index))) :
		pg_get_indexdef_string(index);

	AtEOXact_GUC(true, level);
	return result;
}

char *
statistics_create_text(Oid statistics)
{
	int			level = search_path_pg_catalog();
	char	   *result = pg_get_statisticsobjdef_string(statistics);

	AtEOXact_GUC(true, level);
	return result;
}

List *
table_needs_commands(Oid relid)
{
	Definition *def = definition_begin(relid, false);

	foreach_oid(sequence, getOwnedSequences(relid))
		def->sequences_done = lappend_oid(def->sequences_done, sequence);
	definition_needs(def);
	return definition_end(def);
}

char *
column_default_definition(Oid relid, AttrNumber attno)
{
	Definition *def = definition_begin(relid, false);
	char	   *result = column_expression(def, attno);

	(void) definition_end(def);
	return result;
}

/* master_get_table_ddl_events(table_name text) */
SQL_FUNCTION(master_get_table_ddl_events);
Datum
master_get_table_ddl_events(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *names = textToQualifiedNameList(PG_GETARG_TEXT_PP(0));
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, table_definition_commands(RangeVarGetRelid(makeRangeVarFromNameList(names), AccessShareLock, false)))
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));
		bool		isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
	return (Datum) 0;
}
