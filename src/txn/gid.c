/*-------------------------------------------------------------------------
 *
 * gid.c
 *	  Global identifiers of prepared transactions.
 *
 *	  citus_<group of the initiator>_<process>_<number>_<connection>
 *
 * The number alone is unique on the initiator for all time (active.c); the rest
 * tells people where to look.  Others than us may not use the prefix.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "txn/private.h"

void
gid_make(char *gid, Size size, int32 group, uint64 number, int connection)
{
	snprintf(gid, size, "citus_%d_%d_" UINT64_FORMAT "_%d", group, MyProcPid, number, connection);
}

bool
gid_parse(const char *gid, int32 group, uint64 *number)
{
	int			gid_group;
	int			pid;
	int			connection;
	int			end = 0;
	unsigned long long n;

	if (sscanf(gid, "citus_%d_%d_%llu_%d%n", &gid_group, &pid, &n, &connection, &end) != 4 ||
		gid[end] != '\0' || gid_group != group)
		return false;
	*number = n;
	return true;
}
