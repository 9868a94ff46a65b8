/*-------------------------------------------------------------------------
 *
 * gid.c
 *	  Global identifiers of prepared transactions.
 *
 *	  citus_<group of the initiator>_<process>_<number>_<connection>[_<parent>]
 *
 * The number alone is unique on the initiator for all time (active.c); process and
 * connection tell people where to look.  If the initiator's transaction is
 * prepared itself, its transaction id follows, since its end decides.  Others
 * than us may not use the prefix.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "txn/private.h"

void
gid_make(char *gid, int32 group, uint64 number, int connection, FullTransactionId parent)
{
	int			n = snprintf(gid, REMOTE_GID_SIZE, "citus_%d_%d_" UINT64_FORMAT "_%d",
							 group, MyProcPid, number, connection);

	if (FullTransactionIdIsValid(parent))
		snprintf(gid + n, REMOTE_GID_SIZE - n, "_" UINT64_FORMAT, U64FromFullTransactionId(parent));
}

bool
gid_parse(const char *gid, int32 group, uint64 *number, FullTransactionId *parent)
{
	int			gid_group;
	int			pid;
	int			connection;
	int			end = 0;
	unsigned long long n;
	unsigned long long xid = 0;

	if (sscanf(gid, "citus_%d_%d_%llu_%d%n", &gid_group, &pid, &n, &connection, &end) != 4 ||
		gid_group != group)
		return false;
	gid += end;
	if (*gid != '\0' && (sscanf(gid, "_%llu%n", &xid, &end) != 1 || gid[end] != '\0'))
		return false;
	*number = n;
	*parent = FullTransactionIdFromU64(xid);
	return true;
}
