/*-------------------------------------------------------------------------
 *
 * shared_area.c
 *	  Structures in shared memory, each with a lightweight lock.
 *
 * Modules add their areas in their init functions; the server's hooks then
 * reserve and create them all.  The system has filled the server's segment
 * with zeros when it was mapped, also after a crash; nothing is written here,
 * since an area takes memory only where it has been written to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "lib/shared_area.h"

static SharedArea *shared_areas = NULL;
static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

/* Bytes; once all settings are known. */
static Size
area_size(const SharedArea *area)
{
	return add_size(add_size(area->fixed, mul_size(MaxBackends, area->per_backend)),
					area->more == NULL ? 0 : area->more());
}

static void
request_areas(void)
{
	if (previous_request)
		previous_request();
	for (SharedArea *area = shared_areas; area != NULL; area = area->next)
	{
		RequestAddinShmemSpace(area_size(area));
		RequestNamedLWLockTranche(area->name, 1);
	}
}

static void
create_area(SharedArea *area)
{
	bool		found;

	*area->memory = ShmemInitStruct(area->name, area_size(area), &found);
	if (found)
		return;
	(*area->memory)->lock = &GetNamedLWLockTranche(area->name)->lock;
	if (area->fill != NULL)
		area->fill();
}

static void
create_areas(void)
{
	if (previous_startup)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (SharedArea *area = shared_areas; area != NULL; area = area->next)
		create_area(area);
	LWLockRelease(AddinShmemInitLock);
}

void
shared_area_add(SharedArea *area)
{
	if (shared_areas == NULL)
	{
		previous_request = shmem_request_hook;
		shmem_request_hook = request_areas;
		previous_startup = shmem_startup_hook;
		shmem_startup_hook = create_areas;
	}
	area->next = shared_areas;
	shared_areas = area;
}
