/*-------------------------------------------------------------------------
 *
 * replaced_function.h
 *	  Replaces functions of the server by functions of ours in statements that
 *	  are planned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_PLANNER_REPLACED_FUNCTION_H
#define CITUS_PLANNER_REPLACED_FUNCTION_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#define REPLACED_FUNCTION_MAX_ARGS 3

typedef struct ReplacedFunction
{
	Oid			funcid;			/* of the server, from fmgroids.h */
	const char *name;			/* of ours, in citus_internal */
	int			nargs;
	Oid			args[REPLACED_FUNCTION_MAX_ARGS];
	bool		(*applies) (void);	/* whether it is replaced in the statement
									 * that is planned now; NULL: in all */
} ReplacedFunction;

/*
 * Called by init functions: adds functions to be replaced, which must stay
 * allocated.
 */
extern void replaced_functions_add(const ReplacedFunction *functions, int n);

/* The query, or a copy in which functions are replaced. */
extern Query *replaced_functions_apply(Query *query);

/* The same for an expression by itself. */
extern Node *replaced_functions_apply_expression(Node *expr);

/* Whether a function is the server's one, or the replacement of that. */
extern bool replaced_function_is(Oid funcid, Oid of_server);

extern void replaced_functions_init(void);

#endif							/* CITUS_PLANNER_REPLACED_FUNCTION_H */
