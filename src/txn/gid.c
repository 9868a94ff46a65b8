/*-------------------------------------------------------------------------
 *
 * gid.c
 *	  Global identifiers of prepared transactions.
 *
 *	  citus_<group of the initiator>_<process>_<number>_<connection>[_<parent>]
 *
 * The number alone is unique on the initiator, also over restarts (active.c);
 * process and connection are for administrators.  If the initiator's
 * transaction is itself prepared, its transaction id follows, since its end
 * decides.
 *
 * A client may not take such a name.  The name alone doesn't prove it, though:
 * a client may have prepared a transaction while the server ran without this
 * library.  So a transaction that is prepared for a node holds an object lock,
 * numbered by its transaction id, which its state file preserves over
 * restarts.  No statement of a client takes such a lock; transactions without
 * it are not ours, whatever their name.  A second one tells that a client
 * decides on its end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "catalog/node_session.h"
#include "txn/commit_ring.h"
#include "txn/private.h"

void
gid_make(char *gid, int32 group, uint64 number, int connection, FullTransactionId parent)
{
	int			n = snprintf(gid, GID_SIZE, GID_PREFIX "%d_%d_" UINT64_FORMAT "_%d",
							 group, MyProcPid, number, connection);

	if (FullTransactionIdIsValid(parent))
		snprintf(gid + n, GID_SIZE - n, "_" UINT64_FORMAT, U64FromFullTransactionId(parent));
}

bool
txn_statement_from_node(const char *query)
{
	return strncmp(query, NODE_TAG_START, strlen(NODE_TAG_START)) == 0 &&
		is_client_text(query) && node_session();
}

bool
gid_check(const char *gid, const char *query)
{
	if (strncmp(gid, GID_PREFIX, strlen(GID_PREFIX)) != 0)
		return false;
	if (!txn_statement_from_node(query))
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("transaction identifier \"%s\" is reserved", gid),
				 errdetail("Identifiers that start with \"%s\" are those of transactions on several nodes.", GID_PREFIX)));
	return true;
}

void
gid_mark_prepared(bool parked)
{
	LockDatabaseObject(DatabaseRelationId, (Oid) GetTopTransactionId(), NODE_PREPARED_SUBID, AccessShareLock);
	if (parked)
		LockDatabaseObject(DatabaseRelationId, (Oid) GetTopTransactionId(), NODE_PARKED_SUBID, AccessShareLock);
}

bool
gid_parse(const char *gid, ParsedGid *parsed)
{
	int			connection;
	int			end = 0;
	unsigned long long number;
	unsigned long long xid = 0;

	if (sscanf(gid, GID_PREFIX "%d_%d_%llu_%d%n", &parsed->groupid, &parsed->pid, &number, &connection, &end) != 4)
		return false;
	gid += end;
	if (*gid != '\0' && (sscanf(gid, "_%llu%n", &xid, &end) != 1 || gid[end] != '\0'))
		return false;
	parsed->number = number;
	parsed->parent = FullTransactionIdFromU64(xid);
	return true;
}
