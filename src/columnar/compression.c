/*-------------------------------------------------------------------------
 *
 * compression.c
 *	  The compression methods of columnar tables.
 *
 * zstd and lz4 are the distribution's libraries; pglz is the server's.  A
 * context of zstd is kept for the life of the process: to make one for each
 * chunk costs more than to compress a small chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>
#include <lz4hc.h>
#include <zstd.h>

#include "common/pg_lzcompress.h"

#include "columnar/compression.h"

static ZSTD_CCtx *zstd_writer = NULL;
static ZSTD_DCtx *zstd_reader = NULL;

/* The most bytes that a method needs for its output. */
static Size
compressed_bound(ColumnarCompression method, uint32 raw_len)
{
	switch (method)
	{
		case COLUMNAR_COMPRESSION_PGLZ:
			return PGLZ_MAX_OUTPUT(raw_len);
		case COLUMNAR_COMPRESSION_LZ4:
		case COLUMNAR_COMPRESSION_LZ4HC:
			return LZ4_compressBound((int) raw_len);
		case COLUMNAR_COMPRESSION_ZSTD:
			return ZSTD_compressBound(raw_len);
		case COLUMNAR_COMPRESSION_NONE:
			break;
	}
	return 0;
}

/* The length of zstd's output, or -1. */
static int64
compress_with_zstd(int level, const char *raw, uint32 raw_len, char *out, Size bound)
{
	Size		len;

	if (zstd_writer == NULL)
		zstd_writer = ZSTD_createCCtx();
	if (zstd_writer == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	len = ZSTD_compressCCtx(zstd_writer, out, bound, raw, raw_len, level);
	return ZSTD_isError(len) ? -1 : (int64) len;
}

char *
columnar_compress(ColumnarCompression method, int level, const char *raw, uint32 raw_len, uint32 *compressed_len)
{
	Size		bound = compressed_bound(method, raw_len);
	char	   *out;
	int64		len = -1;

	if (bound == 0 || raw_len == 0)
		return NULL;
	out = palloc(bound);
	switch (method)
	{
		case COLUMNAR_COMPRESSION_PGLZ:
			len = pglz_compress(raw, (int32) raw_len, out, PGLZ_strategy_always);
			break;
		case COLUMNAR_COMPRESSION_LZ4:
			len = LZ4_compress_default(raw, out, (int) raw_len, (int) bound);
			break;
		case COLUMNAR_COMPRESSION_LZ4HC:
			len = LZ4_compress_HC(raw, out, (int) raw_len, (int) bound, level);
			break;
		case COLUMNAR_COMPRESSION_ZSTD:
			len = compress_with_zstd(level, raw, raw_len, out, bound);
			break;
		case COLUMNAR_COMPRESSION_NONE:
			break;
	}
	if (len <= 0 || len >= raw_len)
	{
		pfree(out);
		return NULL;
	}
	*compressed_len = (uint32) len;
	return out;
}

bool
columnar_decompress(ColumnarCompression method, const char *bytes, uint32 len, char *raw, uint32 raw_len)
{
	switch (method)
	{
		case COLUMNAR_COMPRESSION_NONE:
			if (len == raw_len)
				memcpy(raw, bytes, len);
			return len == raw_len;
		case COLUMNAR_COMPRESSION_PGLZ:
			return pglz_decompress(bytes, (int32) len, raw, (int32) raw_len, true) == (int32) raw_len;
		case COLUMNAR_COMPRESSION_LZ4:
		case COLUMNAR_COMPRESSION_LZ4HC:
			return LZ4_decompress_safe(bytes, raw, (int) len, (int) raw_len) == (int) raw_len;
		case COLUMNAR_COMPRESSION_ZSTD:
			if (zstd_reader == NULL)
				zstd_reader = ZSTD_createDCtx();
			if (zstd_reader == NULL)
				ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
			return ZSTD_decompressDCtx(zstd_reader, raw, raw_len, bytes, len) == raw_len;
	}
	return false;
}
