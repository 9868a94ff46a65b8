/*-------------------------------------------------------------------------
 *
 * channel.h
 *	  Commands to a node's session and its messages back, over one connection.
 *
 * A channel sends commands in order, and returns the node's answers in the
 * same order.  Transactions, settings, roles and owners belong to the session
 * (pipeline.c and its callers).  No function here waits, reads the catalogs,
 * or raises an error, except for lack of memory in channel_next; wait.c waits
 * for the socket.
 *
 *	  channel_open, channel_connect		until CHANNEL_END, or CHANNEL_LOST
 *	  channel_send_*, channel_sync		take commands; false: the channel is lost
 *	  channel_flush						sends them off, as far as the socket lets
 *	  channel_read						takes in what has arrived
 *	  channel_next						the next message of that
 *
 * In pipeline mode any number of commands may be on their way.  A command is
 * answered by any number of CHANNEL_ROWs and one of CHANNEL_COMPLETE,
 * CHANNEL_FAILED and CHANNEL_SKIPPED; a Sync by CHANNEL_SYNCED, or
 * CHANNEL_FAILED and CHANNEL_SYNCED.  Outside pipeline mode one
 * text is on its way, of any number of commands, and CHANNEL_END follows its
 * last message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_CHANNEL_H
#define CITUS_REMOTE_CHANNEL_H

#include "postgres.h"

#include <sys/socket.h>

#include "compat/cancel_key.h"
#include "remote/result.h"

typedef enum ChannelEvent
{
	CHANNEL_NOTHING,			/* no complete message was read */
	CHANNEL_ROW,				/* channel->row */
	CHANNEL_COMPLETE,			/* end of a command: channel->tag, processed */
	CHANNEL_FAILED,				/* channel_take_error */
	CHANNEL_SKIPPED,			/* not run, since one before it has failed */
	CHANNEL_SYNCED,
	CHANNEL_COPY_IN,			/* channel_copy_put, channel_copy_end */
	CHANNEL_COPY_OTHER,			/* the node wants a COPY that we don't do */
	CHANNEL_END,
	CHANNEL_LOST,				/* channel_take_error, the first time */
} ChannelEvent;

typedef struct Channel
{
	struct pg_conn *pg;
	bool		connecting;
	bool		reached;		/* a server has accepted the connection */
	bool		pipelined;		/* in pipeline mode */
	bool		unflushed;		/* output is pending */
	bool		unreadable;		/* channel_read has failed; channel_next tells
								 * what was read before, and why */
	uint32		connect_events; /* what it waits for while connecting */

	/* of channel_adopt: where it leads, and how to cancel there */
	socklen_t	peer_size;		/* 0: it wasn't adopted */
	struct sockaddr_storage peer;
	int			pid;
	int			cancel_key_size;
	uint8		cancel_key[CANCEL_KEY_SIZE];

	/* of the last message: */
	RemoteRow	row;			/* after CHANNEL_COMPLETE, of ncolumns only:
								 * those of the answer, or -1 */
	uint64		processed;
	char		tag[32];
	struct pg_result *current;	/* holds the row's values */
	int			row_size;		/* of their array */
	RemoteError *error;
} Channel;

/*
 * Called for messages that aren't answers, also while the channel is idle;
 * must not raise errors.
 */
typedef void (*ChannelNotices) (void *arg, const RemoteError *notice);

/*
 * Starts to connect, with libpq's keywords and values; false if that fails at
 * once.  channel_connect goes on, without waiting.
 */
extern bool channel_open(Channel *channel, const char *const *keywords, const char *const *values,
						 ChannelNotices notices, void *arg);
extern ChannelEvent channel_connect(Channel *channel);

/* An open session that a socket leads to. */
typedef struct ChannelLogin
{
	const char *user;
	const char *database;
	const char *version;
	const char *encoding;
	const char *free_slots;		/* FREE_SLOTS_PARAMETER */
	int			pid;
	int			cancel_key_size;
	uint8		cancel_key[CANCEL_KEY_SIZE];
} ChannelLogin;

/*
 * Instead of channel_open and channel_connect: a channel over a socket that
 * leads to an idle session, of which nothing is to be read.  The caller closes
 * fd.  False, with nothing allocated, if that fails.
 */
extern bool channel_adopt(Channel *channel, int fd, const ChannelLogin *login, ChannelNotices notices, void *arg);

/*
 * A descriptor of the channel's socket, for another process; then the channel
 * can only be closed, which the session doesn't notice.  -1 if that isn't
 * possible; the channel is unchanged then.  Nothing may be outstanding.
 */
extern int	channel_detach(Channel *channel);
extern bool channel_set_pipeline(Channel *channel, bool pipelined);
extern void channel_close(Channel *channel);

/*
 * channel_open_probe opens a channel to where another one leads, without
 * looking up the host; false if there is no memory.  channel_probe goes on
 * with that, instead of channel_connect: CHANNEL_END once a server has
 * answered, CHANNEL_LOST if there is none, else CHANNEL_NOTHING.
 */
extern bool channel_open_probe(Channel *probe, const Channel *channel);
extern ChannelEvent channel_probe(Channel *probe);

/* Ends a channel: what is to be sent or read fails from now on. */
extern void channel_shut(Channel *channel);

/* Whether it is usable, as far as is known. */
extern bool channel_ok(const Channel *channel);

/*
 * Whether an idle one is usable: reads messages that have arrived meanwhile.
 */
extern bool channel_alive(Channel *channel);

/*
 * Why it is unusable; valid until it is used or closed, "" if that isn't
 * known.
 */
extern const char *channel_failure(const Channel *channel);

/* Why a channel that was being connected is unusable. */
typedef enum ChannelRefusal
{
	CHANNEL_NOT_REACHED,		/* no server has answered */
	CHANNEL_NO_PASSWORD,		/* the server wants one, and none was known */
	CHANNEL_PASSWORD_USED,		/* the server has refused the login, after it
								 * had asked for the password */
	CHANNEL_FULL,				/* the server has no connection left for us */
	CHANNEL_REFUSED,			/* the server has refused the login, for
								 * another reason */
} ChannelRefusal;

/* Why the last attempt to connect has failed. */
extern ChannelRefusal channel_refusal(const Channel *channel);

/*
 * For waiting: WL_SOCKET_* events.  The socket may be another one after each
 * call while it is connecting.
 */
extern int	channel_socket(const Channel *channel);
extern uint32 channel_events(const Channel *channel);

/* False if the channel is lost. */
extern bool channel_send_text(Channel *channel, const char *sql, const RemoteParams *params, bool binary_result);
extern bool channel_send_prepare(Channel *channel, const char *name, const char *sql, const RemoteParams *params);
extern bool channel_send_query_prepared(Channel *channel, const char *name, const RemoteParams *params,
								  bool binary_result);
extern bool channel_send_script(Channel *channel, const char *sql); /* outside pipeline mode */
extern bool channel_sync(Channel *channel);

/*
 * Makes the node send its answers to the commands so far; otherwise it may
 * buffer them until the Sync.
 */
extern bool channel_ask_for_answers(Channel *channel);
extern bool channel_flush(Channel *channel);
extern void channel_read(Channel *channel);
extern ChannelEvent channel_next(Channel *channel);

/* Whether channel_next would return CHANNEL_NOTHING. */
extern bool channel_is_busy(Channel *channel);

/*
 * The error of the last message, now the caller's; without a SQLSTATE if that
 * wasn't one, and the channel is given up for another reason.
 */
extern RemoteError *channel_take_error(Channel *channel);

/*
 * COPY FROM STDIN, outside pipeline mode.  channel_copy_put returns 0 when
 * output must be flushed first, -1 when the channel is lost.  reason: the COPY
 * is to fail; NULL: it is not.
 */
extern int	channel_copy_put(Channel *channel, const char *data, int len);
extern bool channel_copy_end(Channel *channel, const char *reason);

/* How many bytes have arrived; 0 if that isn't known. */
extern uint64 channel_bytes_received(const Channel *channel);

/* What the node's session has reported about itself. */
extern int	channel_peer_pid(const Channel *channel);
extern bool channel_in_xact(const Channel *channel);
extern bool channel_xact_failed(const Channel *channel);
extern const char *channel_parameter(const Channel *channel, const char *name); /* NULL if unknown */

#endif							/* CITUS_REMOTE_CHANNEL_H */
