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

#define PREPARED_NAME_SIZE 48

/* How to send a text by name. */
typedef struct PreparedUse
{
	bool		first;			/* it must be prepared before it is executed */
	const char *name;
	const char *sql;			/* the whole text */
	char		evicted[PREPARED_NAME_SIZE];	/* if not empty, a statement to
												 * be deallocated */
} PreparedUse;

/*
 * Notes a use of a text, tag and text one after the other, with its
 * parameters' types on a connection.  True: it is sent by name, as described
 * by *use, whose strings are valid until the next call; false: as text, as its
 * first use unless at_once.
 */
extern bool prepared_use(RemoteConn *conn, const char *tag, const char *text, const RemoteParams *params,
						 bool at_once, PreparedUse *use);

/* A segment in which a statement was prepared has failed: it may not exist. */
extern void prepared_failed(RemoteConn *conn);

/* The last segment has succeeded. */
extern void prepared_succeeded(RemoteConn *conn);

/* The node has lost its statements, or they are out of date. */
extern void prepared_forget(RemoteConn *conn);

/* Frees the cache of a connection. */
extern void prepared_free(RemoteConn *conn);

#endif							/* CITUS_REMOTE_PREPARED_H */
