/*-------------------------------------------------------------------------
 *
 * command_log.h
 *	  Tells the client what is sent to other nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_COMMAND_LOG_H
#define CITUS_REMOTE_COMMAND_LOG_H

#include "remote/connection.h"

/* Settings citus.log_remote_commands, citus.log_local_commands. */
extern bool log_remote_commands;
extern bool log_local_commands;

extern void command_log_init(void);

/* Reports a command to a node, or (conn is NULL) a task of this one. */
extern void command_log_report(const RemoteConn *conn, const char *sql);

/* The same, if the client wants it; to be called before a command is sent. */
static inline void
command_log(const RemoteConn *conn, const char *sql)
{
	if (unlikely(log_remote_commands))
		command_log_report(conn, sql);
}

#endif							/* CITUS_REMOTE_COMMAND_LOG_H */
