/*-------------------------------------------------------------------------
 *
 * utility_hook.h
 *	  The only owner of ProcessUtility_hook.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_UTILITY_HOOK_H
#define CITUS_DDL_UTILITY_HOOK_H

#include "postgres.h"

#include "nodes/nodes.h"

extern void utility_hook_init(void);

/* Called before each utility statement; NULL: not reported. */
extern void (*utility_announce) (const Node *statement);

/*
 * Called after each utility statement that has run without an error; NULL: not
 * reported.
 */
extern void (*utility_watch) (const Node *statement);

#endif							/* CITUS_DDL_UTILITY_HOOK_H */
