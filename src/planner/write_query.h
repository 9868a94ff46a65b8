/*-------------------------------------------------------------------------
 *
 * write_query.h
 *	  Checks whether a write can be sent to shards unchanged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_WRITE_QUERY_H
#define CITUS_PLANNER_WRITE_QUERY_H

#include "nodes/parsenodes.h"

#include "catalog/metadata.h"

/*
 * NULL if the write can't move a row to another shard, and its checks are
 * those that the shard's node makes; else the reason.
 */
extern const char *write_stays_in_shard(Query *query, const DistTable *table);

/*
 * Whether a write of a reference table may be sent to each copy as a
 * statement: NULL if what the task does to a row is provably a function of the
 * row's own columns and of parameters, which the initiator has evaluated;
 * else the reason.  The copies have the same rows, but not in the same order,
 * nor at the same ctids, and a node's copies of other tables may be of another
 * time.  What RETURNING contains doesn't matter: one node's rows are used.
 * query is what the task was made of.  NULL for other kinds of tables.
 */
extern const char *write_is_same_everywhere(Query *task, Query *query, const DistTable *table);

/*
 * Whether ON CONFLICT of a task might not do the same to each copy of a
 * reference table; false for other kinds of tables.
 */
extern bool write_conflict_differs(const OnConflictExpr *conflict, const DistTable *table);

/*
 * NULL if the query reads the same rows of other tables on every node; else (a
 * LIMIT in a subquery) the reason.
 */
extern const char *write_depends_on_order(Query *query);

/*
 * Whether a column is GENERATED ALWAYS AS IDENTITY, which a text can't UPDATE
 * to a value.
 */
extern bool write_is_identity_column(Oid relid, AttrNumber attno);

/*
 * Whether a target list assigns a part of a column, which a query without its
 * target can't say.
 */
extern bool write_assigns_parts(Node *target_list);

/*
 * Makes the task of an INSERT provide values for identity columns: the
 * initiator has computed them, also if the statement says OVERRIDING USER
 * VALUE.
 */
extern void write_override_identity(Query *task, Oid relid);

/* The COMMAND_BITs of what a write may do to its target. */
extern int	write_commands(Query *query);

/*
 * The COMMAND_BITs of the triggers that a write with these commands may fire,
 * if it assigns these columns: those of the commands, and row triggers for the
 * INSERT and DELETE of a row that an UPDATE moves to another partition.
 */
extern int	write_fires(int commands, const DistTable *table, List *assigned);

/* The same of a query that isn't planned yet. */
extern int	write_query_fires(Query *query, const DistTable *table);

#endif							/* CITUS_PLANNER_WRITE_QUERY_H */
