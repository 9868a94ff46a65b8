/*-------------------------------------------------------------------------
 *
 * sequence_values.h
 *	  Values of a sequence that all nodes have, drawn on any of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_OBJECTS_SEQUENCE_VALUES_H
#define CITUS_OBJECTS_SEQUENCE_VALUES_H

#include "postgres.h"

extern void sequence_values_init(void);

/*
 * After a sequence was made, changed or restarted on this node, or has come to
 * all nodes: gives up the values that this node has in store, now and once
 * more when the transaction is over.  Needs UPDATE on the sequence.  Does
 * nothing for sequences of this node only.
 */
extern void sequence_changed(Oid seqid);

/* The same for all sequences that a table owns. */
extern void sequences_changed(Oid relid);

/*
 * Lets a sequence go on here, which is on this node only from now on, where
 * the coordinator's is.
 */
extern void sequence_reopen(Oid seqid);
extern void sequences_reopen(Oid relid);	/* those that a table owns */

#endif							/* CITUS_OBJECTS_SEQUENCE_VALUES_H */
