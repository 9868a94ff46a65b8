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

/* On a worker, for a table that was local: the sequences that it owns or uses get the worker's slices. */
extern void sequences_take_slices(Oid relid);

/* On a worker, for a table that is going to be local: the sequences that it owns go on as they would on the coordinator. */
extern void sequences_give_slices_back(Oid relid);

/* The command that gives another node its slice of a sequence that has been made there. */
extern char *sequence_slice_command(Oid seqid);

/* The table that owns a sequence; InvalidOid if the relation, or InvalidOid, is none that is owned. */
extern Oid	owner_of_sequence(Oid relid);

/* Whether a relation, or InvalidOid, is a sequence that a distributed or reference table owns. */
extern bool sequence_is_of_dist_table(Oid relid);

#endif							/* CITUS_TABLE_SEQUENCE_H */
