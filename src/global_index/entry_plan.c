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
#include "lib/run_as.h"
#include "table/definition.h"

typedef struct EntryPlan
{
	EntryStatement statement;	/* key */
	SPIPlanPtr	plan;			/* NULL: to be prepared */
} EntryPlan;

static HTAB *entry_plans = NULL;

/* Columns of the entries, from the first one on. */
static char *
columns_text(Oid entries, int count)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 1; i <= count; i++)
		appendStringInfo(&buf, "%s%s", i == 1 ? "" : ", ", quote_identifier(get_attname(entries, i, false)));
	return buf.data;
}

/* Parameters, or the rows of parameters that are arrays. */
static char *
params_text(int count, bool many)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 1; i <= count; i++)
		appendStringInfo(&buf, many ? "%spg_catalog.unnest($%d)" : "%s$%d", i == 1 ? "" : ", ", i);
	return buf.data;
}

/* A condition: columns have the values of parameters. */
static char *
equal_text(Oid entries, int count, const char *any)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 1; i <= count; i++)
		appendStringInfo(&buf, "%s%s OPERATOR(pg_catalog.=) %s($%d)", i == 1 ? "" : " AND ",
						 quote_identifier(get_attname(entries, i, false)), any, i);
	return buf.data;
}

static char *
statement_text(const EntryStatement *statement)
{
	Oid			entries = statement->entries;
	char	   *name = relation_qualified_name(entries);
	int			nkeys = statement->nkeys;

	switch (statement->kind)
	{
		case ENTRY_FIND:
			return psprintf("SELECT %s FROM %s WHERE %s", quote_identifier(get_attname(entries, nkeys + 1, false)), name,
							equal_text(entries, nkeys, ""));
		case ENTRY_INSERT:
		case ENTRY_AWAIT:
			return psprintf("INSERT INTO %s VALUES (%s)%s", name, params_text(nkeys + 1, false),
							statement->kind == ENTRY_AWAIT ? " ON CONFLICT DO NOTHING" : "");
		case ENTRY_DELETE:
			return psprintf("DELETE FROM %s WHERE %s", name, equal_text(entries, nkeys, ""));
		case ENTRIES_INSERT:
		case ENTRIES_AWAIT:
			return psprintf("INSERT INTO %s SELECT * FROM ROWS FROM (%s) r%s", name, params_text(nkeys + 1, true),
							statement->kind == ENTRIES_AWAIT ? " ON CONFLICT DO NOTHING" : "");
		case ENTRIES_DELETE:
			/* the first column prunes shards */
			return psprintf("DELETE FROM %s WHERE %s%s", name, equal_text(entries, 1, "ANY "), nkeys == 1 ? "" :
							psprintf(" AND (%s) IN (SELECT * FROM ROWS FROM (%s) r)", columns_text(entries, nkeys),
									 params_text(nkeys, true)));
	}
	return NULL;
}

int
entry_params(EntryStatementKind kind, int nkeys)
{
	return kind == ENTRY_FIND || kind == ENTRY_DELETE || kind == ENTRIES_DELETE ? nkeys : nkeys + 1;
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
		SPIPlanPtr	plan = SPI_prepare(statement_text(statement), entry_params(statement->kind, statement->nkeys),
									   (Oid *) statement->types);

		if (plan == NULL || SPI_keepplan(plan) != 0)
			elog(ERROR, "SPI failed: %s", SPI_result_code_string(SPI_result));
		kept->plan = plan;
	}
	return kept->plan;
}

bool
entry_find(const EntryStatement *statement, Datum *keys, bool latest, NullableDatum *value)
{
	MemoryContext context = CurrentMemoryContext;
	RunAs		caller = run_as_owner_begin(statement->entries);
	bool		found;

	SPI_connect();
	if (SPI_execute_plan(entry_plan(statement), keys, NULL, !latest, 0) != SPI_OK_SELECT)
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
