/*-------------------------------------------------------------------------
 *
 * client_entries.c
 *	  The gateway's clients in the shared area, where sessions of the server find
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

ClientEntry *client_entries = NULL;

int
client_entries_count(void)
{
	return gateway_max_clients * Min(gateway_processes, MAX_GATEWAY_PROCESSES);
}

void
client_entries_create(void)
{
	void	   *memory = mmap(NULL, sizeof(ClientEntry) * client_entries_count(), PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		ereport(FATAL,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map memory for the gateway: %m")));
	client_entries = memory;
	for (int i = 0; i < MAX_GATEWAY_PROCESSES; i++)
	{
		pg_atomic_init_u32(&gateway_area->orders_given[i], 0);
		for (int slot = 0; slot < MAX_REQUESTS; slot++)
			pg_atomic_init_u64(&gateway_area->orders[i][slot], 0);
	}
}

void
client_entries_clear(int process)
{
	for (int i = 0; i < gateway_max_clients; i++)
		if (client_entries[process * gateway_max_clients + i].number != 0)
			client_entries[process * gateway_max_clients + i].number = 0;
}

ClientEntry *
client_entry_take(int process, const ClientEntry *client)
{
	static int	next = 0;

	for (int i = 0; i < gateway_max_clients; i++)
	{
		ClientEntry *entry = &client_entries[process * gateway_max_clients + next];
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
client_entry_drop(ClientEntry *client)
{
	if (client != NULL)
		client->number = 0;
}

void
client_entry_rename(ClientEntry *client, const char *application_name)
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
client_entry_read(int i, ClientEntry *copy)
{
	const ClientEntry *entry = &client_entries[i];
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
client_entry_find(int number, ClientEntry *copy)
{
	int			process = CANCEL_PID_PROCESS(number);

	if (gateway_area == NULL || process < 0 || process >= Min(gateway_processes, MAX_GATEWAY_PROCESSES))
		return false;
	for (int i = process * gateway_max_clients; i < (process + 1) * gateway_max_clients; i++)
		if (client_entries[i].number == number)
			return client_entry_read(i, copy) && copy->number == number;
	return false;
}

/* The entry of a session of this server by its process id; or NULL. */
static const SessionEntry *
session_of_pid(int pid)
{
	if (gateway_area == NULL)
		return NULL;
	for (int i = 0; i < MAX_SESSION_ENTRIES; i++)
		if (gateway_area->session_pids[i] == pid)
			return &gateway_area->sessions[i];
	return NULL;
}

int
client_number_of_session(int pid)
{
	const SessionEntry *session = session_of_pid(pid);
	int			i = session == NULL ? 0 : session->client;

	return i > 0 && client_entries[i - 1].session == pid ? client_entries[i - 1].number : 0;
}

int
client_number_of_last(int pid)
{
	const SessionEntry *session = session_of_pid(pid);

	return session == NULL ? 0 : session->last_number;
}

bool
client_order_give(int number, ClientOrder order)
{
	int			process = CANCEL_PID_PROCESS(number);

	if (!gateway_put_cancel(gateway_area->orders[process], number, order))
		return false;
	pg_atomic_fetch_add_u32(&gateway_area->orders_given[process], 1);
	return true;
}

void
client_orders_take(int process, void (*obey) (int number, ClientOrder order))
{
	pg_atomic_uint64 *orders = gateway_area->orders[process];

	if (pg_atomic_read_u32(&gateway_area->orders_given[process]) == 0)
		return;
	(void) pg_atomic_exchange_u32(&gateway_area->orders_given[process], 0);
	for (int i = 0; i < MAX_REQUESTS; i++)
	{
		uint64		given = pg_atomic_exchange_u64(&orders[i], 0);

		if (given != 0)
			obey((int) (given >> 32), (ClientOrder) (uint32) given);
	}
}
