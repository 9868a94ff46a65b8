/*-------------------------------------------------------------------------
 *
 * drop.h
 *	  Removes metadata and shards of dropped tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_DROP_H
#define CITUS_DDL_DROP_H

#include "ddl/utility_call.h"

/*
 * For the object access hook: a table, and an object of pg_trigger or
 * pg_policy, that is about to be dropped.
 */
extern void drop_note_table(Oid relid);
extern void drop_note_rule(Oid classid, Oid oid);

/*
 * Removes what belonged to the tables that were dropped since the last call:
 * metadata and shards on this node, and the tables on the others.
 */
extern void drop_follow_up(UtilityCall *call);

#endif							/* CITUS_DDL_DROP_H */
