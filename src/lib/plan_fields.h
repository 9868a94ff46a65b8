/*-------------------------------------------------------------------------
 *
 * plan_fields.h
 *	  A struct in a plan node, which must be copyable: packed to lists, by a
 *	  table of its fields that serves both directions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_PLAN_FIELDS_H
#define CITUS_LIB_PLAN_FIELDS_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef enum PlanFieldKind
{
	PLAN_INT,					/* int, Oid or an enum */
	PLAN_BOOL,
	PLAN_STRING,				/* char *; NULL and "" both come back as NULL */
	PLAN_LIST,					/* of nodes, ints or oids; taken as it is */
} PlanFieldKind;

typedef struct PlanField
{
	PlanFieldKind kind;
	Size		offset;
} PlanField;

#define PLAN_FIELD(kind, type, field) {(kind), offsetof(type, field)}

/* A string in a plan; NULL and "" both come back as NULL. */
extern Node *plan_string_pack(const char *string);
extern char *plan_string_unpack(const Node *node);

/* The fields of a struct as lists of nodes; strings are copied. */
extern List *plan_fields_pack(const PlanField *fields, int nfields, const void *plan);

/* Sets these fields again; lists and strings belong to what was packed. */
extern void plan_fields_unpack(const PlanField *fields, int nfields, const List *packed, void *plan);

#endif							/* CITUS_LIB_PLAN_FIELDS_H */
