/*-------------------------------------------------------------------------
 *
 * table_modify.h
 *	  The access method's functions that write and lock rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_MODIFY_H
#define CITUS_COLUMNAR_TABLE_MODIFY_H

#include "postgres.h"

#include "compat/table_am.h"

/*
 * While it is set, rows of stripes that are deleted count as moved to another
 * partition: who has waited for one gets an error, instead of passing over it.
 */
extern bool columnar_deletes_move;

/* Fills in the members of the routine for this file's functions. */
extern void table_modify_set(TableAmRoutine *routine);

#endif							/* CITUS_COLUMNAR_TABLE_MODIFY_H */
