/*-------------------------------------------------------------------------
 *
 * compression.h
 *	  The compression methods of columnar tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_COMPRESSION_H
#define CITUS_COLUMNAR_COMPRESSION_H

#include "postgres.h"

/* Stored in tables: numbers stay as they are. */
typedef enum ColumnarCompression
{
	COLUMNAR_COMPRESSION_NONE = 0,
	COLUMNAR_COMPRESSION_PGLZ = 1,
	COLUMNAR_COMPRESSION_LZ4 = 2,
	COLUMNAR_COMPRESSION_LZ4HC = 3,
	COLUMNAR_COMPRESSION_ZSTD = 4
} ColumnarCompression;

/*
 * Compresses bytes into palloc'd memory.  Returns NULL, with *compressed_len
 * unset, if that would not make them smaller.
 */
extern char *columnar_compress(ColumnarCompression method, int level, const char *raw, uint32 raw_len,
							   uint32 *compressed_len);

/*
 * Expands bytes into raw, which has room for raw_len.  Returns false if the
 * bytes are not what a method has made of raw_len bytes.
 */
extern bool columnar_decompress(ColumnarCompression method, const char *bytes, uint32 len, char *raw,
								uint32 raw_len);

#endif							/* CITUS_COLUMNAR_COMPRESSION_H */
