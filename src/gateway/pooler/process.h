/*-------------------------------------------------------------------------
 *
 * process.h
 *	  What a gateway process has from its supervisor, and its connections to
 *	  servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_POOLER_PROCESS_H
#define CITUS_GATEWAY_POOLER_PROCESS_H

#include "postgres.h"

#include "libpq/pqcomm.h"

#include "gateway/pooler/stream.h"
#include "gateway/server/gateway.h"

/* The supervisor's arguments for a process. */
typedef struct GatewayStart
{
	uint8		key[GATEWAY_KEY_SIZE];
	int			number;			/* of the process, from 0 */
	int			processes;
	int			(*mailboxes)[2];	/* per process: to read from, to write
									 * to */
} GatewayStart;

/*
 * The code of the first packet by which a gateway asks another one for a link,
 * in the place of the protocol's version, as that of SSLRequest.
 */
#define LINK_REQUEST_CODE PG_PROTOCOL(1234, 5702)

/* The address of a server. */
typedef struct ServerAddress
{
	struct sockaddr_storage addr;
	socklen_t	len;			/* 0: this node's own server */
} ServerAddress;

extern const GatewayStart *gateway_start;

/* Takes over a socket that listens, of which the handler accepts. */
extern void process_listen(int fd, const StreamHandler *handler);
/* A handler's answer to an error. */
extern void process_listen_failed(Stream *stream, const ErrorData *error);
extern bool process_is_listening(void);
/* Something may have been closed: accepts again what there was no room for. */
extern void process_listen_again(void);

/* This node's own. */
extern const ServerAddress own_server;
/* A socket that is being connected to a server; -1 if it can't be. */
extern int	process_connect(const ServerAddress *address);
/*
 * Sends a startup packet.  request: what follows the gateway's key, if that is
 * to be given; parameters: of the client.
 */
extern void send_startup_packet(Stream *stream, const char *user, const char *database, const char *request,
								const char *parameters, size_t parameters_len);

#endif							/* CITUS_GATEWAY_POOLER_PROCESS_H */
