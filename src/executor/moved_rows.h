/*-------------------------------------------------------------------------
 *
 * moved_rows.h
 *	  Marks of rows that a statement deletes to insert them into other shards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_MOVED_ROWS_H
#define CITUS_EXECUTOR_MOVED_ROWS_H

#include "executor/execdesc.h"

/*
 * Has a DELETE that has been started, a task for moved rows (TASK_MOVES) of a
 * distributed table, mark the rows that it deletes as the server marks those
 * that move to other partitions: whoever waits to lock, update or delete one
 * gets the server's error for that (40001) instead of passing over a row that
 * lives on in another shard.  Nothing for other statements.
 */
extern void moved_rows_mark(QueryDesc *query_desc);

#endif							/* CITUS_EXECUTOR_MOVED_ROWS_H */
