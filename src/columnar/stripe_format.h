/*-------------------------------------------------------------------------
 *
 * stripe_format.h
 *	  What a stripe looks like in storage.
 *
 * A stripe is a stream of bytes (stripe_store.h): the compressed chunks, all
 * of the first column first, and a footer, which describes each chunk.  The
 * stripe's record in the table's directory says where the footer is.
 *
 * Numbers are stored in the byte order of the machine, as the server's own
 * are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_FORMAT_H
#define CITUS_COLUMNAR_STRIPE_FORMAT_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/itemptr.h"

/*
 * The rows of stripes have ctids of their own: from the middle of the space
 * of block numbers on, which a heap of 8 kB pages reaches at 16 TB.  A block
 * stands for a fixed number of rows, less than MaxHeapTuplesPerPage, which
 * indexes and bitmaps of the server expect.
 */
#define STRIPE_FIRST_BLOCK ((BlockNumber) 0x80000000)
#define STRIPE_MAX_BLOCKS ((uint32) 0x7FFFFF00)
#define STRIPE_BLOCK_ROWS 256

/* What is written; earlier versions are read. */
#define STRIPE_FORMAT_VERSION 4

/* From this version on, checksums of records and marks cover their numbers. */
#define STRIPE_VERSION_CHECKED_NUMBERS 4

/* Whether a ctid is that of a row of a stripe, not of the row-wise part. */
static inline bool
ctid_is_in_stripe(ItemPointer ctid)
{
	return ItemPointerGetBlockNumberNoCheck(ctid) >= STRIPE_FIRST_BLOCK;
}

/* Numbers are stored: they stay as they are. */
typedef enum StripeState
{
	STRIPE_RESERVED = 1,		/* a transaction in progress has taken the
								 * ctids; no row is stored yet */
	STRIPE_WRITTEN = 2
} StripeState;

/* A stripe's record in the directory. */
typedef struct StripeRecord
{
	uint32		version;		/* at most STRIPE_FORMAT_VERSION */
	uint32		state;			/* a StripeState */
	uint32		nblocks;		/* of ctids, from the record's number on */
	Oid			data_id;		/* of the stream of bytes */
	uint64		nrows;
	uint64		footer_at;		/* also the length of all chunks */
	uint32		footer_len;
	uint32		footer_crc;
	uint32		ngroups;
	uint32		natts;
	uint32		crc;			/* CRC-32C of the record, this being 0; from
								 * version 3 on; and of its number */
	uint32		unused;
} StripeRecord;

/* A record of version 1 or 2 ends here. */
#define STRIPE_RECORD_OLD_LEN offsetof(StripeRecord, crc)

/* Numbers are stored: they stay as they are. */
typedef enum ChunkEncoding
{
	CHUNK_ABSENT = 0,			/* a dropped column */
	CHUNK_INTEGERS = 1,			/* differences to a base, of a fixed width */
	CHUNK_DATUMS = 2,			/* as in a heap's tuple, one after the other */
	CHUNK_DICTIONARY = 3,		/* the different values as CHUNK_DATUMS, and a
								 * byte for each row */
	CHUNK_SCALED = 4			/* numerics, as CHUNK_INTEGERS, multiplied by
								 * a power of ten; from version 2 on */
} ChunkEncoding;

#define CHUNK_NO_BOUND ((uint32) 0xFFFFFFFF)

/*
 * A chunk, the values of a column for the rows of a chunk group.  Expanded,
 * it is the bitmap of NULLs (as in a tuple: 1 is a value), if there are any,
 * then at the next multiple of 8 bytes the values that are not NULL.  Integers
 * and codes may be packed (bit_pack.h); integers follow the number that they
 * were divided by, an uint64, then.
 */
typedef struct ChunkMeta
{
	uint64		at;				/* in the stripe's stream */
	int64		base;			/* of integers: added to each */
	uint32		len;			/* as stored */
	uint32		raw_len;		/* expanded */
	uint32		crc;			/* CRC-32C of the stored bytes */
	uint32		nnulls;
	uint32		min_at;			/* in the footer's bounds, CHUNK_NO_BOUND if */
	uint32		max_at;			/* not known */
	Oid			type;			/* by whose order the bounds were found */
	Oid			collation;
	uint16		ndistinct;		/* CHUNK_DICTIONARY */
	uint8		width;			/* of integers: 0 (all equal), 1, 2, 4, 8 */
	uint8		encoding;		/* a ChunkEncoding */
	uint8		compression;	/* a ColumnarCompression */
	uint8		scale;			/* CHUNK_SCALED */
	uint8		bits;			/* 0, or the numbers are packed into so many;
								 * from version 2 on */
	uint8		unused;
} ChunkMeta;

/*
 * The footer in memory.  In storage it is ngroups counts of rows, at the next
 * multiple of 8 bytes the chunks, and the bounds.
 */
typedef struct StripeFooter
{
	uint32		ngroups;
	uint32		natts;
	uint32	   *group_rows;
	ChunkMeta  *chunks;			/* natts * ngroups, by column */
	char	   *bounds;			/* least and greatest values, each at a
								 * multiple of 8 bytes */
	uint32		bounds_len;
} StripeFooter;

static inline ChunkMeta *
footer_chunk(const StripeFooter *footer, int column, int group)
{
	return &footer->chunks[(Size) column * footer->ngroups + group];
}

#endif							/* CITUS_COLUMNAR_STRIPE_FORMAT_H */
