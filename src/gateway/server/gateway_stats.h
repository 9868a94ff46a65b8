/*-------------------------------------------------------------------------
 *
 * gateway_stats.h
 *	  The shared area: memory that the server and the gateway's processes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_SERVER_GATEWAY_STATS_H
#define CITUS_GATEWAY_SERVER_GATEWAY_STATS_H

#include "postgres.h"

#include "libpq/pqcomm.h"
#include "port/atomics.h"

#define MAX_GATEWAY_PROCESSES 64

/* How many cancel requests may wait for each process. */
#define MAX_REQUESTS 8

/* Why a statement was not routed, but run by a session of this node. */
typedef enum UnroutedReason
{
	UNROUTED_NEW,
	UNROUTED_WITHOUT_ROUTE,
	UNROUTED_VALUE,
	UNROUTED_FORM,
	UNROUTED_HERE,
	UNROUTED_UNREACHABLE,
	UNROUTED_BLOCK,
} UnroutedReason;

#define UNROUTED_REASONS (UNROUTED_BLOCK + 1)

/* Buckets for waits of less than 1, 2, 4 ... microseconds. */
#define WAIT_BUCKETS 40

/*
 * The most sessions of all processes whose clients are in the area; others
 * report the gateway's address.
 */
#define MAX_SESSION_ENTRIES 4096

/* Which client has a session of this server. */
typedef struct SessionEntry
{
	volatile uint32 changes;	/* odd while it is being written */
	SockAddr	address;		/* salen 0: none yet */
	SockAddr	server_address; /* our end of its connection */
	volatile int client;		/* its place in client_entries, from 1 */
	volatile int last_number;	/* its number, also after it has returned the
								 * session */
} SessionEntry;

/* What a client does, for pg_stat_activity. */
typedef enum ClientShown
{
	CLIENT_SHOWN_IDLE,
	CLIENT_SHOWN_ACTIVE,
	CLIENT_SHOWN_IN_BLOCK,		/* idle in a transaction block */
} ClientShown;

/* A client of the gateway (client_entries.c). */
typedef struct ClientEntry
{
	volatile uint32 changes;	/* odd while it is being written */
	volatile int number;		/* 0: the entry is free */
	volatile int session;		/* process id of the session of this server
								 * that it has; 0: none */
	volatile ClientShown state;
	volatile int64 since;		/* when it came into that state, by the
								 * gateway's clock */
	int64		connected;
	Oid			role;
	Oid			database;
	SockAddr	address;
	char		application_name[NAMEDATALEN];
} ClientEntry;

/* What a session may order about a client. */
typedef enum ClientOrder
{
	ORDER_CANCEL = 1,
	ORDER_TERMINATE,
} ClientOrder;

/* Written by one process only. */
typedef struct GatewayStats
{
	int64		pid;
	int64		clients;		/* connected now */
	int64		waiting;		/* of these, for a session */
	int64		active;			/* of these, have one */
	int64		pools;
	int64		sessions;		/* opened on this node */
	int64		node_sessions;	/* and on others */
	int64		logins;			/* clients that were let in, since the process
								 * began */
	int64		transactions;	/* that have ended on this node's sessions */
	int64		routed;			/* statements that another node's session has
								 * run */
	int64		pipelined;		/* of these, behind another client's */
	int64		resent;			/* of these, sent once more */
	int64		node_blocks;	/* transaction blocks that have ended on
								 * them */
	int64		moved_blocks;	/* and that were moved to this node's */
	int64		restores;		/* sessions that were given other settings */
	int64		unrouted[UNROUTED_REASONS]; /* statements, and blocks */
	int64		received;		/* bytes, from clients */
	int64		sent;			/* to them */
	int64		waits[WAIT_BUCKETS];	/* how long clients waited for a
										 * session */
	int64		max_wait;		/* microseconds, at most */
} GatewayStats;

/*
 * In memory that gateway processes share with the server's, although they have
 * left its shared memory.
 */
typedef struct GatewayArea
{
	volatile bool paused;		/* clients wait */
	pg_atomic_uint64 ddl;		/* grows when DDL commits on this server */
	pg_atomic_uint64 defaults;	/* grows when roles' or databases' settings
								 * change */

	/*
	 * the Oid of a database that is to be free of sessions, below a number
	 * that grows
	 */
	pg_atomic_uint64 released;

	/*
	 * cancel requests from clients, for other nodes' gateways
	 * (cancel_function.c); 0: none
	 */
	pg_atomic_uint64 cancels[MAX_GATEWAY_PROCESSES][MAX_REQUESTS];

	/* that have come to us, and are to be sent to the other nodes */
	pg_atomic_uint64 forwarded[MAX_GATEWAY_PROCESSES][MAX_REQUESTS];

	/* orders about a process's clients: number and order; 0: none */
	pg_atomic_uint64 orders[MAX_GATEWAY_PROCESSES][MAX_REQUESTS];
	pg_atomic_uint32 orders_given[MAX_GATEWAY_PROCESSES];	/* 0: none */
	GatewayStats processes[MAX_GATEWAY_PROCESSES];

	/* each process has a share of these; pid 0: free */
	volatile int32 session_pids[MAX_SESSION_ENTRIES];
	SessionEntry sessions[MAX_SESSION_ENTRIES];
} GatewayArea;

/* NULL in a server without a gateway. */
extern GatewayArea *gateway_area;

/* Stores a request in one of a process's slots; false if none is free. */
extern bool gateway_put_cancel(pg_atomic_uint64 *slots, int32 pid, int32 key);

/* This process's. */
extern GatewayStats *gateway_stats;

/* Counts the time that a client has waited for a session. */
extern void gateway_stats_waited(int64 microseconds);

/*
 * session_client.c: an entry for a session of this process with that pid, NULL
 * if none is free; the client that it is lent to; its end.  NULL is ignored.
 */
extern SessionEntry *session_entry_take(int process, int32 pid);
extern void session_entry_lend(SessionEntry *session, ClientEntry *client, const SockAddr *address,
							   const SockAddr *server_address);
extern void session_entry_drop(SessionEntry *session);

/* Called at the start of a process: resets what an earlier one has left. */
extern void session_entries_clear(int process);

/*
 * client_entries.c: the entries of all processes' clients, as many for each as
 * it may have.
 */
extern ClientEntry *client_entries;
extern int	client_entries_count(void);
extern void client_entries_create(void);
extern void client_entries_clear(int process);

/*
 * The gateway process: an entry for a client, filled; NULL if there is none,
 * which the other functions ignore.
 */
extern ClientEntry *client_entry_take(int process, const ClientEntry *client);
extern void client_entry_drop(ClientEntry *client);
extern void client_entry_rename(ClientEntry *client, const char *application_name);

static inline void
client_entry_show(ClientEntry *client, int session, ClientShown state, int64 since)
{
	if (client == NULL)
		return;
	client->session = session;
	client->state = state;
	client->since = since;
}

/* Calls obey for the orders that have been given about its clients. */
extern void client_orders_take(int process, void (*obey) (int number, ClientOrder order));

/*
 * The server: copies an entry; false if it is free.  client_entry_find does so
 * by the client's number.
 */
extern bool client_entry_read(int i, ClientEntry *copy);
extern bool client_entry_find(int number, ClientEntry *copy);

/* False: the process has too many orders now. */
extern bool client_order_give(int number, ClientOrder order);

/*
 * Both: the number of the client that has a session of this server now, or had
 * it last; 0 if there is none.
 */
extern int	client_number_of_session(int pid);
extern int	client_number_of_last(int pid);

/* Called while the server starts, before it forks. */
extern void gateway_area_create(void);

#endif							/* CITUS_GATEWAY_SERVER_GATEWAY_STATS_H */
