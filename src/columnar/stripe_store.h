/*-------------------------------------------------------------------------
 *
 * stripe_store.h
 *	  Numbered records and streams of bytes in a table's TOAST table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COLUMNAR_STRIPE_STORE_H
#define CITUS_COLUMNAR_STRIPE_STORE_H

#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "lib/stringinfo.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* An open store. */
typedef struct StripeStore
{
	Relation	table;			/* the caller's */
	Relation	toast;
	Relation   *indexes;		/* of the TOAST table */
	int			nindexes;
	Relation	valid_index;	/* one of them */
	LOCKMODE	lockmode;
} StripeStore;

/* Where a record is, who has written it, and what it contains. */
typedef struct StoredRecord
{
	ItemPointerData at;
	int32		number;
	TransactionId xmin;
	CommandId	cmin;			/* as stored */
	uint16		xmin_bits;		/* of t_infomask */
	const char *bytes;			/* valid until the next one is read */
	Size		len;
} StoredRecord;

/* How a record is to be written. */
typedef enum StoredAs
{
	STORED_BY_TRANSACTION,		/* visible as any row */
	STORED_FOR_ALL				/* visible to all at once, even if the
								 * transaction fails */
} StoredAs;

typedef struct StoreScan StoreScan;

/*
 * Opens the store of a table; false if it has none, for lack of a TOAST
 * table. AccessShareLock is for reading, RowExclusiveLock for writing.
 */
extern bool stripe_store_open(StripeStore *store, Relation table, LOCKMODE lockmode);
extern void stripe_store_close(StripeStore *store);

/* An id that no value of the TOAST table has. */
extern Oid	stripe_store_new_id(StripeStore *store);

/* Writes a record, and returns where. */
extern ItemPointerData stripe_store_insert(StripeStore *store, Oid id, int32 number, const void *bytes, Size len,
										   CommandId cid, StoredAs how);

/*
 * Replaces the bytes of a record, whatever becomes of the transaction.  The
 * caller makes sure that no other backend does so at the same time, and that
 * none reads them meanwhile or can use old and new ones alike.
 */
extern void stripe_store_overwrite(StripeStore *store, ItemPointer at, const void *bytes, Size len);

/* A new version of a record, as UPDATE makes one.  The record is locked. */
extern void stripe_store_update(StripeStore *store, ItemPointer at, Oid id, int32 number, const void *bytes, Size len,
								CommandId cid);

/* Deletes a record that no other transaction changes. */
extern void stripe_store_delete(StripeStore *store, ItemPointer at, CommandId cid);

/* The same with all that has an id. */
extern void stripe_store_delete_stream(StripeStore *store, Oid id, CommandId cid);

/*
 * Reads records from least to greatest, in the order of their numbers, or from
 * the greatest on.
 */
extern StoreScan *stripe_store_scan(StripeStore *store, Oid id, int32 least, int32 greatest, bool backward,
									Snapshot snapshot);
extern bool stripe_store_scan_next(StoreScan *scan, StoredRecord *record);
extern void stripe_store_scan_end(StoreScan *scan);

/* Appends bytes to the stream with an id. */
typedef struct StreamWriter
{
	StripeStore *store;
	Oid			id;
	CommandId	cid;
	StoredAs	how;
	int32		next_number;
	uint64		written;		/* with what is in pending */
	StringInfoData pending;
	struct BulkInsertStateData *bulk;
} StreamWriter;

/*
 * Stores bytes that come in pieces as one stream of the relation, numbered id;
 * they are complete after stream_writer_end.
 */
extern void stream_writer_begin(StreamWriter *writer, StripeStore *store, Oid id, CommandId cid, StoredAs how);
extern void stream_writer_put(StreamWriter *writer, const char *bytes, Size len);
extern void stream_writer_end(StreamWriter *writer);

/* Reads bytes of a stream.  It is an error if any is missing. */
extern void stripe_store_read(StripeStore *store, Oid id, uint64 at, Size len, char *out);

#endif							/* CITUS_COLUMNAR_STRIPE_STORE_H */
