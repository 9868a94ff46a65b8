/*-------------------------------------------------------------------------
 *
 * supervisor.c
 *	  The background worker that starts the gateway's processes.
 *
 * A background worker has shared memory, so the server restarts all its
 * sessions when one is killed.  A process that talks to ten thousand clients
 * should not be able to do that.  So the worker serves no clients; it forks
 * processes that first detach from shared memory, and never have an entry in
 * the server's process lists.  When one dies, its clients lose their
 * connections, and the worker starts another; the server isn't affected.
 *
 * Each process has a mailbox, a pair of datagram sockets that outlives it, by
 * which the other processes send cancel requests to the process that has the
 * client.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pg_shmem.h"
#include "storage/proc.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/ps_status.h"
#include "utils/timestamp.h"

#include "gateway/relay.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_port.h"
#include "lib/wait_event.h"

/* A process that failed is not started again before this time has passed. */
#define RESTART_MS 1000

/* How long the processes may take to close their clients' connections. */
#define FAREWELL_MS 3000

extern PGDLLEXPORT void citus_gateway_main(Datum arg);

typedef struct GatewayProcess
{
	pid_t		pid;			/* 0: none */
	TimestampTz started;
} GatewayProcess;

static GatewayProcess *supervised_processes = NULL;
static GatewayStart supervisor_start_data;

static void
note_child(SIGNAL_ARGS)
{
	int			save_errno = errno;

	SetLatch(MyLatch);
	errno = save_errno;
}

/* In the new process: detaches from the server. */
static void
leave_server(pid_t parent)
{
	on_exit_reset();
	MyProcPid = getpid();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	MyProc = NULL;
	MyBEEntry = NULL;
	PGSharedMemoryDetach();
}

static void
start_gateway_process(int number)
{
	GatewayProcess *process = &supervised_processes[number];
	pid_t		parent = MyProcPid;
	sigset_t	old;
	pid_t		pid;

	process->started = GetCurrentTimestamp();
	sigprocmask(SIG_SETMASK, &BlockSig, &old);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
	{
		leave_server(parent);
		supervisor_start_data.number = number;
		relay_main(&supervisor_start_data);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		ereport(LOG,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not start a gateway process: %m")));
	process->pid = Max(pid, 0);
}

/* Takes note of processes that have ended; whether any is left. */
static bool
reap_processes(void)
{
	bool		left = false;
	int			status;

	for (int i = 0; i < gateway_processes; i++)
	{
		GatewayProcess *process = &supervised_processes[i];

		if (process->pid != 0 && waitpid(process->pid, &status, WNOHANG) == process->pid)
		{
			ereport(LOG,
					(errmsg("gateway process %d (PID %d) ended with status %d", i + 1, (int) process->pid, status)));
			process->pid = 0;
		}
		left |= process->pid != 0;
	}
	return left;
}

static void
signal_processes(int sig)
{
	for (int i = 0; i < gateway_processes; i++)
		if (supervised_processes[i].pid != 0)
			kill(supervised_processes[i].pid, sig);
}

/* Ends the processes before the worker's own end. */
static void
end_processes(int code, Datum arg)
{
	TimestampTz begun = GetCurrentTimestamp();

	signal_processes(SIGTERM);
	while (reap_processes() && !TimestampDifferenceExceeds(begun, GetCurrentTimestamp(), FAREWELL_MS))
		pg_usleep(1000);
	signal_processes(SIGKILL);
}

static void
make_mailboxes(void)
{
	supervisor_start_data.processes = gateway_processes;
	supervisor_start_data.mailboxes = palloc(sizeof(*supervisor_start_data.mailboxes) * gateway_processes);
	for (int i = 0; i < gateway_processes; i++)
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, supervisor_start_data.mailboxes[i]) != 0)
			ereport(FATAL,
					(errcode_for_socket_access(),
					 errmsg("could not create a socket pair: %m")));
}

void
citus_gateway_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGCHLD, note_child);
	BackgroundWorkerUnblockSignals();

	MemoryContextSwitchTo(TopMemoryContext);
	supervised_processes = palloc0(sizeof(GatewayProcess) * gateway_processes);
	gateway_addresses_claim();
	gateway_key_copy(supervisor_start_data.key);
	make_mailboxes();
	before_shmem_exit(end_processes, 0);

	while (!ShutdownRequestPending)
	{
		reap_processes();
		for (int i = 0; i < gateway_processes; i++)
			if (supervised_processes[i].pid == 0 &&
				TimestampDifferenceExceeds(supervised_processes[i].started, GetCurrentTimestamp(), RESTART_MS))
				start_gateway_process(i);
		wait_pause(RESTART_MS, WAIT_GATEWAY_MAIN);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			signal_processes(SIGHUP);
		}
	}
	proc_exit(0);
}

void
supervisor_init(void)
{
	BackgroundWorker worker = {0};

	if (IsBinaryUpgrade)
		return;
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "citus", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "citus_gateway_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "citus gateway", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "citus gateway", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
