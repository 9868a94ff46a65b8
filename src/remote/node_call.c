/*-------------------------------------------------------------------------
 *
 * node_call.c
 *	  Calls of our own functions on other nodes, as texts.
 *
 * Most calls are members of lists of commands, are relayed, or are parts of
 * other statements, so arguments are written as constants.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "compat/foreach.h"
#include "compat/sql_function.h"
#include "remote/node_call.h"

SQL_FUNCTION(node_call_signatures);

#define MAX_NODE_ARGUMENTS 10

#define DESCRIBE_NODE_FUNCTION(name, ...) {#name, {__VA_ARGS__}},
static struct
{
	const char *name;
	Oid			types[MAX_NODE_ARGUMENTS + 1];	/* up to InvalidOid */
}			node_functions[] = {
	NODE_FUNCTIONS(DESCRIBE_NODE_FUNCTION)
};

NodeArgument
node_text(const char *value)
{
	return (NodeArgument) {UNKNOWNOID, value == NULL ? "NULL" : quote_literal_cstr(value)};
}

NodeArgument
node_int(int32 value)
{
	return (NodeArgument) {INT4OID, psprintf("%d", value)};
}

NodeArgument
node_bigint(int64 value)
{
	return (NodeArgument) {INT8OID, psprintf(INT64_FORMAT, value)};
}

NodeArgument
node_float(double value)
{
	return (NodeArgument) {FLOAT8OID, psprintf("%.17g", value)};
}

NodeArgument
node_real(float4 value)
{
	return (NodeArgument) {FLOAT4OID, psprintf("%.9g", value)};
}

NodeArgument
node_parameter(Oid type, int number)
{
	return (NodeArgument) {type, psprintf("$%d", number)};
}

NodeArgument
node_bool(bool value)
{
	return (NodeArgument) {BOOLOID, value ? "true" : "false"};
}

/* An array of elements that are written as SQL. */
static NodeArgument
make_array_argument(Oid type, const char *element_type, const List *elements)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "ARRAY[");
	foreach_ptr(char, element, elements)
		appendStringInfo(&buf, "%s%s", foreach_current_index(element) == 0 ? "" : ", ", element);
	appendStringInfo(&buf, "]::pg_catalog.%s[]", element_type);
	return (NodeArgument) {type, buf.data};
}

NodeArgument
node_texts(const List *values)
{
	List	   *elements = NIL;

	foreach_ptr(char, value, values)
		elements = lappend(elements, node_text(value).sql);
	return make_array_argument(TEXTARRAYOID, "text", elements);
}

static List *
int_elements(const List *values)
{
	List	   *elements = NIL;

	foreach_int(value, values)
		elements = lappend(elements, node_int(value).sql);
	return elements;
}

NodeArgument
node_ints(const List *values)
{
	return make_array_argument(INT4ARRAYOID, "int4", int_elements(values));
}

NodeArgument
node_smallints(const List *values)
{
	return make_array_argument(INT2ARRAYOID, "int2", int_elements(values));
}

NodeArgument
node_oids(const List *values)
{
	List	   *elements = NIL;

	foreach_oid(value, values)
		elements = lappend(elements, psprintf("%u", value));
	return make_array_argument(OIDARRAYOID, "oid", elements);
}

/* Whether an argument may stand where the function has a type. */
static bool
fits_type(Oid type, const NodeArgument *argument)
{
	if (argument->type == UNKNOWNOID)
		return (type != INT4OID && type != INT8OID && type != FLOAT4OID && type != FLOAT8OID && type != BOOLOID) ||
			strcmp(argument->sql, "NULL") == 0;
	return argument->type == type;
}

char *
node_call_text(const char *prefix, NodeFunction function, const NodeArgument *arguments, int count)
{
	const char *name = node_functions[function].name;
	const Oid  *types = node_functions[function].types;
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%scitus_internal.%s(", prefix, name);
	for (int i = 0; i < count; i++)
	{
		if (!fits_type(types[i], &arguments[i]))
			elog(ERROR, "argument %d of %s() has another type", i + 1, name);
		appendStringInfo(&buf, "%s%s", i == 0 ? "" : ", ", arguments[i].sql);
	}
	if (OidIsValid(types[count]))
		elog(ERROR, "%s() has more arguments", name);
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

Oid *
node_types(NodeFunction function)
{
	return node_functions[function].types;
}

int
node_int64s(const char *text, int64 *values, int max)
{
	int			n = 0;

	while (n < max && *text != '\0' && text[1] != '\0')
	{
		char	   *end;

		values[n++] = strtoi64(text + 1, &end, 10);
		text = end;
	}
	return n;
}

/* The described functions, one a line; declared by tests only. */
Datum
node_call_signatures(PG_FUNCTION_ARGS)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < lengthof(node_functions); i++)
	{
		const Oid  *types = node_functions[i].types;

		appendStringInfo(&buf, "%scitus_internal.%s(", i == 0 ? "" : "\n", node_functions[i].name);
		for (int j = 0; OidIsValid(types[j]); j++)
			appendStringInfo(&buf, "%s%s", j == 0 ? "" : ",", format_type_be(types[j]));
		appendStringInfoChar(&buf, ')');
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(buf.data, buf.len));
}
