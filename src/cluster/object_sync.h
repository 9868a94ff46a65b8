/*-------------------------------------------------------------------------
 *
 * object_sync.h
 *	  Gives a node the roles, and all objects other than tables, that every
 *	  node has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_OBJECT_SYNC_H
#define CITUS_CLUSTER_OBJECT_SYNC_H

#include "postgres.h"

#include "catalog/node.h"

typedef struct ObjectSync ObjectSync;

/*
 * Looks what there is here and on the node.  Nothing may have been changed on
 * the node in this transaction.
 */
extern ObjectSync *object_sync_prepare(const ClusterNode *node);

/*
 * Gives the node roles, and the objects that need no distributed table; then,
 * when it has the tables, the others.
 */
extern void object_sync_before_tables(ObjectSync *sync);
extern void object_sync_after_tables(ObjectSync *sync);

/* Gives the node the rows of materialized views that it has by then. */
extern void object_sync_rows(const ClusterNode *node);

#endif							/* CITUS_CLUSTER_OBJECT_SYNC_H */
