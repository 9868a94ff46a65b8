/*-------------------------------------------------------------------------
 *
 * sequence.c
 *	  Gives a node its own slice of a sequence's values.
 *
 * The sequences of distributed and reference tables exist on every node, and
 * every node takes part in inserting.  A node of group g > 0 gets the values
 * from g * 2^k + 1 to (g + 1) * 2^k, k being 48 for bigint, 28 for integer,
 * 12 for smallint; the coordinator keeps the sequence as its user made it.
 * A group past the end of the type has no slice: nextval() says there that
 * the sequence's end is reached.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "remote/connection.h"
#include "table/definition.h"
#include "table/run_commands.h"
#include "table/sequence.h"

SQL_FUNCTION(citus_internal_slice_sequence);

static const struct
{
	Oid			type;
	int			bits;
	int64		max;
}			slices[] = {
	{INT8OID, 48, PG_INT64_MAX},
	{INT4OID, 28, PG_INT32_MAX},
	{INT2OID, 12, PG_INT16_MAX},
};

static FormData_pg_sequence
sequence_form(Oid seqid)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(seqid));
	FormData_pg_sequence form;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence with OID %u does not exist", seqid)));
	form = *(Form_pg_sequence) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return form;
}

/* Restricts a sequence to this node's slice, if it is not yet, and restarts it. Needs the rights of ALTER SEQUENCE. */
void
sequence_take_slice(Oid seqid)
{
	int64		group = metadata_local_group();
	FormData_pg_sequence form = sequence_form(seqid);

	if (group <= COORDINATOR_GROUP || form.seqincrement <= 0)
		return;

	for (int i = 0; i < lengthof(slices); i++)
	{
		char	   *name = relation_qualified_name(seqid);
		int64		last_group = slices[i].max >> slices[i].bits;
		bool		fits = group <= last_group;
		int64		first = fits ? (group << slices[i].bits) + 1 : slices[i].max;
		int64		last = group < last_group ? (group + 1) << slices[i].bits : slices[i].max;
		List	   *commands;

		if (slices[i].type != form.seqtypid)
			continue;
		if (form.seqmin == first && form.seqmax == last)
			return;
		commands = list_make1(psprintf("ALTER SEQUENCE %s MINVALUE " INT64_FORMAT " MAXVALUE " INT64_FORMAT
									   " START " INT64_FORMAT " RESTART", name, first, last, first));
		if (!fits)
			commands = lappend(commands, psprintf("SELECT setval(%s, " INT64_FORMAT ")",
												  quote_literal_cstr(name), first));
		run_commands(commands);
		return;
	}
}

List *
sequence_options_of_slice(List *options)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "restart") == 0)
			result = lappend(result, makeDefElem("restart", NULL, -1));
		else if (strcmp(option->defname, "start") != 0 && strcmp(option->defname, "minvalue") != 0 &&
				 strcmp(option->defname, "maxvalue") != 0)
			result = lappend(result, option);
	}
	return result;
}

void
sequences_take_slices(Oid relid)
{
	ListCell   *cell;

	if (metadata_local_group() == COORDINATOR_GROUP)
		return;
	foreach(cell, table_sequences(relid))
		sequence_take_slice(lfirst_oid(cell));
}

void
sequences_give_slices_back(Oid relid)
{
	ListCell   *cell;

	if (metadata_local_group() == COORDINATOR_GROUP)
		return;
	foreach(cell, getOwnedSequences(relid))
	{
		char	   *name = relation_qualified_name(lfirst_oid(cell));
		RemoteResult *result = remote_query(COORDINATOR_GROUP, psprintf(
			"SELECT pg_catalog.format('ALTER SEQUENCE %%s MINVALUE %%s MAXVALUE %%s START %%s', %s, seqmin, seqmax, seqstart), "
			"pg_catalog.format('SELECT pg_catalog.setval(%%L, %%s, %%L)', %s, last_value, is_called) "
			"FROM pg_catalog.pg_sequence, %s WHERE seqrelid = %s::pg_catalog.regclass",
			quote_literal_cstr(name), quote_literal_cstr(name), name, quote_literal_cstr(name)), NULL);

		run_commands(list_make2(remote_value(result, 0, 0), remote_value(result, 0, 1)));
	}
}

char *
sequence_slice_command(Oid seqid)
{
	char	   *last = NULL;
	LOCAL_FCINFO(fcinfo, 1);

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = ObjectIdGetDatum(seqid);
	fcinfo->args[0].isnull = false;
	if (metadata_local_group() != COORDINATOR_GROUP)
	{
		Datum		value = pg_sequence_last_value(fcinfo);

		if (!fcinfo->isnull)
			last = psprintf(INT64_FORMAT, DatumGetInt64(value));
	}
	return psprintf("SELECT citus_internal.slice_sequence(%s, %s)", quote_literal_cstr(relation_qualified_name(seqid)),
					last == NULL ? "NULL" : last);
}

/*
 * citus_internal.slice_sequence(sequence regclass, last_value bigint)
 *
 * The coordinator has no slice: there the sequence goes on after the last value
 * of the node on which it was made.
 */
Datum
citus_internal_slice_sequence(PG_FUNCTION_ARGS)
{
	node_function_check();
	if (metadata_local_group() != COORDINATOR_GROUP)
		sequence_take_slice(PG_GETARG_OID(0));
	else if (!PG_ARGISNULL(1))
		DirectFunctionCall2(setval_oid, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1));
	PG_RETURN_VOID();
}

Oid
owner_of_sequence(Oid relid)
{
	Oid			table;
	int32		column;

	if (OidIsValid(relid) && get_rel_relkind(relid) == RELKIND_SEQUENCE &&
		(sequenceIsOwned(relid, DEPENDENCY_AUTO, &table, &column) ||
		 sequenceIsOwned(relid, DEPENDENCY_INTERNAL, &table, &column)))
		return table;
	return InvalidOid;
}

bool
sequence_is_of_dist_table(Oid relid)
{
	return metadata_lookup(owner_of_sequence(relid)) != NULL;
}
