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
 * Makes dumps of this node and of the new one.  Nothing may have been changed
 * on the node in this transaction.
 */
extern ObjectSync *object_sync_prepare(const ClusterNode *node);

/*
 * Creates roles and the objects that need no distributed table on the node;
 * then, after the tables, the others.
 */
extern void object_sync_before_tables(ObjectSync *sync);
extern void object_sync_after_tables(ObjectSync *sync);

/* Sends the rows of the materialized views that the node has. */
extern void object_sync_rows(const ClusterNode *node);

#endif							/* CITUS_CLUSTER_OBJECT_SYNC_H */
