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
#include "libpq/libpq.h"
#include "libpq/pqformat.h"

/* How much of the client's messages is here already; before version 17, only whether any is. */
#if PG_VERSION_NUM < 170000
#define pq_buffer_remaining_data() ((ssize_t) pq_buffer_has_data())
#endif

#endif							/* CITUS_COMPAT_CLIENT_PROTOCOL_H */
