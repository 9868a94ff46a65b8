/*-------------------------------------------------------------------------
 *
 * relation_sizes.h
 *	  Writing a relation's sizes as VACUUM does: in place, so not undone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_RELATION_SIZES_H
#define CITUS_COMPAT_RELATION_SIZES_H

#include "postgres.h"

#include "access/multixact.h"
#include "commands/vacuum.h"
#include "utils/rel.h"

/* Version 18 has the number of all-frozen pages, too. */
static inline void
compat_write_sizes(Relation relation, BlockNumber pages, double tuples)
{
#if PG_VERSION_NUM >= 180000
	vac_update_relstats(relation, pages, tuples, 0, 0, true, InvalidTransactionId, InvalidMultiXactId, NULL, NULL, true);
#else
	vac_update_relstats(relation, pages, tuples, 0, true, InvalidTransactionId, InvalidMultiXactId, NULL, NULL, true);
#endif
}

#endif							/* CITUS_COMPAT_RELATION_SIZES_H */
