/*-------------------------------------------------------------------------
 *
 * pool_info.h
 *	  Connection poolers in front of nodes: rows of pg_dist_poolinfo.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_POOL_INFO_H
#define CITUS_REMOTE_POOL_INFO_H

#include "postgres.h"

/* The connection parameters that pg_dist_poolinfo may set; ends with NULL. */
extern const char *const pool_info_keywords[];

/*
 * The connection string (palloc'd) that pg_dist_poolinfo has for a node; NULL
 * if there is none.  Needs a transaction, but no privilege.
 */
extern char *pool_info_lookup(int32 nodeid);

#endif							/* CITUS_REMOTE_POOL_INFO_H */
