/*-------------------------------------------------------------------------
 *
 * spi_texts.c
 *	  The texts that a query by SPI has returned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"

#include "lib/spi_texts.h"

List *
spi_texts(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	List	   *texts = NIL;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *text = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		texts = lappend(texts, text);
	}
	MemoryContextSwitchTo(old);
	return texts;
}
