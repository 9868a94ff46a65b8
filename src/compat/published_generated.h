/*-------------------------------------------------------------------------
 *
 * published_generated.h
 *	  Generated columns in publications.
 *
 * Version 18 can publish stored ones, not virtual ones.  It refuses UPDATE and
 * DELETE of a table whose replica identity has some that aren't published,
 * which whole rows (FULL) may have since then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PUBLISHED_GENERATED_H
#define CITUS_COMPAT_PUBLISHED_GENERATED_H

#include "postgres.h"

#include "catalog/pg_publication.h"

/* Whether whole rows are a replica identity without generated columns. */
static inline bool
compat_whole_rows_lack_generated(void)
{
	return PG_VERSION_NUM < 180000;
}

/* The option of CREATE PUBLICATION that says so, after others; "" for none. */
static inline const char *
compat_published_generated(Form_pg_publication form)
{
#if PG_VERSION_NUM >= 180000
	return form->pubgencols == PUBLISH_GENCOLS_STORED ? ", publish_generated_columns = stored" : "";
#else
	return "";
#endif
}

#endif							/* CITUS_COMPAT_PUBLISHED_GENERATED_H */
