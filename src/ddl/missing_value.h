/*-------------------------------------------------------------------------
 *
 * missing_value.h
 *	  The value of existing rows in a new column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_MISSING_VALUE_H
#define CITUS_DDL_MISSING_VALUE_H

#include "postgres.h"

#include "access/attnum.h"
#include "nodes/parsenodes.h"

/*
 * The value (as text of an array of one) if the column's default is stable but
 * not immutable; else NULL.
 */
extern char *missing_value_text(Oid relid, AttrNumber attno);

/*
 * Whether other nodes have computed other values than this one for existing
 * rows: for a stable default, if the server has rewritten the rows.
 */
extern bool default_differs(Oid relid, AttrNumber attno);

/*
 * Whether a new column's own definition, as it was written, or else the
 * default of its type, gives existing rows the same value on each node.
 */
extern bool definition_is_immutable(const ColumnDef *column, Oid type);

/*
 * Errors if an expression (of ALTER TYPE .. USING, not analyzed yet) gives the
 * rows of a reference table other values on other nodes.
 */
extern void check_new_values(Oid relid, const char *column, Node *expr);

/*
 * Has a raw expression that is evaluated for shards, by the server's own code,
 * draw values from sequences as a query on this node does
 * (planner/replaced_function.h).
 */
extern void use_sequences_of_cluster(Node *expr);

/*
 * Sets that value in a table's shards on this node; for a reference table, in
 * the table.
 */
extern void set_missing_value(Oid relid, const char *column, const char *value);

#endif							/* CITUS_DDL_MISSING_VALUE_H */
