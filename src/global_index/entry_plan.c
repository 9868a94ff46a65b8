/*-------------------------------------------------------------------------
 *
 * entry_plan.c
 *	  Statements for the entries of global indexes, prepared once a session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "global_index/entry_plan.h"
#include "global_index/keys.h"
#include "lib/run_as.h"
#include "table/definition.h"

typedef struct EntryPlan
{
	EntryStatement statement;	/* key */
	SPIPlanPtr	plan;			/* NULL: to be prepared */
} EntryPlan;

static HTAB *entry_plans = NULL;

void
param_rows_add(ParamRows *rows, int number, Oid type)
{
	if (rows->columns.data == NULL)
		initStringInfo(&rows->columns);
	appendStringInfo(&rows->columns, "%spg_catalog.unnest($%d)", rows->columns.len == 0 ? "" : ", ", number);
	rows->composite |= type_is_rowtype(getBaseType(get_element_type(type)));
}

char *
param_rows_query(const ParamRows *rows)
{
	/* in FROM, a composite value would be several columns */
	return psprintf(rows->composite ? "SELECT %s" : "SELECT * FROM ROWS FROM (%s) r", rows->columns.data);
}

/* Parameters, for VALUES. */
static char *
params_text(int count)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 1; i <= count; i++)
		appendStringInfo(&buf, "%s$%d", i == 1 ? "" : ", ", i);
	return buf.data;
}

/* A query of the entries that are in parameters. */
static char *
given_text(const EntryStatement *statement)
{
	ParamRows	rows = {0};

	for (int i = 0; i < statement->ncolumns; i++)
		param_rows_add(&rows, i + 1, statement->types[i]);
	return param_rows_query(&rows);
}

/* Whether a column of the key, from 1 on, is null. */
static bool
is_null_key(const EntryStatement *statement, int number)
{
	return (statement->null_keys & (UINT64CONST(1) << (number - 1))) != 0;
}

/*
 * A condition: columns of the key have the values of parameters, or one of
 * their elements' (any).
 */
static char *
equal_text(const EntryStatement *statement, int count, const char *any)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 1; i <= count; i++)
	{
		appendStringInfo(&buf, "%s%s", i == 1 ? "" : " AND ", quote_identifier(get_attname(statement->entries, i, false)));
		if (is_null_key(statement, i))
			appendStringInfoString(&buf, " IS NULL");
		else
			appendStringInfo(&buf, " OPERATOR(pg_catalog.=) %s($%d)",
							 (statement->array_keys & (UINT64CONST(1) << (i - 1))) != 0 ? "ANY " : any, i);
	}
	return buf.data;
}

/* A condition: the key is one of those of parameters that are arrays. */
static char *
one_of_keys_text(const EntryStatement *statement)
{
	StringInfoData columns;
	ParamRows	rows = {0};

	initStringInfo(&columns);
	for (int i = 1; i <= statement->nkeys; i++)
	{
		if (is_null_key(statement, i))
			continue;
		appendStringInfo(&columns, "%s%s", columns.len == 0 ? "" : ", ",
						 quote_identifier(get_attname(statement->entries, i, false)));
		param_rows_add(&rows, i, statement->types[i - 1]);
	}
	/* each for itself, too: the first column prunes shards */
	return psprintf("%s%s", equal_text(statement, statement->nkeys, "ANY "), statement->nkeys == 1 || columns.len == 0 ? "" :
					psprintf(" AND (%s) IN (%s)", columns.data, param_rows_query(&rows)));
}

static char *
statement_text(const EntryStatement *statement)
{
	char	   *name = relation_qualified_name(statement->entries);
	int			nkeys = statement->nkeys;

	switch (statement->kind)
	{
		case ENTRY_FIND:
			return psprintf("SELECT " ENTRY_DISTRIBUTION_VALUE " FROM %s WHERE %s", name, equal_text(statement, nkeys, ""));
		case ENTRIES_FIND:
			return psprintf("SELECT pg_catalog.array_agg(DISTINCT " ENTRY_DISTRIBUTION_VALUE ") FROM %s WHERE %s", name,
							equal_text(statement, nkeys, ""));
		case ENTRY_INSERT:
		case ENTRY_AWAIT:
			return psprintf("INSERT INTO %s VALUES (%s)%s", name, params_text(statement->ncolumns),
							statement->kind == ENTRY_AWAIT ? " ON CONFLICT DO NOTHING" : "");
		case ENTRY_DELETE:
			return psprintf("DELETE FROM %s WHERE %s", name, equal_text(statement, nkeys, ""));
		case ENTRIES_INSERT:
		case ENTRIES_AWAIT:
			return psprintf("INSERT INTO %s %s%s", name, given_text(statement),
							statement->kind == ENTRIES_AWAIT ? " ON CONFLICT DO NOTHING" : "");
		case ENTRIES_DELETE:
			return psprintf("DELETE FROM %s WHERE %s", name, one_of_keys_text(statement));
		case ENTRIES_TAKE:
			return psprintf("WITH given AS (%s), gone AS (DELETE FROM %s WHERE %s RETURNING *), "
							"again AS (INSERT INTO %s (TABLE gone EXCEPT ALL TABLE given)) TABLE given EXCEPT ALL TABLE gone",
							given_text(statement), name, one_of_keys_text(statement), name);
		case ENTRIES_MISSING:
			return psprintf("%s EXCEPT SELECT * FROM %s WHERE %s", given_text(statement), name, one_of_keys_text(statement));
		case ENTRIES_SETTLE:
			/* all shards answer, and are read as of a point in time */
			return psprintf("SELECT FROM %s ORDER BY %s LIMIT 1", name, quote_identifier(get_attname(statement->entries, 1, false)));
	}
	return NULL;
}

int
entry_params(const EntryStatement *statement)
{
	switch (statement->kind)
	{
		case ENTRY_FIND:
		case ENTRIES_FIND:
		case ENTRY_DELETE:
		case ENTRIES_DELETE:
			return statement->nkeys;
		case ENTRIES_SETTLE:
			return 0;
		default:
			return statement->ncolumns;
	}
}

SPIPlanPtr
entry_plan(const EntryStatement *statement)
{
	EntryPlan  *kept;
	bool		found;

	if (entry_plans == NULL)
	{
		HASHCTL		info = {.keysize = sizeof(EntryStatement), .entrysize = sizeof(EntryPlan), .hcxt = TopMemoryContext};

		entry_plans = hash_create("citus entry plans", 16, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	kept = hash_search(entry_plans, statement, HASH_ENTER, &found);
	if (!found)
		kept->plan = NULL;
	if (kept->plan == NULL)
	{
		SPIPlanPtr	plan = SPI_prepare(statement_text(statement), entry_params(statement), (Oid *) statement->types);

		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "SPI failed: %s", SPI_result_code_string(SPI_result));
		kept->plan = plan;
	}
	return kept->plan;
}

bool
entry_find(const EntryStatement *statement, Datum *keys, const char *nulls, bool latest, NullableDatum *value)
{
	MemoryContext context = CurrentMemoryContext;
	RunAs		caller = run_as_owner_begin(statement->entries);
	bool		found;

	SPI_connect();
	if (SPI_execute_plan(entry_plan(statement), keys, nulls, !latest, 0) != SPI_OK_SELECT)
		elog(ERROR, "SPI failed: a query for entries");
	found = SPI_processed > 0;
	if (found)
	{
		Form_pg_attribute att = TupleDescAttr(SPI_tuptable->tupdesc, 0);
		MemoryContext old_context = MemoryContextSwitchTo(context);

		value->value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &value->isnull);
		if (!value->isnull)
			value->value = datumCopy(value->value, att->attbyval, att->attlen);
		MemoryContextSwitchTo(old_context);
	}
	SPI_finish();
	run_as_end(caller);
	return found;
}
