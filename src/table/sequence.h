/*-------------------------------------------------------------------------
 *
 * sequence.h
 *	  Sequences of tables: whose they are, and where they go on elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_SEQUENCE_H
#define CITUS_TABLE_SEQUENCE_H

#include "postgres.h"

/*
 * The command that has a sequence, which has been made on another node, go on
 * after this node's values.
 */
extern char *sequence_adopt_command(Oid seqid);

/*
 * The table that owns a sequence; InvalidOid if the relation, or InvalidOid,
 * is none that is owned.
 */
extern Oid	owner_of_sequence(Oid relid);

/*
 * Whether a relation, or InvalidOid, is a sequence that a distributed or
 * reference table owns.
 */
extern bool sequence_is_of_dist_table(Oid relid);

#endif							/* CITUS_TABLE_SEQUENCE_H */
