/*-------------------------------------------------------------------------
 *
 * not_null.h
 *	  The names of NOT NULL constraints in shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_NOT_NULL_H
#define CITUS_DDL_NOT_NULL_H

#include "postgres.h"

/*
 * Gives the NOT NULL constraints of this node's shards of a table, and of its
 * partitions, their names (shard_constraint_name), after a statement for which
 * the server has chosen some, or which has made the table a partition or has
 * detached it.  The caller has locked the table as the statement does.
 */
extern void name_not_null_of_shards(Oid relid);

#endif							/* CITUS_DDL_NOT_NULL_H */
