/*-------------------------------------------------------------------------
 *
 * client_board.c
 *	  The gateway's clients on the board, where sessions of the server find
 *	  them by their numbers.
 *
 * A client has one number from its start to its end, which it gets as process
 * id in BackendKeyData: the number of the gateway process is in its high bits,
 * so it is no process id of the system.  The client's entry is written by its
 * gateway process only.  There is no lock: the process increments a counter
 * before and after it fills an entry, and a reader that sees another value
 * afterwards reads the entry again.  What changes with each statement (state,
 * session, since) are single words outside of that.
 *
 * Sessions order a process to cancel a client's statement, or to end the
 * client, by slots like those of cancel requests.  The process takes orders
 * before it serves its sockets, so an order that was given before a message of
 * the client arrives is obeyed first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "port/atomics.h"

#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

BoardClient *board_clients = NULL;

int
board_clients_count(void)
{
	return gateway_max_clients * Min(gateway_processes, MAX_GATEWAY_PROCESSES);
}

void
board_clients_create(void)
{
	void	   *memory = mmap(NULL, sizeof(BoardClient) * board_clients_count(), PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		ereport(FATAL,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map memory for the gateway: %m")));
	board_clients = memory;
	for (int i = 0; i < MAX_GATEWAY_PROCESSES; i++)
	{
		pg_atomic_init_u32(&gateway_board->orders_given[i], 0);
		for (int slot = 0; slot < MAX_BOARD_CANCELS; slot++)
			pg_atomic_init_u64(&gateway_board->orders[i][slot], 0);
	}
}

void
board_clients_clear(int process)
{
	for (int i = 0; i < gateway_max_clients; i++)
		if (board_clients[process * gateway_max_clients + i].number != 0)
			board_clients[process * gateway_max_clients + i].number = 0;
}

BoardClient *
board_client_take(int process, const BoardClient *client)
{
	static int	next = 0;

	for (int i = 0; i < gateway_max_clients; i++)
	{
		BoardClient *entry = &board_clients[process * gateway_max_clients + next];
		uint32		changes = entry->changes;

		next = (next + 1) % gateway_max_clients;
		if (entry->number != 0)
			continue;
		entry->changes = ++changes;
		pg_write_barrier();
		*entry = *client;
		entry->changes = changes;
		pg_write_barrier();
		entry->changes = changes + 1;
		return entry;
	}
	return NULL;
}

void
board_client_drop(BoardClient *client)
{
	if (client != NULL)
		client->number = 0;
}

void
board_client_rename(BoardClient *client, const char *application_name)
{
	if (client == NULL)
		return;
	client->changes++;
	pg_write_barrier();
	strlcpy(client->application_name, application_name, sizeof(client->application_name));
	pg_write_barrier();
	client->changes++;
}

bool
board_client_read(int i, BoardClient *copy)
{
	const BoardClient *entry = &board_clients[i];
	uint32		changes;

	if (entry->number == 0)
		return false;
	do
	{
		changes = entry->changes;
		pg_read_barrier();
		*copy = *entry;
		pg_read_barrier();
	} while (entry->changes != changes);
	return copy->number != 0 && (changes & 1) == 0;
}

bool
board_client_find(int number, BoardClient *copy)
{
	int			process = CANCEL_PID_PROCESS(number);

	if (gateway_board == NULL || process < 0 || process >= Min(gateway_processes, MAX_GATEWAY_PROCESSES))
		return false;
	for (int i = process * gateway_max_clients; i < (process + 1) * gateway_max_clients; i++)
		if (board_clients[i].number == number)
			return board_client_read(i, copy) && copy->number == number;
	return false;
}

/* The board's entry of a session of this server by its process id; or NULL. */
static const BoardSession *
session_of_pid(int pid)
{
	if (gateway_board == NULL)
		return NULL;
	for (int i = 0; i < MAX_BOARD_SESSIONS; i++)
		if (gateway_board->session_pids[i] == pid)
			return &gateway_board->sessions[i];
	return NULL;
}

int
board_number_of_session(int pid)
{
	const BoardSession *session = session_of_pid(pid);
	int			i = session == NULL ? 0 : session->client;

	return i > 0 && board_clients[i - 1].session == pid ? board_clients[i - 1].number : 0;
}

int
board_number_of_last_client(int pid)
{
	const BoardSession *session = session_of_pid(pid);

	return session == NULL ? 0 : session->last_number;
}

bool
board_order_give(int number, ClientOrder order)
{
	int			process = CANCEL_PID_PROCESS(number);

	if (!gateway_put_cancel(gateway_board->orders[process], number, order))
		return false;
	pg_atomic_fetch_add_u32(&gateway_board->orders_given[process], 1);
	return true;
}

void
board_orders_take(int process, void (*obey) (int number, ClientOrder order))
{
	pg_atomic_uint64 *orders = gateway_board->orders[process];

	if (pg_atomic_read_u32(&gateway_board->orders_given[process]) == 0)
		return;
	(void) pg_atomic_exchange_u32(&gateway_board->orders_given[process], 0);
	for (int i = 0; i < MAX_BOARD_CANCELS; i++)
	{
		uint64		given = pg_atomic_exchange_u64(&orders[i], 0);

		if (given != 0)
			obey((int) (given >> 32), (ClientOrder) (uint32) given);
	}
}
