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
	return strVal(node)[0] == '\0' ? NULL : strVal(node);
}

List *
plan_fields_pack(const PlanField *fields, int nfields, const void *plan, Size size)
{
	bytea	   *bytes = palloc0(BYTES_OFFSET + size);
	List	   *nodes = NIL;

	SET_VARSIZE(bytes, BYTES_OFFSET + size);
	memcpy((char *) bytes + BYTES_OFFSET, plan, size);
	for (int i = 0; i < nfields; i++)
	{
		void	   *const *field = (void *const *) ((const char *) plan + fields[i].offset);

		nodes = lappend(nodes, fields[i].kind == PLAN_STRING ? plan_string_pack(*field) : *field);
		memset((char *) bytes + BYTES_OFFSET + fields[i].offset, 0, sizeof(void *));
	}
	return list_make2(makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false), nodes);
}

const void *
plan_fields_peek(const List *packed)
{
	return (const char *) DatumGetPointer(((const Const *) linitial(packed))->constvalue) + BYTES_OFFSET;
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
