/*-------------------------------------------------------------------------
 *
 * published_generated.h
 *	  Whether a publication has generated columns, which version 18 allows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PUBLISHED_GENERATED_H
#define CITUS_COMPAT_PUBLISHED_GENERATED_H

#include "postgres.h"

#include "catalog/pg_publication.h"

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
