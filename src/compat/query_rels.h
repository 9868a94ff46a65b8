/*-------------------------------------------------------------------------
 *
 * query_rels.h
 *	  The relids of the join of all that a query reads.
 *
 * Since version 16 a join's relids have those of the outer joins in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_QUERY_RELS_H
#define CITUS_COMPAT_QUERY_RELS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#if PG_VERSION_NUM >= 160000
#define compat_query_rels(root) ((root)->all_query_rels)
#else
#define compat_query_rels(root) ((root)->all_baserels)
#endif

#endif							/* CITUS_COMPAT_QUERY_RELS_H */
