/*-------------------------------------------------------------------------
 *
 * transport.h
 *	  Connections to other nodes through this node's gateway.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_TRANSPORT_H
#define CITUS_REMOTE_TRANSPORT_H

#include "postgres.h"

/*
 * Where, in the data directory, gateway processes listen for this server's
 * sessions, as libpq names the socket if the process's number, from 1, is the
 * port.  Backups leave out what is there.
 */
#define TRANSPORT_FOLDER "pg_stat_tmp"

/*
 * How the option begins that tells the gateway where the connection is to
 * lead.  Behind it come, in hexadecimal digits, host, port, sslmode and
 * sslrootcert, a newline behind each, and hostaddr: connections for which
 * these are the same may share one.  Then the socket addresses to be tried, a
 * dot before each.
 */
#define TRANSPORT_OPTION "-c citus.gateway_tunnel="

extern void transport_init(void);

/*
 * Called while the server starts: sets the number of the gateway's processes.
 */
extern void transport_set_gateways(int processes);

/*
 * Sets the parameters (host, port, options) by which a connection with the
 * given ones (ended by a NULL keyword) goes through the gateway; palloc'd.
 * False if it should not, or can't.
 */
extern bool transport_route(const char *const *keywords, const char *const *values, char **host, char **port,
							char **options);

#endif							/* CITUS_REMOTE_TRANSPORT_H */
