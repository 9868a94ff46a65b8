/*-------------------------------------------------------------------------
 *
 * exchange_relay.h
 *	  Rows that sources return to their initiator, which passes them on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_EXCHANGE_EXCHANGE_RELAY_H
#define CITUS_EXCHANGE_EXCHANGE_RELAY_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/array.h"

#include "exchange/exchange_store.h"
#include "remote/connection.h"

/*
 * A source returns rows instead of sending them if they are no more than so
 * many bytes in all, and so many for each target on average.
 */
#define EXCHANGE_RELAY_SIZE (1024 * 1024)
#define EXCHANGE_RELAY_TARGET_SIZE (64 * 1024)

/*
 * Sends a batch of a source to the exchange at the other end of a connection,
 * which is idle before and busy afterwards, or stores it here if conn is NULL;
 * empties the batch.
 */
extern void exchange_pass(RemoteConn *conn, const char *id, const char *source, StringInfo batch);

typedef struct ExchangeRelay ExchangeRelay;

/*
 * For the answers of an exchange's sources, in CurrentMemoryContext.  conns:
 * those that hold it on other nodes, each owned by the caller, and valid until
 * exchange_relay_end.
 */
extern ExchangeRelay *exchange_relay_create(const char *id, const List *conns);

/* Takes what exchange_send has returned: the number of the source's rows. */
extern int64 exchange_relay_take(ExchangeRelay *relay, bytea *answer);

/*
 * Waits until all rows are stored; the names of all sources, as text[]. The
 * connections are idle then.
 */
extern ArrayType *exchange_relay_end(ExchangeRelay *relay);

#endif							/* CITUS_EXCHANGE_EXCHANGE_RELAY_H */
