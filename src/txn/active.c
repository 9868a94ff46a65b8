/*-------------------------------------------------------------------------
 *
 * active.c
 *	  The transactions of this node that are committing in two phases.
 *
 * Recovery must leave a prepared transaction alone as long as its initiator is
 * still at work on it.  So each backend has a slot in shared memory, which holds its
 * transaction's number from before the first PREPARE until after the last
 * COMMIT PREPARED or ROLLBACK PREPARED was tried.  A backend that ends clears
 * its slot as it aborts; one that crashes takes the shared memory with it.
 *
 * A number is the time, in microseconds, or more if that was used, so that none is used
 * again after a restart, or by a standby that was promoted.
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
	uint64		unfinished;		/* how often a transaction was left to recovery */
	int			parents;		/* prepared here since the start, with others
								 * prepared elsewhere */
	bool		old_parents;	/* there may be such ones from before */
	TimestampTz looked;			/* when old_parents was looked into first */
	ActiveSlot	slots[FLEXIBLE_ARRAY_MEMBER];	/* one per backend */
} ActiveShared;

static ActiveShared *shared = NULL;
static bool has_slot = false;

static Size
shared_size(void)
{
	return add_size(offsetof(ActiveShared, slots), mul_size(MaxBackends, sizeof(ActiveSlot)));
}

static void
fill_shared(void)
{
	shared->old_parents = max_prepared_xacts > 0;
}

void
active_init(void)
{
	static SharedArea area = {
		.name = "citus_active_transactions",
		.size = shared_size,
		.memory = (SharedHeader **) &shared,
		.fill = fill_shared,
	};

	shared_area_add(&area);
}

static ActiveSlot *
my_slot(void)
{
	return &shared->slots[MyProc - ProcGlobal->allProcs];
}

uint64
active_begin(void)
{
	ActiveSlot *slot = my_slot();
	uint64		number;

	LWLockAcquire(shared->header.lock, LW_EXCLUSIVE);
	number = shared->last_number = Max(shared->last_number + 1, (uint64) GetCurrentTimestamp());
	slot->number = number;
	slot->database = MyDatabaseId;
	LWLockRelease(shared->header.lock);
	has_slot = true;
	return number;
}

void
active_end(void)
{
	if (!has_slot)
		return;
	LWLockAcquire(shared->header.lock, LW_EXCLUSIVE);
	my_slot()->number = 0;
	LWLockRelease(shared->header.lock);
	has_slot = false;
}

void
active_left_unfinished(void)
{
	LWLockAcquire(shared->header.lock, LW_EXCLUSIVE);
	shared->unfinished++;
	LWLockRelease(shared->header.lock);
}

uint64
active_unfinished_count(void)
{
	uint64		count;

	LWLockAcquire(shared->header.lock, LW_SHARED);
	count = shared->unfinished;
	LWLockRelease(shared->header.lock);
	return count;
}

void
active_parent_prepared(void)
{
	LWLockAcquire(shared->header.lock, LW_EXCLUSIVE);
	shared->parents++;
	LWLockRelease(shared->header.lock);
}

void
active_parent_finished(void)
{
	LWLockAcquire(shared->header.lock, LW_EXCLUSIVE);
	if (shared->parents > 0)
		shared->parents--;
	LWLockRelease(shared->header.lock);
}

bool
active_parents_possible(void)
{
	bool		possible;

	LWLockAcquire(shared->header.lock, LW_SHARED);
	possible = shared->old_parents || shared->parents > 0;
	LWLockRelease(shared->header.lock);
	return possible;
}

void
active_no_old_parents(TimestampTz oldest_prepared)
{
	LWLockAcquire(shared->header.lock, LW_EXCLUSIVE);
	if (shared->looked == 0)
		shared->looked = GetCurrentTimestamp();
	if (oldest_prepared > shared->looked)
		shared->old_parents = false;
	LWLockRelease(shared->header.lock);
}

uint64
active_number_of(int procno)
{
	uint64		number;

	LWLockAcquire(shared->header.lock, LW_SHARED);
	number = shared->slots[procno].number;
	LWLockRelease(shared->header.lock);
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

	LWLockAcquire(shared->header.lock, LW_SHARED);
	for (int i = 0; i < MaxBackends; i++)
	{
		ActiveSlot *slot = &shared->slots[i];

		if (slot->number != 0 && slot->database == MyDatabaseId)
			hash_search(numbers, &slot->number, HASH_ENTER, NULL);
	}
	LWLockRelease(shared->header.lock);
	return numbers;
}
