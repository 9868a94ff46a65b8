/*-------------------------------------------------------------------------
 *
 * client_limit.h
 *	  A limit for connections of clients.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_SERVER_CLIENT_LIMIT_H
#define CITUS_GATEWAY_SERVER_CLIENT_LIMIT_H

#include "postgres.h"

struct Port;

extern void client_limit_init(void);

/*
 * Counts a connection that has been authenticated, and errors if it is one too
 * many.
 */
extern void client_limit_login(struct Port *port);

#endif							/* CITUS_GATEWAY_SERVER_CLIENT_LIMIT_H */
