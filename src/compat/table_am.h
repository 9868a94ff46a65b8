/*-------------------------------------------------------------------------
 *
 * table_am.h
 *	  What table access methods implement, and functions of the heap.
 *
 * Since version 16 an update says which indexes need entries, and storage has
 * another name; since 17 ANALYZE reads blocks by a stream.
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
#define heap_update(relation, otid, newtup, cid, crosscheck, wait, tmfd, lockmode, update_indexes) \
	((void) (update_indexes), heap_update(relation, otid, newtup, cid, crosscheck, wait, tmfd, lockmode))
#define RelFileLocator RelFileNode
#define RelFileNumber Oid
#define rd_locator rd_node
#define RelFileLocatorEquals RelFileNodeEquals
#define relation_set_new_filelocator relation_set_new_filenode
#endif

/* What scan_analyze_next_block gets after the scan. */
#if PG_VERSION_NUM >= 170000
#define ANALYZE_BLOCK_PARAMS ReadStream *stream
#define ANALYZE_BLOCK_ARGS stream
#else
#define ANALYZE_BLOCK_PARAMS BlockNumber block, BufferAccessStrategy strategy
#define ANALYZE_BLOCK_ARGS block, strategy
#endif

#endif							/* CITUS_COMPAT_TABLE_AM_H */
