/*-------------------------------------------------------------------------
 *
 * distributed_function.h
 *	  The rows of pg_dist_object that create_distributed_function() writes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CATALOG_DISTRIBUTED_FUNCTION_H
#define CITUS_CATALOG_DISTRIBUTED_FUNCTION_H

#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "utils/rel.h"

/* The record of a function. */
typedef struct DistributedFunction
{
	Oid			function;
	int			argument;		/* input argument with the distribution
								 * column's value, from 0; -1: none */
	int32		colocation_id;	/* of the tables that it works on; 0: none */
	char		force;			/* force_delegation: 't', 'f', or 'n' for
								 * NULL */
} DistributedFunction;

/*
 * A scan of pg_dist_object, which the caller has opened: of a function's row,
 * or of those of all functions if it is InvalidOid.  keys has two elements and
 * lives as long.
 */
extern SysScanDesc distributed_function_scan(Relation catalog, Oid function, ScanKeyData *keys);

/* Reads a row of that scan. */
extern void distributed_function_read(Relation catalog, HeapTuple tuple, DistributedFunction *record);

/* The record of a function; false if it has none. */
extern bool distributed_function_find(Oid function, DistributedFunction *record);

#endif							/* CITUS_CATALOG_DISTRIBUTED_FUNCTION_H */
