/*-------------------------------------------------------------------------
 *
 * exchange_store.h
 *	  Exchanges of this node: rows that other nodes have sent for a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXCHANGE_EXCHANGE_STORE_H
#define CITUS_EXCHANGE_EXCHANGE_STORE_H

#include "postgres.h"

#include "storage/fd.h"

/* Characters of an exchange's name, with the terminating zero. */
#define EXCHANGE_ID_SIZE 33

/*
 * Bytes of rows that travel, and are stored, together (a row may be longer).
 */
#define EXCHANGE_BATCH_SIZE (256 * 1024)

/* A new name, which can't be guessed. */
extern void exchange_name(char *id);

/*
 * Opens an exchange on this node; it is removed by exchange_store_drop, or at
 * the end of this session or transaction.
 */
extern void exchange_store_create(const char *id, bool outlives_transaction);
extern void exchange_store_drop(const char *id);

/* Adds a batch of rows from a source. */
extern void exchange_store_append(const char *id, const char *source, const char *data, int len);

/*
 * The file with a source's batches, each with its length in front (int32); -1
 * if it has sent none.  Errors if the exchange has ended.
 */
extern File exchange_store_open(const char *id, const char *source);

#endif							/* CITUS_EXCHANGE_EXCHANGE_STORE_H */
