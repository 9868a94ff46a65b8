/*-------------------------------------------------------------------------
 *
 * column_stats.h
 *	  Which column a VacAttrStats is about.
 *
 * Until version 16 it has a copy of the column's fixed attributes; since 17
 * its statistics target alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_COLUMN_STATS_H
#define CITUS_COMPAT_COLUMN_STATS_H

#include "postgres.h"

#include "commands/vacuum.h"

#if PG_VERSION_NUM >= 170000
#include "utils/syscache.h"
#endif

/*
 * Sets the column; returns its statistics target, -1 if it has none of its
 * own.
 */
static inline int
compat_set_stats_column(VacAttrStats *stats, Oid relid, Form_pg_attribute attribute)
{
#if PG_VERSION_NUM >= 170000
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attribute->attnum));
	bool		isnull;
	Datum		target;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", attribute->attnum, relid);
	target = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attstattarget, &isnull);
	stats->attstattarget = isnull ? -1 : DatumGetInt16(target);
	ReleaseSysCache(tuple);
	return stats->attstattarget;
#else
	stats->attr = palloc(ATTRIBUTE_FIXED_PART_SIZE);
	memcpy(stats->attr, attribute, ATTRIBUTE_FIXED_PART_SIZE);
	return attribute->attstattarget;
#endif
}

#endif							/* CITUS_COMPAT_COLUMN_STATS_H */
