/*-------------------------------------------------------------------------
 *
 * frame.h
 *	  The unit that COPY sends between nodes: some rows of one shard.
 *
 * On the wire, all integers in network byte order:
 *
 *		int32	magic			FRAME_MAGIC
 *		int32	lowest and
 *		int32	highest hash	values of the shard's rows, which name it (catalog/metadata.h)
 *		int32	rows			how many rows
 *		int32	data length		bytes of all rows together
 *		int32	directory length
 *		bytes	data			the rows, back to back, in the format that the
 *								COPY statement's options name, without the
 *								header and trailer of a binary file
 *		bytes	directory		for each row two varints: by how much its line
 *								number exceeds that of the row before (0 before
 *								the first), and its length in bytes; rows of
 *								an INSERT have the number 0
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COPY_FRAME_H
#define CITUS_COPY_FRAME_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "catalog/metadata.h"

#define FRAME_HEADER_SIZE 24

/* A frame being filled. */
typedef struct FrameBuffer
{
	StringInfoData data;		/* room for the header, then the rows; no
								 * memory (data.data NULL) until the first
								 * row */
	StringInfoData directory;
	uint32		rows;
	uint64		last_line;
	int			row_start;		/* offset in data of the row being appended */
} FrameBuffer;

/*
 * Opens a row: the caller appends its bytes to what is returned, then calls
 * frame_end_row.
 */
extern StringInfo frame_begin_row(FrameBuffer *buffer);
extern void frame_end_row(FrameBuffer *buffer, uint64 line);

/* Bytes of memory that the buffer holds. */
extern Size frame_buffer_memory(const FrameBuffer *buffer);

/* Completes the frame; its bytes, valid until frame_reset. */
extern char *frame_finish(FrameBuffer *buffer, HashRange range, int *len);

/*
 * Empties the buffer; keep_memory says whether its memory is kept for the next
 * rows.
 */
extern void frame_reset(FrameBuffer *buffer, bool keep_memory);

/* A frame being read: points into the caller's buffer. */
typedef struct Frame
{
	HashRange	range;			/* of the shard */
	uint32		rows;			/* rows not yet read */
	const char *data;			/* rest of the rows */
	const char *data_end;
	const char *directory;		/* rest of the directory */
	const char *directory_end;
	uint64		last_line;
} Frame;

/*
 * Bytes that follow a header; errors with ERRCODE_PROTOCOL_VIOLATION if it is
 * none.
 */
extern Size frame_body_size(const char *header);

/* Makes a complete frame (header and body) ready to be read. */
extern void frame_open(Frame *frame, const char *bytes);

/* The next row's bytes and line; false at the end of the frame. */
extern bool frame_next_row(Frame *frame, const char **row, int *len, uint64 *line);

#endif							/* CITUS_COPY_FRAME_H */
