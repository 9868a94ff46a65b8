/*-------------------------------------------------------------------------
 *
 * table_am.h
 *	  What table access methods implement, and functions of the heap.
 *
 * Since version 16 an update says which indexes need entries, and storage has
 * another name; since 17 ANALYZE reads blocks by a stream; since 19 changes of
 * rows and scans have flags.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_TABLE_AM_H
#define CITUS_COMPAT_TABLE_AM_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"

#if PG_VERSION_NUM < 160000
#include "storage/relfilenode.h"

typedef bool TU_UpdateIndexes;

#define TU_None false
#define TU_All true
#define heap_update(relation, otid, newtup, cid, options, crosscheck, wait, tmfd, lockmode, update_indexes) \
	((void) (update_indexes), heap_update(relation, otid, newtup, cid, crosscheck, wait, tmfd, lockmode))
#define RelFileLocator RelFileNode
#define RelFileNumber Oid
#define rd_locator rd_node
#define RelFileLocatorEquals RelFileNodeEquals
#define relation_set_new_filelocator relation_set_new_filenode
#endif

#if PG_VERSION_NUM >= 160000 && PG_VERSION_NUM < 190000
#define heap_update(relation, otid, newtup, cid, options, crosscheck, wait, tmfd, lockmode, update_indexes) \
	heap_update(relation, otid, newtup, cid, crosscheck, wait, tmfd, lockmode, update_indexes)
#endif

/*
 * Flags of inserts, what else than table and row deletes and updates get, of
 * ANALYZE's rows, index scans, VACUUM and CLUSTER; whether a deleted row goes
 * to another partition.
 */
#if PG_VERSION_NUM >= 190000
typedef uint32 InsertOptions;

#define DELETE_PARAMS CommandId cid, uint32 options, Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *failure
#define DELETE_ARGS cid, options, snapshot, crosscheck, wait, failure
#define DELETE_CHANGES_PARTITION ((options & TABLE_DELETE_CHANGING_PARTITION) != 0)
#define UPDATE_OPTIONS_PARAM uint32 options,
#define UPDATE_OPTIONS_ARG options,
#define ANALYZE_XMIN_PARAM
#define ANALYZE_XMIN_ARG
#define INDEX_FETCH_PARAMS Relation table, uint32 flags
#define INDEX_FETCH_ARGS table, flags
#define VACUUM_PARAMS const VacuumParams *params
#define CLUSTER_SNAPSHOT_PARAM Snapshot snapshot,
#else
typedef int InsertOptions;

#define DELETE_PARAMS CommandId cid, Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *failure, bool changing_partition
#define DELETE_ARGS cid, snapshot, crosscheck, wait, failure, changing_partition
#define DELETE_CHANGES_PARTITION changing_partition
#define UPDATE_OPTIONS_PARAM
#define UPDATE_OPTIONS_ARG
#define ANALYZE_XMIN_PARAM TransactionId oldest_xmin,
#define ANALYZE_XMIN_ARG oldest_xmin,
#define INDEX_FETCH_PARAMS Relation table
#define INDEX_FETCH_ARGS table
#define VACUUM_PARAMS struct VacuumParams *params
#define log_vacuum_min_duration log_min_duration
#define CLUSTER_SNAPSHOT_PARAM
#define SO_NONE 0
#define TABLE_DELETE_CHANGING_PARTITION 1
#define table_beginscan(rel, snapshot, nkeys, keys, flags) table_beginscan(rel, snapshot, nkeys, keys)
#define table_beginscan_parallel(rel, scan, flags) table_beginscan_parallel(rel, scan)
#define heap_delete(relation, tid, cid, options, crosscheck, wait, tmfd) \
	heap_delete(relation, tid, cid, crosscheck, wait, tmfd, ((options) & TABLE_DELETE_CHANGING_PARTITION) != 0)
#endif

/*
 * Begins fetching rows of the heap, also of a table whose access method is
 * another one.
 */
static inline IndexFetchTableData *
compat_heap_fetch_begin(Relation table)
{
#if PG_VERSION_NUM >= 190000
	return GetHeapamTableAmRoutine()->index_fetch_begin(table, SO_NONE);
#else
	return GetHeapamTableAmRoutine()->index_fetch_begin(table);
#endif
}

/* What scan_analyze_next_block gets after the scan. */
#if PG_VERSION_NUM >= 170000
#define ANALYZE_BLOCK_PARAMS ReadStream *stream
#define ANALYZE_BLOCK_ARGS stream
#else
#define ANALYZE_BLOCK_PARAMS BlockNumber block, BufferAccessStrategy strategy
#define ANALYZE_BLOCK_ARGS block, strategy
#endif

#endif							/* CITUS_COMPAT_TABLE_AM_H */
