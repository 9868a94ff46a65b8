/*-------------------------------------------------------------------------
 *
 * published_tables.h
 *	  The tables that a publication names; since version 19 it may name
 *	  exceptions, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PUBLISHED_TABLES_H
#define CITUS_COMPAT_PUBLISHED_TABLES_H

#include "postgres.h"

#include "catalog/pg_publication.h"

#if PG_VERSION_NUM < 190000
#define GetIncludedPublicationRelations GetPublicationRelations
#endif

#endif							/* CITUS_COMPAT_PUBLISHED_TABLES_H */
