/*-------------------------------------------------------------------------
 *
 * column_type.h
 *	  What ALTER COLUMN .. TYPE does to stored values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_COLUMN_TYPE_H
#define CITUS_DDL_COLUMN_TYPE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Whether an ALTER COLUMN .. TYPE leaves every value as it is, and so its
 * hash value: the column keeps its type and collation, and gets a greater
 * length or none.
 */
extern bool column_type_keeps_values(Oid relid, const AlterTableCmd *cmd);

#endif							/* CITUS_DDL_COLUMN_TYPE_H */
