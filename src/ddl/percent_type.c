/*-------------------------------------------------------------------------
 *
 * percent_type.c
 *	  TABLE.COLUMN%TYPE in the signature of a function, for other nodes.
 *
 * The server resolves such a type at once, and the function doesn't depend on
 * the table.  The table may be a local one, so other nodes get the type
 * itself, in the place of the reference in the statement's text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/attnum.h"
#include "catalog/namespace.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat/foreach.h"
#include "ddl/percent_type.h"

static List *
append_reference(List *references, TypeName *type)
{
	return type != NULL && type->pct_type && type->location >= 0 ? lappend(references, type) : references;
}

/* Those in the arguments of a function that a statement names. */
static List *
append_references_of(List *references, Node *object)
{
	ListCell   *cell;

	if (object == NULL || !IsA(object, ObjectWithArgs))
		return references;
	foreach(cell, ((ObjectWithArgs *) object)->objargs)
		references = append_reference(references, lfirst(cell));
	return references;
}

static List *
append_references_of_list(List *references, List *objects)
{
	ListCell   *cell;

	foreach(cell, objects)
		references = append_references_of(references, lfirst(cell));
	return references;
}

/* The references (TypeName *) in a statement about functions. */
static List *
references_in(Node *stmt)
{
	List	   *references = NIL;

	switch (nodeTag(stmt))
	{
		case T_CreateFunctionStmt:
			foreach_node(FunctionParameter, parameter, ((CreateFunctionStmt *) stmt)->parameters)
				references = append_reference(references, parameter->argType);
			return append_reference(references, ((CreateFunctionStmt *) stmt)->returnType);
		case T_AlterFunctionStmt:
			return append_references_of(NIL, (Node *) ((AlterFunctionStmt *) stmt)->func);
		case T_DropStmt:
			return append_references_of_list(NIL, ((DropStmt *) stmt)->objects);
		case T_GrantStmt:
			return append_references_of_list(NIL, ((GrantStmt *) stmt)->objects);
		case T_CommentStmt:
			return append_references_of(NIL, ((CommentStmt *) stmt)->object);
		case T_SecLabelStmt:
			return append_references_of(NIL, ((SecLabelStmt *) stmt)->object);
		case T_RenameStmt:
			return append_references_of(NIL, ((RenameStmt *) stmt)->object);
		case T_AlterOwnerStmt:
			return append_references_of(NIL, ((AlterOwnerStmt *) stmt)->object);
		case T_AlterObjectSchemaStmt:
			return append_references_of(NIL, ((AlterObjectSchemaStmt *) stmt)->object);
		case T_AlterObjectDependsStmt:
			return append_references_of(NIL, ((AlterObjectDependsStmt *) stmt)->object);
		default:
			return NIL;
	}
}

/* The type that a reference means; InvalidOid if there is no such column. */
static Oid
referenced_type(const TypeName *reference)
{
	List	   *names = list_truncate(list_copy(reference->names), list_length(reference->names) - 1);
	Oid			relid = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
	AttrNumber	attno = OidIsValid(relid) ? get_attnum(relid, strVal(llast(reference->names))) : InvalidAttrNumber;

	return attno == InvalidAttrNumber ? InvalidOid : get_atttype(relid, attno);
}

/*
 * The end of a reference that starts there: behind %TYPE, after names that may
 * be quoted; NULL if there is none.
 */
static const char *
end_of_reference(const char *start)
{
	bool		quoted = false;
	const char *at = start;

	for (; *at != '\0' && (quoted || *at != '%'); at++)
		if (*at == '"')
			quoted = !quoted;
	if (*at++ == '\0')
		return NULL;
	while (isspace((unsigned char) *at))
		at++;
	return pg_strncasecmp(at, "type", strlen("type")) == 0 ? at + strlen("type") : NULL;
}

static int
compare_locations(const ListCell *a, const ListCell *b)
{
	return lfirst_node(TypeName, a)->location - lfirst_node(TypeName, b)->location;
}

char *
percent_types_replace(Node *stmt, int location, const char *text)
{
	List	   *references = references_in(stmt);
	int			length = strlen(text);
	int			done = 0;
	StringInfoData result;

	if (references == NIL)
		return pstrdup(text);
	initStringInfo(&result);
	list_sort(references, compare_locations);
	foreach_node(TypeName, reference, references)
	{
		int			start = reference->location - location;
		Oid			type = referenced_type(reference);
		const char *end = start >= done && start < length ? end_of_reference(text + start) : NULL;

		if (!OidIsValid(type) || end == NULL)
			continue;
		appendBinaryStringInfo(&result, text + done, start - done);
		appendStringInfoString(&result, format_type_be_qualified(type));
		done = end - text;
	}
	appendStringInfoString(&result, text + done);
	return result.data;
}
