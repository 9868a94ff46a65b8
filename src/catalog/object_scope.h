/*-------------------------------------------------------------------------
 *
 * object_scope.h
 *	  Which objects are on this node only, and which on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_OBJECT_SCOPE_H
#define CITUS_CATALOG_OBJECT_SCOPE_H

#include "postgres.h"

#include "catalog/objectaddress.h"

/*
 * Whether an object is on this node only: a local table, a temporary object,
 * an object that depends on one of these, or one that belongs to the server.
 * All others are on every node.  A system object is on every node, too.
 */
extern bool object_is_local(const ObjectAddress *object);

/* Whether a relation is a view, materialized or not. */
extern bool relation_is_view(Oid relid);

/* Whether an object is a distributed or reference table, or depends on one. */
extern bool object_needs_distributed(const ObjectAddress *object);

/*
 * Whether an object depends on another one, directly or not; distributed
 * tables between the two don't count.
 */
extern bool object_needs(const ObjectAddress *object, const ObjectAddress *other);

#endif							/* CITUS_CATALOG_OBJECT_SCOPE_H */
