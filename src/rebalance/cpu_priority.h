/*-------------------------------------------------------------------------
 *
 * cpu_priority.h
 *	  The operating system's priority of sessions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_CPU_PRIORITY_H
#define CITUS_REBALANCE_CPU_PRIORITY_H

#include "postgres.h"

#include "remote/connection.h"

extern void cpu_priority_init(void);

/*
 * Gives a session that will copy rows of a moved shard the priority of
 * citus.cpu_priority_for_logical_replication_senders.
 */
extern void cpu_priority_of_sender(RemoteConn *conn);

#endif							/* CITUS_REBALANCE_CPU_PRIORITY_H */
