/*-------------------------------------------------------------------------
 *
 * index_scan.h
 *	  Beginning the scan of an index for a node of the server's, before the
 *	  node does, or into a bitmap.
 *
 * Since version 18 an index scan counts its searches.  Version 19 has changed
 * the call again: there the node begins its scan itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_INDEX_SCAN_H
#define CITUS_COMPAT_INDEX_SCAN_H

#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"

static inline IndexScanDesc
compat_begin_index_scan(IndexScanState *node)
{
#if PG_VERSION_NUM >= 190000
	return NULL;
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc, node->ss.ps.state->es_snapshot,
						   &node->iss_Instrument, node->iss_NumScanKeys, node->iss_NumOrderByKeys);
#else
	return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc, node->ss.ps.state->es_snapshot,
						   node->iss_NumScanKeys, node->iss_NumOrderByKeys);
#endif
}

static inline IndexScanDesc
compat_begin_index_only_scan(IndexOnlyScanState *node)
{
#if PG_VERSION_NUM >= 190000
	return NULL;
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(node->ss.ss_currentRelation, node->ioss_RelationDesc, node->ss.ps.state->es_snapshot,
						   &node->ioss_Instrument, node->ioss_NumScanKeys, node->ioss_NumOrderByKeys);
#else
	return index_beginscan(node->ss.ss_currentRelation, node->ioss_RelationDesc, node->ss.ps.state->es_snapshot,
						   node->ioss_NumScanKeys, node->ioss_NumOrderByKeys);
#endif
}

/* Begins a scan of all entries of an index, into a bitmap. */
static inline IndexScanDesc
compat_begin_bitmap_scan(Relation index, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan_bitmap(index, snapshot, NULL, 0);
#else
	return index_beginscan_bitmap(index, snapshot, 0);
#endif
}

#endif							/* CITUS_COMPAT_INDEX_SCAN_H */
