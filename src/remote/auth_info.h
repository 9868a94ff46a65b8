/*-------------------------------------------------------------------------
 *
 * auth_info.h
 *	  Secrets for connections to nodes: rows of pg_dist_authinfo.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_AUTH_INFO_H
#define CITUS_REMOTE_AUTH_INFO_H

#include "postgres.h"

/*
 * The connection string (palloc'd) that pg_dist_authinfo has for a role on a
 * node: the node's own, or else the one for all nodes (0); NULL if there is
 * none.  nodeid 0: the node is not known.  Needs a transaction, but no
 * privilege.
 */
extern char *auth_info_lookup(const char *role, int32 nodeid);

#endif							/* CITUS_REMOTE_AUTH_INFO_H */
