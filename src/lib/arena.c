/*-------------------------------------------------------------------------
 *
 * arena.c
 *	  Memory for arrays that are needed together and freed together, again and
 *	  again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "lib/arena.h"

/* An arena that has needed more gives it back. */
#define ARENA_KEPT_BYTES ((Size) 64 * 1024 * 1024)

Arena *
arena_make(void)
{
	Arena	   *arena = palloc0(sizeof(Arena));

	arena->context = AllocSetContextCreate(CurrentMemoryContext, "columnar arrays", ALLOCSET_SMALL_SIZES);
	return arena;
}

void *
arena_alloc(Arena *arena, Size size)
{
	char	   *result;

	size = MAXALIGN(size);
	if (size > arena->size - arena->used)
	{
		arena->beyond += size;
		return MemoryContextAllocHuge(arena->context, Max(size, 1));
	}
	result = arena->block + arena->used;
	arena->used += size;
	return result;
}

void
arena_reset(Arena *arena)
{
	Size		needed = arena->used + arena->beyond;

	if (arena->beyond > 0)
	{
		MemoryContextReset(arena->context);
		arena->beyond = 0;
		arena->size = 0;
		if (needed <= ARENA_KEPT_BYTES)
		{
			arena->block = MemoryContextAllocHuge(arena->context, needed);
			arena->size = needed;
		}
	}
	arena->used = 0;
}
