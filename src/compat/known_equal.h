/*-------------------------------------------------------------------------
 *
 * known_equal.h
 *	  Whether the planner knows that two expressions are equal.  Version 18 can
 *	  be asked for the equality of an operator family.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_KNOWN_EQUAL_H
#define CITUS_COMPAT_KNOWN_EQUAL_H

#include "postgres.h"

#include "optimizer/paths.h"

#if PG_VERSION_NUM >= 180000
#define compat_known_equal(root, a, b) exprs_known_equal((root), (a), (b), InvalidOid)
#else
#define compat_known_equal(root, a, b) exprs_known_equal((root), (a), (b))
#endif

#endif							/* CITUS_COMPAT_KNOWN_EQUAL_H */
