/*-------------------------------------------------------------------------
 *
 * vector_node.h
 *	  The node ColumnarAggregate.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_VECTOR_VECTOR_NODE_H
#define CITUS_VECTOR_VECTOR_NODE_H

#include "postgres.h"

/* Registers the node, which plans have by its name. */
extern void vector_node_init(void);

#endif							/* CITUS_VECTOR_VECTOR_NODE_H */
