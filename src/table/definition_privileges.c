/*-------------------------------------------------------------------------
 *
 * definition_privileges.c
 *	  Writes owner and privileges of tables, columns, sequences, types,
 *	  schemas, functions.
 *
 * The grantor is not kept: privileges on the other node come from the owner.
 * Roles are taken to exist there; a missing one is an error of that node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "table/definition.h"

static const struct
{
	AclMode		mode;
	const char *name;
}			privileges[] = {
	{ACL_INSERT, "INSERT"},
	{ACL_SELECT, "SELECT"},
	{ACL_UPDATE, "UPDATE"},
	{ACL_DELETE, "DELETE"},
	{ACL_TRUNCATE, "TRUNCATE"},
	{ACL_REFERENCES, "REFERENCES"},
	{ACL_TRIGGER, "TRIGGER"},
	{ACL_EXECUTE, "EXECUTE"},
	{ACL_USAGE, "USAGE"},
	{ACL_CREATE, "CREATE"},
#ifdef ACL_MAINTAIN
	{ACL_MAINTAIN, "MAINTAIN"},
#endif
};

/* A role as GRANT and REVOKE name it. */
static const char *
grantee_name(Oid role)
{
	return role == ACL_ID_PUBLIC ? "PUBLIC" : quote_identifier(GetUserNameFromId(role, false));
}

/*
 * GRANT of those privileges of an ACL item that have, or don't have, the grant
 * option; NULL if there are none.
 */
static char *
grant_command(const AclItem *item, bool grant_option, const char *column, const char *kind, const char *name)
{
	AclMode		options = ACLITEM_GET_GOPTIONS(*item);
	AclMode		modes = grant_option ? options : ACLITEM_GET_PRIVS(*item) & ~options;
	StringInfoData buf;
	bool		first = true;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "GRANT ");
	for (int i = 0; i < lengthof(privileges); i++)
	{
		if (!(modes & privileges[i].mode))
			continue;
		appendStringInfo(&buf, "%s%s", first ? "" : ", ", privileges[i].name);
		if (column != NULL)
			appendStringInfo(&buf, " (%s)", column);
		first = false;
	}
	if (first)
		return NULL;
	appendStringInfo(&buf, " ON %s %s TO %s%s", kind, name, grantee_name(item->ai_grantee),
					 grant_option ? " WITH GRANT OPTION" : "");
	return buf.data;
}

/*
 * Appends the GRANTs for all items of an ACL; column is NULL for the object
 * itself.
 */
static List *
grant_commands(List *commands, Datum acl_datum, const char *column, const char *kind, const char *name)
{
	Acl		   *acl = DatumGetAclP(acl_datum);

	for (int i = 0; i < ACL_NUM(acl); i++)
	{
		for (int grant_option = 0; grant_option < 2; grant_option++)
		{
			char	   *command = grant_command(&ACL_DAT(acl)[i], grant_option != 0, column, kind, name);

			if (command != NULL)
				commands = lappend(commands, command);
		}
	}
	return commands;
}

char *
owner_command(const char *kind, const char *name, Oid owner)
{
	return psprintf("ALTER %s %s OWNER TO %s", kind, name, grantee_name(owner));
}

List *
privilege_commands(List *commands, const char *kind, const char *name, Datum acl, bool acl_isnull, Oid owner)
{
	return acl_commands(lappend(commands, owner_command(kind, name, owner)), kind, name, acl, acl_isnull, owner);
}

List *
acl_commands(List *commands, const char *kind, const char *name, Datum acl, bool acl_isnull, Oid owner)
{
	if (acl_isnull)
		return commands;
	commands = lappend(commands, psprintf("REVOKE ALL ON %s %s FROM PUBLIC", kind, name));
	commands = lappend(commands, psprintf("REVOKE ALL ON %s %s FROM %s", kind, name, grantee_name(owner)));
	return grant_commands(commands, acl, NULL, kind, name);
}

/* Privileges on single columns of the table. */
void
definition_column_privileges(Definition *def)
{
	TupleDesc	desc = RelationGetDescr(def->rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		HeapTuple	tuple;
		Datum		acl;
		bool		isnull;

		if (att->attisdropped)
			continue;
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(def->rel)),
								Int16GetDatum(att->attnum));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", att->attnum,
				 RelationGetRelid(def->rel));
		acl = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attacl, &isnull);
		if (!isnull)
			def->commands = grant_commands(def->commands, acl, quote_identifier(NameStr(att->attname)), "TABLE",
										   def->name);
		ReleaseSysCache(tuple);
	}
}
