/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  The role and security context in which a task runs on another node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_IDENTITY_H
#define CITUS_REMOTE_IDENTITY_H

#include "postgres.h"

#include "remote/connection.h"

/*
 * Queues a command that makes the next statement on a connection run as the
 * current user in the current security context, and, if analyst is valid, be
 * analysed as that role.  False if nothing is needed for that; if true,
 * identity_end_remote is to be called once the statement is queued.
 */
extern bool identity_begin_remote(RemoteConn *conn, Oid analyst);
extern void identity_end_remote(RemoteConn *conn);

/*
 * The same for a statement that isn't sent in the pipeline: to be called once
 * it has ended.
 */
extern void identity_end_remote_silently(RemoteConn *conn);

/*
 * On the node of a task, after its analysis or before its execution: switches
 * from its analyst to its user.
 */
extern void identity_settle(void);

#endif							/* CITUS_REMOTE_IDENTITY_H */
