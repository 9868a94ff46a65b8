/*-------------------------------------------------------------------------
 *
 * bitmap_pages.h
 *	  The pages of a bitmap of ctids: since version 18, offsets are extracted
 *	  by the caller; and functions of an access method that has bitmap scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_BITMAP_PAGES_H
#define CITUS_COMPAT_BITMAP_PAGES_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "nodes/tidbitmap.h"

#if PG_VERSION_NUM >= 180000
typedef TBMPrivateIterator BitmapPages;
#else
typedef TBMIterator BitmapPages;
#endif

/* A page with rows that are wanted. */
typedef struct BitmapPage
{
	BlockNumber block;
	int			ntuples;		/* -1: all may be */
	OffsetNumber offsets[MaxHeapTuplesPerPage];
} BitmapPage;

static inline BitmapPages *
compat_bitmap_begin(TIDBitmap *bitmap)
{
#if PG_VERSION_NUM >= 180000
	return tbm_begin_private_iterate(bitmap);
#else
	return tbm_begin_iterate(bitmap);
#endif
}

static inline void
compat_bitmap_end(BitmapPages *pages)
{
#if PG_VERSION_NUM >= 180000
	tbm_end_private_iterate(pages);
#else
	tbm_end_iterate(pages);
#endif
}

/* Goes to the next page; false at the end. */
static inline bool
compat_bitmap_next(BitmapPages *pages, BitmapPage *page)
{
#if PG_VERSION_NUM >= 180000
	TBMIterateResult result;

	if (!tbm_private_iterate(pages, &result))
		return false;
	page->block = result.blockno;
	page->ntuples = result.lossy ? -1 : tbm_extract_page_tuple(&result, page->offsets, lengthof(page->offsets));
#else
	TBMIterateResult *result = tbm_iterate(pages);

	if (result == NULL)
		return false;
	page->block = result->blockno;
	page->ntuples = result->ntuples;
	if (result->ntuples > 0)
		memcpy(page->offsets, result->offsets, result->ntuples * sizeof(OffsetNumber));
#endif
	return true;
}

#if PG_VERSION_NUM >= 180000
static inline bool
compat_bitmap_scan_next_tuple(TableScanDesc scan, TupleTableSlot *slot, bool *recheck, uint64 *lossy, uint64 *exact)
{
	elog(ERROR, "bitmap scan of a columnar table by the server's own node");
}
#else
static inline bool
compat_bitmap_scan_next_block(TableScanDesc scan, struct TBMIterateResult *result)
{
	elog(ERROR, "bitmap scan of a columnar table by the server's own node");
}

static inline bool
compat_bitmap_scan_next_tuple(TableScanDesc scan, struct TBMIterateResult *result, TupleTableSlot *slot)
{
	elog(ERROR, "bitmap scan of a columnar table by the server's own node");
}
#endif

/*
 * Says that a table has bitmap scans, which a node of ours does: the server's
 * would prefetch pages that don't exist.
 */
static inline void
compat_own_bitmap_scans(TableAmRoutine *routine)
{
#if PG_VERSION_NUM < 180000
	routine->scan_bitmap_next_block = compat_bitmap_scan_next_block;
#endif
	routine->scan_bitmap_next_tuple = compat_bitmap_scan_next_tuple;
}

#endif							/* CITUS_COMPAT_BITMAP_PAGES_H */
