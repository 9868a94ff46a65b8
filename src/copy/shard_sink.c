/*-------------------------------------------------------------------------
 *
 * shard_sink.c
 *	  Collects encoded rows per shard and sends them to the nodes.
 *
 * Each shard has a FrameBuffer.  A full buffer is sent as a frame: on the
 * stream of the shard's node (one COPY statement on the node's primary
 * connection, begun with its first frame), or, if the shard is on this node,
 * into the server's own COPY (frame_runner.c).  Rows of a reference table are
 * sent on all streams.  The nodes work in parallel, since sending only waits
 * when a socket's buffers are full.
 *
 * Memory: a buffer is flushed when it has the size of a frame; when all
 * together exceed citus.copy_buffer_size, the largest ones are flushed first.
 *
 * A stream owns its node's connection.  When another owner needs it (a query
 * in a trigger or in a default expression), the stream sends what it has for
 * the node, ends its COPY statement, and begins another with its next frame.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "copy/frame.h"
#include "copy/frame_runner.h"
#include "copy/shard_sink.h"
#include "remote/connection.h"
#include "resolve/tag.h"
#include "txn/serializable.h"
#include "txn/unpublished.h"

/*
 * Bounds for the size of a frame.  Each frame costs the receiver one run of
 * the server's COPY, so they should be large.
 */
#define MIN_FRAME_SIZE (32 * 1024)
#define MAX_FRAME_SIZE (512 * 1024)

/* citus.copy_buffer_size, in kB */
static int	copy_buffer_size = 16 * 1024;

/* The COPY statement on one node. */
typedef struct NodeStream
{
	RemoteOwner owner;			/* must be first */
	ShardSink  *sink;
	int32		groupid;
	RemoteConn *conn;			/* NULL between COPY statements */
	uint64		rows;			/* stored by ended COPY statements */
} NodeStream;

struct ShardSink
{
	MemoryContext context;
	Relation	rel;
	const DistTable *table;
	char	   *command;		/* the COPY statement for streams */
	int			nshards;		/* buffers; 1 for a reference table */
	FrameBuffer *buffers;
	NodeStream **shard_streams; /* by shard; NULL is this node */
	List	   *streams;		/* of NodeStream *, by group id */
	bool		store_locally;	/* some shard, or the reference table, is
								 * here */
	int			frame_size;		/* memory of a buffer, unless rows are long */
	FrameRunner *runner;		/* for local shards */
	uint64		local_rows;
	Size		max_memory;		/* for all buffers */
	Size		memory;			/* of all buffers */
	Size		row_memory;		/* of the buffer whose row is open, before
								 * it */
	ShardSinkPump pump;			/* while shard_sink_pull runs */
	void	   *pump_arg;
};

static void stream_yield(RemoteOwner *owner, RemoteConn *conn);
static bool refill_from_pump(void *arg, Frame *frame);

void
shard_sink_init(void)
{
	DefineCustomIntVariable("citus.copy_buffer_size",
							"Sets the memory that a COPY to a distributed table may use for rows under way.",
							NULL,
							&copy_buffer_size,
							16 * 1024, 256, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
}

/*
 * The statement that a node's stream runs, with the rights of the current
 * user; also the source of the local runner's columns and options.
 */
static char *
build_command(Relation rel, List *attnums, const char *options)
{
	StringInfoData sql;
	TaskTag		tag = {.kind = TAG_FRAMES,.traits = {.flags = unpublished() ? TASK_UNPUBLISHED : 0,.check_as = GetUserId()}};

	initStringInfo(&sql);
	appendStringInfo(&sql, "%sCOPY %s ", task_tag_write(&tag),
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	foreach_int(attnum, attnums)
	{
		Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(rel), attnum - 1);

		appendStringInfo(&sql, "%c%s", foreach_current_index(attnum) == 0 ? '(' : ',',
						 quote_identifier(NameStr(attr->attname)));
	}
	appendStringInfo(&sql, "%sFROM STDIN WITH (%s)", attnums == NIL ? "" : ") ", options);
	return sql.data;
}

/*
 * The stream of a node group, added in the order of group ids when it is new.
 */
static NodeStream *
stream_of_group(ShardSink *sink, int32 groupid)
{
	NodeStream *stream;
	ListCell   *lc;
	int			position = 0;

	foreach(lc, sink->streams)
	{
		stream = lfirst(lc);
		if (stream->groupid == groupid)
			return stream;
		if (stream->groupid < groupid)
			position = foreach_current_index(lc) + 1;
	}
	stream = palloc0(sizeof(NodeStream));
	stream->owner.yield = stream_yield;
	stream->sink = sink;
	stream->groupid = groupid;
	sink->streams = list_insert_nth(sink->streams, position, stream);
	return stream;
}

/* Decides for each shard which stream it uses. */
static void
assign_streams(ShardSink *sink, bool remote_only)
{
	const DistTable *table = sink->table;

	if (table->kind == DIST_REFERENCE)
	{
		foreach_ptr(ClusterNode, node, node_active_primaries_remote())
			(void) stream_of_group(sink, node->groupid);
		sink->store_locally = !remote_only;
		return;
	}
	for (int i = 0; i < table->nshards; i++)
	{
		if (table->shards[i].groupid == metadata_local_group())
			sink->store_locally = true;
		else
			sink->shard_streams[i] = stream_of_group(sink, table->shards[i].groupid);
	}
}

static FrameRunner *
create_runner(ShardSink *sink)
{
	RawStmt    *raw = linitial_node(RawStmt, raw_parser(sink->command, RAW_PARSE_DEFAULT));
	CopyStmt   *stmt = castNode(CopyStmt, raw->stmt);

	return frame_runner_create(sink->rel, sink->table, stmt->attlist, stmt->options, refill_from_pump, sink);
}

/*
 * Size of the frames for so many buffers in some memory: a power of two, as
 * buffers grow by doubling.
 */
static int
frame_size(Size memory, int nshards)
{
	Size		share = memory / 2 / nshards;
	int			size = MIN_FRAME_SIZE;

	while (size < MAX_FRAME_SIZE && (Size) size * 2 <= share)
		size *= 2;
	return size;
}

ShardSink *
shard_sink_begin(Relation rel, const DistTable *table, List *attnums, const char *options, bool remote_only)
{
	ShardSink  *sink = palloc0(sizeof(ShardSink));

	sink->context = CurrentMemoryContext;
	sink->rel = rel;
	sink->table = table;
	sink->command = build_command(rel, attnums, options);
	sink->nshards = table->kind == DIST_REFERENCE ? 1 : table->nshards;
	sink->buffers = palloc0(sink->nshards * sizeof(FrameBuffer));
	sink->shard_streams = palloc0(sink->nshards * sizeof(NodeStream *));
	shard_sink_set_memory(sink, (Size) copy_buffer_size * 1024);
	assign_streams(sink, remote_only);
	if (sink->store_locally)
		sink->runner = create_runner(sink);
	return sink;
}

void
shard_sink_set_memory(ShardSink *sink, Size memory)
{
	sink->max_memory = memory;
	sink->frame_size = frame_size(memory, sink->nshards);
}

StringInfo
shard_sink_begin_row(ShardSink *sink, int shard_index)
{
	FrameBuffer *buffer = &sink->buffers[shard_index];
	MemoryContext caller_context = MemoryContextSwitchTo(sink->context);
	StringInfo	row;

	sink->row_memory = frame_buffer_memory(buffer);
	row = frame_begin_row(buffer);
	MemoryContextSwitchTo(caller_context);
	return row;
}

void
shard_sink_end_row(ShardSink *sink, int shard_index, uint64 line)
{
	FrameBuffer *buffer = &sink->buffers[shard_index];

	frame_end_row(buffer, line);
	sink->memory += frame_buffer_memory(buffer) - sink->row_memory;
}

bool
shard_sink_is_full(const ShardSink *sink, int shard_index)
{
	const FrameBuffer *buffer = &sink->buffers[shard_index];

	/* leave room for one more row, so that the buffer doesn't grow for it */
	return buffer->data.len + buffer->directory.len >= sink->frame_size - sink->frame_size / 8;
}

/* Sends a frame on a stream, whose COPY begins if it is not under way. */
static void
stream_put(NodeStream *stream, const char *bytes, int len)
{
	if (stream->conn == NULL)
	{
		RemoteConn *conn;

		serializable_uses_node(stream->groupid);
		conn = remote_acquire(stream->groupid, &stream->owner, true);
		remote_copy_begin(conn, stream->sink->command);
		stream->conn = conn;
	}
	remote_copy_put(stream->conn, bytes, len);
}

/* Ends the COPY statement of a stream and counts its rows. */
static void
stream_end(NodeStream *stream)
{
	RemoteConn *conn = stream->conn;

	if (conn == NULL)
		return;
	stream->conn = NULL;
	stream->rows += remote_copy_end(conn);
}

static void
reset_buffer(ShardSink *sink, FrameBuffer *buffer)
{
	Size		memory = frame_buffer_memory(buffer);

	frame_reset(buffer, memory <= 2 * sink->frame_size);
	sink->memory -= memory - frame_buffer_memory(buffer);
}

/* Sends a frame to the other nodes of its shard. */
static void
send_frame(ShardSink *sink, int shard_index, const char *bytes, int len)
{
	ListCell   *lc;

	if (sink->table->kind != DIST_REFERENCE)
	{
		if (sink->shard_streams[shard_index] != NULL)
			stream_put(sink->shard_streams[shard_index], bytes, len);
		return;
	}
	foreach(lc, sink->streams)
		stream_put(lfirst(lc), bytes, len);
}

/* Sends or stores what a shard's buffer holds. */
static void
flush_shard(ShardSink *sink, int shard_index)
{
	FrameBuffer *buffer = &sink->buffers[shard_index];
	char	   *bytes;
	int			len;

	if (buffer->rows == 0)
		return;
	bytes = frame_finish(buffer, sink->table->shards[shard_index].range, &len);
	send_frame(sink, shard_index, bytes, len);
	if (sink->store_locally && sink->shard_streams[shard_index] == NULL)
	{
		Frame		frame;

		serializable_uses_node(metadata_local_group());
		frame_open(&frame, bytes);
		sink->local_rows += frame_runner_run(sink->runner, &frame);
	}
	reset_buffer(sink, buffer);
}

/*
 * RemoteOwner's yield: sends what is buffered for the node and ends the COPY,
 * so that the rows are seen.
 */
static void
stream_yield(RemoteOwner *owner, RemoteConn *conn)
{
	NodeStream *stream = (NodeStream *) owner;
	ShardSink  *sink = stream->sink;

	Assert(stream->conn == conn);
	for (int i = 0; i < sink->nshards; i++)
	{
		if (sink->shard_streams[i] == stream)
			flush_shard(sink, i);
	}
	stream_end(stream);
}

static int
largest_buffer(const ShardSink *sink)
{
	int			largest = 0;

	for (int i = 1; i < sink->nshards; i++)
	{
		if (sink->buffers[i].data.len > sink->buffers[largest].data.len)
			largest = i;
	}
	return largest;
}

void
shard_sink_flush_full(ShardSink *sink, int shard_index)
{
	if (shard_sink_is_full(sink, shard_index))
		flush_shard(sink, shard_index);
	while (sink->memory > sink->max_memory)
	{
		int			largest = largest_buffer(sink);

		if (sink->buffers[largest].rows == 0)
			break;
		flush_shard(sink, largest);
	}
}

bool
shard_sink_flush_all(ShardSink *sink)
{
	bool		found = false;

	for (int i = 0; i < sink->nshards; i++)
	{
		found = found || sink->buffers[i].rows > 0;
		flush_shard(sink, i);
	}
	return found;
}

bool
shard_sink_can_pull(const ShardSink *sink)
{
	return sink->table->kind != DIST_HASH && sink->store_locally;
}

/*
 * FrameRefill for shard_sink_pull: fills the only buffer, sends its frame to
 * all streams, and gives it to the runner.
 */
static bool
refill_from_pump(void *arg, Frame *frame)
{
	ShardSink  *sink = arg;
	FrameBuffer *buffer = &sink->buffers[0];
	char	   *bytes;
	int			len;

	if (sink->pump == NULL)
		return false;
	reset_buffer(sink, buffer);
	if (!sink->pump(sink->pump_arg))
		sink->pump = NULL;
	if (buffer->rows == 0)
		return false;
	bytes = frame_finish(buffer, sink->table->shards[0].range, &len);
	send_frame(sink, 0, bytes, len);
	frame_open(frame, bytes);
	return true;
}

void
shard_sink_pull(ShardSink *sink, ShardSinkPump pump, void *arg)
{
	sink->pump = pump;
	sink->pump_arg = arg;
	serializable_uses_node(metadata_local_group());
	sink->local_rows += frame_runner_run_all(sink->runner, sink->table->shards[0].range);
	sink->pump = NULL;
	reset_buffer(sink, &sink->buffers[0]);
}

uint64
shard_sink_end(ShardSink *sink)
{
	uint64		remote_rows = 0;

	/* other nodes first: they work while this one stores its own rows */
	for (int i = 0; i < sink->nshards; i++)
	{
		if (sink->shard_streams[i] != NULL)
			flush_shard(sink, i);
	}
	for (int i = 0; i < sink->nshards; i++)
		flush_shard(sink, i);
	foreach_ptr(NodeStream, stream, sink->streams)
	{
		RemoteConn *conn = stream->conn;

		stream_end(stream);
		if (conn != NULL)
			remote_release(conn, &stream->owner);
		remote_rows = sink->table->kind == DIST_REFERENCE ? stream->rows : remote_rows + stream->rows;
	}
	return sink->table->kind == DIST_REFERENCE && sink->store_locally ? sink->local_rows :
		sink->local_rows + remote_rows;
}
