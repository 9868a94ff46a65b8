/*-------------------------------------------------------------------------
 *
 * lookup_cover.c
 *	  Reads entries instead of rows.
 *
 * A SELECT of one table whose filter gives the first column of a global
 * index's key, and whose other columns the entries have, too, becomes a query
 * of the entries, of one shard.  They change with the rows, in the same
 * transaction, so that is the same answer, as of the time when that shard is
 * read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "catalog/metadata.h"
#include "compat/permissions.h"
#include "compat/planner_call.h"
#include "global_index/global_index.h"
#include "global_index/keys.h"
#include "global_index/lookup.h"

/* What columns of a table become. */
typedef struct Covering
{
	Index		varno;			/* the table */
	Relation	index;
	Oid			entries;
	EntryShape	shape;
} Covering;

/* The entries' column that stands for one of the table; 0: none. */
static AttrNumber
covering_column(const Covering *covering, const Var *var)
{
	AttrNumber	attno = entry_column(&covering->shape, covering->index, var->varattno);

	return attno != InvalidAttrNumber && get_atttype(covering->entries, attno) == var->vartype ? attno : InvalidAttrNumber;
}

/* Finds columns of the table that entries lack. */
static bool
lacks_columns(Node *node, void *covering)
{
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, lacks_columns, covering, 0);
	if (IsA(node, Var) && var->varno == ((Covering *) covering)->varno)
		return covering_column(covering, var) == InvalidAttrNumber;
	return expression_tree_walker(node, lacks_columns, covering);
}

/* Has a query's expressions use the columns of entries. */
static Node *
cover_columns(Node *node, void *covering)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == ((Covering *) covering)->varno)
	{
		Var		   *var = copyObject((Var *) node);

		var->varattno = var->varattnosyn = covering_column(covering, (Var *) node);
		return (Node *) var;
	}
	return expression_tree_mutator(node, cover_columns, covering);
}

/* The query of entries, which their owner may read. */
static Query *
covered_query(const Query *query, const Covering *covering)
{
	Query	   *result = query_tree_mutator(copyObject((Query *) query), cover_columns, (void *) covering, QTW_DONT_COPY_QUERY);
	RangeTblEntry *rte = rt_fetch(covering->varno, result->rtable);
	Relation	entries = relation_open(covering->entries, AccessShareLock);
	CompatPermissions *permissions = compat_permissions_of(result, rte);

	rte->relid = covering->entries;
	rte->alias = makeAlias(rte->eref->aliasname, NIL);
	rte->eref = makeAlias(rte->eref->aliasname, NIL);
	for (int i = 0; i < covering->shape.ncolumns; i++)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(pstrdup(NameStr(TupleDescAttr(RelationGetDescr(entries), i)->attname))));
	permissions->checkAsUser = entries->rd_rel->relowner;
	permissions->selectedCols = NULL;
	compat_permissions_follow(result);
	relation_close(entries, NoLock);
	return result;
}

/* Whether entries of a global index have all that a query of a table uses. */
static bool
entries_cover(const Query *query, const DistTable *table, Relation rel, Node *filter, Covering *covering)
{
	List	   *values = key_values(filter, covering->varno, covering->index, false);

	covering->entries = values == NIL ? InvalidOid : global_index_entries(RelationGetRelid(covering->index));
	if (!OidIsValid(covering->entries) || !global_index_finds(covering->index, table, filter, covering->varno, values))
		return false;
	entry_shape(rel, covering->index, &covering->shape);
	return !query_tree_walker((Query *) query, lacks_columns, covering, 0);
}

PlannedStmt *
global_lookup_cover(Query *query, Index varno, const DistTable *table, const char *query_string, int cursor_options,
					ParamListInfo params)
{
	Covering	covering = {.varno = varno};
	PlannedStmt *statement = NULL;
	Query	   *covered = NULL;
	Relation	rel;
	Node	   *filter;

	if (query->commandType != CMD_SELECT || query->rowMarks != NIL || query->hasRowSecurity ||
		rt_fetch(varno, query->rtable)->tablesample != NULL)
		return NULL;
	rel = relation_open(table->relid, NoLock);
	filter = global_lookup_filter(query->jointree->quals);
	foreach_oid(indexid, RelationGetIndexList(rel))
	{
		covering.index = index_open(indexid, AccessShareLock);
		if (covered == NULL && entries_cover(query, table, rel, filter, &covering))
			covered = covered_query(query, &covering);
		index_close(covering.index, AccessShareLock);
	}
	relation_close(rel, NoLock);
	if (covered == NULL)
		return NULL;
	statement = planner(covered, query_string, cursor_options, params, NULL);
	compat_add_query_permissions(statement, query);
	statement->relationOids = lappend_oid(statement->relationOids, table->relid);
	return statement;
}
