/*-------------------------------------------------------------------------
 *
 * partition.h
 *	  Creating, attaching and detaching partitions of distributed tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_PARTITION_H
#define CITUS_DDL_PARTITION_H

#include "ddl/utility_call.h"

/*
 * CREATE TABLE .. PARTITION OF; false, without effect, if that table isn't
 * distributed.
 */
extern bool create_partition(UtilityCall *call, CreateStmt *stmt);

/*
 * Changes DETACH PARTITION CONCURRENTLY of a distributed table to DETACH
 * PARTITION, with a notice, since its two transactions can't span several
 * nodes.
 */
extern void detach_at_once(UtilityCall *call);

/*
 * ALTER TABLE .. ATTACH and DETACH PARTITION of a distributed table, which is
 * locked.
 */
extern bool alter_partition(UtilityCall *call, const DistTable *parent, Oid partition);

#endif							/* CITUS_DDL_PARTITION_H */
