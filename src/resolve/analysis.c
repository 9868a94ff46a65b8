/*-------------------------------------------------------------------------
 *
 * analysis.c
 *	  post_parse_analyze_hook: the role and the rights that are checked for a
 *	  task's tables; defaults for foreign keys' actions (default_action.c).
 *
 * A tag may name a view's owner (resolve/tag.h).  As the rewriter does for the
 * tables of a view, this makes permissions and row-security policies of the
 * task's tables those of that role; everything else in the task is checked for
 * its user.
 *
 * A task that applies rows finds them by ctid, which counts as reading.  If
 * its statement doesn't, the policies for SELECT, which the rewriter adds for
 * a user who needs that right, don't apply.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteDefine.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc.h"

#include "catalog/metadata.h"
#include "compat/jumble.h"
#include "compat/permissions.h"
#include "lib/exact_text.h"
#include "remote/identity.h"
#include "resolve/default_action.h"
#include "resolve/analysis.h"
#include "resolve/process_parameter.h"
#include "resolve/tag.h"

static post_parse_analyze_hook_type prev_post_parse_analyze = NULL;

/* A text to analyse with a role's rights (analysis_prepare_by_right). */
static const char *text_by_right = NULL;
static Oid	right_of_text;

/* Removes the required right to read from the targets of writes. */
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

/* For check_functions_in_node. */
static bool
is_function_of_user(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

/* Whether a query calls functions of users, itself or by operators. */
static bool
calls_users_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, is_function_of_user, NULL))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, calls_users_functions, context, 0);
	return expression_tree_walker(node, calls_users_functions, context);
}

/*
 * Analyses a task again, with names looked up in pg_catalog only, as the
 * initiator has written it.  Otherwise, a user's function or operator in the
 * search path with exactly matching argument types would be preferred to the
 * server's polymorphic one that the initiator means.
 *
 * explained: the query belongs to EXPLAIN, which calls the hook for it once
 * more when it runs; the second call leaves it as it is.
 */
static void
analyse_exactly(ParseState *pstate, Query *query, bool explained)
{
	List	   *parsed = pg_parse_query(pstate->p_sourcetext);
	RawStmt    *raw = list_length(parsed) == 1 ? linitial_node(RawStmt, parsed) : NULL;
	ParseState *again;
	int			nest;

	if (raw != NULL && IsA(raw->stmt, ExplainStmt))
	{
		if (!explained)
			return;
		raw->stmt = ((ExplainStmt *) raw->stmt)->query;
	}
	if (raw == NULL || !(IsA(raw->stmt, SelectStmt) || IsA(raw->stmt, InsertStmt) || IsA(raw->stmt, UpdateStmt) ||
						 IsA(raw->stmt, DeleteStmt) || IsA(raw->stmt, MergeStmt)))
		return;
	nest = exact_names_begin();
	again = make_parsestate(NULL);
	again->p_sourcetext = pstate->p_sourcetext;
	again->p_paramref_hook = pstate->p_paramref_hook;
	again->p_coerce_param_hook = pstate->p_coerce_param_hook;
	again->p_ref_hook_state = pstate->p_ref_hook_state;
	*query = *transformTopLevelStmt(again, raw);
	free_parsestate(again);
	AtEOXact_GUC(true, nest);
}

/* What tasks' query ids are combined with. */
#define TASK_QUERY_ID 1

static void
analyse_task(ParseState *pstate, Query *query)
{
	TaskTag		tag;
	bool		explained = query->commandType == CMD_UTILITY;

	if (!task_tag_parse(pstate->p_sourcetext, &tag))
		return;
	/*
	 * pg_stat_statements tells it from a client's statement that is the same
	 */
	if (query->queryId != 0)
		query->queryId = hash_combine64(query->queryId, TASK_QUERY_ID);
	if (explained)
		query = castNode(Query, ((ExplainStmt *) query->utilityStmt)->query);
	/* without a view's owner, a text for the node may be a superuser's own */
	if ((tag.kind == TAG_SHARD || (tag.kind == TAG_NODE && OidIsValid(tag.traits.check_as))) &&
		calls_users_functions((Node *) query, NULL))
		analyse_exactly(pstate, query, explained);
	if (OidIsValid(tag.traits.check_as))
		setRuleCheckAsUser((Node *) query, tag.traits.check_as);
	if (tag.traits.flags & TASK_BLIND)
		blind_walker((Node *) query, NULL);
	identity_settle();
}

static void
after_analysis(ParseState *pstate, Query *query, JUMBLE_STATE *jstate)
{
	if (prev_post_parse_analyze)
		prev_post_parse_analyze(pstate, query, jstate);
	process_parameters_infer(pstate, query);
	if (unlikely(text_by_right != NULL) && pstate->p_sourcetext == text_by_right)
		setRuleCheckAsUser((Node *) query, right_of_text);
	if (unlikely(pstate->p_sourcetext != NULL && pstate->p_sourcetext[0] == '/') &&
		(query->commandType != CMD_UTILITY || IsA(query->utilityStmt, ExplainStmt)) && metadata_available())
		analyse_task(pstate, query);
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
