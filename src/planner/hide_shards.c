/*-------------------------------------------------------------------------
 *
 * hide_shards.c
 *	  Hides shards from pg_dump and from subscribers.
 *
 * A dump contains the logical tables, with rows from all nodes.  Shards would
 * be dumped in addition, and could not be restored.  pg_dump has no way to
 * exclude a table completely: even for members of an extension, it dumps
 * privileges and row security.  So in sessions whose application_name starts
 * with pg_dump, queries on catalogs get one more condition, in the way of row
 * security.  pg_upgrade must see all tables, and does.
 *
 * The same holds for a subscriber, which lists the tables of a publication FOR
 * ALL TABLES, and needs a local table for each.  For subscribers, the
 * extension's own tables in pg_catalog are hidden too, like those of the
 * server.
 *
 * Tools that read all enums of a database, of whatever schema, find none on an
 * ordinary server but those of users.  So queries that read pg_enum and
 * pg_type don't find the extension's, in any session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/guc.h"

#include "catalog/metadata.h"
#include "planner/hide_shards.h"

typedef struct Hiding
{
	Oid			shard_schema;
	bool		own_tables;		/* hide the extension's, too */
} Hiding;

bool		(*hide_shards_from_subscriber) (void) = NULL;

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
							 "Hides shards from pg_dump and from subscribers, and enums of the extension from queries for all enums.",
							 NULL, &override_table_visibility, true, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* The comparison of an oid, a column of the varno'th relation in its query. */
static Expr *
compare_oid(int varno, AttrNumber attno, const char *operator, Oid value)
{
	Var		   *var = makeVar(varno, attno, OIDOID, -1, InvalidOid, 0);
	Const	   *constant = makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(value), false, true);
	Oid			opno = OpernameGetOprid(list_make2(makeString("pg_catalog"), makeString(pstrdup(operator))), OIDOID, OIDOID);

	return make_opclause(opno, BOOLOID, false, (Expr *) var, (Expr *) constant, InvalidOid, InvalidOid);
}

/* Adds to a query the condition that hides rows of one of the catalogs. */
static void
hide_in_relation(RangeTblEntry *rte, int varno, AttrNumber schema, const Hiding *hiding)
{
	rte->securityQuals = lappend(rte->securityQuals, compare_oid(varno, schema, "<>", hiding->shard_schema));
	if (hiding->own_tables && rte->relid == RelationRelationId)
		rte->securityQuals = lappend(rte->securityQuals,
									 makeBoolExpr(OR_EXPR,
												  list_make2(compare_oid(varno, schema, "<>", PG_CATALOG_NAMESPACE),
															 compare_oid(varno, Anum_pg_class_oid, "<", FirstNormalObjectId)), -1));
}

static bool
hide_in_query(Node *node, void *hiding)
{
	int			varno = 0;

	if (node == NULL || !IsA(node, Query))
		return node != NULL && expression_tree_walker(node, hide_in_query, hiding);
	foreach_ptr(RangeTblEntry, rte, ((Query *) node)->rtable)
	{
		varno++;
		for (int i = 0; i < lengthof(hidden_in) && rte->rtekind == RTE_RELATION; i++)
			if (rte->relid == hidden_in[i].relid)
				hide_in_relation(rte, varno, hidden_in[i].schema, hiding);
	}
	return query_tree_walker((Query *) node, hide_in_query, hiding, 0);
}

/*
 * Whether a query reads a relation, itself or by subqueries in FROM and WITH.
 */
static bool
reads_relation(const Query *query, Oid relid)
{
	foreach_ptr(const RangeTblEntry, rte, query->rtable)
		if (rte->rtekind == RTE_RELATION ? rte->relid == relid :
			rte->rtekind == RTE_SUBQUERY && reads_relation(rte->subquery, relid))
			return true;
	foreach_node(CommonTableExpr, cte, query->cteList)
		if (IsA(cte->ctequery, Query) && reads_relation((Query *) cte->ctequery, relid))
			return true;
	return false;
}

/* The condition on pg_type that no enum is in a schema. */
static Expr *
no_enum_of_schema(int varno, Oid schema)
{
	Var		   *var = makeVar(varno, Anum_pg_type_typtype, CHAROID, -1, InvalidOid, 0);
	Const	   *constant = makeConst(CHAROID, -1, InvalidOid, 1, CharGetDatum(TYPTYPE_ENUM), false, true);
	Oid			opno = OpernameGetOprid(list_make2(makeString("pg_catalog"), makeString("<>")), CHAROID, CHAROID);

	return makeBoolExpr(OR_EXPR, list_make2(compare_oid(varno, Anum_pg_type_typnamespace, "<>", schema),
											make_opclause(opno, BOOLOID, false, (Expr *) var, (Expr *) constant,
														  InvalidOid, InvalidOid)), -1);
}

static bool
hide_enums(Node *node, void *context)
{
	const Oid  *schema = context;
	int			varno = 0;

	if (node == NULL || !IsA(node, Query))
		return node != NULL && expression_tree_walker(node, hide_enums, context);
	foreach_ptr(RangeTblEntry, rte, ((Query *) node)->rtable)
	{
		varno++;
		if (rte->rtekind != RTE_RELATION || rte->relid != TypeRelationId)
			continue;
		rte->securityQuals = lappend(rte->securityQuals, no_enum_of_schema(varno, PG_CATALOG_NAMESPACE));
		if (OidIsValid(*schema))
			rte->securityQuals = lappend(rte->securityQuals, no_enum_of_schema(varno, *schema));
	}
	return query_tree_walker((Query *) node, hide_enums, context, 0);
}

void
hide_shards(Query *query)
{
	Hiding		hiding = {.own_tables = hide_shards_from_subscriber != NULL && hide_shards_from_subscriber()};

	if (unlikely(reads_relation(query, EnumRelationId)) && reads_relation(query, TypeRelationId) && override_table_visibility &&
		!IsBinaryUpgrade)
	{
		Oid			schema = get_namespace_oid("citus", true);

		(void) hide_enums((Node *) query, &schema);
	}
	if (likely(!hiding.own_tables && (application_name == NULL || strncmp(application_name, "pg_dump", 7) != 0)) ||
		!override_table_visibility || IsBinaryUpgrade)
		return;
	hiding.shard_schema = get_namespace_oid(SHARD_SCHEMA, true);
	if (OidIsValid(hiding.shard_schema))
		(void) hide_in_query((Node *) query, &hiding);
}
