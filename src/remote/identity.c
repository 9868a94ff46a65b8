/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  The role and security context in which a task runs on another node.
 *
 * A session's connections log in with the client's login role.  SET SESSION
 * AUTHORIZATION and SET ROLE are sent as settings (settings.c).  They don't
 * restrict code, since code can undo both, on this node as on the other.
 * Where the server runs code with the rights of another role (a SECURITY
 * DEFINER function, ANALYZE or REFRESH of another role's table), it sets the
 * current user and a security context in which code can't undo that.  A task
 * that is sent meanwhile runs under the same user and context:
 *
 *	  BEGIN, settings			as the session user
 *	  task_user(..)				sets user and context
 *	  the task
 *	  task_user_end()			sets back what was before
 *
 * An error in the task undoes it with the (sub)transaction, which began
 * before; where the task is a transaction of its own, its end does.
 *
 * A task may need the rights of a view's owner to the view's tables (see
 * resolve/tag.h), but otherwise run as the current user.  Names are then
 * looked up with the rights of the view's owner, too: such a task is
 * *analysed* as that role.  Before it is planned, identity_settle switches to
 * its user.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "catalog/node_session.h"
#include "compat/sql_function.h"
#include "lib/transaction_end.h"
#include "remote/identity.h"
#include "remote/node_call.h"
#include "remote/private.h"

#define BEGIN_COMMAND "SELECT citus_internal.task_user($1, $2, $3)"
#define END_COMMAND "SELECT citus_internal.task_user_end()"

SQL_FUNCTION(citus_internal_task_user);
SQL_FUNCTION(citus_internal_task_user_end);

typedef struct Identity
{
	Oid			user;
	int			context;		/* security context */
} Identity;

static Identity base_identity;	/* before task_user */
static Identity task_identity;
static bool identity_is_set = false;	/* base_identity is to be restored */
static bool analyst_is_set = false; /* the current user is the task's
									 * analyst */

bool
identity_begin_remote(RemoteConn *conn, Oid analyst)
{
	Identity	own;
	char	   *values[3];
	RemoteParams params = {3, node_types(NODE_task_user), values, NULL, NULL};

	GetUserIdAndSecContext(&own.user, &own.context);
	if (own.context == 0 && own.user == GetOuterUserId() && (!OidIsValid(analyst) || analyst == own.user))
		return false;
	values[0] = GetUserNameFromId(own.user, false);
	values[1] = psprintf("%d", own.context);
	values[2] = OidIsValid(analyst) ? GetUserNameFromId(analyst, false) : NULL;
	pipeline_queue(conn, BEGIN_COMMAND, &params);
	return true;
}

void
identity_end_remote(RemoteConn *conn)
{
	remote_queue_command(conn, END_COMMAND);
}

void
identity_end_remote_silently(RemoteConn *conn)
{
	remote_send_silent(conn, END_COMMAND);
}

/* Errors unless a node has sent the command by itself. */
static void
check_command(const char *command)
{
	if (!node_session() || debug_query_string == NULL || strcmp(debug_query_string, command) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only nodes of the cluster may set the user of a task")));
}

static void
take_identity(Identity identity)
{
	SetUserIdAndSecContext(identity.user, identity.context);
}

static void
restore_base(void)
{
	if (identity_is_set)
		take_identity(base_identity);
	identity_is_set = analyst_is_set = false;
}

/*
 * citus_internal.task_user(user, security context, analyst): for the statement
 * that follows.
 */
Datum
citus_internal_task_user(PG_FUNCTION_ARGS)
{
	static TransactionEnd end = {restore_base};

	check_command(BEGIN_COMMAND);
	restore_base();
	GetUserIdAndSecContext(&base_identity.user, &base_identity.context);
	task_identity.user = get_role_oid(text_to_cstring(PG_GETARG_TEXT_PP(0)), false);
	task_identity.context = PG_GETARG_INT32(1) &
		(SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	identity_is_set = true;
	at_transaction_end(&end);
	if (PG_ARGISNULL(2))
		take_identity(task_identity);
	else
	{
		Identity	analyst = {get_role_oid(text_to_cstring(PG_GETARG_TEXT_PP(2)), false),
		task_identity.context | SECURITY_LOCAL_USERID_CHANGE};

		take_identity(analyst);
		analyst_is_set = true;
	}
	PG_RETURN_VOID();
}

/* citus_internal.task_user_end(): the statement has ended. */
Datum
citus_internal_task_user_end(PG_FUNCTION_ARGS)
{
	check_command(END_COMMAND);
	restore_base();
	PG_RETURN_VOID();
}

void
identity_settle(void)
{
	if (likely(!analyst_is_set))
		return;
	analyst_is_set = false;
	take_identity(task_identity);
}
