/*-------------------------------------------------------------------------
 *
 * upsert_rows.h
 *	  Which rows an INSERT .. ON CONFLICT of several batches has written here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXECUTOR_UPSERT_ROWS_H
#define CITUS_EXECUTOR_UPSERT_ROWS_H

/*
 * A statement begins: citus_internal.upsert_once refuses rows that are written
 * from now on.
 */
extern void upsert_rows_begin(void);

#endif							/* CITUS_EXECUTOR_UPSERT_ROWS_H */
