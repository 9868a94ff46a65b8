/*-------------------------------------------------------------------------
 *
 * copy_defaults.h
 *	  The defaults of columns that COPY FROM doesn't read.  Version 16 keeps
 *	  the expressions by column, earlier ones in the order of defmap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_COPY_DEFAULTS_H
#define CITUS_COMPAT_COPY_DEFAULTS_H

#include "postgres.h"

#include "commands/copyfrom_internal.h"
#include "executor/executor.h"

/*
 * Sets the default of a column that the COPY doesn't read; expr has been
 * through the planner.
 */
static inline void
compat_set_copy_default(CopyFromState cstate, AttrNumber attno, Expr *expr)
{
	MemoryContext caller_context = MemoryContextSwitchTo(cstate->copycontext);
	int			position = 0;

	while (position < cstate->num_defaults && cstate->defmap[position] != attno - 1)
		position++;
	if (position == cstate->num_defaults)
		cstate->defmap[cstate->num_defaults++] = attno - 1;
#if PG_VERSION_NUM >= 160000
	position = attno - 1;
#endif
	cstate->defexprs[position] = ExecInitExpr(expr, NULL);
	MemoryContextSwitchTo(caller_context);
}

#endif							/* CITUS_COMPAT_COPY_DEFAULTS_H */
