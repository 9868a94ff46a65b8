/*-------------------------------------------------------------------------
 *
 * constraint_mode.c
 *	  SET CONSTRAINTS: on this node's shards, and on other nodes.
 *
 * Each node runs it for its logical tables and for its shards, whose
 * constraints have the shard's number in their names.  ALL includes those of
 * shards.
 *
 * Deferred constraints of shards are checked at the end of the transaction,
 * where their errors can't be told from those of tables; so COMMIT of a block
 * checks them before that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "catalog/metadata.h"
#include "ddl/handlers.h"
#include "global_index/global_index.h"
#include "remote/shard_names.h"
#include "resolve/tag.h"
#include "table/shards.h"
#include "txn/transaction.h"

/*
 * The tables, as List of Oid, that have a constraint of that name in a schema.
 * Those of constraint triggers and global foreign keys are not among them:
 * this node alone enforces these for its transactions.  *found: whether there
 * is any.
 */
static List *
tables_with_constraint(Oid namespace, const char *name, bool *found)
{
	List	   *relids = NIL;
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], Anum_pg_constraint_conname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum(name));
	ScanKeyInit(&keys[1], Anum_pg_constraint_connamespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(namespace));
	foreach_ptr(CatalogRow, row, catalog_rows_by_keys(ConstraintRelationId, ConstraintNameNspIndexId, 2, keys))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(row->tuple);

		*found = true;
		if (form->contype != CONSTRAINT_TRIGGER && !foreign_key_is_global(row->tuple))
			relids = lappend_oid(relids, form->conrelid);
	}
	return relids;
}

/*
 * The same for a name as the server looks it up; *namespace is where it was
 * found.
 */
static List *
find_tables(const RangeVar *constraint, Oid *namespace)
{
	List	   *schemas;
	List	   *relids = NIL;
	bool		found = false;

	if (constraint->schemaname != NULL)
		schemas = list_make1_oid(get_namespace_oid(constraint->schemaname, true));
	else
		schemas = fetch_search_path(true);
	foreach_oid(schema, schemas)
	{
		*namespace = schema;
		relids = tables_with_constraint(*namespace, constraint->relname, &found);
		if (found)
			break;
	}
	return relids;
}

/*
 * The names that the constraint has on shards of this node; and, of a global
 * index, that of its entries.
 */
static List *
names_on_shards(const DistTable *table, const char *name)
{
	List	   *names = NIL;
	Oid			constraint;
	Oid			entries;

	foreach_int(index, local_shard_indexes(table))
	{
		int64		shardid = table->shards[index].shardid;

		names = lappend(names, makeRangeVar(pstrdup(SHARD_SCHEMA), shard_relation_name(name, shardid), -1));
	}
	constraint = get_relation_constraint_oid(table->relid, name, true);
	entries = OidIsValid(constraint) ? global_index_entries(get_constraint_index(constraint)) : InvalidOid;
	if (OidIsValid(entries))
		names = list_concat(names, names_on_shards(metadata_require(entries),
												   psprintf("%s" GLOBAL_INDEX_KEY, get_rel_name(entries))));
	return names;
}

/*
 * Adds the constraints of shards to the statement.  The names of those that
 * other nodes have are appended to text, qualified.
 */
static void
add_shard_constraints(ConstraintsSetStmt *stmt, StringInfo text)
{
	List	   *added = NIL;
	ListCell   *relid;

	foreach_node(RangeVar, constraint, stmt->constraints)
	{
		bool		elsewhere = false;
		Oid			namespace;

		foreach(relid, find_tables(constraint, &namespace))
		{
			const DistTable *table = metadata_lookup(lfirst_oid(relid));

			if (table == NULL)
				continue;
			elsewhere = true;
			added = list_concat(added, names_on_shards(table, constraint->relname));
		}
		if (elsewhere)
			appendStringInfo(text, "%s%s", text->len == 0 ? "" : ", ",
							 quote_qualified_identifier(get_namespace_name(namespace), constraint->relname));
	}
	stmt->constraints = list_concat(stmt->constraints, added);
}

bool
set_constraints_utility(UtilityCall *call)
{
	ConstraintsSetStmt *stmt = castNode(ConstraintsSetStmt, call->pstmt->utilityStmt);
	StringInfoData names;

	/* the server warns that it has no effect */
	if (!IsTransactionBlock() && !IsSubTransaction() && call->context == PROCESS_UTILITY_TOPLEVEL)
		return false;
	initStringInfo(&names);
	if (stmt->constraints == NIL)
		appendStringInfoString(&names, "ALL");
	else
		add_shard_constraints(stmt, &names);
	utility_run(call);
	if (names.len > 0)
		txn_set_constraints(psprintf("%sSET CONSTRAINTS %s %s", TASK_TAG_DDL, names.data,
									 stmt->deferred ? "DEFERRED" : "IMMEDIATE"));
	return true;
}

bool
commits_block(Node *stmt)
{
	TransactionStmtKind kind;

	if (!IsA(stmt, TransactionStmt) || !IsTransactionBlock() || !IsTransactionState() ||
		GetCurrentTransactionNestLevel() > 1)
		return false;
	kind = castNode(TransactionStmt, stmt)->kind;
	return kind == TRANS_STMT_COMMIT || kind == TRANS_STMT_PREPARE;
}

void
check_deferred_constraints(void)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		AfterTriggerFireDeferred();
	}
	PG_CATCH();
	{
		shard_names_rethrow(context);
	}
	PG_END_TRY();
}
