/*-------------------------------------------------------------------------
 *
 * plan_fields.c
 *	  A struct in a plan node, packed to lists by a table of its fields.
 *
 * Numbers are members of one list of integers, strings and lists of one list
 * of nodes, each in the table's order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/value.h"

#include "lib/plan_fields.h"

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
plan_fields_pack(const PlanField *fields, int nfields, const void *plan)
{
	List	   *numbers = NIL;
	List	   *nodes = NIL;

	for (int i = 0; i < nfields; i++)
	{
		const void *field = (const char *) plan + fields[i].offset;

		switch (fields[i].kind)
		{
			case PLAN_INT:
				numbers = lappend_int(numbers, *(const int *) field);
				break;
			case PLAN_BOOL:
				numbers = lappend_int(numbers, *(const bool *) field);
				break;
			case PLAN_STRING:
				nodes = lappend(nodes, plan_string_pack(*(const char *const *) field));
				break;
			case PLAN_LIST:
				nodes = lappend(nodes, *(List *const *) field);
				break;
		}
	}
	return list_make2(numbers, nodes);
}

void
plan_fields_unpack(const PlanField *fields, int nfields, const List *packed, void *plan)
{
	const List *numbers = linitial(packed);
	const List *nodes = lsecond(packed);
	int			number = 0;
	int			node = 0;

	for (int i = 0; i < nfields; i++)
	{
		void	   *field = (char *) plan + fields[i].offset;

		switch (fields[i].kind)
		{
			case PLAN_INT:
				*(int *) field = list_nth_int(numbers, number++);
				break;
			case PLAN_BOOL:
				*(bool *) field = list_nth_int(numbers, number++) != 0;
				break;
			case PLAN_STRING:
				*(char **) field = plan_string_unpack(list_nth(nodes, node++));
				break;
			case PLAN_LIST:
				*(List **) field = list_nth(nodes, node++);
				break;
		}
	}
}
