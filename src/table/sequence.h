/*-------------------------------------------------------------------------
 *
 * sequence.h
 *	  Gives a node its own slice of a sequence's values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_SEQUENCE_H
#define CITUS_TABLE_SEQUENCE_H

#include "postgres.h"

#include "nodes/pg_list.h"

extern void sequence_take_slice(Oid seqid);

/* Options (DefElem) as a node with a slice takes them over: without bounds and places to start. */
extern List *sequence_options_of_slice(List *options);

extern List *sequences_of_table(Oid relid);

/* The table that owns a sequence; InvalidOid if the relation, or InvalidOid, is none that is owned. */
extern Oid	owner_of_sequence(Oid relid);

/* Whether a relation, or InvalidOid, is a sequence that a distributed or reference table owns. */
extern bool sequence_is_of_dist_table(Oid relid);

#endif							/* CITUS_TABLE_SEQUENCE_H */
