/*-------------------------------------------------------------------------
 *
 * analysis.c
 *	  post_parse_analyze_hook: whose rights to tables count in a task, and which;
 *	  what a foreign key's action writes (default_action.c).
 *
 * A tag may name a view's owner (resolve/tag.h).  As the rewriter does for the
 * tables of a view, this has permissions and row-security policies of the
 * task's tables looked up for that role; all else in the task is its user's.
 *
 * A task that applies rows finds them by ctid, which is to read them.  If its
 * statement doesn't, the policies for SELECT, which the rewriter looks up for
 * who needs that right, have no say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteDefine.h"
#include "utils/acl.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "remote/identity.h"
#include "resolve/default_action.h"
#include "resolve/analysis.h"
#include "resolve/tag.h"

static post_parse_analyze_hook_type prev_post_parse_analyze = NULL;

/* A text to analyse by a role's right (analysis_prepare_by_right). */
static const char *text_by_right = NULL;
static Oid	right_of_text;

/* Takes the right to read from the targets of writes. */
static bool
blind_walker(Node *node, void *context)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, blind_walker, context);
	if (query->resultRelation != 0)
		compat_ask_no_reading(query, rt_fetch(query->resultRelation, query->rtable));
	return query_tree_walker(query, blind_walker, context, 0);
}

static void
analyse_task(Query *query, const char *text)
{
	TaskTag		tag;

	if (!task_tag_parse(text, &tag))
		return;
	if (tag.as[0] != '\0')
		setRuleCheckAsUser((Node *) query, get_role_oid(tag.as, false));
	if (tag.rights & TASK_BLIND)
		blind_walker((Node *) query, NULL);
	identity_settle();
}

static void
after_analysis(ParseState *pstate, Query *query, JumbleState *jstate)
{
	if (prev_post_parse_analyze)
		prev_post_parse_analyze(pstate, query, jstate);
	if (unlikely(text_by_right != NULL) && pstate->p_sourcetext == text_by_right)
		setRuleCheckAsUser((Node *) query, right_of_text);
	if (unlikely(pstate->p_sourcetext != NULL && pstate->p_sourcetext[0] == '/') &&
		query->commandType != CMD_UTILITY && metadata_available())
		analyse_task(query, pstate->p_sourcetext);
	if (unlikely(InNoForceRLSOperation()) && query->commandType == CMD_UPDATE && metadata_available())
		default_action_fill(query);
}

SPIPlanPtr
analysis_prepare_by_right(const char *text, Oid role)
{
	SPIPlanPtr	result;

	text_by_right = text;
	right_of_text = role;
	PG_TRY();
	{
		result = SPI_prepare(text, 0, NULL);
	}
	PG_FINALLY();
	{
		text_by_right = NULL;
	}
	PG_END_TRY();
	return result;
}

void
analysis_init(void)
{
	prev_post_parse_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = after_analysis;
}
