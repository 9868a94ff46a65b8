/*-------------------------------------------------------------------------
 *
 * table_options.h
 *	  Options of single columnar tables, in statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_TABLE_OPTIONS_H
#define CITUS_COLUMNAR_TABLE_OPTIONS_H

#include "postgres.h"

#include "nodes/plannodes.h"

typedef struct OptionChange OptionChange;

/*
 * Called before the server runs a statement.  If options of columnar tables
 * are concerned, *pstmt becomes a copy without them, which the server
 * accepts, and the result, in the current memory context, is to be passed to
 * columnar_options_apply() after the statement.  Otherwise NULL.  Errors if an
 * option or its value is not valid.  ALTER TABLE's table is locked, as the
 * server will lock it.
 */
extern OptionChange *columnar_options_take(PlannedStmt **pstmt);

/*
 * Stores the options.  Errors if the table is not columnar.  A table that is
 * no longer columnar loses its options.
 */
extern void columnar_options_apply(OptionChange *change);

#endif							/* CITUS_COLUMNAR_TABLE_OPTIONS_H */
