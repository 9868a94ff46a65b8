/*-------------------------------------------------------------------------
 *
 * gateway_port.h
 *	  The addresses that the gateway listens on, and the claim to them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_SERVER_GATEWAY_PORT_H
#define CITUS_GATEWAY_SERVER_GATEWAY_PORT_H

#include "postgres.h"

#include <netdb.h>

#include "gateway/server/gateway.h"

/*
 * Calls visit for each address that citus.gateway_listen_addresses stands for,
 * and logs errno where it returns false.  Ends the process (FATAL) if the
 * setting is malformed.
 */
extern void gateway_addresses_visit(bool (*visit) (const struct addrinfo *address));

/*
 * A socket bound to that address, which shares it with others or not; -1 and
 * errno if there is none.
 */
extern int	gateway_socket(const struct addrinfo *address, bool shares_port);

/*
 * Claims all addresses for this process and its children, for its life.  Ends
 * the process (FATAL) if another one has one of them.
 */
extern void gateway_addresses_claim(void);

#endif							/* CITUS_GATEWAY_SERVER_GATEWAY_PORT_H */
