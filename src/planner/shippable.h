/*-------------------------------------------------------------------------
 *
 * shippable.h
 *	  Which expressions and queries mean the same on every node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_SHIPPABLE_H
#define CITUS_PLANNER_SHIPPABLE_H

#include "nodes/parsenodes.h"

/*
 * NULL if an expression of one query level, without subqueries, can be
 * evaluated on another node with the same result; else the reason, as text.
 */
extern const char *shippable_expression(Node *node);

/*
 * NULL if the whole query can run on another node, given the rows of its
 * distributed tables there: its relations are distributed or reference tables,
 * its functions are the server's own and not volatile; else the reason.
 */
extern const char *shippable_query(Query *query);

/*
 * NULL if a text can express all assignments of an UPDATE's or DO UPDATE's
 * target list; else the reason.
 */
extern const char *shippable_assignments(List *target_list);

/*
 * NULL if other nodes have the result columns' types, and a task can return
 * them; else the reason.
 */
extern const char *shippable_columns(List *target_list);

/*
 * Whether a distributed table stands anywhere in the query, or a reference
 * table that is written or locked.
 */
extern bool query_has_distributed_table(Query *query);

/*
 * Sets whose rights the query's relations are read and written with: a view's
 * owner, or InvalidOid for the current user.  False if they differ.
 */
extern bool query_check_as(Query *query, Oid *user);

/* Counts the distributed (not reference) tables at all levels of the query. */
extern int	count_distributed_tables(Node *node);

#endif							/* CITUS_PLANNER_SHIPPABLE_H */
