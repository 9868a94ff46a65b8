/*-------------------------------------------------------------------------
 *
 * frame_receiver.c
 *	  COPY FROM on the nodes that receive frames.
 *
 * For the protocol, the statement is an ordinary COPY .. FROM STDIN; its
 * messages contain frames instead of a file.  A frame usually fills one
 * message and is read in place; otherwise it is assembled.  Frames of the same
 * shard that follow each other go through one run of the server's COPY, so
 * that with a single-shard or reference table statement triggers fire once and
 * references are checked at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/copy.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "compat/client_protocol.h"
#include "copy/copy_from.h"
#include "copy/frame.h"
#include "copy/frame_runner.h"

typedef struct FrameReceiver
{
	StringInfo	message;		/* the CopyData message being read */
	bool		done;			/* the client ended the stream */
	StringInfoData assembled;	/* a frame that spans messages */
	HashRange	range;			/* of the run under way */
	bool		pending;		/* next_frame holds a frame for another run */
	Frame		next_frame;
} FrameReceiver;

/* Tells the client to send. */
static void
begin_copy_in(int ncolumns)
{
	StringInfoData buf;

	pq_beginmessage(&buf, 'G');
	pq_sendbyte(&buf, 1);
	pq_sendint16(&buf, ncolumns);
	for (int i = 0; i < ncolumns; i++)
		pq_sendint16(&buf, 1);
	pq_endmessage(&buf);
	pq_flush();
}

static void
connection_lost(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("unexpected EOF on client connection with an open transaction")));
}

/*
 * Reads the next message of the protocol into receiver->message and returns
 * its type.
 */
static int
read_copy_message(FrameReceiver *receiver)
{
	int			type;

	HOLD_CANCEL_INTERRUPTS();
	pq_startmsgread();
	type = pq_getbyte();
	if (type == EOF)
		connection_lost();
	if (strchr("dcfHS", type) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
	if (pq_getmessage(receiver->message, type == 'd' ? PQ_LARGE_MESSAGE_LIMIT : PQ_SMALL_MESSAGE_LIMIT))
		connection_lost();
	RESUME_CANCEL_INTERRUPTS();
	return type;
}

/*
 * Makes the next CopyData message the current one; false at the end of the
 * stream.
 */
static bool
next_data_message(FrameReceiver *receiver)
{
	while (!receiver->done)
	{
		CHECK_FOR_INTERRUPTS();
		switch (read_copy_message(receiver))
		{
			case 'd':
				return true;
			case 'c':
				resetStringInfo(receiver->message);
				receiver->done = true;
				break;
			case 'f':
				ereport(ERROR,
						(errcode(ERRCODE_QUERY_CANCELED),
						 errmsg("COPY from stdin failed: %s", pq_getmsgstring(receiver->message))));
				break;
			default:			/* Flush, Sync: of no meaning here */
				break;
		}
	}
	return false;
}

/*
 * Appends bytes of the stream to receiver->assembled until it has size bytes;
 * false if the stream ends before.
 */
static bool
assemble_frame(FrameReceiver *receiver, Size size)
{
	while ((Size) receiver->assembled.len < size)
	{
		StringInfo	message = receiver->message;
		int			len;

		if (message->cursor >= message->len)
		{
			if (!next_data_message(receiver))
				return false;
			continue;
		}
		len = (int) Min((Size) (message->len - message->cursor), size - receiver->assembled.len);
		appendBinaryStringInfo(&receiver->assembled, message->data + message->cursor, len);
		message->cursor += len;
	}
	return true;
}

/*
 * Reads a frame, whose memory is valid until the next call; false at the end
 * of the stream.
 */
static bool
receive_frame(FrameReceiver *receiver, Frame *frame)
{
	StringInfo	message = receiver->message;
	Size		available;

	while (message->cursor >= message->len)
	{
		if (!next_data_message(receiver))
			return false;
	}
	available = message->len - message->cursor;
	if (available >= FRAME_HEADER_SIZE)
	{
		const char *bytes = message->data + message->cursor;
		Size		size = FRAME_HEADER_SIZE + frame_body_size(bytes);

		if (size <= available)
		{
			frame_open(frame, bytes);
			message->cursor += size;
			return true;
		}
	}

	resetStringInfo(&receiver->assembled);
	if (!assemble_frame(receiver, FRAME_HEADER_SIZE) ||
		!assemble_frame(receiver, FRAME_HEADER_SIZE + frame_body_size(receiver->assembled.data)))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("COPY stream from another node ends inside a frame")));
	frame_open(frame, receiver->assembled.data);
	return true;
}

/* FrameRefill: the next frame if it is for the same shard, else keeps it. */
static bool
next_frame_of_shard(void *arg, Frame *frame)
{
	FrameReceiver *receiver = arg;

	if (receiver->pending || !receive_frame(receiver, &receiver->next_frame))
		return false;
	if (receiver->next_frame.range.min != receiver->range.min || receiver->next_frame.range.max != receiver->range.max)
	{
		receiver->pending = true;
		return false;
	}
	*frame = receiver->next_frame;
	return true;
}

uint64
copy_from_frames(ParseState *pstate, CopyStmt *stmt, Relation rel, const DistTable *table)
{
	FrameReceiver receiver = {.message = makeStringInfo()};
	FrameRunner *runner;
	uint64		rows = 0;

	if (stmt->filename != NULL || whereToSendOutput != DestRemote)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("COPY of frames needs a client connection as its source")));
	initStringInfo(&receiver.assembled);
	runner = frame_runner_create(rel, table, stmt->attlist, stmt->options, next_frame_of_shard, &receiver);

	begin_copy_in(list_length(stmt->attlist));
	while (receiver.pending || receive_frame(&receiver, &receiver.next_frame))
	{
		receiver.pending = false;
		receiver.range = receiver.next_frame.range;
		rows += frame_runner_run(runner, &receiver.next_frame);
	}
	return rows;
}
