/*-------------------------------------------------------------------------
 *
 * serializable.h
 *	  SERIALIZABLE transactions that use more than one node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TXN_SERIALIZABLE_H
#define CITUS_TXN_SERIALIZABLE_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"

/*
 * The transaction is about to read or write rows on nodes (group ids).  If it
 * is SERIALIZABLE and this makes it use a second node, warns or errors
 * (ERRCODE_FEATURE_NOT_SUPPORTED) as citus.serializable_over_nodes says; after
 * the error, no more nodes count as used than before.
 */
extern void serializable_uses(const Bitmapset *groups);
extern void serializable_uses_node(int32 groupid);

/*
 * The same for this node, if the executor has opened tables of users for a
 * statement that it is about to run, other than distributed ones: their tasks
 * say where they are.
 */
extern void serializable_runs_here(const EState *estate);

extern void serializable_init(void);

#endif							/* CITUS_TXN_SERIALIZABLE_H */
