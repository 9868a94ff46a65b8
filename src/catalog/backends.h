/*-------------------------------------------------------------------------
 *
 * backends.h
 *	  In shared memory: the client session that each backend of this server
 *	  serves, and the other ends of its connections.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_BACKENDS_H
#define CITUS_CATALOG_BACKENDS_H

#include "postgres.h"

/* Connections of a backend beyond these are not shown. */
#define BACKEND_MAX_PEERS 256

#define GPID_NODE_FACTOR INT64CONST(10000000000)

/* A backend of another node, at the other end of a connection. */
typedef struct BackendPeer
{
	int32		groupid;
	int32		pid;
} BackendPeer;

extern void backends_init(void);

/*
 * Makes this backend known; false if it is already, which is cheap.  To be
 * called when statements begin.
 */
extern bool backend_show(void);

/*
 * Global process id of the session that this backend works for: its own, node
 * id * 10^10 + process id, or that of the client's backend, on whichever node,
 * when another node has opened this session.
 */
extern uint64 backend_gpid(void);

/* Whether a login's application_name, which may be NULL, is a node's. */
extern bool backend_is_nodes(const char *name);

/*
 * How many nodes have sessions here that serve clients, and how many sessions
 * these are.
 */
extern int	backend_count_openers(int *nsessions);

/* Global process id of a process of this node by itself. */
extern uint64 backend_make_gpid(int pid);

/*
 * The global process id that a process serves; 0 if it serves its own client,
 * or is none.
 */
extern uint64 backend_served_gpid(int pid);

/*
 * The group of the node and the process of the client's session that a process
 * works for, given by its place in ProcGlobal->allProcs: its own, or another
 * node's.
 */
extern void backend_root(int procno, int pid, int32 *groupid, int *root);

/*
 * The process that works for a client now, if pid is a client's number in the
 * gateway of this node; else pid itself.  NULL: there is no gateway.
 */
extern int	(*backend_of_client) (int pid);

/*
 * A session that another node has opened serves no client from now on
 * (src/remote/kept_session.c); false if it can't, since its role's or
 * database's defaults have changed since it began.
 */
extern bool backend_rest(void);

/*
 * It serves another client; false if it is to end, or if these defaults have
 * changed.
 */
extern bool backend_serve(uint64 gpid);

/*
 * Ends at most n sessions that serve no client, of a database, or of all
 * (InvalidOid).
 */
extern void backend_end_resting(Oid database, int n);

/*
 * Whether a session waits until nobody else uses this session's database, as
 * for DROP DATABASE.  May be called outside of a transaction.
 */
extern bool backend_database_is_wanted(void);

/* Defaults of roles or databases have changed; takes no lock. */
extern void backend_defaults_changed(void);

/* Shows, and hides, the other end of a connection. */
extern void backend_add_peer(int32 groupid, int32 pid);
extern void backend_remove_peer(int32 groupid, int32 pid);

/*
 * Copies the peers of a backend, given by its place in ProcGlobal->allProcs,
 * if it is still pid's; returns how many.
 */
extern int	backend_peers(int procno, int pid, BackendPeer *peers);

#endif							/* CITUS_CATALOG_BACKENDS_H */
