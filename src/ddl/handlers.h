/*-------------------------------------------------------------------------
 *
 * handlers.h
 *	  The handlers of the utility hook, by file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_HANDLERS_H
#define CITUS_DDL_HANDLERS_H

#include "catalog/metadata.h"
#include "ddl/utility_call.h"

/* extension_update.c */
extern bool update_extension_utility(UtilityCall *call);

/* alter_table.c */
extern bool alter_table_utility(UtilityCall *call);

/* call.c: a CALL; not in the table of handlers, as it changes no object */
extern bool call_utility(UtilityCall *call);

/* call.c: a CALL that another node has delegated to this one. */
extern void call_run_for_node(UtilityCall *call);

/* create_table.c */
extern bool create_schema_utility(UtilityCall *call);
extern bool create_table_as_utility(UtilityCall *call);
extern bool create_table_utility(UtilityCall *call);
extern bool rule_utility(UtilityCall *call);

/* trigger.c */
extern bool create_trigger_utility(UtilityCall *call);

/* index.c */
extern bool create_index_utility(UtilityCall *call);
extern bool reindex_utility(UtilityCall *call);
extern bool cluster_utility(UtilityCall *call);

/* statistics.c */
extern bool create_statistics_utility(UtilityCall *call);
extern bool alter_statistics_utility(UtilityCall *call);
extern bool alter_owner_utility(UtilityCall *call); /* of statistics objects;
													 * of tables it is ALTER
													 * TABLE */
extern bool move_statistics_utility(UtilityCall *call); /* ALTER STATISTICS .. SET SCHEMA */

/* rename.c */
extern bool rename_utility(UtilityCall *call);
extern bool alter_schema_utility(UtilityCall *call);

/* drop.c */
extern bool drop_utility(UtilityCall *call);

/* with_shards.c: statements that take a list of tables */
extern bool truncate_utility(UtilityCall *call);
extern bool lock_utility(UtilityCall *call);

/* The distributed tables in schemas (String nodes): their Oids. */
extern List *utility_schema_tables(const List *schemas);
extern bool grant_utility(UtilityCall *call);

/* constraint_mode.c */
extern bool set_constraints_utility(UtilityCall *call);

/*
 * Whether a statement is about to end a transaction block that has not failed,
 * and has no savepoint.
 */
extern bool commits_block(Node *stmt);

/*
 * Called for such a statement, before the server runs it: fires deferred
 * triggers, including those that check constraints of shards, whose errors get
 * the names of their tables.
 */
extern void check_deferred_constraints(void);

/* vacuum.c */
extern bool vacuum_utility(UtilityCall *call);

/* replication.c */
extern bool alter_publication_utility(UtilityCall *call);
extern bool alter_subscription_utility(UtilityCall *call);
extern bool create_publication_utility(UtilityCall *call);
extern bool create_subscription_utility(UtilityCall *call);

/*
 * replication.c: before an ALTER TABLE of the shards of a table and its
 * partitions on this node, which are locked: has moves without blocking
 * writers leave off those shards that the statement couldn't change, or whose
 * new rows aren't replicated.  Such a move fails at its end.
 */
extern void publication_part_from_moves(const AlterTableStmt *stmt, Oid relid);

/* logical_only.c: statements that don't reach shards */
extern bool comment_utility(UtilityCall *call);
extern bool create_policy_utility(UtilityCall *call);
extern bool alter_policy_utility(UtilityCall *call);
extern bool alter_enum_utility(UtilityCall *call);

#endif							/* CITUS_DDL_HANDLERS_H */
