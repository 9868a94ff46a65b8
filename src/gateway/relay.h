/*-------------------------------------------------------------------------
 *
 * relay.h
 *	  A gateway process: its start, its loop, its end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_GATEWAY_RELAY_H
#define CITUS_GATEWAY_RELAY_H

#include "compat/noreturn.h"
#include "gateway/pooler/process.h"

pg_noreturn extern void relay_main(const GatewayStart *start);

#endif							/* CITUS_GATEWAY_RELAY_H */
