/*-------------------------------------------------------------------------
 *
 * frame.c
 *	  The unit that COPY sends between nodes: some rows of one shard.
 *
 * A frame is built in one piece of memory and sent with one call: room for the
 * header is reserved at its start, and the directory, built separately while
 * rows arrive, is appended.  The receiver can separate the rows without
 * knowing their format.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bswap.h"

#include "copy/frame.h"

#define FRAME_MAGIC 0x50465232	/* "PFR2" */

static void
put_int32(char *at, uint32 value)
{
	value = pg_hton32(value);
	memcpy(at, &value, sizeof(value));
}

static uint32
get_int32(const char *at)
{
	uint32		value;

	memcpy(&value, at, sizeof(value));
	return pg_ntoh32(value);
}

/*
 * Appends value, seven bits a byte, lowest first; the high bit says that more
 * follow.
 */
static void
put_varint(StringInfo buf, uint64 value)
{
	char		bytes[10];
	int			len = 0;

	while (value >= 0x80)
	{
		bytes[len++] = (char) ((value & 0x7f) | 0x80);
		value >>= 7;
	}
	bytes[len++] = (char) value;
	appendBinaryStringInfo(buf, bytes, len);
}

static void
frame_corrupt(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid data in COPY stream from another node"),
			 errdetail_internal("%s", detail)));
}

/* Reads what put_varint wrote and advances the frame's directory. */
static uint64
get_varint(Frame *frame)
{
	uint64		value = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		unsigned char byte;

		if (frame->directory >= frame->directory_end)
			break;
		byte = (unsigned char) *frame->directory++;
		value |= (uint64) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	frame_corrupt("The directory of a frame ends early.");
	return 0;
}

StringInfo
frame_begin_row(FrameBuffer *buffer)
{
	if (buffer->data.data == NULL)
	{
		initStringInfo(&buffer->data);
		initStringInfo(&buffer->directory);
	}
	if (buffer->data.len == 0)
	{
		enlargeStringInfo(&buffer->data, FRAME_HEADER_SIZE);
		buffer->data.len = FRAME_HEADER_SIZE;
		buffer->last_line = 0;
		buffer->rows = 0;
	}
	buffer->row_start = buffer->data.len;
	return &buffer->data;
}

void
frame_end_row(FrameBuffer *buffer, uint64 line)
{
	put_varint(&buffer->directory, line - buffer->last_line);
	put_varint(&buffer->directory, buffer->data.len - buffer->row_start);
	buffer->last_line = line;
	buffer->rows++;
}

Size
frame_buffer_memory(const FrameBuffer *buffer)
{
	return buffer->data.data == NULL ? 0 : (Size) buffer->data.maxlen + buffer->directory.maxlen;
}

char *
frame_finish(FrameBuffer *buffer, HashRange range, int *len)
{
	int			data_len = buffer->data.len - FRAME_HEADER_SIZE;
	char	   *header;

	appendBinaryStringInfo(&buffer->data, buffer->directory.data, buffer->directory.len);
	header = buffer->data.data;
	put_int32(header, FRAME_MAGIC);
	put_int32(header + 4, (uint32) range.min);
	put_int32(header + 8, (uint32) range.max);
	put_int32(header + 12, buffer->rows);
	put_int32(header + 16, data_len);
	put_int32(header + 20, buffer->directory.len);
	*len = buffer->data.len;
	return header;
}

void
frame_reset(FrameBuffer *buffer, bool keep_memory)
{
	if (buffer->data.data == NULL)
		return;
	if (keep_memory)
	{
		resetStringInfo(&buffer->data);
		resetStringInfo(&buffer->directory);
	}
	else
	{
		pfree(buffer->data.data);
		pfree(buffer->directory.data);
		buffer->data.data = buffer->directory.data = NULL;
		buffer->data.len = buffer->directory.len = 0;
	}
	buffer->rows = 0;
}

Size
frame_body_size(const char *header)
{
	uint32		data_len = get_int32(header + 16);
	uint32		directory_len = get_int32(header + 20);

	if (get_int32(header) != FRAME_MAGIC)
		frame_corrupt("A frame does not start where one is expected.");
	if (data_len > PG_INT32_MAX || directory_len > PG_INT32_MAX)
		frame_corrupt("The length of a frame is out of range.");
	return (Size) data_len + directory_len;
}

void
frame_open(Frame *frame, const char *bytes)
{
	Size		body_size = frame_body_size(bytes);

	frame->range.min = (int32) get_int32(bytes + 4);
	frame->range.max = (int32) get_int32(bytes + 8);
	frame->rows = get_int32(bytes + 12);
	frame->data = bytes + FRAME_HEADER_SIZE;
	frame->data_end = frame->data + get_int32(bytes + 16);
	frame->directory = frame->data_end;
	frame->directory_end = frame->data + body_size;
	frame->last_line = 0;
}

bool
frame_next_row(Frame *frame, const char **row, int *len, uint64 *line)
{
	uint64		row_len;

	if (frame->rows == 0)
		return false;
	frame->last_line += get_varint(frame);
	row_len = get_varint(frame);
	if (row_len > (uint64) (frame->data_end - frame->data))
		frame_corrupt("A row extends past the end of its frame.");
	*row = frame->data;
	*len = (int) row_len;
	*line = frame->last_line;
	frame->data += row_len;
	frame->rows--;
	return true;
}
