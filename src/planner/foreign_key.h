/*-------------------------------------------------------------------------
 *
 * foreign_key.h
 *	  The statements by which the server checks foreign keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_FOREIGN_KEY_H
#define CITUS_PLANNER_FOREIGN_KEY_H

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"

extern void foreign_key_init(void);

/*
 * As compat_check_permissions(), for a statement that this library runs in
 * place of the server: hooks of libraries loaded earlier, which haven't been
 * told of the statement (pgaudit crashes then), aren't called.
 */
extern void check_own_statement(ParseState *pstate);

/*
 * Errors if a foreign key's own statement looks for a row that a local table
 * references, and that is in a shard.
 */
extern void check_foreign_key_query(Query *query);

/*
 * Says which partition the server is about to detach; InvalidOid: none.  The
 * query by which it checks that no row references the partition is planned for
 * this node's own tables then (is_query_of_detach).
 */
extern void foreign_key_set_detached(Oid partition);
extern bool is_query_of_detach(const Query *query);

/*
 * A table with a foreign key to the given one that has an action ON DELETE
 * (other than to refuse); InvalidOid if there is none.
 */
extern Oid	foreign_key_acts_on_delete(Oid relid);

/*
 * The tables that some commands (COMMAND_BITs) on a table may write by foreign
 * keys' actions, directly or by further actions: a list of Oids.
 */
extern List *foreign_key_acts_on(Oid relid, int commands);

/*
 * A table, and those that a write of it may write as well, by foreign keys'
 * actions: a list of Oids.
 */
extern List *foreign_key_reach(Oid relid);

#endif							/* CITUS_PLANNER_FOREIGN_KEY_H */
