/*-------------------------------------------------------------------------
 *
 * node_session.h
 *	  Whether this session is another node's, and checks of functions for
 *	  nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_NODE_SESSION_H
#define CITUS_CATALOG_NODE_SESSION_H

#include "postgres.h"

#include "fmgr.h"

/* Bytes of a proof as text, with the terminating zero. */
#define NODE_PROOF_SIZE (32 + 1 + 11 + 1 + 64 + 1)

/* The setting that contains a node's proof. */
#define NODE_PROOF_SETTING "citus.node_proof"

/*
 * Allows functions for nodes to be called.  Code that runs a command composed
 * by this library, which may call such a function, sets it for that time
 * (table/run_commands.c).
 */
typedef struct NodeCall
{
	const char *own_command;	/* that command; NULL: the client's text
								 * counts */
	const FmgrInfo *function;	/* the one that was called first */
} NodeCall;

extern NodeCall node_call;

/* At the start of an execution: a client's new text may call another one. */
extern void node_call_forget(const char *text);

/*
 * Writes a proof that a session of the login role, in a database with the name
 * of this one, is opened by a node of this cluster.  pid is the process id
 * that the other server has reported; 0: the proof is for the login, as which
 * it spares the session login triggers.  Reads a catalog.
 */
extern void node_proof_write(Oid login_role, int pid, char *proof);

/* The cluster's secret, in the form that bytea reads; palloc'd. */
extern char *node_secret_text(void);

/*
 * Whether another node has opened this session.  Then that node is its client,
 * and no other client can send statements.  Reads a catalog when it is called
 * for the first time in a session; false outside a transaction then.
 */
extern bool node_session(void);

/*
 * Whether the text is the one that this session's client has sent, and that
 * runs now, as opposed to one that a function runs.
 */
extern bool is_client_text(const char *text);

/*
 * For the start of a SQL function that nodes call on each other: errors with
 * 42501 unless a node has sent the call, or this library makes it, or the
 * current user is a superuser.  Code of users that runs meanwhile may not call
 * any.
 */
extern void node_function_check(FunctionCallInfo fcinfo);

/* The same for a function that only superusers' sessions call: a move's. */
extern void node_function_check_superuser(FunctionCallInfo fcinfo);

/* SQLSTATE of a delegated call that needs other nodes. */
#define ERRCODE_CALL_NEEDS_NODES MAKE_SQLSTATE('C','T','0','0','2')

/* Set while the library itself queries another node. */
extern bool node_session_asks;

/* Whether this session runs such a call. */
extern bool node_session_runs_call(void);

/*
 * Before another node is used: errors in such a call, unless
 * node_session_asks.
 */
extern void node_session_check_call(void);

/*
 * At the end of such a call, and before a COMMIT in it: errors again if users'
 * code has caught that error.
 */
extern void node_session_call_ends(void);

/*
 * After an error of such a call, in PG_CATCH, with the memory context that the
 * call began in: errors as above instead, if what is missing may be there in
 * the client's session.
 */
extern void node_session_call_fails(int sqlerrcode);

extern void node_session_init(void);

#endif							/* CITUS_CATALOG_NODE_SESSION_H */
