/*-------------------------------------------------------------------------
 *
 * collation.h
 *	  Columns of pg_collation.
 *
 * The column that holds the locale of ICU, and later of other providers, has
 * changed its name with version 17, and tailoring rules came with version 16.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_COLLATION_H
#define CITUS_COMPAT_COLLATION_H

#include "postgres.h"

#include "catalog/pg_collation.h"

#if PG_VERSION_NUM < 170000
#define Anum_pg_collation_colllocale Anum_pg_collation_colliculocale
#endif
#if PG_VERSION_NUM < 160000
#define Anum_pg_collation_collicurules InvalidAttrNumber
#endif

#endif							/* CITUS_COMPAT_COLLATION_H */
