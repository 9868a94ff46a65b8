/*-------------------------------------------------------------------------
 *
 * drop.h
 *	  Follows up what happens to distributed tables through other objects.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_DROP_H
#define CITUS_DDL_DROP_H

#include "ddl/utility_hook.h"

/* Installs the object access hook. */
extern void drop_init(void);

/*
 * Removes what belonged to the tables that were dropped since the last call:
 * metadata and shards on this node, and the tables on the others.
 */
extern void drop_follow_up(UtilityCall *call);

#endif							/* CITUS_DDL_DROP_H */
