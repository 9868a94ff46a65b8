/*-------------------------------------------------------------------------
 *
 * object.h
 *	  Statements about objects other than tables, on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_OBJECT_H
#define CITUS_DDL_OBJECT_H

#include "ddl/utility_call.h"

/*
 * The last handler for a statement: runs it on all nodes, if it is about
 * objects that are on all nodes.  False, without effect, otherwise.
 */
extern bool object_utility(UtilityCall *call);

/*
 * Makes ALTER SEQUENCE accept limits that exclude the value of a sequence that
 * is closed here: only the coordinator's value counts.
 */
extern void object_forget_closed_value(AlterSeqStmt *stmt);

/*
 * For the object access hook: the running statement has created or changed an
 * object.
 */
extern void object_changed(Oid classid, Oid objid);

extern void object_init(void);

#endif							/* CITUS_DDL_OBJECT_H */
