/*-------------------------------------------------------------------------
 *
 * plan_fields.c
 *	  Packs a struct into a plan node: its bytes, and what its pointers point
 *	  to.
 *
 * A plan is unpacked several times in each execution, so fields that are not
 * pointers are copied together, as the bytes of a Const.  The strings and
 * lists are a list of nodes in the table's order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"

#include "compat/varlena.h"
#include "lib/plan_fields.h"

/* Where the struct's bytes are in the bytea, so that it can be read there. */
#define BYTES_OFFSET MAXALIGN(VARHDRSZ)

Node *
plan_string_pack(const char *string)
{
	return (Node *) makeString(pstrdup(string ? string : ""));
}

char *
plan_string_unpack(const Node *node)
{
	char	   *string = strVal(unconstify(Node *, node));

	return string[0] == '\0' ? NULL : string;
}

Node *
plan_struct_pack(const void *plan, Size size)
{
	bytea	   *bytes = palloc0(BYTES_OFFSET + size);

	SET_VARSIZE(bytes, BYTES_OFFSET + size);
	memcpy((char *) bytes + BYTES_OFFSET, plan, size);
	return (Node *) makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false);
}

const void *
plan_struct_peek(const Node *node)
{
	return (const char *) DatumGetPointer(((const Const *) node)->constvalue) + BYTES_OFFSET;
}

List *
plan_fields_pack(const PlanField *fields, int nfields, const void *plan, Size size)
{
	Node	   *content = plan_struct_pack(plan, size);
	char	   *bytes = unconstify(void *, plan_struct_peek(content));
	List	   *nodes = NIL;

	for (int i = 0; i < nfields; i++)
	{
		void	   *const *field = (void *const *) ((const char *) plan + fields[i].offset);

		nodes = lappend(nodes, fields[i].kind == PLAN_STRING ? plan_string_pack(*field) : *field);
		memset(bytes + fields[i].offset, 0, sizeof(void *));
	}
	return list_make2(content, nodes);
}

const void *
plan_fields_peek(const List *packed)
{
	return plan_struct_peek(linitial(packed));
}

void
plan_fields_unpack(const PlanField *fields, int nfields, const List *packed, void *plan, Size size)
{
	const ListCell *nodes = list_head((const List *) lsecond(packed));

	memcpy(plan, plan_fields_peek(packed), size);
	for (int i = 0; i < nfields; i++)
	{
		void	  **field = (void **) ((char *) plan + fields[i].offset);

		*field = fields[i].kind == PLAN_STRING ? plan_string_unpack(lfirst(&nodes[i])) : lfirst(&nodes[i]);
	}
}
