/*-------------------------------------------------------------------------
 *
 * partition.h
 *	  Partitions of distributed tables that are made, attached and detached.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_PARTITION_H
#define CITUS_DDL_PARTITION_H

#include "ddl/utility_call.h"

/*
 * CREATE TABLE .. PARTITION OF; false, having done nothing, if that is not a
 * distributed table.
 */
extern bool create_partition(UtilityCall *call, CreateStmt *stmt);

/*
 * Changes DETACH PARTITION CONCURRENTLY of a distributed table, whose two
 * transactions are not for several nodes, to DETACH PARTITION, and says so.
 */
extern void detach_at_once(UtilityCall *call);

/*
 * ALTER TABLE .. ATTACH and DETACH PARTITION of a distributed table, which is
 * locked.
 */
extern bool alter_partition(UtilityCall *call, const DistTable *parent, Oid partition);

#endif							/* CITUS_DDL_PARTITION_H */
