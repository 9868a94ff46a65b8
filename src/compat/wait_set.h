/*-------------------------------------------------------------------------
 *
 * wait_set.h
 *	  Wait event sets that live as long as the backend wants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_WAIT_SET_H
#define CITUS_COMPAT_WAIT_SET_H

#include "postgres.h"

#include "storage/latch.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 180000
#include "storage/waiteventset.h"
#endif

static inline WaitEventSet *
wait_set_create(int nevents)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, nevents);
#else
	return CreateWaitEventSet(TopMemoryContext, nevents);
#endif
}

#endif							/* CITUS_COMPAT_WAIT_SET_H */
