/*-------------------------------------------------------------------------
 *
 * identity_sequence.h
 *	  The sequence of an identity column.
 *
 * Since version 17 getIdentitySequence takes an open relation, and a
 * partition's identity columns are those of the partitioned table.
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

/*
 * Whether a column is an identity column by itself, not by ATTACH PARTITION.
 */
static inline bool
has_own_identity(Relation rel, const FormData_pg_attribute *att)
{
#if PG_VERSION_NUM >= 170000
	if (rel->rd_rel->relispartition)
		return false;
#endif
	return !att->attisdropped && att->attidentity != '\0';
}

#endif							/* CITUS_COMPAT_IDENTITY_SEQUENCE_H */
