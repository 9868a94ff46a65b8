/*-------------------------------------------------------------------------
 *
 * cpu_priority.c
 *	  The operating system's priority of sessions.
 *
 * citus.cpu_priority is the nice value of the process that has it.  A move
 * sets it in the session on the old node that copies the rows, which takes
 * most of a move's CPU time there.  A process without special rights can make
 * itself nicer, but not go back, so that session keeps it to its end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "utils/guc.h"

#include "rebalance/cpu_priority.h"

#define NICEST 19
#define LEAST_NICE (-20)

static int	cpu_priority = 0;
static int	sender_priority = 0;

/* 0 is what the process has at first, unless it was changed. */
static void
assign_cpu_priority(int value, void *extra)
{
	static bool changed = false;

	if (value == cpu_priority || (value == 0 && !changed))
		return;
	if (setpriority(PRIO_PROCESS, 0, value) == 0)
		changed = true;
	else
		ereport(WARNING,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not set the CPU priority of this process to %d: %m", value),
				 errhint("A higher priority, also the former one, takes rights of the operating system (RLIMIT_NICE).")));
}

void
cpu_priority_of_sender(RemoteConn *conn)
{
	if (sender_priority != 0)
		(void) remote_plain_exec(conn, psprintf("SET citus.cpu_priority TO %d", sender_priority), ERROR);
}

void
cpu_priority_init(void)
{
	DefineCustomIntVariable("citus.cpu_priority",
							"Sets the nice value of this session's process.",
							"Higher values mean a lower priority. 0 means that of the server. Without rights of the operating system "
							"(RLIMIT_NICE), a session can't raise its priority again, not even to the former one: it keeps the lower one, with a warning.",
							&cpu_priority, 0, LEAST_NICE, NICEST, PGC_SUSET, 0, NULL, assign_cpu_priority, NULL);
	DefineCustomIntVariable("citus.cpu_priority_for_logical_replication_senders",
							"Sets citus.cpu_priority of the session that copies the rows of a shard that is moved.",
							"On the node that the shard leaves. 0 means that of the server.",
							&sender_priority, 0, LEAST_NICE, NICEST, PGC_SUSET, 0, NULL, NULL, NULL);
}
