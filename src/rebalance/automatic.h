/*-------------------------------------------------------------------------
 *
 * automatic.h
 *	  Automatic rebalancing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REBALANCE_AUTOMATIC_H
#define CITUS_REBALANCE_AUTOMATIC_H

#include "postgres.h"

extern void automatic_rebalance_init(void);

/*
 * How often the maintenance worker calls automatic_rebalance, in ms; -1:
 * never.
 */
extern int	automatic_rebalance_interval(void);

/*
 * In the maintenance worker's transaction: starts a rebalance if the nodes are
 * out of balance.
 */
extern void automatic_rebalance(void);

#endif							/* CITUS_REBALANCE_AUTOMATIC_H */
