/*-------------------------------------------------------------------------
 *
 * virtual_column.h
 *	  Generated columns that are computed when they are read.
 *
 * Since version 18.  Stored rows have nulls in their place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_VIRTUAL_COLUMN_H
#define CITUS_COMPAT_VIRTUAL_COLUMN_H

#include "postgres.h"

#include "catalog/pg_attribute.h"

static inline bool
is_virtual_column(const FormData_pg_attribute *attribute)
{
#if PG_VERSION_NUM >= 180000
	return attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL;
#else
	return false;
#endif
}

#endif							/* CITUS_COMPAT_VIRTUAL_COLUMN_H */
