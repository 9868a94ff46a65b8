/*-------------------------------------------------------------------------
 *
 * finish_prepared.c
 *	  COMMIT PREPARED and ROLLBACK PREPARED of transactions that have prepared
 *	  others on other nodes.
 *
 * A transaction that has written on other nodes may be prepared itself: by its
 * client, or, if it runs inside another node's task, by that node.  Before
 * that it prepares its own participants (prepare_remote), with commit records
 * that become visible when it is committed.  The backend that ends it, which
 * may be any one, ends them at once; failures are left to recovery, which
 * first checks whether the parent is still prepared, and then the records.
 *
 * The records of a parent are found by its transaction id while it is
 * prepared.  Searching for them costs a query, so shared memory shows whether
 * there can be any.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "lib/catch_error.h"
#include "lib/debug_point.h"
#include "txn/commit_ring.h"
#include "txn/private.h"
#include "txn/transaction.h"

/* The id of a transaction that is prepared here, or InvalidTransactionId. */
static TransactionId
xid_of_prepared(const char *gid)
{
	Oid			types[1] = {TEXTOID};
	Datum		values[1] = {CStringGetTextDatum(gid)};
	TransactionId xid = InvalidTransactionId;
	TimestampTz oldest = DT_NOEND;
	bool		isnull;
	Datum		value;

	SPI_connect();
	if (SPI_execute_with_args("SELECT pg_catalog.max(transaction::pg_catalog.text)"
							  " FILTER (WHERE gid OPERATOR(pg_catalog.=) $1), pg_catalog.min(prepared) "
							  "FROM pg_catalog.pg_prepared_xact()",
							  1, types, values, NULL, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not look for prepared transactions");
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (!isnull)
		xid = (TransactionId) strtoul(TextDatumGetCString(value), NULL, 10);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull);
	if (!isnull)
		oldest = DatumGetTimestampTz(value);
	SPI_finish();

	active_no_old_parents(oldest);
	return xid;
}

/*
 * The children that a prepared transaction has on other nodes.  If there are
 * any, takes the lock that shows that a decision is under way.
 */
static List *
find_children(const char *gid)
{
	List	   *children = NIL;
	TransactionId xid;

	if (!active_parents_possible() || !metadata_available())
		return NIL;
	PushActiveSnapshot(GetTransactionSnapshot());
	xid = xid_of_prepared(gid);
	if (TransactionIdIsValid(xid))
		children = commit_record_children(xid);
	if (children != NIL)
		LockRelationOid(get_relname_relid("pg_dist_transaction", PG_CATALOG_NAMESPACE), RowExclusiveLock);
	PopActiveSnapshot();
	return children;
}

/*
 * A connection to a child's node, or NULL with a warning: the parent's end is
 * decided.
 */
static RemoteConn *
connect_child(const PreparedChild *child)
{
	const CatchPoint point = catch_point();
	RemoteConn *conn = NULL;

	PG_TRY();
	{
		conn = remote_acquire_alone(child->groupid, NULL);
	}
	PG_CATCH();
	{
		ErrorData  *error = catch_copy(&point);

		catch_end(&point);
		commit_warn_unfinished(child->gid, error->message);
		FreeErrorData(error);
	}
	PG_END_TRY();
	return conn;
}

/*
 * Ends the children as their parent was ended, with its timestamp if known,
 * within a time limit; failures are warnings.
 */
static void
finish_children(List *children, bool commit, CommitTimestamp ts)
{
	const char *tag = commit ? "COMMIT PREPARED" : "ROLLBACK PREPARED";
	RemoteAnswer *answers = palloc0(sizeof(RemoteAnswer) * list_length(children));
	int			n = 0;

	foreach_ptr(PreparedChild, child, children)
	{
		RemoteConn *conn = connect_child(child);

		if (conn == NULL)
			continue;
		strlcpy(txn_participant(conn)->gid, child->gid, GID_SIZE);
		answers[n].conn = conn;
		if (commit && ts != 0)
			answers[n].sql = psprintf(TIMESTAMP_TAG "%s '%s'", ts, tag, child->gid);
		else
			answers[n].sql = psprintf("%s '%s'", tag, child->gid);
		n++;
	}
	HOLD_INTERRUPTS();
	remote_broadcast(answers, n, remote_connection_timeout(), "finish-between-children");
	RESUME_INTERRUPTS();
	commit_note_finished(answers, n, tag);
	active_parent_finished();
}

void
txn_finish_prepared(const TransactionStmt *stmt, void (*run) (void *arg), void *arg)
{
	List	   *children = find_children(stmt->gid);
	CommitTimestamp ts;

	if (children != NIL || strncmp(stmt->gid, GID_PREFIX, strlen(GID_PREFIX)) == 0)
		commit_waits_for_standbys();
	DEBUG_POINT("xact-before-finish-prepared");
	run(arg);
	ts = prepared_ring_after();
	DEBUG_POINT("xact-after-finish-prepared");
	if (children != NIL)
		finish_children(children, stmt->kind == TRANS_STMT_COMMIT_PREPARED, ts);
}
