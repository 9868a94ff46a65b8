/*-------------------------------------------------------------------------
 *
 * param_info.h
 *	  The join clauses that a parameterized path evaluates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_PARAM_INFO_H
#define CITUS_COMPAT_PARAM_INFO_H

#include "postgres.h"

#include "optimizer/pathnode.h"

/*
 * The parameters of a path that stands for an Append, of which it runs the
 * children: they may evaluate fewer join clauses than those that the Append's
 * say.  Since version 16 a nested loop asks for that, of an Append by a look
 * at its children, of other paths by their parameters.
 */
static inline ParamPathInfo *
compat_append_param_info(Path *append)
{
#if PG_VERSION_NUM >= 160000
	ParamPathInfo *info;

	if (append->param_info == NULL)
		return NULL;
	info = makeNode(ParamPathInfo);
	*info = *append->param_info;
	info->ppi_serials = get_param_path_clause_serials(append);
	return info;
#else
	return append->param_info;
#endif
}

#endif							/* CITUS_COMPAT_PARAM_INFO_H */
