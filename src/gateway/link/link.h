/*-------------------------------------------------------------------------
 *
 * link.h
 *	  One connection between the gateways of two nodes, for many sessions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_LINK_LINK_H
#define CITUS_GATEWAY_LINK_LINK_H

#include "postgres.h"

#include "lib/ilist.h"
#include "libpq/pqcomm.h"

#include "gateway/pooler/stream.h"

/*
 * A link's first packet has LINK_REQUEST_CODE, as of SSLRequest; a version of
 * the frames follows.
 */
#define LINK_VERSION 1

typedef enum FrameKind
{
	FRAME_OPEN = 1,				/* a new channel, by the side that has made
								 * the link */
	FRAME_DATA,					/* bytes of the channel's connection */
	FRAME_WINDOW,				/* how many more bytes may be sent: uint32 */
	FRAME_CLOSE,				/* the connection has ended */
	FRAME_KEY,					/* the process id and key for cancel requests
								 * to its session */
	FRAME_CANCEL,				/* cancel what its session runs; a number */
	FRAME_CANCELED,				/* the server has taken the request of that
								 * number */
} FrameKind;

typedef struct Link Link;

/* One channel of a link; a part of a Tunnel (tunnel.c). */
typedef struct LinkChannel
{
	Link	   *link;			/* NULL: closed */
	uint32		id;
	uint32		may_send;		/* bytes that the other side has room for */
	uint32		may_receive;	/* bytes that we have told the other side to
								 * have room for */
	bool		ready;			/* in a list of those that have something to
								 * send */
	dlist_node	link_node;		/* of link->channels */
	dlist_node	ready_node;
} LinkChannel;

/* A tunnel's callbacks for events of its channel. */
typedef struct ChannelHandler
{
	/* A new channel, which the other side has opened. */
	void		(*opened) (Link *link, uint32 id);
	void		(*data) (LinkChannel *channel, const char *data, size_t len);
	void		(*key) (LinkChannel *channel, int32 pid, int32 key);
	void		(*cancel) (LinkChannel *channel, uint32 number);
	void		(*canceled) (LinkChannel *channel, uint32 number);

	/*
	 * The channel has ended: the other side has closed it (error is NULL), or
	 * the link has ended.
	 */
	void		(*closed) (LinkChannel *channel, const ErrorData *error);
	/*
	 * The stream whose input the channel is to send; NULL: nothing now.
	 */
	Stream	   *(*source) (LinkChannel *channel);
	/* Some of it has been sent. */
	void		(*sent) (LinkChannel *channel);
} ChannelHandler;

extern void link_init(const ChannelHandler *handler);

/*
 * The link to the destination of a request of src/remote/transport.c; a new
 * one if there is none.  NULL if the request is invalid.
 */
extern Link *link_find(const char *request);

/*
 * Takes over the connection of a client that has sent LINK_REQUEST_CODE;
 * holder, which has the stream, is freed.
 */
extern void link_accept(Stream *stream, void *holder, const SockAddr *address);

/* For the client's authentication: the link's address and TLS state. */
extern const SockAddr *link_address(const Link *link);
extern const Stream *link_stream(const Link *link);

/* A channel of the link: a new one, or one that the other side has opened. */
extern void link_add_channel(Link *link, LinkChannel *channel);
extern void link_add_opened(Link *link, LinkChannel *channel, uint32 id);
extern void link_refuse_channel(Link *link, uint32 id);

/* Closes the channel, and tells the other side. */
extern void link_close_channel(LinkChannel *channel);

/* Called when the channel's source has more to send. */
extern void link_send(LinkChannel *channel);

/* Sends a few bytes that aren't from the source, if there is room. */
extern void link_send_bytes(LinkChannel *channel, const void *data, size_t len);

/* Extends the other side's window to its maximum. */
extern void link_grant(LinkChannel *channel);
extern void link_send_key(LinkChannel *channel, int32 pid, int32 key);
extern void link_send_number(LinkChannel *channel, FrameKind kind, uint32 number);
extern void link_tick(void);

#endif							/* CITUS_GATEWAY_LINK_LINK_H */
