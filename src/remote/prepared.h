/*-------------------------------------------------------------------------
 *
 * prepared.h
 *	  Statements that a connection's node has prepared for us.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_PREPARED_H
#define CITUS_REMOTE_PREPARED_H

#include "remote/connection.h"

/* What to do with a text. */
typedef enum PreparedUse
{
	PREPARED_NOT,				/* send it as it is */
	PREPARED_FIRST,				/* prepare it under the name, then execute */
	PREPARED_AGAIN,				/* execute the name */
} PreparedUse;

#define PREPARED_NAME_SIZE 32

extern void prepared_init(void);

/* citus.max_prepared_tasks_per_connection */
extern int	prepared_limit(void);

/*
 * Notes a use of a text with its parameters' types on a connection, and says how
 * to send it.  name (PREPARED_NAME_SIZE) is set unless PREPARED_NOT.
 * *evicted, if not empty then, names a statement that the node may forget.
 */
extern PreparedUse prepared_use(RemoteConn *conn, const char *sql, const RemoteParams *params,
								char *name, char *evicted);

/* A segment in which a statement was prepared has failed: it may not exist. */
extern void prepared_failed(RemoteConn *conn);

/* The last segment has succeeded. */
extern void prepared_succeeded(RemoteConn *conn);

/* The node has lost its statements, or they are out of date. */
extern void prepared_forget(RemoteConn *conn);

/* Frees what is kept for a connection. */
extern void prepared_free(RemoteConn *conn);

#endif							/* CITUS_REMOTE_PREPARED_H */
