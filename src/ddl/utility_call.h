/*-------------------------------------------------------------------------
 *
 * utility_call.h
 *	  One utility statement, and functions for its handlers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_UTILITY_CALL_H
#define CITUS_DDL_UTILITY_CALL_H

#include "postgres.h"

#include "storage/lockdefs.h"
#include "tcop/utility.h"

#include "catalog/metadata.h"

/* One call of the hook: its arguments. */
typedef struct UtilityCall
{
	PlannedStmt *pstmt;			/* a private copy of the tree: may be
								 * changed */
	const char *query;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *env;
	DestReceiver *dest;
	QueryCompletion *qc;
	bool		relayed;		/* was relayed by its initiator: don't relay */
	bool		follows;		/* results from a statement of the user, which
								 * runs on another node, or has started this
								 * one */
} UtilityCall;

/*
 * A handler of a kind of statements.  Returns true if it has run the
 * statement; false, without effect, if it concerns no distributed or reference
 * table.
 */
typedef bool (*UtilityHandler) (UtilityCall *call);

/* citus.enable_ddl_propagation */
extern bool enable_ddl_propagation;

/* Passes the statement to the previous hook, or the server. */
extern ProcessUtility_hook_type utility_next_hook;
extern void utility_run_next(UtilityCall *call, bool read_only_tree);

/*
 * Runs the statement, in its present form, by the server's code on this node's
 * own objects.
 */
extern void utility_run(UtilityCall *call);

/* The text of the call's statement alone; palloc'd. */
extern char *utility_text(const UtilityCall *call);

/* Called before DDL that is relayed: locks the set of nodes. */
extern void utility_check_initiator(const UtilityCall *call);

/*
 * Called on the initiator before a statement runs: takes the table's lock, on
 * all nodes if it is distributed (lock_everywhere), else here, so that no
 * other session distributes it before the statement ends.  False if the table
 * has changed during the wait and must be looked up again.  Locks nothing if
 * the call was relayed, or if the user doesn't own the table, for which the
 * server will raise the error.
 */
extern bool utility_take_lock(const UtilityCall *call, Oid relid, LOCKMODE mode, LOCKMODE local_mode);

/*
 * The distributed or reference table that a statement names, itself or by an
 * index, locked by utility_take_lock; NULL if there is no such table, or if it
 * is a local one, then locked in local_mode.
 */
extern const DistTable *utility_table(const UtilityCall *call, const RangeVar *relation, LOCKMODE mode,
									  LOCKMODE local_mode);

/*
 * Makes the other nodes run the statement, or another text (with qualified
 * names), on their own table and shards; does nothing if the call was relayed.
 */
extern void utility_relay(UtilityCall *call);
extern void utility_relay_text(UtilityCall *call, const char *text);

/*
 * The same for a SELECT that calls a function for nodes, which must be sent
 * without a tag.
 */
extern void utility_relay_call(UtilityCall *call, const char *text);

/*
 * Runs the statement on the table, here and on the other nodes, and on its
 * shards.
 */
extern void utility_run_with_shards(UtilityCall *call, const DistTable *table);

#endif							/* CITUS_DDL_UTILITY_CALL_H */
