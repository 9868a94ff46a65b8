/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  Triggers of distributed and reference tables.
 *
 * A trigger exists for the logical table, on every node, and for no shard: the
 * initiator of a statement fires it (src/executor/fire_triggers.c).  So its
 * function must exist on every node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "conversion/convert_checks.h"
#include "ddl/handlers.h"
#include "global_index/foreign_key.h"
#include "table/table_definition.h"

bool
create_trigger_utility(UtilityCall *call)
{
	CreateTrigStmt *stmt = castNode(CreateTrigStmt, call->pstmt->utilityStmt);
	const DistTable *table = utility_table(call, stmt->relation, ShareRowExclusiveLock, ShareRowExclusiveLock);
	Oid			relid;

	if (table == NULL)
		return false;
	relid = table->relid;
	if (call->relayed)
		require_trigger_function(stmt->funcname);
	utility_run(call);
	CommandCounterIncrement();
	check_triggers(relid);
	check_keys_of_trigger(relid, stmt->trigname);
	utility_relay(call);
	if (!call->relayed)
		global_keys_create(relid, true);
	return true;
}
