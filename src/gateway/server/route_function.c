/*-------------------------------------------------------------------------
 *
 * route_function.c
 *	  Functions by which the gateway learns on which node a statement's rows
 *	  are.
 *
 * Any node can run any statement, so the choice of the node influences the
 * speed only: a statement of one shard needs no other node if it runs on the
 * shard's node.  The gateway gets the number of the deciding parameter, and
 * the node of each hash value; it sends the statement unchanged to a session
 * of its client's user there.  If this information is outdated, the statement
 * takes longer, with the same answer.  So a routed statement gets no
 * additional rights, and nothing has to be invalidated.
 *
 * The answer must be the same on all nodes, so statements with volatile
 * functions, or with types that have other Oids on other nodes, aren't routed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <netdb.h>
#include <sys/socket.h>

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "commands/prepare.h"
#include "common/ip.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/resowner.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "compat/permissions.h"
#include "compat/sql_function.h"
#include "global_index/lookup.h"
#include "planner/dist_plan.h"
#include "remote/own_address.h"
#include "remote/wire_type.h"
#include "sharding/prune.h"

/* The result for a query that has no route, but may run on every node. */
#define ANYWHERE "1 0 0 0"

SQL_FUNCTION(citus_internal_gateway_route);
SQL_FUNCTION(citus_internal_gateway_query_route);
SQL_FUNCTION(citus_internal_gateway_block_conflict);

/* Whether a function tells about the session, or the client's connection. */
static bool
is_session_function(Oid funcid, void *context)
{
	switch (funcid)
	{
		case F_PG_BACKEND_PID:
		case F_INET_CLIENT_ADDR:
		case F_INET_CLIENT_PORT:
		case F_INET_SERVER_ADDR:
		case F_INET_SERVER_PORT:
		case F_PG_POSTMASTER_START_TIME:
		case F_PG_CONF_LOAD_TIME:
		case F_PG_PREPARED_STATEMENT:
		case F_PG_CURSOR:
			return true;
		default:
			return false;
	}
}

/*
 * Whether a query reads something that only this node has; a tree walker,
 * context is NULL.
 */
static bool
needs_this_node(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, needs_this_node, context, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, Var))
		return ((Var *) node)->varattno == TableOidAttributeNumber;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		return rte->rtekind == RTE_RELATION && rte->relkind != RELKIND_VIEW && metadata_lookup(rte->relid) == NULL;
	}
	return check_functions_in_node(node, is_session_function, NULL) ||
		expression_tree_walker(node, needs_this_node, context);
}

/* Whether a query has the same effect on all nodes. */
static bool
is_about_all_nodes(Query *query)
{
	return query->commandType != CMD_UTILITY && !contain_volatile_functions((Node *) query) &&
		!needs_this_node((Node *) query, NULL);
}

/* Whether a function's effect may depend on the node that calls it. */
static bool
is_foreign_function(Oid funcid, void *context)
{
	return funcid >= FirstNormalObjectId;
}

/*
 * Whether a query of tables that all nodes know calls a function that may read
 * this node's own tables; a tree walker, context is a flag that is set if
 * there is a table.
 */
static bool
looks_around(Node *node, void *context)
{
	bool	   *has_table = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, looks_around, context, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, RangeTblEntry))
	{
		*has_table |= ((RangeTblEntry *) node)->rtekind == RTE_RELATION;
		return false;
	}
	return check_functions_in_node(node, is_foreign_function, NULL) ||
		expression_tree_walker(node, looks_around, context);
}

/*
 * Whether a query that has the same effect on all nodes may run on another one
 * as a part of a block there.
 */
static bool
may_run_anywhere(Query *query)
{
	bool		has_table = false;

	return !looks_around((Node *) query, &has_table) && (has_table || !contain_mutable_functions((Node *) query));
}

/*
 * Whether a type, and its values, mean the same on all nodes: not if they are
 * numbers of objects.
 */
static bool
is_same_everywhere(Oid type)
{
	return type < FirstNormalObjectId && type != OIDOID && type != OIDARRAYOID && !wire_type_is_oid_alias(type);
}

static bool
has_types_of_all_nodes(const CachedPlanSource *source)
{
	for (int i = 0; i < source->num_params; i++)
		if (!is_same_everywhere(source->param_types[i]))
			return false;
	for (int i = 0; source->resultDesc != NULL && i < source->resultDesc->natts; i++)
		if (!is_same_everywhere(TupleDescAttr(source->resultDesc, i)->atttypid))
			return false;
	return true;
}

static bool
returns_types_of_all_nodes(List *targets)
{
	foreach_ptr(TargetEntry, entry, targets)
		if (!is_same_everywhere(exprType((Node *) entry->expr)))
			return false;
	return true;
}

/*
 * The table whose shard decides where a plan runs, and the expression that is
 * the distribution value; NULL if there is none.  Of a look-up by a global
 * index, the entries: its node then asks that of the row.
 */
static const DistTable *
deciding_table(const CustomScan *scan, Expr **value)
{
	const PrunePlanTerm *term;
	DistPlan	plan;

	if (IsA(scan, CustomScan) && scan->methods == &global_lookup_methods)
	{
		GlobalLookup lookup;

		global_lookup_unpack(scan, &lookup);
		*value = linitial(scan->custom_exprs);
		return metadata_lookup(lookup.entries);
	}
	if (!is_dist_scan((const Plan *) scan))
		return NULL;
	dist_plan_unpack(scan, &plan);
	if (plan.current_of != 0)
		return NULL;
	term = plan.dist_param < 0 ? prune_plan_only_value(plan.prune) : NULL;
	if (plan.dist_param < 0 && term == NULL)
		return NULL;
	*value = list_nth(scan->custom_exprs, term == NULL ? plan.dist_param : term->expr);
	return metadata_lookup(plan.relid);
}

/*
 * The number of the client's parameter that is the distribution value, or the
 * place of the literal in the statement's text, from 1; 0 if there is none.
 */
static int
deciding_param(Expr *value, bool literal, Oid *type)
{
	Param	   *param = (Param *) strip_implicit_coercions((Node *) value);

	if (literal)
	{
		Const	   *constant = (Const *) param;

		if (!IsA(param, Const) || constant->constisnull)
			return 0;

		/* whole numbers have the same hash value in all types */
		*type = constant->consttype == INT4OID ? INT8OID : constant->consttype;
		return constant->location + 1;
	}
	if (!IsA(param, Param) || param->paramkind != PARAM_EXTERN)
		return 0;
	*type = param->paramtype;
	return param->paramid;
}

/*
 * A node's address in numbers, so that the gateway need not look names up;
 * false if it can't be.
 */
static bool
append_address(StringInfo route, int32 groupid)
{
	const ClusterNode *node;
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char		host[NI_MAXHOST];
	char		service[16];
	bool		known;

	if (groupid == metadata_local_group())
	{
		appendStringInfoString(route, " - 0");
		return true;
	}
	if (own_address_answer() == OWN_ADDRESS_ORIGINAL)
		return false;			/* a session that connects there errors */
	node = node_of_group(groupid);
	snprintf(service, sizeof(service), "%d", node->port);
	known = pg_getaddrinfo_all(node->host, service, &hint, &found) == 0 && found != NULL &&
		pg_getnameinfo_all((const struct sockaddr_storage *) found->ai_addr, found->ai_addrlen, host, sizeof(host),
						   NULL, 0, NI_NUMERICHOST) == 0;
	if (found != NULL)
		pg_freeaddrinfo_all(hint.ai_family, found);
	if (known)
		appendStringInfo(route, " %s %d", host, node->port);
	return known;
}

/*
 * The route of a plan as text, or NULL: whether it may run anywhere (0 or 1),
 * parameter, its type, and the first hash value and node of each shard.
 */
static char *
route_of_plan(const PlannedStmt *plan, bool anywhere, bool literal)
{
	const DistTable *table;
	StringInfoData route;
	Expr	   *value;
	Oid			type;
	int			param;

	if (plan->planTree == NULL || plan->subplans != NIL)
		return NULL;
	table = deciding_table((CustomScan *) plan->planTree, &value);
	if (table == NULL || table->kind != DIST_HASH)
		return NULL;
	param = deciding_param(value, literal, &type);
	if (param == 0)
		return NULL;
	initStringInfo(&route);
	appendStringInfo(&route, "%d %d %u %d", anywhere, param, type, table->nshards);
	for (int i = 0; i < table->nshards; i++)
	{
		appendStringInfo(&route, " %d", table->shards[i].range.min);
		if (!append_address(&route, table->shards[i].groupid))
			return NULL;
	}
	return route.data;
}

Datum
citus_internal_gateway_route(PG_FUNCTION_ARGS)
{
	PreparedStatement *prepared = FetchPreparedStatement(text_to_cstring(PG_GETARG_TEXT_PP(0)), false);
	CachedPlanSource *source = prepared ? prepared->plansource : NULL;
	CachedPlan *plan;
	Query	   *query;
	bool		anywhere;
	char	   *route = NULL;

	if (source == NULL || !metadata_available() || !has_types_of_all_nodes(source) || list_length(source->query_list) != 1)
		PG_RETURN_NULL();
	query = linitial_node(Query, source->query_list);
	if (!is_about_all_nodes(query))
		PG_RETURN_NULL();
	anywhere = may_run_anywhere(query);

	plan = GetCachedPlan(source, NULL, CurrentResourceOwner, NULL);
	if (list_length(plan->stmt_list) == 1)
		route = route_of_plan(linitial_node(PlannedStmt, plan->stmt_list), anywhere, false);
	ReleaseCachedPlan(plan, CurrentResourceOwner);
	if (route == NULL && anywhere)
		route = ANYWHERE;
	if (route == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(route));
}

/*
 * gateway_query_route(statement): the same by the place of a literal.  Errors
 * if the current user may not run the statement, whose locks it takes.
 */
Datum
citus_internal_gateway_query_route(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *queries = pg_parse_query(statement);
	Query	   *query;
	bool		known;
	bool		anywhere;
	List	   *plans;
	char	   *route = NULL;

	if (!metadata_available() || list_length(queries) != 1)
		PG_RETURN_NULL();
	queries = pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, queries), statement, NULL, 0, NULL);
	query = list_length(queries) == 1 ? linitial_node(Query, queries) : NULL;
	known = query != NULL && is_about_all_nodes(query) && returns_types_of_all_nodes(query->targetList) &&
		returns_types_of_all_nodes(query->returningList);
	anywhere = known && may_run_anywhere(query);

	plans = pg_plan_queries(queries, statement, 0, NULL);
	foreach_node(PlannedStmt, plan, plans)
		compat_check_statement(plan);
	if (known)
		route = route_of_plan(linitial_node(PlannedStmt, plans), anywhere, true);
	if (route == NULL && anywhere)
		route = ANYWHERE;
	if (route == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(route));
}

/* gateway_block_conflict(): ends the transaction of a block that can't move */
Datum
citus_internal_gateway_block_conflict(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update"),
			 errdetail("The gateway has moved the transaction from another node to this one, and rows that it had read or "
					   "written have changed in between."),
			 errhint("The transaction might succeed if retried. With citus.gateway_clean_blocks = -1 none is moved.")));
}
