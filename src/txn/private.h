/*-------------------------------------------------------------------------
 *
 * private.h
 *	  What the files of src/txn share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_PRIVATE_H
#define CITUS_TXN_PRIVATE_H

#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "compat/foreach.h"
#include "remote/connection.h"
#include "txn/dist_transaction.h"

/*
 * transaction.c: queues the commands that open the node's transaction, and the
 * missing savepoints.
 */
extern void txn_begin_remote(RemoteConn *conn);

/*
 * constraint_modes.c: queues the commands given at a level, and handles the
 * end of subtransactions.
 */
extern void constraint_modes_queue(RemoteConn *conn, int level);
extern void constraint_modes_end_level(int level, bool commit);

/*
 * commit.c: steps of the end of a transaction; see end_steps in transaction.c.
 */
extern void commit_remote(void);
extern void prepare_remote(void);
extern void commit_tell_sessions(void);
extern void commit_prepared(void);
extern void abort_remote(void);

/*
 * Makes the end of this transaction wait for synchronous standbys, if there
 * are any, whatever synchronous_commit is: a promoted standby must not lack a
 * part of a transaction on several nodes.
 */
extern void commit_waits_for_standbys(void);

/*
 * After COMMIT PREPARED or ROLLBACK PREPARED (tag) on nodes: warns about
 * transactions that are left to recovery; clears the errors.  It is no error
 * if a transaction is already finished.
 */
extern void commit_note_finished(RemoteAnswer *answers, int n, const char *tag);
extern void commit_warn_unfinished(const char *gid, const char *reason);

/*
 * commit.c: whether the server still has local work for this transaction's
 * commit that can fail.
 */
extern bool commit_can_fail_here(void);

/*
 * wait_edges.c: whether a process of this node waits for a lock that this
 * process holds.
 */
extern bool wait_edges_lead_here(void);

/*
 * active.c: the transactions of this node that are committing in two phases.
 */
extern void active_init(void);

/*
 * Gives this backend's transaction a new number, unique on the node, and shows
 * it to recovery.
 */
extern uint64 active_begin(void);
extern void active_end(void);

/* Counts transactions that this node began and left for recovery to finish. */
extern void active_left_unfinished(void);
extern uint64 active_unfinished_count(void);

/*
 * The number of a backend's transaction while it commits in two phases, by its
 * place in ProcGlobal->allProcs; else 0.
 */
extern uint64 active_number_of(int procno);

/*
 * A hash table of the numbers of all that are active in this database, in
 * CurrentMemoryContext.
 */
extern HTAB *active_numbers(void);

/*
 * How many transactions are prepared here that have themselves prepared others
 * (finish_prepared.c).
 */
extern void active_parent_prepared(void);
extern void active_parent_finished(void);

/*
 * Whether there may be such ones; after a restart there may be until
 * active_no_old_parents says no.
 */
extern bool active_parents_possible(void);
extern void active_no_old_parents(TimestampTz oldest_prepared);

/*
 * commit_record.c: rows of pg_dist_transaction.  parent: the own transaction,
 * if it is to be prepared too, else invalid.
 */
extern void commit_record_insert(const RemoteAnswer *writers, int n, FullTransactionId parent);

typedef struct CommitRecord
{
	char		gid[GID_SIZE];	/* hash key */
	TransactionId xid;			/* of the initiator */
} CommitRecord;

/*
 * The groups for which there are committed records, in CurrentMemoryContext.
 */
extern List *commit_record_groups(void);

/*
 * A hash table of the committed records of a group, in CurrentMemoryContext.
 */
extern HTAB *commit_record_set(int32 groupid);
extern void commit_record_delete(int32 groupid, List *gids);

/*
 * restore_point.c: blocks decisions of transactions over several nodes, and
 * changes of nodes, on all nodes, until the end of this transaction and of the
 * connections (List of RemoteConn *, to the other nodes) that it returns.
 */
extern List *restore_point_lock(void);

/* changes_block.c */
extern void changes_block_init(void);

/* gid.c */
#define GID_PREFIX "citus_"

/*
 * A transaction that was prepared on another node, by one that is prepared
 * here.
 */
typedef struct PreparedChild
{
	int32		groupid;
	char		gid[GID_SIZE];
} PreparedChild;

/*
 * The records (List of PreparedChild *) that a transaction has written, also
 * while it is only prepared.
 */
extern List *commit_record_children(TransactionId parent);

/*
 * gid.c.  parent: the transaction of this node that is to be prepared too, or
 * invalid.
 */
extern void gid_make(char *gid, int32 group, uint64 number, int connection, FullTransactionId parent);

/*
 * Whether a PREPARE TRANSACTION with this gid and text is one of a node.
 * Errors if a client uses a name of ours.
 */
extern bool gid_check(const char *gid, const char *query);

/* Whether a statement about a prepared transaction was sent by a node. */
extern bool txn_statement_from_node(const char *query);

/*
 * Marks this transaction, which is about to be prepared, as one of a node;
 * parked: a client decides on its end.
 */
extern void gid_mark_prepared(bool parked);

/* SQL: whether x, a row of pg_prepared_xact(), is so marked. */
#define NODE_PREPARED_SUBID 1
#define NODE_PARKED_SUBID 2
#define PREPARED_FOR_NODE PREPARED_WITH_LOCK(NODE_PREPARED_SUBID)
#define PREPARED_PARKED PREPARED_WITH_LOCK(NODE_PARKED_SUBID)
#define PREPARED_WITH_LOCK(subid) \
	"EXISTS (SELECT FROM pg_catalog.pg_lock_status() l WHERE l.locktype OPERATOR(pg_catalog.=) 'object' " \
	"AND l.database OPERATOR(pg_catalog.=) x.dbid " \
	"AND l.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_database'::pg_catalog.regclass " \
	"AND l.objid::pg_catalog.text OPERATOR(pg_catalog.=) x.transaction::pg_catalog.text " \
	"AND l.objsubid OPERATOR(pg_catalog.=) " CppAsString2(subid) ")"

/* What a gid says (gid.c). */
typedef struct ParsedGid
{
	int32		groupid;		/* the initiator's */
	int32		pid;
	uint64		number;
	FullTransactionId parent;	/* or invalid */
} ParsedGid;

/* False if the name is not of our form. */
extern bool gid_parse(const char *gid, ParsedGid *parsed);

#endif							/* CITUS_TXN_PRIVATE_H */
