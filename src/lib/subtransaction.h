/*-------------------------------------------------------------------------
 *
 * subtransaction.h
 *	  Work whose failure leaves the rest of the transaction as it was.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_LIB_SUBTRANSACTION_H
#define CITUS_LIB_SUBTRANSACTION_H

#include "postgres.h"

/*
 * Calls work in a subtransaction.  True if work returns true; its changes and
 * locks stay then.  False if it returns false, with *error NULL, or errors,
 * with *error a copy in the current memory context, which catch_rethrow() may
 * raise; both undo what it did.  Memory context and resource owner are the
 * caller's afterwards.
 */
extern bool subtransaction_run(bool (*work) (void *arg), void *arg, ErrorData **error);

#endif							/* CITUS_LIB_SUBTRANSACTION_H */
