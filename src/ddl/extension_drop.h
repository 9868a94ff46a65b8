/*-------------------------------------------------------------------------
 *
 * extension_drop.h
 *	  Whether the extension may be dropped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_EXTENSION_DROP_H
#define CITUS_DDL_EXTENSION_DROP_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Called before a DROP: errors with ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST if
 * it drops the extension while that is needed.  With CASCADE, on the
 * coordinator, dissolves the cluster and undistributes all tables instead.
 */
extern void extension_prepare_drop(const DropStmt *stmt, bool top_level);

/*
 * The same for a relation that is about to be dropped by any statement: if it
 * is the extension's, and has rows that are needed.
 */
extern void extension_check_relation(Oid relid);

#endif							/* CITUS_DDL_EXTENSION_DROP_H */
