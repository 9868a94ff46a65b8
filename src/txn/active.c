/*-------------------------------------------------------------------------
 *
 * active.c
 *	  The transactions of this node that are committing in two phases.
 *
 * Recovery must ignore a prepared transaction while its initiator is still
 * working on it.  So each backend has a slot in shared memory, which holds its
 * transaction's number from before the first PREPARE until after the last
 * COMMIT PREPARED or ROLLBACK PREPARED was tried.  A backend that ends clears
 * its slot as it aborts; one that crashes takes the shared memory with it.
 *
 * A number is the time in microseconds, or the next unused one, so that none
 * is reused after a restart, or by a promoted standby.
 *
 * One lightweight lock covers all slots.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "lib/shared_area.h"
#include "txn/dist_transaction.h"
#include "txn/private.h"

typedef struct ActiveSlot
{
	uint64		number;			/* 0: none */
	Oid			database;
} ActiveSlot;

typedef struct ActiveShared
{
	SharedHeader header;
	uint64		last_number;
	uint64		unfinished;		/* how often a transaction was left to
								 * recovery */
	int			parents;		/* prepared here since the start, with others
								 * prepared elsewhere */
	bool		old_parents;	/* there may be such transactions from before
								 * the start */
	TimestampTz looked;			/* when old_parents was checked first */
	ActiveSlot	slots[FLEXIBLE_ARRAY_MEMBER];	/* one per backend */
} ActiveShared;

static ActiveShared *active_shared = NULL;

static void
fill_active_shared(void)
{
	active_shared->old_parents = max_prepared_xacts > 0;
}

void
active_init(void)
{
	static SharedArea area = {
		.name = "citus_active_transactions",
		.fixed = offsetof(ActiveShared, slots),
		.per_backend = sizeof(ActiveSlot),
		.memory = (SharedHeader **) &active_shared,
		.fill = fill_active_shared,
	};

	shared_area_add(&area);
}

static ActiveSlot *
my_active_slot(void)
{
	return &active_shared->slots[MyProc - ProcGlobal->allProcs];
}

uint64
active_begin(void)
{
	ActiveSlot *slot = my_active_slot();
	uint64		number;

	LWLockAcquire(active_shared->header.lock, LW_EXCLUSIVE);
	number = active_shared->last_number = Max(active_shared->last_number + 1, (uint64) GetCurrentTimestamp());
	slot->number = number;
	slot->database = MyDatabaseId;
	LWLockRelease(active_shared->header.lock);
	dist_transaction.number = number;
	return number;
}

void
active_end(void)
{
	if (dist_transaction.number == 0)
		return;
	LWLockAcquire(active_shared->header.lock, LW_EXCLUSIVE);
	my_active_slot()->number = 0;
	LWLockRelease(active_shared->header.lock);
	dist_transaction.number = 0;
}

void
active_left_unfinished(void)
{
	LWLockAcquire(active_shared->header.lock, LW_EXCLUSIVE);
	active_shared->unfinished++;
	LWLockRelease(active_shared->header.lock);
}

uint64
active_unfinished_count(void)
{
	uint64		count;

	LWLockAcquire(active_shared->header.lock, LW_SHARED);
	count = active_shared->unfinished;
	LWLockRelease(active_shared->header.lock);
	return count;
}

void
active_parent_prepared(void)
{
	LWLockAcquire(active_shared->header.lock, LW_EXCLUSIVE);
	active_shared->parents++;
	LWLockRelease(active_shared->header.lock);
}

void
active_parent_finished(void)
{
	LWLockAcquire(active_shared->header.lock, LW_EXCLUSIVE);
	if (active_shared->parents > 0)
		active_shared->parents--;
	LWLockRelease(active_shared->header.lock);
}

bool
active_parents_possible(void)
{
	bool		possible;

	LWLockAcquire(active_shared->header.lock, LW_SHARED);
	possible = active_shared->old_parents || active_shared->parents > 0;
	LWLockRelease(active_shared->header.lock);
	return possible;
}

void
active_no_old_parents(TimestampTz oldest_prepared)
{
	LWLockAcquire(active_shared->header.lock, LW_EXCLUSIVE);
	if (active_shared->looked == 0)
		active_shared->looked = GetCurrentTimestamp();
	if (oldest_prepared > active_shared->looked)
		active_shared->old_parents = false;
	LWLockRelease(active_shared->header.lock);
}

uint64
active_number_of(int procno)
{
	uint64		number;

	LWLockAcquire(active_shared->header.lock, LW_SHARED);
	number = active_shared->slots[procno].number;
	LWLockRelease(active_shared->header.lock);
	return number;
}

HTAB *
active_numbers(void)
{
	HASHCTL		info = {0};
	HTAB	   *numbers;

	info.keysize = sizeof(uint64);
	info.entrysize = sizeof(uint64);
	info.hcxt = CurrentMemoryContext;
	numbers = hash_create("active transactions", MaxBackends, &info,
						  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	LWLockAcquire(active_shared->header.lock, LW_SHARED);
	for (int i = 0; i < MaxBackends; i++)
	{
		ActiveSlot *slot = &active_shared->slots[i];

		if (slot->number != 0 && slot->database == MyDatabaseId)
			hash_search(numbers, &slot->number, HASH_ENTER, NULL);
	}
	LWLockRelease(active_shared->header.lock);
	return numbers;
}
