/*-------------------------------------------------------------------------
 *
 * object_statements.c
 *	  The kinds of statements about objects other than tables.
 *
 * statements[] has a row for each kind of statement that all nodes run
 * (object.c).  A row says where the statement's tree has the name of its
 * object.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat/repack.h"
#include "ddl/object_statements.h"

/* In what form a statement has the name of its object. */
typedef enum NameForm
{
	NAME_NONE,					/* not at all */
	NAME_TEXT,					/* char * */
	NAME_NODE,					/* a node that name_of_node understands */
	NAME_NODES,					/* a List of these */
	NAME_RELATION,				/* RangeVar * of an existing relation */
	NAME_REPACKED,				/* what a RepackStmt names */
	NAME_OBJECT,				/* a node, or the relation beside it */
} NameForm;

#define IN(type, field) T_##type, offsetof(type, field)
#define BESIDE(type, field) offsetof(type, field)

static const struct
{
	NodeTag		tag;
	size_t		offset;			/* of the name */
	NameForm	form;
	size_t		relation;		/* NAME_OBJECT: offset of the relation */
}			statements[] = {
	{IN(AlterCollationStmt, collname), NAME_NODE},
	{IN(AlterDatabaseSetStmt, dbname), NAME_TEXT},
	{IN(AlterDatabaseStmt, dbname), NAME_TEXT},
	{IN(AlterDefaultPrivilegesStmt, action), NAME_NONE},
	{IN(AlterDomainStmt, typeName), NAME_NODE},
	{IN(AlterEnumStmt, typeName), NAME_NODE},
	{IN(AlterEventTrigStmt, trigname), NAME_TEXT},
	{IN(AlterExtensionContentsStmt, extname), NAME_TEXT},
	{IN(AlterExtensionStmt, extname), NAME_TEXT},
	{IN(AlterFdwStmt, fdwname), NAME_TEXT},
	{IN(AlterForeignServerStmt, servername), NAME_TEXT},
	{IN(AlterFunctionStmt, func), NAME_NODE},
	{IN(AlterObjectDependsStmt, object), NAME_OBJECT, BESIDE(AlterObjectDependsStmt, relation)},
	{IN(AlterObjectSchemaStmt, object), NAME_OBJECT, BESIDE(AlterObjectSchemaStmt, relation)},
	{IN(AlterOperatorStmt, opername), NAME_NODE},
	{IN(AlterOpFamilyStmt, opfamilyname), NAME_NODE},
	{IN(AlterOwnerStmt, object), NAME_OBJECT, BESIDE(AlterOwnerStmt, relation)},
	{IN(AlterPolicyStmt, table), NAME_RELATION},
	{IN(AlterPublicationStmt, pubname), NAME_TEXT},
	{IN(AlterRoleSetStmt, role), NAME_NODE},
	{IN(AlterRoleStmt, role), NAME_NODE},
	{IN(AlterSeqStmt, sequence), NAME_RELATION},
	{IN(AlterStatsStmt, defnames), NAME_NODE},
	{IN(AlterTableStmt, relation), NAME_RELATION},
	{IN(AlterTSConfigurationStmt, cfgname), NAME_NODE},
	{IN(AlterTSDictionaryStmt, dictname), NAME_NODE},
	{IN(AlterTypeStmt, typeName), NAME_NODE},
	{IN(AlterUserMappingStmt, servername), NAME_TEXT},
	{IN(RepackStmt, relation), NAME_REPACKED},
	{IN(CommentStmt, object), NAME_NODE},
	{IN(CompositeTypeStmt, typevar), NAME_NODE},
	{IN(CreateAmStmt, amname), NAME_TEXT},
	{IN(CreateCastStmt, sourcetype), NAME_NODE},
	{IN(CreateConversionStmt, conversion_name), NAME_NODE},
	{IN(CreateDomainStmt, domainname), NAME_NODE},
	{IN(CreateEnumStmt, typeName), NAME_NODE},
	{IN(CreateEventTrigStmt, trigname), NAME_TEXT},
	{IN(CreateExtensionStmt, extname), NAME_TEXT},
	{IN(CreateFdwStmt, fdwname), NAME_TEXT},
	{IN(CreateForeignServerStmt, servername), NAME_TEXT},
	{IN(CreateForeignTableStmt, base.relation), NAME_NODE},
	{IN(CreateFunctionStmt, funcname), NAME_NODE},
	{IN(CreateOpClassStmt, opclassname), NAME_NODE},
	{IN(CreateOpFamilyStmt, opfamilyname), NAME_NODE},
	{IN(CreatePLangStmt, plname), NAME_TEXT},
	{IN(CreatePolicyStmt, table), NAME_RELATION},
	{IN(CreatePublicationStmt, pubname), NAME_TEXT},
	{IN(CreateRangeStmt, typeName), NAME_NODE},
	{IN(CreateRoleStmt, role), NAME_TEXT},
	{IN(CreateSchemaStmt, schemaname), NAME_TEXT},
	{IN(CreateSeqStmt, sequence), NAME_NODE},
	{IN(CreateStatsStmt, defnames), NAME_NODE},
	{IN(CreateTableAsStmt, into), NAME_NODE},
	{IN(CreateTransformStmt, type_name), NAME_NODE},
	{IN(CreateTrigStmt, relation), NAME_RELATION},
	{IN(CreateUserMappingStmt, servername), NAME_TEXT},
	{IN(DefineStmt, defnames), NAME_NODE},
	{IN(DropOwnedStmt, roles), NAME_NODES},
	{IN(DropRoleStmt, roles), NAME_NODES},
	{IN(DropStmt, objects), NAME_NODES},
	{IN(DropUserMappingStmt, servername), NAME_TEXT},
	{IN(GrantRoleStmt, granted_roles), NAME_NODES},
	{IN(GrantStmt, objects), NAME_NODES},
	{IN(ImportForeignSchemaStmt, server_name), NAME_TEXT},
	{IN(IndexStmt, relation), NAME_RELATION},
	{IN(ReassignOwnedStmt, roles), NAME_NODES},
	{IN(RefreshMatViewStmt, relation), NAME_RELATION},
	{IN(ReindexStmt, relation), NAME_RELATION},
	{IN(RenameStmt, object), NAME_OBJECT, BESIDE(RenameStmt, relation)},
	{IN(RuleStmt, relation), NAME_RELATION},
	{IN(SecLabelStmt, object), NAME_NODE},
	{IN(ViewStmt, view), NAME_NODE},
};

#define FIELD(stmt, field_offset, type) (*(type *) ((char *) (stmt) + (field_offset)))

/* The row of a statement's kind, or -1. */
static int
find_statement(const Node *stmt)
{
	for (int i = 0; i < lengthof(statements); i++)
	{
		if (statements[i].tag == nodeTag(stmt))
			return i;
	}
	return -1;
}

bool
object_statement_is_known(const Node *stmt)
{
	if (IsA(stmt, CreateTableAsStmt) && ((const CreateTableAsStmt *) stmt)->objtype != OBJECT_MATVIEW)
		return false;
	if (IsA(stmt, RepackStmt) && ((const RepackStmt *) stmt)->relation == NULL)
		return false;
	if (IsA(stmt, ReindexStmt) && ((const ReindexStmt *) stmt)->relation == NULL)
		return false;
	return find_statement(stmt) >= 0;
}

/* The last part of a name in a parse tree; NULL if there is none. */
static char *
name_of_node(const Node *node)
{
	if (node == NULL)
		return NULL;
	switch (nodeTag(node))
	{
		case T_VacuumRelation:
			return name_of_node((const Node *) ((const VacuumRelation *) node)->relation);
		case T_String:
			return strVal(unconstify(Node *, node));
		case T_List:
			return (const List *) node == NIL ? NULL : name_of_node(llast((const List *) node));
		case T_TypeName:
			return name_of_node((Node *) ((const TypeName *) node)->names);
		case T_ObjectWithArgs:
			return name_of_node((Node *) ((const ObjectWithArgs *) node)->objname);
		case T_RangeVar:
			return ((const RangeVar *) node)->relname;
		case T_IntoClause:
			return ((const IntoClause *) node)->rel->relname;
		case T_RoleSpec:
			return ((const RoleSpec *) node)->rolename;
		case T_AccessPriv:
			return ((const AccessPriv *) node)->priv_name;
		default:
			return NULL;
	}
}

static List *
append_name(List *names, const char *name)
{
	return name == NULL ? names : lappend(names, unconstify(char *, name));
}

List *
object_statement_names(const Node *stmt)
{
	int			row = find_statement(stmt);
	List	   *names = NIL;
	ListCell   *cell;

	switch (statements[row].form)
	{
		case NAME_NONE:
			break;
		case NAME_TEXT:
			names = append_name(names, FIELD(stmt, statements[row].offset, char *));
			break;
		case NAME_NODE:
		case NAME_RELATION:
			names = append_name(names, name_of_node(FIELD(stmt, statements[row].offset, Node *)));
			break;
		case NAME_REPACKED:
			names = append_name(names, name_of_node((const Node *) compat_repacked((const RepackStmt *) stmt)));
			break;
		case NAME_OBJECT:
			names = append_name(names, name_of_node(FIELD(stmt, statements[row].offset, Node *)));
			names = append_name(names, name_of_node(FIELD(stmt, statements[row].relation, Node *)));
			break;
		case NAME_NODES:
			foreach(cell, FIELD(stmt, statements[row].offset, List *))
				names = append_name(names, name_of_node(lfirst(cell)));
			break;
	}
	return names;
}

const RangeVar *
object_statement_relation(const Node *stmt)
{
	int			row = find_statement(stmt);

	if (statements[row].form == NAME_RELATION)
		return FIELD(stmt, statements[row].offset, RangeVar *);
	if (statements[row].form == NAME_REPACKED)
		return compat_repacked((const RepackStmt *) stmt);
	if (statements[row].form == NAME_OBJECT)
		return FIELD(stmt, statements[row].relation, RangeVar *);
	if (IsA(stmt, CreateStatsStmt) && IsA(linitial(((const CreateStatsStmt *) stmt)->relations), RangeVar))
		return linitial(((const CreateStatsStmt *) stmt)->relations);
	return NULL;
}

List **
object_statement_list(Node *stmt, ObjectType *type)
{
	List	  **copy;

	switch (nodeTag(stmt))
	{
		case T_DropStmt:
			*type = ((DropStmt *) stmt)->removeType;
			return &((DropStmt *) stmt)->objects;
		case T_GrantStmt:
			*type = ((GrantStmt *) stmt)->objtype;
			if (((GrantStmt *) stmt)->targtype != ACL_TARGET_OBJECT || *type == OBJECT_PARAMETER_ACL)
				return NULL;
			return &((GrantStmt *) stmt)->objects;
		case T_CommentStmt:
			copy = palloc(sizeof(List *));
			*type = ((CommentStmt *) stmt)->objtype;
			*copy = list_make1(((CommentStmt *) stmt)->object);
			return copy;
		case T_SecLabelStmt:
			copy = palloc(sizeof(List *));
			*type = ((SecLabelStmt *) stmt)->objtype;
			*copy = list_make1(((SecLabelStmt *) stmt)->object);
			return copy;
		default:
			return NULL;
	}
}

/*
 * The relation that an object in a list is, or is a part of, as it is written;
 * NULL for other kinds of objects.
 */
static RangeVar *
relation_of_object(ObjectType type, Node *object)
{
	switch (type)
	{
		case OBJECT_FOREIGN_TABLE:
		case OBJECT_INDEX:
		case OBJECT_MATVIEW:
		case OBJECT_SEQUENCE:
		case OBJECT_TABLE:
		case OBJECT_VIEW:
			return IsA(object, RangeVar) ? (RangeVar *) object : makeRangeVarFromNameList((List *) object);
		case OBJECT_COLUMN:
		case OBJECT_POLICY:
		case OBJECT_RULE:
		case OBJECT_TABCONSTRAINT:
		case OBJECT_TRIGGER:
			if (list_length((List *) object) < 2)
				return NULL;
			return makeRangeVarFromNameList(list_copy_head((List *) object, list_length((List *) object) - 1));
		default:
			return NULL;
	}
}

bool
object_statement_relation_of(ObjectType type, Node *object, ObjectAddress *relation)
{
	RangeVar   *name = relation_of_object(type, object);

	if (name == NULL)
		return false;
	ObjectAddressSet(*relation, RelationRelationId, RangeVarGetRelid(name, NoLock, true));
	return true;
}

ObjectAddress
object_statement_address(const Node *stmt, ObjectType type, Node *object)
{
	LOCKMODE	mode = IsA(stmt, DropStmt) ? AccessExclusiveLock :
		IsA(stmt, GrantStmt) ? AccessShareLock : ShareUpdateExclusiveLock;
	ObjectAddress address;
	Relation	rel = NULL;

	if (object_statement_relation_of(type, object, &address))
		return address;
	if (IsA(stmt, GrantStmt) && (type == OBJECT_TYPE || type == OBJECT_DOMAIN))
		object = (Node *) makeTypeNameFromNameList((List *) object);
	address = get_object_address(type, object, &rel, mode, true);
	if (rel != NULL)
		table_close(rel, NoLock);
	return address;
}
