/*-------------------------------------------------------------------------
 *
 * if_missing.c
 *	  Objects that a table needs on another node, where they may already
 *	  exist: for another table, or created by the user.
 *
 * An existing object is used only if it is the same: its
 * *identity* is a text of its owner and its definition, which the sending node
 * writes, and the receiving node compares with what it writes of its own
 * object of that name.  Otherwise a user with CREATE on the schema could have
 * created another domain there in advance, for instance, and other users would
 * run its functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "remote/node_call.h"
#include "table/definition.h"
#include "table/run_commands.h"

SQL_FUNCTION(citus_internal_create_if_missing);

/*
 * Kinds of objects: the functions that look them up, and that write their
 * definitions.
 */
static const struct
{
	const char *kind;
	PGFunction	lookup;
	void		(*define) (Definition *def, Oid objid);
}			object_kinds[] = {
	{"schema", to_regnamespace, definition_schema},
	{"type", to_regtype, definition_type},
	{"collation", to_regcollation, definition_collation},
	{"function", to_regprocedure, definition_add_function},
	{"operator", to_regoperator, definition_operator},
	{"sequence", to_regclass, definition_sequence},
};

void
definition_add_if_missing(Definition *def, const char *kind, const char *name, const char *identity,
						  List *commands)
{
	def->commands = lappend(def->commands, node_call(NODE_create_if_missing, node_text(kind), node_text(name),
													 node_text(identity), node_texts(commands)));
	def->last_identity = identity;
}

/*
 * The object that lookup, a function of the family of to_regclass, finds;
 * InvalidOid if there is none.
 */
static Oid
find_object(PGFunction lookup, text *name)
{
	LOCAL_FCINFO(fcinfo, 1);
	Datum		found;

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = PointerGetDatum(name);
	fcinfo->args[0].isnull = false;
	found = lookup(fcinfo);
	return fcinfo->isnull ? InvalidOid : DatumGetObjectId(found);
}

/*
 * Errors unless an object of this node has the identity that another node has
 * sent.
 */
static void
check_identity(const char *kind, const char *name, const char *identity,
			   void (*define) (Definition *def, Oid objid), Oid objid)
{
	Definition	def = {0};

	define(&def, objid);
	if (def.last_identity == NULL || strcmp(def.last_identity, identity) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("%s %s already exists, but is not the same as on the node that needs it here", kind, name),
				 errdetail("It has another owner or another definition."),
				 errhint("Drop it, rename it, or make it the same on both nodes.")));
}

/*
 * citus_internal.create_if_missing(kind text, name text, identity text,
 * commands text[])
 *
 * Runs commands if there is no object of that kind and name; errors if there
 * is one with another identity.
 */
Datum
citus_internal_create_if_missing(PG_FUNCTION_ARGS)
{
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text	   *name = PG_GETARG_TEXT_PP(1);
	char	   *identity = text_to_cstring(PG_GETARG_TEXT_PP(2));

	node_function_check(fcinfo);
	for (int i = 0; i < lengthof(object_kinds); i++)
	{
		Oid			objid;

		if (strcmp(object_kinds[i].kind, kind) != 0)
			continue;
		objid = find_object(object_kinds[i].lookup, name);
		if (OidIsValid(objid))
			check_identity(kind, text_to_cstring(name), identity, object_kinds[i].define, objid);
		else
			run_commands(run_commands_of_array(PG_GETARG_ARRAYTYPE_P(3)));
		PG_RETURN_VOID();
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown kind of object \"%s\"", kind)));
}
