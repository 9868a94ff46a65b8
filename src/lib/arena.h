/*-------------------------------------------------------------------------
 *
 * arena.h
 *	  Memory for arrays that are needed together and freed together, again and
 *	  again.
 *
 * A memory context of the server's gives large chunks back to the system when
 * it is reset, so the next ones cost a page fault for every 4 kB.  An arena
 * keeps as much as was needed before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_ARENA_H
#define CITUS_LIB_ARENA_H

#include "postgres.h"

#include "utils/palloc.h"

typedef struct Arena
{
	MemoryContext context;		/* of all that follows */
	char	   *block;			/* allocations are parts of it */
	Size		size;
	Size		used;
	Size		beyond;			/* bytes that didn't fit */
} Arena;

/* Makes an arena in the current memory context, which frees it. */
extern Arena *arena_make(void);

/*
 * Memory of the arena, aligned for any type, which isn't freed but by
 * arena_reset().
 */
extern void *arena_alloc(Arena *arena, Size size);

/* Frees all memory; the arena keeps it for what comes. */
extern void arena_reset(Arena *arena);

#endif							/* CITUS_LIB_ARENA_H */
