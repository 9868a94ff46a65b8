/*-------------------------------------------------------------------------
 *
 * foreach.h
 *	  Loops over a List whose variable is the element, not its cell.
 *
 * They came with version 17.  The outer loop, which runs once, is there for
 * the declaration of the variable only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_FOREACH_H
#define CITUS_COMPAT_FOREACH_H

#include "postgres.h"

#include "nodes/pg_list.h"

#if PG_VERSION_NUM < 170000
#define foreach_internal(type, pointer, var, lst, func) \
	for (type pointer var = 0, pointer var##__outerloop = (type pointer) 1; \
		 var##__outerloop; \
		 var##__outerloop = 0) \
		for (ForEachState var##__state = {(lst), 0}; \
			 (var##__state.l != NIL && \
			  var##__state.i < var##__state.l->length && \
			  (var = func(&var##__state.l->elements[var##__state.i]), true)); \
			 var##__state.i++)

#define foreach_ptr(type, var, lst) foreach_internal(type, *, var, lst, lfirst)
#define foreach_int(var, lst) foreach_internal(int, , var, lst, lfirst_int)
#define foreach_oid(var, lst) foreach_internal(Oid, , var, lst, lfirst_oid)
#define foreach_node(type, var, lst) \
	for (type *var = 0, *var##__outerloop = (type *) 1; \
		 var##__outerloop; \
		 var##__outerloop = 0) \
		for (ForEachState var##__state = {(lst), 0}; \
			 (var##__state.l != NIL && \
			  var##__state.i < var##__state.l->length && \
			  (var = lfirst_node(type, &var##__state.l->elements[var##__state.i]), true)); \
			 var##__state.i++)
#endif

#endif							/* CITUS_COMPAT_FOREACH_H */
