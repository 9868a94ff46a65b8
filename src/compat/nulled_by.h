/*-------------------------------------------------------------------------
 *
 * nulled_by.h
 *	  Columns of the nullable side of an outer join.  Version 16 notes the join
 *	  in each of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_NULLED_BY_H
#define CITUS_COMPAT_NULLED_BY_H

#include "postgres.h"

#include "nodes/primnodes.h"

/*
 * Has a column be one above the outer join with this range table index;
 * returns it.
 */
static inline Node *
compat_nulled_by(Var *var, Index join)
{
#if PG_VERSION_NUM >= 160000
	var->varnullingrels = bms_make_singleton(join);
#endif
	return (Node *) var;
}

#endif							/* CITUS_COMPAT_NULLED_BY_H */
