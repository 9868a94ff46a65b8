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
extern void tunnel_tick(void);
extern void tunnel_end(void);

#endif							/* CITUS_GATEWAY_LINK_TUNNEL_H */
