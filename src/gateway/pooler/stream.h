/*-------------------------------------------------------------------------
 *
 * stream.h
 *	  A gateway process's sockets, their buffers, and the loop that serves
 *	  them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_STREAM_H
#define CITUS_GATEWAY_POOLER_STREAM_H

#include "postgres.h"

#include <signal.h>

#include "lib/ilist.h"
#include "port/pg_bswap.h"

#include "gateway/server/tls.h"

/* How much a stream may hold before its writer has to wait. */
#define STREAM_HIGH_WATER (128 * 1024)

/* Bytes in order: taken off at start, put at end. */
typedef struct ByteQueue
{
	char	   *data;			/* NULL while it is empty */
	size_t		start;
	size_t		end;
	size_t		size;
} ByteQueue;

static inline size_t
queue_length(const ByteQueue *queue)
{
	return queue->end - queue->start;
}

typedef struct Stream Stream;

/* The owner's callbacks for events of a stream. */
typedef struct StreamHandler
{
	/* Bytes have arrived in stream->in, or stream->ended has been set. */
	void		(*arrived) (Stream *stream);
	/*
	 * stream->out, which was above the high water mark, is empty; may be NULL.
	 */
	void		(*drained) (Stream *stream);
	/* arrived or drained raised an error; the handler closes the stream. */
	void		(*failed) (Stream *stream, const ErrorData *error);
} StreamHandler;

struct Stream
{
	int			fd;				/* -1: closed */
	uint32		watched;		/* events that epoll reports */
	bool		listening;		/* accepts connections: nothing is read */
	bool		connecting;		/* arrived is called when it is connected */
	bool		paused;			/* nothing is to be read now */
	bool		ended;			/* the other side has closed, or the socket
								 * failed */
	bool		full;			/* out has passed the high water mark since it
								 * was empty */
	bool		bulk;			/* the last read returned many data */
	bool		dirty;			/* in the list of streams to be flushed */
	bool		unwatched;		/* has ended, and was removed from epoll */
	bool		half_open;		/* what is put is sent after the end of the
								 * input, too, until that fails */
	const StreamHandler *handler;
	int64	   *received;		/* count its bytes, if not NULL */
	int64	   *sent;
	TlsLink    *tls;			/* NULL: what is sent is not encrypted */
	bool		send_waits;		/* TLS has to receive something first */
	ByteQueue	in;
	ByteQueue	out;
	slist_node	link;			/* of streams to be flushed, or to be freed */
};

/*
 * Memory that lives longer than an iteration of the loop; the current context
 * is reset after each.
 */
extern MemoryContext gateway_context;

extern void *gateway_alloc(size_t size);	/* zeroed */
extern char *gateway_strdup(const char *text);	/* as pstrdup */

/* Takes a socket over, non-blocking from now on. */
extern void stream_open(Stream *stream, int fd, const StreamHandler *handler, bool connecting);

/*
 * Closes the socket; the struct that contains the stream is freed after the
 * iteration of the loop, since pending events may refer to it.
 */
extern void stream_close(Stream *stream, void *holder);

/* Frees memory after the iteration of the loop, by pfree. */
extern void stream_free_later(void *memory);

/*
 * Moves the socket, with its buffered input and output, to another stream; the
 * struct of from is freed as by stream_close.
 */
extern void stream_move(Stream *to, Stream *from, void *holder, const StreamHandler *handler);

/*
 * From now on the stream is encrypted: takes over a TLS connection over its
 * socket, after all earlier output was sent.
 */
extern void stream_encrypt(Stream *stream, TlsLink *tls);

/* Stops or resumes reading. */
extern void stream_pause(Stream *stream, bool paused);

/* Appends to the output, which is sent at the end of the iteration. */
extern void stream_put(Stream *stream, const void *data, size_t len);
extern void stream_put_message(Stream *stream, char type, const void *data, size_t len);

/*
 * The same for two pieces, the first of which may be empty.  Sends at once,
 * without copying, as much as the socket takes, unless it is encrypted.
 */
extern void stream_put_now(Stream *stream, const void *head, size_t head_len, const void *data, size_t len);

/* Begins a message; its length counts the four bytes that tell it. */
extern void stream_put_head(Stream *stream, char type, uint32 len);

/* Sends what can be sent now. */
extern void stream_flush(Stream *stream);

/* Whether the writer of the stream should wait for drained. */
extern bool stream_is_full(const Stream *stream);

/* Frees the input's buffer if it is empty. */
extern void stream_settle(Stream *stream);

/* Takes bytes off stream->in, or puts them back. */
extern void stream_skip(Stream *stream, size_t len);
extern void stream_unread(Stream *stream, const void *data, size_t len);

/* Appends bytes to a queue; frees all. */
extern void queue_put(ByteQueue *queue, const void *data, size_t len);
extern void queue_free(ByteQueue *queue);

extern void stream_loop_init(void);

/* What the loop calls, besides the handlers of streams. */
typedef struct LoopHandler
{
	void		(*begin) (void);	/* before it serves streams */
	void		(*tick) (void); /* about once every tick_ms */
	bool		(*run) (void);	/* after that; false if there was nothing */
	int			tick_ms;
} LoopHandler;

/* Serves streams until *stop. */
extern void stream_loop(volatile sig_atomic_t *stop, const LoopHandler *handler);

/* Has the loop run again at that time at the latest. */
extern void stream_wake(int64 time);

/* The loop's clock, in microseconds, as of the start of this iteration. */
extern int64 stream_now;

#endif							/* CITUS_GATEWAY_POOLER_STREAM_H */
