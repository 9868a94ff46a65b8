/*-------------------------------------------------------------------------
 *
 * result_relations.h
 *	  The tables that a plan writes: a set since version 19, a list before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_RESULT_RELATIONS_H
#define CITUS_COMPAT_RESULT_RELATIONS_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Their positions in the range table, starting at 1. */
static inline Bitmapset *
compat_result_relations(const PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 190000
	return statement->resultRelationRelids;
#else
	Bitmapset  *relations = NULL;
	ListCell   *cell;

	foreach(cell, statement->resultRelations)
		relations = bms_add_member(relations, lfirst_int(cell));
	return relations;
#endif
}

static inline void
compat_forget_result_relations(PlannedStmt *statement)
{
#if PG_VERSION_NUM >= 190000
	statement->resultRelationRelids = NULL;
#else
	statement->resultRelations = NIL;
#endif
}

#endif							/* CITUS_COMPAT_RESULT_RELATIONS_H */
