/*-------------------------------------------------------------------------
 *
 * tunnel.h
 *	  A session's connection to another node, through the gateways of both.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_LINK_TUNNEL_H
#define CITUS_GATEWAY_LINK_TUNNEL_H

extern void tunnel_init(void);
/* Ends tunnels that take too long to close; called at each tick. */
extern void tunnel_tick(void);
/* Called at the end of the process: removes the socket for sessions. */
extern void tunnel_end(void);

#endif							/* CITUS_GATEWAY_LINK_TUNNEL_H */
