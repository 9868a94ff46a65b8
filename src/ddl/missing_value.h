/*-------------------------------------------------------------------------
 *
 * missing_value.h
 *	  What rows have in a column that was added after them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_MISSING_VALUE_H
#define CITUS_DDL_MISSING_VALUE_H

#include "postgres.h"

#include "access/attnum.h"

/*
 * The value (as text of an array of one) if the column's default is stable but
 * not immutable; else NULL.
 */
extern char *missing_value_text(Oid relid, AttrNumber attno);

/*
 * Sets it in a table's shards on this node; of a reference table, in the
 * table.
 */
extern void set_missing_value(Oid relid, const char *column, const char *value);

#endif							/* CITUS_DDL_MISSING_VALUE_H */
