/*-------------------------------------------------------------------------
 *
 * own_address.h
 *	  Whether this server is the node that its catalogs say it is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_REMOTE_OWN_ADDRESS_H
#define CITUS_REMOTE_OWN_ADDRESS_H

#include "postgres.h"

typedef enum OwnAddressAnswer
{
	OWN_ADDRESS_NONE,			/* not asked */
	OWN_ADDRESS_OURS,			/* this server, or there is nothing to check */
	OWN_ADDRESS_UNKNOWN,		/* nothing that would be a node of this id */
	OWN_ADDRESS_ORIGINAL,		/* another server with this node's id */
} OwnAddressAnswer;

/*
 * What is at the address that pg_dist_node has for this node.  The server
 * there is asked if no process of this server has asked it lately; that takes
 * a few seconds at most.  OWN_ADDRESS_OURS if there is nothing to protect or
 * to check: pg_dist_node has no other node, or not this one; the server is in
 * recovery; citus.check_own_address is off.
 */
extern OwnAddressAnswer own_address_answer(void);

/*
 * Errors (55000) if the answer is OWN_ADDRESS_ORIGINAL: to be called before a
 * connection to a node is opened.
 */
extern void own_address_require(void);

/*
 * The same before a connection is used that is open already, without asking
 * unless an earlier answer was OWN_ADDRESS_ORIGINAL.
 */
extern void own_address_require_again(void);

/*
 * The number that this server has given itself when it started, palloc'd.  No
 * two servers have the same one, even if one is a copy of the other.
 */
extern char *own_address_instance(void);

extern void own_address_init(void);

#endif							/* CITUS_REMOTE_OWN_ADDRESS_H */
