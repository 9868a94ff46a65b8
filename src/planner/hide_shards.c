/*-------------------------------------------------------------------------
 *
 * hide_shards.c
 *	  Hides shards from pg_dump.
 *
 * A dump has the logical tables, whose rows come from all nodes; the shards of
 * the node that is dumped would come on top, and could not be restored.
 * pg_dump has no rule by which a table of ours could be left out entirely: of
 * members of an extension it still dumps privileges and row security.  So the
 * catalogs that it reads get one more condition, as row security would add it,
 * in sessions whose application_name starts with pg_dump.  pg_upgrade is to
 * see all, and does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/guc.h"

#include "catalog/metadata.h"
#include "planner/hide_shards.h"

static bool override_table_visibility = true;

/*
 * Catalogs that have rows of shards of their own, and the columns with their
 * schemas.
 */
static const struct
{
	Oid			relid;
	AttrNumber	schema;
}			hidden_in[] = {
	{RelationRelationId, Anum_pg_class_relnamespace},
	{StatisticExtRelationId, Anum_pg_statistic_ext_stxnamespace},
	{TypeRelationId, Anum_pg_type_typnamespace},
};

void
hide_shards_init(void)
{
	DefineCustomBoolVariable("citus.override_table_visibility",
							 "Hides shards from pg_dump.",
							 NULL, &override_table_visibility, true, PGC_USERSET, 0, NULL, NULL, NULL);
}

/*
 * The condition that a schema, a column of the catalog that is the varno'th in
 * its query, isn't that of the shards.
 */
static Node *
not_in_shard_schema(int varno, AttrNumber attno, Oid shard_schema)
{
	Var		   *var = makeVar(varno, attno, OIDOID, -1, InvalidOid, 0);
	Const	   *schema = makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(shard_schema), false, true);
	Oid			operator = OpernameGetOprid(list_make2(makeString("pg_catalog"), makeString("<>")), OIDOID, OIDOID);

	return (Node *) make_opclause(operator, BOOLOID, false, (Expr *) var, (Expr *) schema, InvalidOid, InvalidOid);
}

static bool
hide_in_query(Node *node, void *shard_schema)
{
	int			varno = 0;

	if (node == NULL || !IsA(node, Query))
		return node != NULL && expression_tree_walker(node, hide_in_query, shard_schema);
	foreach_ptr(RangeTblEntry, rte, ((Query *) node)->rtable)
	{
		varno++;
		for (int i = 0; i < lengthof(hidden_in) && rte->rtekind == RTE_RELATION; i++)
			if (rte->relid == hidden_in[i].relid)
				rte->securityQuals = lappend(rte->securityQuals,
											 not_in_shard_schema(varno, hidden_in[i].schema, *(Oid *) shard_schema));
	}
	return query_tree_walker((Query *) node, hide_in_query, shard_schema, 0);
}

void
hide_shards(Query *query)
{
	Oid			shard_schema;

	if (likely(application_name == NULL || strncmp(application_name, "pg_dump", 7) != 0) ||
		!override_table_visibility || IsBinaryUpgrade)
		return;
	shard_schema = get_namespace_oid(SHARD_SCHEMA, true);
	if (OidIsValid(shard_schema))
		(void) hide_in_query((Node *) query, &shard_schema);
}
