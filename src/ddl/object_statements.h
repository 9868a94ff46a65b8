/*-------------------------------------------------------------------------
 *
 * object_statements.h
 *	  The kinds of statements about objects other than tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_OBJECT_STATEMENTS_H
#define CITUS_DDL_OBJECT_STATEMENTS_H

#include "postgres.h"

#include "catalog/objectaddress.h"
#include "nodes/parsenodes.h"

/* Whether all nodes run such statements, if none of their objects is local. */
extern bool object_statement_is_known(const Node *stmt);

/*
 * The names, without schemas, of the objects that a statement names (List of
 * char *).
 */
extern List *object_statement_names(const Node *stmt);

/*
 * The relation that a statement changes, as a whole or in part; NULL if it is
 * about something else.
 */
extern const RangeVar *object_statement_relation(const Node *stmt);

/*
 * The list of objects in DROP and GRANT (List of Node *), and their kind; NULL
 * if the statement has none.  For COMMENT and SECURITY LABEL, a new list with
 * their object.
 */
extern List **object_statement_list(Node *stmt, ObjectType *type);

/*
 * Whether an object in the list is a relation, or a part of one, and the
 * relation, not locked; InvalidOid if it is missing.
 */
extern bool object_statement_relation_of(ObjectType type, Node *object, ObjectAddress *relation);

/*
 * That relation; or another object, locked as the statement will.  InvalidOid
 * in objectId if it is missing.
 */
extern ObjectAddress object_statement_address(const Node *stmt, ObjectType type, Node *object);

#endif							/* CITUS_DDL_OBJECT_STATEMENTS_H */
