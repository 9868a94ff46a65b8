/*-------------------------------------------------------------------------
 *
 * database_release.c
 *	  Closing the gateway's idle sessions of a database that is to be dropped.
 *
 * DROP DATABASE and some other commands fail if a session uses the database,
 * after having waited for its end for five seconds.  For users, a database
 * whose clients have gone is free, although the gateway keeps sessions for the
 * next ones.  So the owner's command first writes the database's Oid to the
 * area, and during that time the gateway processes close the idle sessions of
 * pools without clients.  Sessions that rest, whose connections other nodes
 * keep, are ended at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"

#include "catalog/backends.h"
#include "compat/acl.h"
#include "compat/foreach.h"
#include "ddl/utility_hook.h"
#include "gateway/server/gateway.h"
#include "gateway/server/gateway_stats.h"

/* For how long sessions are closed, in microseconds. */
#define RELEASE_TIME INT64CONST(6000000)

/*
 * The server
 */

static const char *
template_of_database(const CreatedbStmt *statement)
{
	foreach_node(DefElem, option, statement->options)
		if (strcmp(option->defname, "template") == 0 && option->arg != NULL)
			return defGetString(option);
	return "template1";
}

/* The database that a statement needs for itself; or NULL. */
static const char *
database_of_statement(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			return ((const DropdbStmt *) statement)->dbname;
		case T_AlterDatabaseStmt:
			return ((const AlterDatabaseStmt *) statement)->dbname;
		case T_CreatedbStmt:
			return template_of_database((const CreatedbStmt *) statement);
		case T_RenameStmt:
			if (((const RenameStmt *) statement)->renameType == OBJECT_DATABASE)
				return ((const RenameStmt *) statement)->subname;
			return NULL;
		default:
			return NULL;
	}
}

/* A utility statement is about to be run. */
static void
announce_statement(const Node *statement)
{
	const char *name = database_of_statement(statement);
	Oid			database = name != NULL ? get_database_oid(name, true) : InvalidOid;
	uint64		number;

	if (!OidIsValid(database) || !object_ownercheck(DatabaseRelationId, database, GetUserId()))
		return;
	backend_end_resting(database, MaxBackends);
	if (gateway_area == NULL)
		return;
	number = (pg_atomic_read_u64(&gateway_area->released) >> 32) + 1;
	pg_atomic_write_u64(&gateway_area->released, number << 32 | database);
}

void
database_release_init(void)
{
	utility_announce = announce_statement;
}

/*
 * The gateway
 */

Oid
database_released(int64 now)
{
	static uint64 last_released = 0;
	static int64 released_until = 0;
	uint64		released = pg_atomic_read_u64(&gateway_area->released);

	if (released != last_released)
	{
		last_released = released;
		released_until = now + RELEASE_TIME;
	}
	return now < released_until ? (Oid) released : InvalidOid;
}
