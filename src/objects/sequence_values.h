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
 * Called after a sequence was created, changed or restarted on this node, or
 * was created on all nodes: discards the stored values of this node, now and
 * again at the end of the transaction.  Needs UPDATE on the sequence.  Does
 * nothing for sequences of this node only.
 */
extern void sequence_changed(Oid seqid);

/* The same for all sequences that a table owns. */
extern void sequences_changed(Oid relid);

/*
 * Whether the coordinator gives the sequence's values to this node, whose own
 * sequence is at its end.
 */
extern bool sequence_is_closed(Oid seqid);

/*
 * Continues a sequence that is now on this node only after the coordinator's
 * value.
 */
extern void sequence_reopen(Oid seqid);
extern void sequences_reopen(Oid relid);	/* those that a table owns */

#endif							/* CITUS_OBJECTS_SEQUENCE_VALUES_H */
