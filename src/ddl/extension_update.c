/*-------------------------------------------------------------------------
 *
 * extension_update.c
 *	  ALTER EXTENSION citus UPDATE, on all nodes at once.
 *
 * The version of the extension in the database decides what a node asks of
 * others.  So it changes on all nodes in one transaction, and only if each has
 * loaded a library that knows the new version.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"

#include "catalog/extension_version.h"
#include "compat/foreach.h"
#include "ddl/handlers.h"
#include "lib/spi_query.h"

/*
 * Errors if this library doesn't know the version that a statement leads to.
 */
static void
check_target_version(const AlterExtensionStmt *stmt)
{
	const char *target = NULL;

	foreach_node(DefElem, option, stmt->options)
		if (strcmp(option->defname, "new_version") == 0)
			target = strVal(option->arg);
	if (target == NULL)
		target = spi_value("SELECT default_version FROM pg_catalog.pg_available_extensions "
						   "WHERE name OPERATOR(pg_catalog.=) 'citus'");
	if (target != NULL && extension_version_compare(target, library_version) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot update the extension to version %s, since the library that this server has loaded is older",
						target),
				 errdetail("The library has version %s.", library_version),
				 errhint("Install that version of the extension's files on all nodes, and restart the servers one by one.")));
}

/* ALTER EXTENSION citus UPDATE; without effect for other extensions. */
bool
update_extension_utility(UtilityCall *call)
{
	AlterExtensionStmt *stmt = castNode(AlterExtensionStmt, call->pstmt->utilityStmt);
	char	   *before;
	char	   *after;

	if (strcmp(stmt->extname, "citus") != 0)
		return false;
	check_target_version(stmt);
	utility_check_initiator(call);
	before = extension_version();
	utility_run(call);
	CommandCounterIncrement();
	extension_version_check();
	after = extension_version();
	if (extension_version_compare(before, after) != 0)
		utility_relay_text(call, psprintf("ALTER EXTENSION citus UPDATE TO %s", quote_literal_cstr(after)));
	return true;
}
