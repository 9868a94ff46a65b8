/*-------------------------------------------------------------------------
 *
 * create_table.h
 *	  Checks that ALTER TABLE shares with CREATE TABLE.
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

/* Whether a column's default is volatile, or it is an identity column. */
extern bool column_default_is_volatile(Oid relid, AttrNumber attno);

/*
 * Makes the other nodes create the schemas, types and sequences that a table
 * now needs.
 */
extern void relay_needs(UtilityCall *call, Oid relid);

#endif							/* CITUS_DDL_CREATE_TABLE_H */
