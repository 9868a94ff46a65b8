/*-------------------------------------------------------------------------
 *
 * foreign_key.h
 *	  The statements by which the server checks foreign keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_FOREIGN_KEY_H
#define CITUS_PLANNER_FOREIGN_KEY_H

#include "nodes/parsenodes.h"

/* Errors if a foreign key's own statement looks for a row that a local table references, and that is in a shard. */
extern void check_foreign_key_query(Query *query);

#endif							/* CITUS_PLANNER_FOREIGN_KEY_H */
