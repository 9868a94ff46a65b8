/*-------------------------------------------------------------------------
 *
 * candidate.h
 *	  Checks a server that will join the cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CLUSTER_CANDIDATE_H
#define CITUS_CLUSTER_CANDIDATE_H

#include "postgres.h"

/*
 * Checks over a connection of its own, and without changing anything, that a
 * server can be the primary of a group (-1: of a new one): that it can be
 * reached, is of our version, has the extension, and belongs to no other
 * cluster.  Errors if not.  Returns our own address as the server sees it.
 */
extern const char *candidate_check(const char *host, int32 port, int32 groupid);

/*
 * Errors unless the server and all nodes can connect to each other as the
 * caller.  Warns if they can't as the role of their maintenance daemons.
 */
extern void candidate_check_connections(const char *host, int32 port);

/*
 * Whether a connection to this address can be opened; if not, the reason in
 * *error (palloc'd).
 */
extern bool server_reachable(const char *host, int32 port, char **error);

/*
 * Whether the server at this address can be reached and is no standby; if not,
 * the reason in *error (palloc'd).
 */
extern bool server_writable(const char *host, int32 port, char **error);

/*
 * What the answers of a server depend on, as JSON; superusers only.  And how
 * two servers differ in it, in words; NULL if they don't, or if one is NULL.
 * joins: the second one will get what is set for the database.
 */
#define ANSWER_TRAITS_QUERY "SELECT citus_internal.answer_traits()"
extern char *answer_differences(const char *here, const char *there, bool joins);

/* Id of the server at this address, or NULL if it can't be had. */
extern char *server_id_at(const char *host, int32 port);

/* Id of this server. */
extern char *local_server_id(void);

/* Id of the cluster, which is that of its coordinator as a server. */
extern char *cluster_id(void);

/*
 * Asks a node why it can't log in at an address, as its caller or as all roles
 * that need to: rows of role and problem.
 */
extern char *candidate_problems_query(const char *host, int32 port, bool all_roles);

/* Whether the name or address means the host itself. */
extern bool host_is_loopback(const char *host);

#endif							/* CITUS_CLUSTER_CANDIDATE_H */
