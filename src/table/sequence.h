/*-------------------------------------------------------------------------
 *
 * sequence.h
 *	  Sequences of tables: their owners, and their next values on other nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_TABLE_SEQUENCE_H
#define CITUS_TABLE_SEQUENCE_H

#include "postgres.h"

/*
 * The command that makes a sequence on another node continue after this node's
 * values.
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
