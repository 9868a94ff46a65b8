/*-------------------------------------------------------------------------
 *
 * percent_type.h
 *	  TABLE.COLUMN%TYPE in the signature of a function, for other nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_PERCENT_TYPE_H
#define CITUS_DDL_PERCENT_TYPE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * A statement's text, palloc'd, in which references to the types of columns
 * are these types.  location: where the text starts in the string that the
 * statement was parsed from.
 */
extern char *percent_types_replace(Node *stmt, int location, const char *text);

#endif							/* CITUS_DDL_PERCENT_TYPE_H */
