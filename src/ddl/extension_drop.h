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
 * Before a DROP: errors with ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST if it is of
 * the extension, and that is needed.  With CASCADE, on the coordinator, it is
 * not needed any more then: no cluster is left, and no distributed table.
 */
extern void extension_prepare_drop(const DropStmt *stmt, bool top_level);

/*
 * The same for a relation that is about to be dropped, by whatever statement:
 * if it is the extension's, and has rows that are needed.
 */
extern void extension_check_relation(Oid relid);

#endif							/* CITUS_DDL_EXTENSION_DROP_H */
