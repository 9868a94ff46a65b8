/*-------------------------------------------------------------------------
 *
 * client_protocol.h
 *	  The server's own side of the client protocol (libpq/libpq.h).
 *
 * A server that was built with GSSAPI includes that library's headers there,
 * for a pointer that we never follow; they need not be installed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_CLIENT_PROTOCOL_H
#define CITUS_COMPAT_CLIENT_PROTOCOL_H

#include "postgres.h"

#undef ENABLE_GSS
#include "libpq/auth.h"
#include "libpq/crypt.h"
#include "libpq/hba.h"
#include "libpq/libpq.h"
#include "libpq/pqformat.h"

/*
 * How much of the client's messages is here already; before version 17, only
 * whether any is.
 */
#if PG_VERSION_NUM < 170000
#define pq_buffer_remaining_data() ((ssize_t) pq_buffer_has_data())
#endif

/*
 * Has the server forget as whom it has authenticated a connection, which it
 * notes once only.
 */
static inline void
forget_authenticated_identity(Port *port)
{
#if PG_VERSION_NUM >= 160000
	MyClientConnectionInfo.authn_id = NULL;
#else
	port->authn_id = NULL;
#endif
}

#endif							/* CITUS_COMPAT_CLIENT_PROTOCOL_H */
