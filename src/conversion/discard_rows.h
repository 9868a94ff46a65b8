/*-------------------------------------------------------------------------
 *
 * discard_rows.h
 *	  Empties a table's storage, as TRUNCATE does, without its checks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_CONVERSION_DISCARD_ROWS_H
#define CITUS_CONVERSION_DISCARD_ROWS_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Gives the table, which is open and locked in AccessExclusiveLock, its TOAST
 * table and its indexes new, empty storage; undone if the transaction aborts.
 */
extern void relation_discard_rows(Relation rel);

#endif							/* CITUS_CONVERSION_DISCARD_ROWS_H */
