/*-------------------------------------------------------------------------
 *
 * spi_query.c
 *	  Statements by SPI, and their answers as text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/guc.h"

#include "lib/exact_text.h"
#include "lib/spi_query.h"

/* Runs a statement; the caller calls spi_end(result). */
static int
spi_begin(const char *sql)
{
	int			nest = exact_names_begin();
	int			result;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s: %s", SPI_result_code_string(result), sql);
	return nest;
}

static void
spi_end(int nest)
{
	SPI_finish();
	AtEOXact_GUC(true, nest);
}

uint64
spi_exec(const char *sql)
{
	int			nest = spi_begin(sql);
	uint64		processed = SPI_processed;

	spi_end(nest);
	return processed;
}

List *
spi_rows(const char *sql, int *ncolumns)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext spi_context;
	List	   *rows = NIL;
	int			nest = spi_begin(sql);

	*ncolumns = SPI_tuptable == NULL ? 0 : SPI_tuptable->tupdesc->natts;
	spi_context = MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_processed && *ncolumns > 0; i++)
	{
		SpiText    *values = palloc(*ncolumns * sizeof(SpiText));

		for (int column = 0; column < *ncolumns; column++)
			values[column] = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column + 1);
		rows = lappend(rows, values);
	}
	MemoryContextSwitchTo(spi_context);
	spi_end(nest);
	return rows;
}

char *
spi_value(const char *sql)
{
	int			ncolumns;
	List	   *rows = spi_rows(sql, &ncolumns);

	return rows == NIL ? NULL : ((SpiText *) linitial(rows))[0];
}

List *
spi_texts(List *texts, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *text = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		texts = lappend(texts, text);
	}
	MemoryContextSwitchTo(old);
	return texts;
}
