/*-------------------------------------------------------------------------
 *
 * plan_fields.h
 *	  Packs a struct into a plan node, which must be copyable: as a list, by a
 *	  table of its pointers for both directions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_PLAN_FIELDS_H
#define CITUS_LIB_PLAN_FIELDS_H

#include "postgres.h"

#include "compat/foreach.h"

typedef enum PlanFieldKind
{
	PLAN_STRING,				/* char *; NULL and "" both come back as
								 * NULL */
	PLAN_LIST,					/* a list or another node; taken as it is */
} PlanFieldKind;

/* Of each field that is a pointer; the others are copied as they are. */
typedef struct PlanField
{
	PlanFieldKind kind;
	Size		offset;
} PlanField;

#define PLAN_FIELD(kind, type, field) {(kind), offsetof(type, field)}

/* A string in a plan; NULL and "" both come back as NULL. */
extern Node *plan_string_pack(const char *string);
extern char *plan_string_unpack(const Node *node);

/* A struct of that size, without pointers, as a node; and the struct in it. */
extern Node *plan_struct_pack(const void *plan, Size size);
extern const void *plan_struct_peek(const Node *node);

/* A struct of that size as a list of nodes; strings are copied. */
extern List *plan_fields_pack(const PlanField *fields, int nfields, const void *plan, Size size);

/* The packed struct, with NULL for its pointers. */
extern const void *plan_fields_peek(const List *packed);

/* Unpacks the struct; lists and strings are shared with the packed list. */
extern void plan_fields_unpack(const PlanField *fields, int nfields, const List *packed, void *plan, Size size);

#endif							/* CITUS_LIB_PLAN_FIELDS_H */
