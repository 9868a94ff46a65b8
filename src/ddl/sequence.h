/*-------------------------------------------------------------------------
 *
 * sequence.h
 *	  Gives a node its own slice of a sequence's values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_DDL_SEQUENCE_H
#define CITUS_DDL_SEQUENCE_H

#include "postgres.h"

#include "nodes/pg_list.h"

extern void sequence_take_slice(Oid seqid);
extern List *sequences_of_table(Oid relid);

#endif							/* CITUS_DDL_SEQUENCE_H */
