/*-------------------------------------------------------------------------
 *
 * shared_area.h
 *	  Structures in shared memory, each with a lightweight lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_SHARED_AREA_H
#define CITUS_LIB_SHARED_AREA_H

#include "postgres.h"

#include "storage/lwlock.h"

/* The first field of every such structure. */
typedef struct SharedHeader
{
	LWLock	   *lock;
} SharedHeader;

typedef struct SharedArea
{
	const char *name;			/* of the memory, and of the lock in
								 * pg_stat_activity */
	Size		fixed;			/* bytes: these, .. */
	Size		per_backend;	/* these for each of MaxBackends, .. */
	Size		(*more) (void); /* and what depends on other settings; may be
								 * NULL */
	SharedHeader **memory;		/* is set when the server, or a process,
								 * starts */
	void		(*fill) (void); /* initializes the structure, which is zero
								 * except the lock, when the server starts; may
								 * be NULL */
	struct SharedArea *next;
} SharedArea;

/*
 * Requests an area, whose struct must stay allocated; called while
 * shared_preload_libraries are loaded.
 */
extern void shared_area_add(SharedArea *area);

#endif							/* CITUS_LIB_SHARED_AREA_H */
