/*-------------------------------------------------------------------------
 *
 * node_info.h
 *	  Facts about nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_NODE_INFO_H
#define CITUS_CLUSTER_NODE_INFO_H

#include "postgres.h"

extern void node_info_init(void);

#endif							/* CITUS_CLUSTER_NODE_INFO_H */
