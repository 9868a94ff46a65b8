/*-------------------------------------------------------------------------
 *
 * sum_state.h
 *	  The sum in a serialized state of sum(bigint) and avg(bigint): two halves
 *	  of an integer since version 19, digits of a numeric before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_SUM_STATE_H
#define CITUS_COMPAT_SUM_STATE_H

#include "postgres.h"

#include "libpq/pqformat.h"

#define SUM_STATE_IS_INTEGER (PG_VERSION_NUM >= 190000)

/* Appends the halves. */
static inline void
compat_send_integer_sum(StringInfo bytes, int128 sum)
{
	pq_sendint64(bytes, (uint64) (sum >> 64));
	pq_sendint64(bytes, (uint64) sum);
}

#endif							/* CITUS_COMPAT_SUM_STATE_H */
