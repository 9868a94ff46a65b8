/*-------------------------------------------------------------------------
 *
 * restore_point.c
 *	  citus_create_restore_point(): a name to which all nodes can be restored
 *	  together.
 *
 * A restore point is consistent if no transaction in two phases is decided
 * before it on one node and after it on another.  An initiator that decides
 * holds a lock on pg_dist_transaction of its node until the participants have
 * committed.  So locking that table on all nodes waits for decisions under way
 * and blocks new ones; then the points are created.  After a restore, recovery
 * finishes transactions that were prepared everywhere and not decided, or
 * decided and not committed everywhere.
 *
 * Transactions that write on one node only aren't blocked.
 *
 * The locks are taken by group, so that two of us don't wait for each other,
 * and with a time limit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog_internal.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/sql_function.h"
#include "compat/varlena.h"
#include "lib/debug_point.h"
#include "remote/connection.h"
#include "txn/private.h"

SQL_FUNCTION(citus_create_restore_point);

/* Milliseconds that a decision under way may take to end on one node. */
#define LOCK_TIMEOUT 60000

/* The transaction there may last, and be idle, as long as this one. */
#define KEEP_IDLE \
	"SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings " \
	"WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"

/* Blocks decisions on a node until the end of the connection's transaction. */
static RemoteConn *
lock_there(const ClusterNode *node)
{
	RemoteConn *conn = remote_plain_open(node->host, node->port, NULL);

	(void) remote_plain_exec(conn, "BEGIN", ERROR);
	(void) remote_plain_exec(conn, psprintf("SET LOCAL lock_timeout = %d", LOCK_TIMEOUT), ERROR);
	(void) remote_plain_exec(conn, KEEP_IDLE, ERROR);
	(void) remote_plain_exec(conn, "LOCK TABLE pg_catalog.pg_dist_transaction IN EXCLUSIVE MODE", ERROR);
	return conn;
}

List *
restore_point_lock(void)
{
	List	   *conns = NIL;
	Oid			table = get_relname_relid("pg_dist_transaction", PG_CATALOG_NAMESPACE);
	int32		here = metadata_local_group();
	bool		locked_here = false;

	node_share_set_local();
	foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
	{
		if (!locked_here && node->groupid > here)
		{
			LockRelationOid(table, ExclusiveLock);
			locked_here = true;
		}
		conns = lappend(conns, lock_there(node));
	}
	if (!locked_here)
		LockRelationOid(table, ExclusiveLock);
	return conns;
}

/*
 * citus_create_restore_point(name text) returns pg_lsn: creates a restore
 * point of that name on all nodes; its position in this node's log.
 */
Datum
citus_create_restore_point(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	char	   *sql;
	List	   *conns;
	Datum		position;
	ListCell   *lc;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to create a restore point"),
				 errdetail("Only superusers may do this.")));
	if (VARSIZE_ANY_EXHDR(name) >= MAXFNAMELEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value too long for restore point (maximum %d characters)", MAXFNAMELEN - 1)));

	conns = restore_point_lock();
	DEBUG_POINT("restore-point-locked");
	sql = psprintf("SELECT pg_catalog.pg_create_restore_point(%s)",
				   quote_literal_cstr(text_to_cstring(name)));
	foreach(lc, conns)
		(void) remote_plain_exec(lfirst(lc), sql, ERROR);
	position = OidFunctionCall1(F_PG_CREATE_RESTORE_POINT, PointerGetDatum(name));
	foreach(lc, conns)
	{
		(void) remote_plain_exec(lfirst(lc), "COMMIT", ERROR);
		remote_plain_close(lfirst(lc));
	}
	PG_RETURN_DATUM(position);
}
