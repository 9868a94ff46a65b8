/*-------------------------------------------------------------------------
 *
 * modify_text.c
 *	  The texts with which DistributedModify applies rows to shards.
 *
 * They contain only names, no expressions of the statement, except for ON
 * CONFLICT, which the shard's node executes: its text is made by adding the
 * statement's ON CONFLICT clause to the analysed plain text.  UPDATE and
 * DELETE return the row's ordinal in the batch first.
 *
 * If the initiator resolves conflicts, DO UPDATE has a WHERE clause of ours: a
 * function that notes the existing row, which is locked then, and returns
 * false.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/heap.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "planner/modify_plan.h"
#include "planner/task_query.h"
#include "remote/wire_type.h"

/*
 * Qualified, quoted name of the table, which is also the name of its row type.
 */
static char *
table_name(const DistTable *table)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(table->relid)),
									  get_rel_name(table->relid));
}

static bool
is_partitioned(const DistTable *table)
{
	return get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE;
}

bool
modify_sends_texts(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);
	bool		result = false;

	for (int i = 0; i < desc->natts && !result; i++)
	{
		Oid			type = TupleDescAttr(desc, i)->atttypid;

		result = type >= FirstNormalObjectId && (get_typtype(type) == TYPTYPE_DOMAIN || wire_type(type).holds_domains);
	}
	table_close(relation, NoLock);
	return result;
}

/* Appends a call that returns the rows in a parameter. */
static void
append_rows(StringInfo text, const DistTable *table, int param)
{
	if (modify_sends_texts(table->relid))
		appendStringInfo(text, "citus_internal.rows_of_texts(NULL::%s, $%d::text[])", table_name(table), param);
	else
		appendStringInfo(text, "pg_catalog.unnest($%d::%s[])", param, table_name(table));
}

/* The type of a parameter with rows. */
static Oid
rows_param_type(const DistTable *table)
{
	return modify_sends_texts(table->relid) ? TEXTARRAYOID : get_array_type(get_rel_type_id(table->relid));
}

/* An expression for a whole row that nodes return. */
static char *
returned_row(const DistTable *table, const char *relation)
{
	char	   *row = psprintf("ROW(%s.*)::%s", relation, table_name(table));

	return modify_sends_texts(table->relid) ? psprintf("citus_internal.texts_of_row(%s)", row) : row;
}

/* Appends a column, or a system column, of a relation that is the table. */
static void
append_column_of(StringInfo text, const DistTable *table, const char *relation, AttrNumber attno)
{
	appendStringInfo(text, "%s.%s", relation,
					 attno < 0 ? NameStr(SystemAttributeDefinition(attno)->attname) :
					 quote_identifier(get_attname(table->relid, attno, false)));
}

/*
 * Appends " RETURNING <first>, t.a, ..", nothing if there is nothing to
 * return.
 */
static void
append_returning(StringInfo text, const DistTable *table, const char *first, List *attnos)
{
	const char *separator = " RETURNING ";
	ListCell   *cell;

	if (attnos == NIL)
		return;
	if (first != NULL)
	{
		appendStringInfo(text, "%s%s", separator, first);
		separator = ", ";
	}
	foreach(cell, attnos)
	{
		appendStringInfoString(text, separator);
		separator = ", ";
		if (lfirst_int(cell) == InvalidAttrNumber)
			appendStringInfoString(text, returned_row(table, "t"));
		else
			append_column_of(text, table, "t", lfirst_int(cell));
	}
}

/*
 * Appends columns of OLD to RETURNING, which isn't empty.  The whole row is
 * null if there is none.
 */
static void
append_returned_old(StringInfo text, const DistTable *table, List *attnos)
{
	foreach_int(attno, attnos)
	{
		appendStringInfoString(text, ", ");
		if (attno == InvalidAttrNumber)
			appendStringInfo(text, "CASE WHEN old.ctid IS NOT NULL THEN %s END", returned_row(table, "old"));
		else
			append_column_of(text, table, "old", attno);
	}
}

/*
 * Which columns, and how, bits.  COLUMNS_STORED: only those that an INSERT
 * gives values for.  COLUMNS_BY_NUMBER: with names that can't be mistaken for
 * others ("citus n1", ..), in the place of their own.
 */
typedef enum ColumnList
{
	COLUMNS_ALL = 0,
	COLUMNS_STORED = 1,
	COLUMNS_BY_NUMBER = 2,
} ColumnList;

/* Appends the table's columns, separated by commas, with a prefix. */
static void
append_columns(StringInfo text, Oid relid, int which, const char *prefix)
{
	Relation	relation = table_open(relid, NoLock);
	TupleDesc	desc = RelationGetDescr(relation);
	const char *separator = "";

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attisdropped || ((which & COLUMNS_STORED) != 0 && attribute->attgenerated))
			continue;
		appendStringInfo(text, "%s%s%s", separator, prefix,
						 (which & COLUMNS_BY_NUMBER) != 0 ? psprintf("\"citus n%d\"", i + 1) : quote_identifier(NameStr(attribute->attname)));
		separator = ", ";
	}
	table_close(relation, NoLock);
}

/*
 * Begins an INSERT of all columns, whose values come from the SELECT that it
 * ends with; there may be no columns.
 */
static void
append_insert(StringInfo text, const DistTable *table)
{
	StringInfoData columns;

	initStringInfo(&columns);
	append_columns(&columns, table->relid, COLUMNS_STORED, "");
	appendStringInfo(text, "INSERT INTO %s AS t", table_name(table));
	if (columns.len > 0)
		appendStringInfo(text, " (%s)", columns.data);
	appendStringInfoString(text, " OVERRIDING SYSTEM VALUE SELECT ");
}

/*
 * Analyses a text of ours whose only parameter is an array of the table's
 * rows.  The result isn't rewritten, since policies must not be part of it,
 * and would add parameters before that one.
 */
static Query *
analyse_insert(const char *text, Oid rows_type)
{
	return parse_analyze_fixedparams(linitial_node(RawStmt, pg_parse_query(text)), text, &rows_type, 1, NULL);
}

/*
 * Replaces parameters by the assignments SET (a, b) = (SELECT ..), whose
 * subquery was made an initplan.
 */
static Node *
multiexpr_mutator(Node *node, void *context)
{
	PlannerInfo *root = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_MULTIEXPR)
	{
		int			id = ((Param *) node)->paramid;
		List	   *columns = list_nth(root->multiexpr_params, (id >> 16) - 1);

		return copyObject(list_nth(columns, (id & 0xFFFF) - 1));
	}
	return expression_tree_mutator(node, multiexpr_mutator, context);
}

/* A copy of the ON CONFLICT clause, whose conditions can be deparsed. */
static OnConflictExpr *
copy_conflict_clause(PlannerInfo *root)
{
	OnConflictExpr *clause = copyObject(root->parse->onConflict);

	if (clause->onConflictWhere && IsA(clause->onConflictWhere, List))
		clause->onConflictWhere = (Node *) make_ands_explicit((List *) clause->onConflictWhere);
	if (clause->arbiterWhere && IsA(clause->arbiterWhere, List))
		clause->arbiterWhere = (Node *) make_ands_explicit((List *) clause->arbiterWhere);
	return clause;
}

/*
 * Adds a clause of root's INSERT to an analysed text of ours, whose parameters
 * so far are *exprs.
 */
static void
graft_conflict_clause(Query *query, OnConflictExpr *clause, PlannerInfo *root, List **exprs)
{
	Index		excluded = clause->exclRelIndex;

	clause = (OnConflictExpr *) task_params_extract((Node *) clause, 0, false, exprs);
	if (excluded != 0)
		query->rtable = lappend(query->rtable, copyObject(rt_fetch(excluded, root->parse->rtable)));
	/*
	 * in this order: the first relation is never the excluded one, but the
	 * target may have the excluded one's new number
	 */
	ChangeVarNodes((Node *) clause, root->parse->resultRelation, 1, 0);
	ChangeVarNodes((Node *) clause, excluded, list_length(query->rtable), 0);
	clause->exclRelIndex = list_length(query->rtable);
	query->onConflict = clause;
}

/* Takes the first column out of what a query returns. */
static Node *
pop_returning(Query *query)
{
	TargetEntry *first = linitial(query->returningList);

	query->returningList = list_delete_first(query->returningList);
	foreach_ptr(TargetEntry, entry, query->returningList)
		entry->resno--;
	return (Node *) first->expr;
}

/* A condition to precede DO UPDATE's own. */
#define UPSERT_CHECK "citus_internal.upsert_once(t.xmin, t.cmin)"

char *
modify_insert_text(const DistTable *table, List *attnos, List *old_attnos, PlannerInfo *root, bool again, List **exprs)
{
	Query	   *conflict_query = root ? root->parse : NULL;
	StringInfoData text;
	Query	   *query;
	OnConflictExpr *clause;
	Node	   *check = NULL;
	List	   *all_exprs = NIL;

	initStringInfo(&text);
	append_insert(&text, table);
	append_columns(&text, table->relid, COLUMNS_STORED, "r.");
	appendStringInfoString(&text, " FROM ");
	append_rows(&text, table, 1);
	appendStringInfoString(&text, " AS r");
	if (again && attnos == NIL)
		appendStringInfoString(&text, " RETURNING " UPSERT_CHECK);
	append_returning(&text, table, again ? UPSERT_CHECK : NULL, attnos);
	append_returned_old(&text, table, old_attnos);
	if (conflict_query == NULL || conflict_query->onConflict == NULL)
		return text.data;

	/* $1, the rows, becomes the first of the parameters */
	query = (Query *) task_params_extract((Node *) analyse_insert(text.data, rows_param_type(table)), 0, false,
										  &all_exprs);
	if (again)
		check = pop_returning(query);
	clause = copy_conflict_clause(root);
	clause->onConflictSet = (List *) multiexpr_mutator((Node *) clause->onConflictSet, root);
	graft_conflict_clause(query, clause, root, &all_exprs);
	if (again)
		query->onConflict->onConflictWhere = make_and_qual(check, query->onConflict->onConflictWhere);
	*exprs = list_copy_tail(all_exprs, 1);
	return task_query_deparse(query);
}

/*
 * The INSERT of an upsert text, without ON CONFLICT; it returns
 * conflict_note's result first.
 */
static char *
plain_upsert(const DistTable *table, List *attnos)
{
	StringInfoData text;
	char	   *name = table_name(table);

	initStringInfo(&text);
	append_insert(&text, table);
	append_columns(&text, table->relid, COLUMNS_STORED | COLUMNS_BY_NUMBER, "r.");
	appendStringInfoString(&text, " FROM ");
	append_rows(&text, table, 1);
	appendStringInfoString(&text, " WITH ORDINALITY AS r(");
	append_columns(&text, table->relid, COLUMNS_BY_NUMBER, "");
	appendStringInfoString(&text, ", \"citus ord\") WHERE citus_internal.upsert_row(r.\"citus ord\")");
	append_returning(&text, table,
					 psprintf("citus_internal.upsert_conflict(t.ctid, ROW(t.*)::%s), citus_internal.upsert_ordinal()",
							  name),
					 attnos);
	return text.data;
}

/* Makes DO UPDATE assign each of its columns to itself, under a condition. */
static void
replace_update(OnConflictExpr *clause, Node *condition, Index target)
{
	List	   *assignments = NIL;

	foreach_ptr(TargetEntry, entry, clause->onConflictSet)
	{
		if (entry->resjunk)
			continue;
		entry->expr = (Expr *) makeVar(target, entry->resno, exprType((Node *) entry->expr),
									   exprTypmod((Node *) entry->expr), exprCollation((Node *) entry->expr), 0);
		assignments = lappend(assignments, entry);
	}
	clause->onConflictSet = assignments;
	clause->onConflictWhere = condition;
}

char *
modify_upsert_text(const DistTable *table, List *attnos, PlannerInfo *root, List **exprs)
{
	OnConflictExpr *clause = copy_conflict_clause(root);
	bool		updates = clause->action == ONCONFLICT_UPDATE;
	bool		as_texts = modify_sends_texts(table->relid);
	char	   *name = table_name(table);
	StringInfoData text;
	List	   *all_exprs = NIL;
	Query	   *query;
	Node	   *note;

	query = (Query *) task_params_extract((Node *) analyse_insert(plain_upsert(table, attnos),
																  rows_param_type(table)),
										  0, false, &all_exprs);
	note = pop_returning(query);
	if (updates)
		replace_update(clause, NULL, root->parse->resultRelation);
	graft_conflict_clause(query, clause, root, &all_exprs);
	if (updates)
		query->onConflict->onConflictWhere = note;
	*exprs = list_copy_tail(all_exprs, 1);

	initStringInfo(&text);
	appendStringInfoString(&text, "WITH \"citus done\"(\"citus 0\"");
	for (int i = 1; i <= list_length(attnos); i++)
		appendStringInfo(&text, ", \"citus %d\"", i);
	appendStringInfo(&text, ") AS (%s) SELECT \"citus 0\", NULL::pg_catalog.tid, NULL::%s",
					 task_query_deparse(query), as_texts ? "pg_catalog.text[]" : name);
	for (int i = 1; i <= list_length(attnos); i++)
		appendStringInfo(&text, ", \"citus %d\"", i);
	appendStringInfoString(&text, " FROM \"citus done\"");
	if (!updates)
		return text.data;
	appendStringInfo(&text, " UNION ALL SELECT c.ordinal, c.id, %s",
					 as_texts ? "citus_internal.texts_of_row(c.existing)" : "c.existing");
	for (int i = 1; i <= list_length(attnos); i++)
		appendStringInfoString(&text, ", NULL");
	appendStringInfo(&text, " FROM citus_internal.upsert_conflicts(NULL::%s) AS c", name);
	return text.data;
}

/* Appends ", unnest($n::type[])" for each column of a key, n from first on. */
static void
append_key_arrays(StringInfo text, Oid relid, List *key_attnos, int first)
{
	foreach_int(attno, key_attnos)
	{
		Oid			array = get_array_type(get_atttype(relid, attno));

		appendStringInfo(text, ", pg_catalog.unnest($%d::%s)", first++,
						 format_type_extended(array, -1, FORMAT_TYPE_FORCE_QUALIFY | FORMAT_TYPE_TYPEMOD_GIVEN));
	}
}

/*
 * FROM clause that gives each row of a batch its ordinal, and its identity:
 * $1, and behind the new rows the partition's shard, or the key's columns.
 */
static void
append_batch(StringInfo text, const DistTable *table, List *key_attnos, bool with_new_rows)
{
	int			others = with_new_rows ? 3 : 2;

	if (table->kind != DIST_REFERENCE)
		appendStringInfoString(text, "ROWS FROM (pg_catalog.unnest($1::tid[])");
	else if (key_attnos != NIL)
		appendStringInfoString(text, "ROWS FROM (pg_catalog.unnest($1::bytea[])");
	else
		appendStringInfo(text, "ROWS FROM (citus_internal.row_places(NULL::%s, $1::bytea[])", table_name(table));
	if (with_new_rows)
	{
		appendStringInfoString(text, ", ");
		append_rows(text, table, 2);
	}
	if (is_partitioned(table))
		appendStringInfo(text, ", pg_catalog.unnest($%d::bigint[])", others);
	append_key_arrays(text, table->relid, key_attnos, others);
	appendStringInfoString(text, ") WITH ORDINALITY AS r(\"citus id\", ");
	if (with_new_rows)
	{
		append_columns(text, table->relid, COLUMNS_BY_NUMBER, "");
		appendStringInfoString(text, ", ");
	}
	if (is_partitioned(table))
		appendStringInfoString(text, "\"citus shard\", ");
	for (int i = 1; i <= list_length(key_attnos); i++)
		appendStringInfo(text, "\"citus k%d\", ", i);
	appendStringInfoString(text, "\"citus ord\") WHERE ");
}

static void
append_identity_condition(StringInfo text, const DistTable *table, List *key_attnos)
{
	if (key_attnos != NIL)
	{
		row_key_condition(text, table->relid, key_attnos);
		appendStringInfoString(text, " AND citus_internal.row_image(t.*) OPERATOR(pg_catalog.=) r.\"citus id\"");
		return;
	}
	appendStringInfoString(text, "t.ctid OPERATOR(pg_catalog.=) r.\"citus id\"");
	if (is_partitioned(table))
		appendStringInfoString(text, " AND t.tableoid OPERATOR(pg_catalog.=) "
							   "citus_internal.shard_relation(r.\"citus shard\")");
}

char *
modify_update_text(const DistTable *table, List *colnos, List *key_attnos, List *attnos)
{
	StringInfoData text;
	const char *separator = "";

	initStringInfo(&text);
	appendStringInfo(&text, "UPDATE %s AS t SET ", table_name(table));
	foreach_int(attno, colnos)
	{
		appendStringInfo(&text, "%s%s = r.\"citus n%d\"", separator,
						 quote_identifier(get_attname(table->relid, attno, false)), attno);
		separator = ", ";
	}
	if (colnos == NIL)
		appendStringInfo(&text, "%s = DEFAULT",
						 quote_identifier(get_attname(table->relid, task_generated_column(table->relid), false)));
	appendStringInfoString(&text, " FROM ");
	append_batch(&text, table, key_attnos, true);
	append_identity_condition(&text, table, key_attnos);
	append_returning(&text, table, "r.\"citus ord\"", attnos);
	return text.data;
}

char *
modify_delete_text(const DistTable *table, List *key_attnos, List *attnos)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "DELETE FROM %s AS t USING ", table_name(table));
	append_batch(&text, table, key_attnos, false);
	append_identity_condition(&text, table, key_attnos);
	append_returning(&text, table, "r.\"citus ord\"", attnos);
	return text.data;
}
