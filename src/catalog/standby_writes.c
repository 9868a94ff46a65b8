/*-------------------------------------------------------------------------
 *
 * standby_writes.c
 *	  Writes to other nodes by sessions on a standby.
 *
 * A standby has all metadata of its node, so it can send a statement to the
 * node that has the rows, and that node's server can write them.  With
 * citus.writable_standby_coordinator, the session may.  Nothing is written
 * here: XactReadOnly, which the server sets for each transaction of a standby,
 * stays set, so that the server goes on refusing what it refuses there; only
 * its check of the statement's own tables is left out (executor_start.c), and
 * the transactions on other nodes are READ WRITE.
 *
 * The commit must be decided on the only node that has written, since a
 * standby can't record a two-phase commit: so a transaction that writes on a
 * second node fails there (remote/pipeline.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "catalog/standby_writes.h"
#include "compat/guc.h"
#include "compat/permissions.h"

static bool writable_standby = false;

/* Whether the client has said READ ONLY, not only the server. */
static bool
client_wants_read_only(void)
{
	static struct config_generic *setting = NULL;

	if (setting == NULL)
		setting = guc_find("transaction_read_only");
	return DefaultXactReadOnly || (XactReadOnly && setting->source == PGC_S_SESSION);
}

bool
standby_writes(void)
{
	return writable_standby && RecoveryInProgress() && !client_wants_read_only();
}

bool
standby_xact_read_only(void)
{
	return XactReadOnly && !standby_writes();
}

bool
standby_statement_writes(const PlannedStmt *statement)
{
	bool		found = false;

	if (!standby_writes())
		return false;
	foreach_ptr(CompatPermissions, permissions, compat_plan_permissions(statement))
	{
		Oid			relid = permissions->relid;
		const DistTable *table;

		if ((permissions->requiredPerms & ~ACL_SELECT) == 0 || !OidIsValid(relid) || get_rel_relkind(relid) == RELKIND_VIEW)
			continue;
		table = metadata_lookup(relid);
		if (table == NULL)
			return false;
		if (table->kind == DIST_REFERENCE)
			ereport(ERROR,
					(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
					 errmsg("cannot write reference table \"%s\" on a standby", get_rel_name(relid)),
					 errdetail("Each node has a copy of it, and the one on this server cannot be written during recovery."),
					 errhint("Connect to a server that is not a standby.")));
		found = true;
	}
	return found;
}

void
standby_refuse_own_shard(CmdType operation)
{
	if (operation != CMD_SELECT && unlikely(XactReadOnly) && standby_writes())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot write a shard of this node on a standby"),
				 errdetail("The session may write on other nodes only."),
				 errhint("Connect to a server that is not a standby.")));
}

void
standby_writes_init(void)
{
	DefineCustomBoolVariable("citus.writable_standby_coordinator",
							 "Lets sessions on a standby write rows of other nodes.",
							 "INSERT, UPDATE and DELETE of distributed tables, on one other node a transaction. "
							 "What would be written on the standby itself is refused: reference and local tables, DDL, COPY, and transactions over several nodes.",
							 &writable_standby, false, PGC_USERSET, 0, NULL, NULL, NULL);
}
