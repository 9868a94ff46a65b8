/*-------------------------------------------------------------------------
 *
 * create_table.h
 *	  What ALTER TABLE checks as CREATE TABLE does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_CREATE_TABLE_H
#define CITUS_DDL_CREATE_TABLE_H

#include "ddl/utility_call.h"

/*
 * Errors if the relation is distributed: a local table can't inherit from it.
 */
extern void check_not_inherited(const RangeVar *parent);

/*
 * Whether a column's default gives another value each time; so does an
 * identity column.
 */
extern bool column_default_is_volatile(Oid relid, AttrNumber attno);

/*
 * Has the other nodes make the schemas, types and sequences that a table has
 * come to need.
 */
extern void relay_needs(UtilityCall *call, Oid relid);

#endif							/* CITUS_DDL_CREATE_TABLE_H */
