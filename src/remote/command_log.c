/*-------------------------------------------------------------------------
 *
 * command_log.c
 *	  Tells the client what is sent to other nodes.
 *
 * Commands are reported as they are sent, without the comment by which a node
 * knows a task (resolve/tag.h), and without settings, which travel in front of
 * them.  May be called while a transaction ends, so catalogs aren't read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"

#include "remote/command_log.h"
#include "remote/private.h"

bool		log_remote_commands = false;
bool		log_local_commands = false;
static char *grep_remote_commands;

/* Whether a command is like the pattern of citus.grep_remote_commands. */
static bool
is_searched(const char *sql)
{
	if (grep_remote_commands == NULL || grep_remote_commands[0] == '\0')
		return true;
	return DatumGetBool(DirectFunctionCall2Coll(textlike, C_COLLATION_OID, CStringGetTextDatum(sql),
												CStringGetTextDatum(grep_remote_commands)));
}

void
command_log_report(const RemoteConn *conn, const char *sql)
{
	if (!is_searched(sql))
		return;
	if (conn == NULL)
		ereport(INFO,
				(errmsg("executing the command locally: %s", sql)));
	else
		ereport(INFO,
				(errmsg("issuing %s", sql),
				 errdetail("on server %s:%d, connection " UINT64_FORMAT, conn->nodename, conn->nodeport, conn->priv->serial)));
}

void
command_log_init(void)
{
	DefineCustomBoolVariable("citus.log_remote_commands",
							 "Shows the commands that are sent to other nodes.",
							 "At the level INFO, which client_min_messages doesn't hide.",
							 &log_remote_commands, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("citus.log_local_commands",
							 "Shows the parts of statements that this node executes on its own shards.",
							 "Not statements that are executed as they are, since all their rows are here.",
							 &log_local_commands, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("citus.grep_remote_commands",
							   "Sets which commands citus.log_remote_commands and citus.log_local_commands show.",
							   "A pattern of LIKE. Empty: all.",
							   &grep_remote_commands, "", PGC_USERSET, 0, NULL, NULL, NULL);
}
