/*-------------------------------------------------------------------------
 *
 * dependents.c
 *	  Creates dependent objects of a table on all nodes when the table is
 *	  distributed.
 *
 * A view on a local table, or a function with the table's row type, is on the
 * table's node only (object_scope.c).  When the table is distributed, the
 * object is created on the other nodes too, from its definition in the
 * catalogs.  definers[] has the kinds for which that is possible; others cause
 * a warning.
 *
 * Commands run with the rights of the user, here as elsewhere; so objects of
 * owners for whom the user can't act are left out, also with a warning.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_publication_rel.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/comment.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/object_scope.h"
#include "objects/dependents.h"
#include "objects/publication.h"
#include "table/definition.h"
#include "table/table_definition.h"

static Datum
call_by_oid(PGFunction function, Oid oid)
{
	return DirectFunctionCall1(function, ObjectIdGetDatum(oid));
}

/* Rules and triggers of a view other than its _RETURN rule. */
static void
define_view_parts(Definition *def)
{
	RuleLock   *rules = def->rel->rd_rules;
	TriggerDesc *triggers = def->rel->trigdesc;

	for (int i = 0; rules != NULL && i < rules->numLocks; i++)
	{
		if (rules->rules[i]->event != CMD_SELECT)
			definition_add(def, "%s", TextDatumGetCString(call_by_oid(pg_get_ruledef, rules->rules[i]->ruleId)));
	}
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (!triggers->triggers[i].tgisinternal)
			definition_add(def, "%s", TextDatumGetCString(call_by_oid(pg_get_triggerdef, triggers->triggers[i].tgoid)));
	}
}

/* The statement that makes a view; of a materialized one without its rows. */
static char *
view_command(Relation rel, const char *name)
{
	bool		has_rows = (rel->rd_rel->relkind == RELKIND_MATVIEW);
	char	   *query = TextDatumGetCString(call_by_oid(pg_get_viewdef, RelationGetRelid(rel)));
	StringInfoData buf;

	query[strlen(query) - 1] = '\0';	/* a semicolon */
	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE %sVIEW %s", has_rows ? "MATERIALIZED " : "", name);
	if (has_rows)
		appendStringInfo(&buf, " USING %s", quote_identifier(get_am_name(rel->rd_rel->relam)));
	definition_append_options(&buf, rel);
	appendStringInfo(&buf, " AS %s%s", query, has_rows ? " WITH NO DATA" : "");
	return buf.data;
}

/* A view, materialized or not. */
static void
define_view(Definition *def, const ObjectAddress *object)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(object->objectId));
	Definition	view = {table_open(object->objectId, AccessShareLock), relation_qualified_name(object->objectId)};
	TupleDesc	desc = RelationGetDescr(view.rel);
	char	   *comment = GetComment(object->objectId, RelationRelationId, 0);
	bool		isnull;
	Datum		acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);

	definition_add(&view, "%s", view_command(view.rel, view.name));
	definition_add(&view, "%s", owner_command("TABLE", view.name, view.rel->rd_rel->relowner));
	for (int i = 0; i < desc->natts; i++)
	{
		char	   *default_text = column_default_definition(object->objectId, i + 1);
		char	   *column_comment = GetComment(object->objectId, RelationRelationId, i + 1);
		const char *column = quote_identifier(NameStr(TupleDescAttr(desc, i)->attname));

		if (default_text != NULL)
			definition_add(&view, "ALTER VIEW %s ALTER COLUMN %s SET DEFAULT %s", view.name, column, default_text);
		if (column_comment != NULL)
			definition_add(&view, "COMMENT ON COLUMN %s.%s IS %s", view.name, column,
						   quote_literal_cstr(column_comment));
	}
	define_view_parts(&view);
	if (view.rel->rd_rel->relkind == RELKIND_MATVIEW)
	{
		definition_column_settings(&view);
		definition_indexes(&view);
		definition_statistics(&view);
	}
	view.commands = acl_commands(view.commands, "TABLE", view.name, acl, isnull, view.rel->rd_rel->relowner);
	definition_column_privileges(&view);
	if (comment != NULL)
		definition_add(&view, "COMMENT ON %s %s IS %s",
					   view.rel->rd_rel->relkind == RELKIND_VIEW ? "VIEW" : "MATERIALIZED VIEW", view.name,
					   quote_literal_cstr(comment));
	table_close(view.rel, NoLock);
	ReleaseSysCache(tuple);
	def->commands = list_concat(def->commands, view.commands);
}

static void
define_function(Definition *def, const ObjectAddress *object)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(object->objectId));
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(tuple);
	const char *kind = form->prokind == PROKIND_PROCEDURE ? "PROCEDURE" : "FUNCTION";
	char	   *command = TextDatumGetCString(call_by_oid(pg_get_functiondef, object->objectId));
	char	   *replace = strstr(command, "OR REPLACE ");
	char	   *name = format_procedure_qualified(object->objectId);
	char	   *comment = GetComment(object->objectId, ProcedureRelationId, 0);
	bool		isnull;
	Datum		acl = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proacl, &isnull);

	/* an existing one may belong to any role */
	memset(replace, ' ', strlen("OR REPLACE"));
	definition_add(def, "%s", command);
	def->commands = privilege_commands(def->commands, kind, name, acl, isnull, form->proowner);
	if (comment != NULL)
		definition_add(def, "COMMENT ON %s %s IS %s", kind, name, quote_literal_cstr(comment));
	ReleaseSysCache(tuple);
}

static void
define_type(Definition *def, const ObjectAddress *object)
{
	definition_type(def, object->objectId);
}

static void
define_publication(Definition *def, const ObjectAddress *object)
{
	definition_publication(def, object->objectId);
}

/* The kinds of objects that can be defined from the catalogs. */
static const struct
{
	Oid			classid;
	char		kind;			/* relkind, prokind or typtype */
	void		(*define) (Definition *def, const ObjectAddress *object);
}			definers[] = {
	{RelationRelationId, RELKIND_VIEW, define_view},
	{RelationRelationId, RELKIND_MATVIEW, define_view},
	{ProcedureRelationId, PROKIND_FUNCTION, define_function},
	{ProcedureRelationId, PROKIND_PROCEDURE, define_function},
	{TypeRelationId, TYPTYPE_COMPOSITE, define_type},
	{TypeRelationId, TYPTYPE_DOMAIN, define_type},
	{TypeRelationId, TYPTYPE_RANGE, define_type},
	{PublicationRelationId, '\0', define_publication},
};

static char
kind_of_object(const ObjectAddress *object)
{
	switch (object->classId)
	{
		case RelationRelationId:
			return get_rel_relkind(object->objectId);
		case ProcedureRelationId:
			return get_func_prokind(object->objectId);
		case TypeRelationId:
			return get_typtype(object->objectId);
		default:
			return '\0';
	}
}

/* Writes the object's commands; false if that can't be done. */
static bool
define_object(Definition *def, const ObjectAddress *object)
{
	char		kind = kind_of_object(object);

	for (int i = 0; i < lengthof(definers); i++)
	{
		if (definers[i].classid != object->classId || definers[i].kind != kind)
			continue;
		definers[i].define(def, object);
		return true;
	}
	return false;
}

/* Whether the user may make an object for its owner. */
static bool
may_act_for_owner(const ObjectAddress *object)
{
	HeapTuple	tuple;
	bool		isnull;
	Oid			owner;

	if (get_object_catcache_oid(object->classId) < 0 || get_object_attnum_owner(object->classId) == InvalidAttrNumber)
		return true;
	tuple = SearchSysCache1(get_object_catcache_oid(object->classId), ObjectIdGetDatum(object->objectId));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for object %u of class %u", object->objectId, object->classId);
	owner = DatumGetObjectId(SysCacheGetAttr(get_object_catcache_oid(object->classId), tuple,
											 get_object_attnum_owner(object->classId), &isnull));
	ReleaseSysCache(tuple);
	return has_privs_of_role(GetUserId(), owner);
}

/* How a search for dependents continues from an object. */
typedef enum DependentKind
{
	DEPENDENT_OBJECT,			/* it is one, and others may depend on it */
	DEPENDENT_PASSED,			/* it is created with another, but others may
								 * depend on it */
	DEPENDENT_PART,				/* a part of a table, or of another object */
} DependentKind;

/* The relation of a rule. */
static Oid
relation_of_rule(Oid rule)
{
	Relation	rel = table_open(RewriteRelationId, AccessShareLock);
	HeapTuple	tuple = get_catalog_object_by_oid(rel, Anum_pg_rewrite_oid, rule);

	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple) ? ((Form_pg_rewrite) GETSTRUCT(tuple))->ev_class : InvalidOid;
}

/*
 * A type that is a relation's row type, or an array, follows the relation or
 * element; a composite type is an object.
 */
static DependentKind
kind_of_type(Oid typid)
{
	Oid			relid = get_typ_typrelid(typid);

	if (OidIsValid(get_element_type(typid)) || (OidIsValid(relid) && get_rel_relkind(relid) != RELKIND_COMPOSITE_TYPE))
		return DEPENDENT_PASSED;
	return DEPENDENT_OBJECT;
}

/*
 * Sorts a dependent in; a rule, the relation of a composite type, or a table
 * in a publication, is replaced by the object that it belongs to.
 */
static DependentKind
sort_dependent(ObjectAddress *object)
{
	switch (object->classId)
	{
		case RewriteRelationId:
			ObjectAddressSet(*object, RelationRelationId, relation_of_rule(object->objectId));
			return relation_is_view(object->objectId) ? DEPENDENT_OBJECT : DEPENDENT_PART;
		case RelationRelationId:
			if (get_rel_relkind(object->objectId) == RELKIND_COMPOSITE_TYPE)
			{
				ObjectAddressSet(*object, TypeRelationId, get_rel_type_id(object->objectId));
				return DEPENDENT_OBJECT;
			}
			return relation_is_view(object->objectId) ? DEPENDENT_OBJECT : DEPENDENT_PART;
		case TypeRelationId:
			return kind_of_type(object->objectId);
		case PublicationRelRelationId:
			ObjectAddressSet(*object, PublicationRelationId, publication_of_member(object->objectId));
			return DEPENDENT_OBJECT;
		case ProcedureRelationId:
		case OperatorRelationId:
		case OperatorClassRelationId:
		case OperatorFamilyRelationId:
		case CastRelationId:
			return DEPENDENT_OBJECT;
		default:
			return DEPENDENT_PART;
	}
}

/*
 * Appends to *found (ObjectAddress *) what depends on an object, directly or
 * not, and is not local.
 */
static void
find_dependents(const ObjectAddress *object, List **found, ObjectAddresses *seen)
{
	check_stack_depth();
	foreach_ptr(CatalogRow, row, catalog_dependents(object->classId, object->objectId))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);
		ObjectAddress *dependent = palloc(sizeof(ObjectAddress));
		DependentKind kind;

		ObjectAddressSet(*dependent, depend->classid, depend->objid);
		kind = sort_dependent(dependent);
		if (kind == DEPENDENT_PART || object_address_present(dependent, seen) || object_is_local(dependent))
			continue;
		add_exact_object_address(dependent, seen);
		if (kind == DEPENDENT_OBJECT)
			*found = lappend(*found, dependent);
		find_dependents(dependent, found, seen);
	}
}

/*
 * Writes an object, after those of the others that it needs; removes all these
 * from *left.
 */
static void
define_in_order(Definition *def, const ObjectAddress *object, List **left)
{
	bool		again = true;

	*left = list_delete_ptr(*left, unconstify(ObjectAddress *, object));
	while (again)
	{
		ListCell   *cell;

		again = false;
		foreach(cell, *left)
		{
			if (!object_needs(object, lfirst(cell)))
				continue;
			define_in_order(def, lfirst(cell), left);
			again = true;
			break;
		}
	}
	if (!may_act_for_owner(object) || !define_object(def, object))
		ereport(WARNING,
				(errmsg("%s is not created on the other nodes", getObjectDescription(object, false)),
				 errdetail("It depends on a table that is distributed now, and should be on all nodes."),
				 errhint("Drop it, and create it again as its owner.")));
}

/*
 * The objects that depend on distributed tables, directly or not, each once
 * (ObjectAddress *).
 */
static List *
dependents_of_tables(List *relids)
{
	ObjectAddresses *seen = new_object_addresses();
	List	   *found = NIL;

	foreach_oid(relid, relids)
	{
		ObjectAddress table;

		ObjectAddressSet(table, RelationRelationId, relid);
		find_dependents(&table, &found, seen);
	}
	free_object_addresses(seen);
	return found;
}

List *
table_dependents_commands(List *relids)
{
	Definition *def = definition_begin(linitial_oid(relids), false);
	List	   *left = dependents_of_tables(relids);

	while (left != NIL)
		define_in_order(def, linitial(left), &left);
	return definition_end(def);
}

List *
table_dependent_views(List *relids)
{
	List	   *result = NIL;

	foreach_ptr(const ObjectAddress, object, dependents_of_tables(relids))
		if (object->classId == RelationRelationId && get_rel_relkind(object->objectId) == RELKIND_MATVIEW &&
			may_act_for_owner(object))
			result = lappend_oid(result, object->objectId);
	return result;
}

List *
table_dependents_drop_commands(List *relids)
{
	List	   *commands = NIL;

	foreach_ptr(ObjectAddress, object, dependents_of_tables(relids))
		if (object->classId == TypeRelationId)
			commands = lappend(commands, psprintf("DROP TYPE IF EXISTS %s CASCADE",
												  format_type_be_qualified(object->objectId)));
	return commands;
}
