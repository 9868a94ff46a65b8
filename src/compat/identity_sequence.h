/*-------------------------------------------------------------------------
 *
 * identity_sequence.h
 *	  The sequence of an identity column.
 *
 * Since version 17 getIdentitySequence takes an open relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_IDENTITY_SEQUENCE_H
#define CITUS_COMPAT_IDENTITY_SEQUENCE_H

#include "postgres.h"

#include "catalog/dependency.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 170000
#define getIdentitySequence(rel, attnum, missing_ok) \
	getIdentitySequence(RelationGetRelid(rel), attnum, missing_ok)
#endif

#endif							/* CITUS_COMPAT_IDENTITY_SEQUENCE_H */
