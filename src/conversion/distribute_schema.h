/*-------------------------------------------------------------------------
 *
 * distribute_schema.h
 *	  Distributed schemas, all of whose tables are on one node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_DISTRIBUTE_SCHEMA_H
#define CITUS_CONVERSION_DISTRIBUTE_SCHEMA_H

#include "postgres.h"

#include "compat/foreach.h"

/* citus.enable_schema_based_sharding: CREATE SCHEMA makes distributed ones. */
extern bool enable_schema_based_sharding;

extern void distribute_schema_init(void);

/*
 * The colocation group of a schema's tables; 0 if the schema is not
 * distributed.
 */
extern int32 schema_colocation(Oid schema);

/*
 * Makes a schema a distributed one, with the tables that it has, on all nodes.
 */
extern void schema_distribute(Oid schema);

/*
 * Distributes a local table of this node, with its partitions, if its schema
 * is distributed.
 */
extern void schema_distribute_table(Oid relid);

/* Removes the record of a schema that is dropped on this node. */
extern void schema_forget(Oid schema);

/* Commands that give another node the records of all distributed schemas. */
extern List *schema_metadata_commands(void);

#endif							/* CITUS_CONVERSION_DISTRIBUTE_SCHEMA_H */
