/*-------------------------------------------------------------------------
 *
 * tls.h
 *	  TLS on a gateway process's sockets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_SERVER_TLS_H
#define CITUS_GATEWAY_SERVER_TLS_H

#include "postgres.h"

/*
 * A socket's TLS connection (OpenSSL's); the handshake is a part of reading.
 */
typedef struct ssl_st TlsLink;

/* In the server: installs the hook that gets its OpenSSL context. */
extern void tls_init(void);

/*
 * In a gateway process: reads the server's certificate, key and so on, again
 * if that has been done before.  Files that can't be read change nothing.
 */
extern void tls_load(void);

/* Whether clients are offered TLS. */
extern bool tls_is_offered(void);

/*
 * A connection over a non-blocking socket, of a client or to the server; NULL
 * if it can't be made.
 */
extern TlsLink *tls_accept(int fd);
extern TlsLink *tls_connect(int fd);

/*
 * As tls_accept, of a client that has begun the handshake without a request;
 * the data is what was read of it.  NULL also if that is wrong, which is
 * logged.
 */
extern TlsLink *tls_accept_begun(int fd, const void *data, size_t len);

/*
 * False if the client has begun so, and hasn't named PostgreSQL's protocol in
 * the handshake (ALPN), which the server doesn't allow either.
 */
extern bool tls_protocol_is_named(TlsLink *tls);

/*
 * To another node's gateway.  If rootcert is given, its certificate must be of
 * an authority in that file; if names as well, be of that host.
 */
extern TlsLink *tls_connect_verified(int fd, const char *host, const char *rootcert, bool names);

/* As recv and send: with EAGAIN, the socket is to be waited for. */
extern ssize_t tls_read(TlsLink *tls, void *buffer, size_t len);
extern ssize_t tls_write(TlsLink *tls, const void *data, size_t len);

/* Whether what was done last, without success, has to receive something. */
extern bool tls_waits_for_input(TlsLink *tls);

/* Sends close_notify, and frees the connection. */
extern void tls_end(TlsLink *tls);

/*
 * The common name, "" if there is none, and the distinguished name in the
 * other side's certificate, palloc'd; false if it has given none.
 */
extern bool tls_peer_names(TlsLink *tls, char **common, char **distinguished);

#endif							/* CITUS_GATEWAY_SERVER_TLS_H */
