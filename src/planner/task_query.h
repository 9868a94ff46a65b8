/*-------------------------------------------------------------------------
 *
 * task_query.h
 *	  From a query tree to the text and the parameters of a task.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_TASK_QUERY_H
#define CITUS_PLANNER_TASK_QUERY_H

#include "nodes/parsenodes.h"

/*
 * Most parameters that a task can have: the protocol counts them in 16 bits.
 */
#define TASK_MAX_PARAMS PG_UINT16_MAX

/*
 * Replaces, in a copy of node (an expression or a Query), everything that
 * the initiator must evaluate by a parameter of the task: external and exec
 * parameters, stable functions of no column (now()), Vars of varnos other than
 * own_varno if own_varno is not 0 (expressions of one relation only), and,
 * with volatile_too, volatile functions.  The expressions to evaluate are
 * appended to *exprs; parameter $n is their n-th.
 */
extern Node *task_params_extract(Node *node, Index own_varno, bool volatile_too, List **exprs);

/*
 * The same for a condition by which a scan filters: constants that are
 * compared, too, so that the text is the same for other values.
 */
extern Node *task_filter_extract(Node *filter, Index own_varno, List **exprs);

/*
 * The same for the values that an INSERT stores: volatile functions too, and
 * constants, so that the text is the same for other values.
 */
extern List *task_values_extract(List *values, List **exprs);

/*
 * The same for a SELECT, UPDATE or DELETE: constants that are compared or
 * assigned become parameters, as above.
 */
extern Query *task_query_extract(Query *query, List **exprs);

/*
 * A generated column of a table that has one: SET column = DEFAULT is how a
 * text says that an UPDATE assigns no other.
 */
extern AttrNumber task_generated_column(Oid relid);

/* A range table entry that no one refers to. */
extern RangeTblEntry *task_query_unused_entry(void);

/*
 * The text of a query, all names qualified; palloc'd.  The query may be
 * scribbled on.
 */
extern char *task_query_deparse(Query *query);

/*
 * The same for a query that is likely to be repeated with other constants:
 * texts are cached (text_cache.c).  NULL, with *reason set, if shippable_query
 * says so.
 */
extern const char *task_query_text(Query *query, const char **reason);

/* A hash of a query or an expression; equal trees have equal hashes. */
extern uint32 task_tree_hash(Node *node);

extern void text_cache_init(void);

#endif							/* CITUS_PLANNER_TASK_QUERY_H */
