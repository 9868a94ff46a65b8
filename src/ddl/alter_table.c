/*-------------------------------------------------------------------------
 *
 * alter_table.c
 *	  ALTER TABLE, and ALTER INDEX, of distributed and reference tables.
 *
 * The statement runs on the logical table, on every node.  Shards get a copy
 * of it with their own names, with two exceptions:
 * - Constraints: the server chooses their names on the logical table, and
 *   column definitions may contain some.  So they are removed from the shards'
 *   copy, and the new constraints of the logical table are created from their
 *   definitions afterwards.  NOT NULL stays in the copy, and gets its name
 *   afterwards (not_null.c).
 * - Properties that only the logical table has: defaults, identity, forced row
 *   security, triggers (shards have those of foreign keys, which ALL
 *   includes).  While a new column is being added, the shard has its default,
 *   so that old rows get their values; the default is dropped afterwards.
 *
 * Every supported subcommand has a row in a table with its scope; others are
 * refused.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "parser/parser.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/catalog_rows.h"
#include "catalog/global_key.h"
#include "compat/constraint.h"
#include "compat/identity_sequence.h"
#include "conversion/convert_checks.h"
#include "ddl/column_type.h"
#include "ddl/create_table.h"
#include "ddl/handlers.h"
#include "ddl/late_constraint.h"
#include "ddl/missing_value.h"
#include "ddl/not_null.h"
#include "ddl/partition.h"
#include "global_index/foreign_key.h"
#include "global_index/global_index.h"
#include "objects/sequence_values.h"
#include "remote/node_call.h"
#include "resolve/default_action.h"
#include "resolve/utility.h"
#include "table/definition.h"
#include "table/key_names.h"
#include "table/lock_everywhere.h"
#include "table/run_commands.h"
#include "table/shards.h"
#include "table/table_definition.h"

typedef enum SubcommandScope
{
	SCOPE_SHARDS,				/* shards as well */
	SCOPE_LATE,					/* shards as well, once they have the
								 * constraints that it may name */
	SCOPE_LOGICAL,				/* the logical table only */
	SCOPE_COLUMN,				/* a new column: see shard_column */
	SCOPE_CONSTRAINT,			/* a new constraint: shards get its
								 * definition */
} SubcommandScope;

static const struct
{
	AlterTableType type;
	SubcommandScope scope;
}			subcommands[] = {
	{AT_AddColumn, SCOPE_COLUMN},
	{AT_ColumnDefault, SCOPE_LOGICAL},
	{AT_DropNotNull, SCOPE_SHARDS},
	{AT_SetNotNull, SCOPE_SHARDS},
	{AT_DropExpression, SCOPE_SHARDS},
	{AT_SetExpression, SCOPE_SHARDS},
	{AT_SetStatistics, SCOPE_SHARDS},
	{AT_SetOptions, SCOPE_SHARDS},
	{AT_ResetOptions, SCOPE_SHARDS},
	{AT_SetStorage, SCOPE_SHARDS},
	{AT_SetCompression, SCOPE_SHARDS},
	{AT_DropColumn, SCOPE_SHARDS},
	{AT_AddConstraint, SCOPE_CONSTRAINT},
	{AT_AlterConstraint, SCOPE_LATE},
	{AT_ValidateConstraint, SCOPE_LATE},
	{AT_DropConstraint, SCOPE_SHARDS},
	{AT_AlterColumnType, SCOPE_SHARDS},
	{AT_ChangeOwner, SCOPE_SHARDS},
	{AT_ClusterOn, SCOPE_LATE},
	{AT_DropCluster, SCOPE_SHARDS},
	{AT_SetLogged, SCOPE_SHARDS},
	{AT_SetUnLogged, SCOPE_SHARDS},
	{AT_DropOids, SCOPE_LOGICAL},
	{AT_SetAccessMethod, SCOPE_SHARDS},
	{AT_SetTableSpace, SCOPE_SHARDS},
	{AT_SetRelOptions, SCOPE_SHARDS},
	{AT_ResetRelOptions, SCOPE_SHARDS},
	{AT_ReplicaIdentity, SCOPE_LATE},
	{AT_EnableRowSecurity, SCOPE_SHARDS},
	{AT_DisableRowSecurity, SCOPE_SHARDS},
	{AT_ForceRowSecurity, SCOPE_LOGICAL},
	{AT_NoForceRowSecurity, SCOPE_LOGICAL},
	{AT_EnableTrig, SCOPE_LOGICAL},
	{AT_EnableAlwaysTrig, SCOPE_LOGICAL},
	{AT_EnableReplicaTrig, SCOPE_LOGICAL},
	{AT_DisableTrig, SCOPE_LOGICAL},
	{AT_EnableTrigAll, SCOPE_SHARDS},
	{AT_DisableTrigAll, SCOPE_SHARDS},
	{AT_EnableTrigUser, SCOPE_LOGICAL},
	{AT_DisableTrigUser, SCOPE_LOGICAL},
	{AT_AddOf, SCOPE_LOGICAL},
	{AT_DropOf, SCOPE_LOGICAL},
	{AT_AddIdentity, SCOPE_LOGICAL},
	{AT_SetIdentity, SCOPE_LOGICAL},
	{AT_DropIdentity, SCOPE_LOGICAL},
	{AT_AttachPartition, SCOPE_SHARDS},
	{AT_DetachPartition, SCOPE_SHARDS},
};

/* Why some subcommands are refused. */
static const struct
{
	AlterTableType type;
	const char *detail;
	const char *hint;
}			refusals[] = {
	{AT_AddInherit, "Queries of the parent would not find the rows, which are in shards.",
	"Make a partitioned table, or use undistribute_table() first."},
	{AT_DropInherit, "Distributed and reference tables have no parents.", NULL},
	{AT_EnableRule, "Distributed and reference tables have no rules.", NULL},
	{AT_EnableAlwaysRule, "Distributed and reference tables have no rules.", NULL},
	{AT_EnableReplicaRule, "Distributed and reference tables have no rules.", NULL},
	{AT_DisableRule, "Distributed and reference tables have no rules.", NULL},
	{AT_DetachPartitionFinalize, "Partitions are detached at once, also CONCURRENTLY: there is nothing to finish.", NULL},
};

/* The state of an ALTER TABLE: its table, and the constraints before it. */
typedef struct AlterTableCall
{
	UtilityCall *call;
	AlterTableStmt *stmt;		/* as the user wrote it */
	const DistTable *table;
	List	   *constraints_before; /* their names (char *) */
	List	   *unchecked;		/* names (char *) of those that VALIDATE
								 * CONSTRAINT checks */
	List	   *global_keys;	/* the same of foreign keys that shards don't
								 * have, before it */
} AlterTableCall;

/*
 * A table's constraints: their Oids; *names gets their names (char *) in the
 * same order.  Without the entries that a foreign key to a partitioned table
 * has for each of that table's partitions: the server makes them with it.
 */
static List *
constraints_of_table(Oid relid, List **names)
{
	List	   *rows = catalog_rows_by_oid(ConstraintRelationId, ConstraintRelidTypidNameIndexId,
										   Anum_pg_constraint_conrelid, relid);
	List	   *own = NIL;
	List	   *result = NIL;

	*names = NIL;
	foreach_ptr(CatalogRow, row, rows)
		own = lappend_oid(own, ((Form_pg_constraint) GETSTRUCT(row->tuple))->oid);
	foreach_ptr(CatalogRow, row, rows)
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(row->tuple);

		if (strchr("cfpux", form->contype) == NULL || list_member_oid(own, form->conparentid))
			continue;
		result = lappend_oid(result, form->oid);
		*names = lappend(*names, pstrdup(NameStr(form->conname)));
	}
	return result;
}

/*
 * Errors as a single server does if other objects depend on a column that is
 * to be dropped.  A column without such objects is left alone; the deletion of
 * another one doesn't come to its end.
 */
static void
check_column_dependents(Oid relid, AttrNumber attno)
{
	ObjectAddress column;

	ObjectAddressSubSet(column, RelationRelationId, relid, attno);
	foreach_ptr(CatalogRow, row, catalog_dependents(RelationRelationId, relid))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(row->tuple);

		if (depend->refobjsubid == attno && depend->deptype == DEPENDENCY_NORMAL)
			performDeletion(&column, DROP_RESTRICT, 0);
	}
}

/*
 * Errors when a subcommand can't be done to a distributed or reference table.
 */
static SubcommandScope
subcommand_scope(const AlterTableCall *alter, const AlterTableCmd *cmd)
{
	const char *relname = get_rel_name(alter->table->relid);

	if ((cmd->subtype == AT_DropColumn || cmd->subtype == AT_AlterColumnType) && alter->table->dist_attno != 0 &&
		get_attnum(alter->table->relid, cmd->name) == alter->table->dist_attno &&
		(cmd->subtype == AT_DropColumn || !column_type_keeps_values(alter->table->relid, cmd)))
	{
		if (cmd->subtype == AT_DropColumn && cmd->behavior == DROP_RESTRICT)
			check_column_dependents(alter->table->relid, alter->table->dist_attno);
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 cmd->subtype == AT_DropColumn ?
				 errmsg("cannot drop distribution column \"%s\" of relation \"%s\"", cmd->name, relname) :
				 errmsg("cannot alter the type of distribution column \"%s\" of relation \"%s\"", cmd->name,
						relname),
				 errdetail("The rows are stored by the hash values of this column."),
				 errhint("Use undistribute_table(), alter the table, and distribute it again.")));
	}

	for (int i = 0; i < lengthof(subcommands); i++)
	{
		if (subcommands[i].type == cmd->subtype)
			return subcommands[i].scope;
	}
	for (int i = 0; i < lengthof(refusals); i++)
	{
		if (refusals[i].type == cmd->subtype)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("this form of ALTER TABLE is not supported for distributed or reference table \"%s\"",
							relname),
					 errdetail("%s", _(refusals[i].detail)),
					 refusals[i].hint == NULL ? 0 : errhint("%s", _(refusals[i].hint))));
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this form of ALTER TABLE is not supported for distributed or reference table \"%s\"", relname)));
}

/*
 * Whether another subcommand gives a new column a default, or makes it an
 * identity column: existing rows get the value of the column's own definition.
 */
static bool
default_is_replaced(const AlterTableCall *alter, const char *column)
{
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if ((cmd->subtype == AT_ColumnDefault || cmd->subtype == AT_AddIdentity) && strcmp(cmd->name, column) == 0)
			return true;
	return false;
}

/* The default in a column's definition, as it was written, or NULL. */
static Node *
written_default(const ColumnDef *column)
{
	foreach_node(Constraint, constraint, column->constraints)
		if (constraint->contype == CONSTR_DEFAULT)
			return copyObject(constraint->raw_expr);
	return NULL;
}

static bool
calls_nextval(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_NEXTVAL)
		return true;
	return expression_tree_walker(node, calls_nextval, context);
}

/*
 * Whether the values of a new column in existing rows come from a sequence: of
 * a serial or identity column, for instance.
 */
static bool
draws_from_sequence(const AlterTableCall *alter, const char *column)
{
	Relation	rel;
	AttrNumber	attno;
	bool		result;

	if (default_is_replaced(alter, column))
		return false;
	rel = table_open(alter->table->relid, NoLock);
	attno = get_attnum(alter->table->relid, column);
	result = calls_nextval(build_column_default(rel, attno), NULL) ||
		TupleDescAttr(RelationGetDescr(rel), attno - 1)->attidentity != '\0';
	table_close(rel, NoLock);
	return result;
}

/*
 * Whether existing rows get their values of a column that the statement adds
 * after all nodes have it (fill_column).
 */
static bool
is_filled_later(const AlterTableCall *alter, const char *column)
{
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (cmd->subtype == AT_AddColumn && strcmp(castNode(ColumnDef, cmd->def)->colname, column) == 0)
			return draws_from_sequence(alter, column);
	return false;
}

/*
 * A logical table's new column's default as raw parse tree; NULL if it has
 * none.
 */
static Node *
raw_default(Oid relid, AttrNumber attno)
{
	char	   *text = column_default_definition(relid, attno);
	SelectStmt *select;

	if (text == NULL)
		return NULL;
	select = castNode(SelectStmt, parse_utility(psprintf("SELECT %s", text)));
	return linitial_node(ResTarget, select->targetList)->val;
}

static bool
column_is_not_null(Oid relid, AttrNumber attno)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = TupleDescAttr(RelationGetDescr(rel), attno - 1)->attnotnull;

	table_close(rel, NoLock);
	return result;
}

/*
 * The column definition for a shard: type, default and NOT NULL as the logical
 * table has them now (serial is resolved), generation as written, no other
 * constraints.  The default is as written if the statement replaces it.  A
 * column that uses a sequence is filled afterwards (fill_column).
 */
static ColumnDef *
shard_column(const AlterTableCall *alter, const ColumnDef *column)
{
	Oid			relid = alter->table->relid;
	AttrNumber	attno = get_attnum(relid, column->colname);
	ColumnDef  *result = copyObject((ColumnDef *) column);
	List	   *constraints = NIL;
	bool		generated = false;
	bool		filled_later = draws_from_sequence(alter, column->colname);
	Oid			type;
	int32		typmod;
	Oid			collation;
	Node	   *value;

	foreach_node(Constraint, constraint, column->constraints)
	{
		generated |= (constraint->contype == CONSTR_GENERATED);
		if (constraint->contype == CONSTR_GENERATED)
			constraints = lappend(constraints, copyObject(constraint));
	}
	get_atttypetypmodcoll(relid, attno, &type, &typmod, &collation);
	result->typeName = makeTypeNameFromOid(type, typmod);
	if (default_is_replaced(alter, column->colname))
		value = written_default(column);
	else
		value = generated || filled_later ? NULL : raw_default(relid, attno);
	if (value != NULL)
		constraints = lappend(constraints, make_column_constraint(CONSTR_DEFAULT, value));
	if (!filled_later && column_is_not_null(relid, attno))
		constraints = lappend(constraints, make_column_constraint(CONSTR_NOTNULL, NULL));
	result->constraints = constraints;
	return result;
}

/* Whether a column definition has a default that fills existing rows. */
static bool
has_default(const ColumnDef *column)
{
	foreach_node(Constraint, constraint, column->constraints)
	{
		if (constraint->contype == CONSTR_DEFAULT)
			return true;
	}
	return false;
}

/* The subcommand that drops a shard column's default. */
static AlterTableCmd *
drop_default(const char *column)
{
	AlterTableCmd *cmd = makeNode(AlterTableCmd);

	cmd->subtype = AT_ColumnDefault;
	cmd->name = pstrdup(column);
	cmd->behavior = DROP_RESTRICT;
	return cmd;
}

/* The column that a subcommand makes NOT NULL, or NULL. */
static const char *
not_null_column(const AlterTableCmd *cmd)
{
	if (cmd->subtype == AT_SetNotNull)
		return cmd->name;
	if (cmd->subtype == AT_AddConstraint && castNode(Constraint, cmd->def)->contype == CONSTR_NOTNULL)
		return strVal(linitial(castNode(Constraint, cmd->def)->keys));
	return NULL;
}

/* The name of the constraint that a subcommand makes of an index, or NULL. */
static const char *
constraint_of_index(const AlterTableCmd *cmd)
{
	const Constraint *constraint = (const Constraint *) cmd->def;

	if (cmd->subtype != AT_AddConstraint || constraint->indexname == NULL)
		return NULL;
	return constraint->conname != NULL ? constraint->conname : constraint->indexname;
}

/* Whether a subcommand is about a foreign key that shards don't have. */
static bool
is_about_global_key(const AlterTableCall *alter, AlterTableCmd *cmd)
{
	const char *constraint = cmd->subtype == AT_DropConstraint || cmd->subtype == AT_ValidateConstraint ? cmd->name :
		cmd->subtype == AT_AlterConstraint ? *altered_constraint_name(cmd) : NULL;
	ListCell   *cell;

	if (constraint != NULL)
		foreach(cell, alter->global_keys)
			if (strcmp(lfirst(cell), constraint) == 0)
				return true;
	return false;
}

/*
 * The statements for the shards: first the subcommands that apply to shards,
 * then the removal of new columns' defaults.
 */
static List *
shard_statements(const AlterTableCall *alter)
{
	AlterTableStmt *first = copyObject(alter->stmt);
	AlterTableStmt *second = copyObject(alter->stmt);
	ListCell   *cell;

	first->cmds = NIL;
	second->cmds = NIL;
	foreach(cell, alter->stmt->cmds)
	{
		AlterTableCmd *cmd = copyObject(lfirst_node(AlterTableCmd, cell));

		if ((not_null_column(cmd) != NULL && is_filled_later(alter, not_null_column(cmd))) ||
			is_about_global_key(alter, cmd))
			continue;
		switch (subcommand_scope(alter, cmd))
		{
			case SCOPE_LOGICAL:
			case SCOPE_LATE:
				continue;
			case SCOPE_CONSTRAINT:
				if (not_null_column(cmd) != NULL)
					break;
				if (constraint_of_index(cmd) == NULL)
					continue;
				castNode(Constraint, cmd->def)->conname = pstrdup(constraint_of_index(cmd));
				break;
			case SCOPE_COLUMN:
				cmd->def = (Node *) shard_column(alter, castNode(ColumnDef, cmd->def));
				if (has_default(castNode(ColumnDef, cmd->def)))
					second->cmds = lappend(second->cmds, drop_default(castNode(ColumnDef, cmd->def)->colname));
				break;
			case SCOPE_SHARDS:
				if (cmd->subtype == AT_AlterColumnType)
					use_sequences_of_cluster(castNode(ColumnDef, cmd->def)->raw_default);
				break;
		}
		first->cmds = lappend(first->cmds, cmd);
	}
	return list_concat(first->cmds == NIL ? NIL : list_make1(first), second->cmds == NIL ? NIL : list_make1(second));
}

/* The statement for the shards once they have new constraints, or NULL. */
static Node *
late_shard_statement(const AlterTableCall *alter)
{
	AlterTableStmt *late = copyObject(alter->stmt);

	late->cmds = NIL;
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (subcommand_scope(alter, cmd) == SCOPE_LATE && !is_about_global_key(alter, cmd))
			late->cmds = lappend(late->cmds, copyObject(cmd));
	return late->cmds == NIL ? NULL : (Node *) late;
}

/*
 * Whether a constraint was made by this statement: there was none of its name,
 * or the statement drops that.  (The server itself recreates constraints of an
 * altered column, in the shards as well, and the shards' own statement makes
 * those of indexes.)
 */
static bool
constraint_is_new(const AlterTableCall *alter, const char *name)
{
	ListCell   *cell;
	bool		existed = false;

	foreach(cell, alter->constraints_before)
		existed |= (strcmp(lfirst(cell), name) == 0);
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (cmd->subtype == AT_DropConstraint && strcmp(cmd->name, name) == 0)
			existed = false;
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (constraint_of_index(cmd) != NULL && strcmp(constraint_of_index(cmd), name) == 0)
			existed = true;
	return !existed;
}

/* Whether a constraint is about a column that is filled later. */
static bool
constraint_waits(const AlterTableCall *alter, Oid constraint)
{
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
	{
		const char *column = cmd->subtype == AT_AddColumn ? castNode(ColumnDef, cmd->def)->colname : NULL;

		if (column != NULL && draws_from_sequence(alter, column) &&
			constraint_has_column(constraint, get_attnum(alter->table->relid, column)))
			return true;
	}
	return false;
}

/*
 * The new constraints (Oids) that the shards get before, or after, such
 * columns are filled.
 */
static List *
new_constraints(const AlterTableCall *alter, bool late)
{
	List	   *names;
	List	   *constraints = constraints_of_table(alter->table->relid, &names);
	List	   *result = NIL;
	ListCell   *cell;
	ListCell   *name;

	forboth(cell, constraints, name, names)
	{
		if (constraint_is_new(alter, lfirst(name)) && constraint_waits(alter, lfirst_oid(cell)) == late)
			result = lappend_oid(result, lfirst_oid(cell));
	}
	return result;
}

/*
 * The names (char *) of constraints that the server is about to check for
 * VALIDATE CONSTRAINT.  For a relayed statement, all that it names: the
 * initiator relays it only if it checks some.
 */
static List *
unchecked_constraints(const AlterTableCall *alter)
{
	List	   *result = NIL;

	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
	{
		Oid			constraint;

		if (cmd->subtype != AT_ValidateConstraint)
			continue;
		constraint = get_relation_constraint_oid(alter->table->relid, cmd->name, true);
		if (alter->call->relayed || (OidIsValid(constraint) && !constraint_is_valid(constraint)))
			result = lappend(result, pstrdup(cmd->name));
	}
	return result;
}

/*
 * The names (char *) of foreign keys that shards don't have.  Errors if the
 * statement changes whether one of them is enforced.
 */
static List *
global_key_names(const AlterTableCall *alter)
{
	List	   *names;
	List	   *constraints = constraints_of_table(alter->table->relid, &names);
	List	   *result = NIL;
	ListCell   *cell;
	ListCell   *name;

	forboth(cell, constraints, name, names)
	{
		if (!constraint_is_global(lfirst_oid(cell)))
			continue;
		result = lappend(result, lfirst(name));
		foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
			if (changes_enforcement(cmd) && strcmp(*altered_constraint_name(cmd), lfirst(name)) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot alter foreign key \"%s\" between rows of different nodes", (char *) lfirst(name)),
						 errhint("Drop the constraint, and add it again.")));
	}
	return result;
}

/* Whether the statement only checks constraints that are valid already. */
static bool
checks_nothing(const AlterTableCall *alter)
{
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (cmd->subtype != AT_ValidateConstraint)
			return false;
	return alter->unchecked == NIL;
}

/*
 * Says that constraints are to be checked in shards as well: an application
 * may have said so of the logical table, by an UPDATE of pg_constraint.
 */
static void
uncheck_shard_constraints(const AlterTableCall *alter)
{
	ListCell   *cell;

	foreach(cell, alter->unchecked)
	{
		foreach_oid(relid, find_all_inheritors(alter->table->relid, NoLock, NULL))
			if (metadata_lookup(relid) != NULL)
				shards_uncheck_constraint(metadata_lookup(relid), lfirst(cell));
	}
}

/* Whether the server may have chosen names of NOT NULL constraints. */
static bool
may_add_not_null(const AlterTableStmt *stmt)
{
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
		if (cmd->subtype == AT_AddColumn || cmd->subtype == AT_SetNotNull || cmd->subtype == AT_AddConstraint)
			return true;
	return false;
}

/* Does to this node's shards what has been done to the logical table. */
static void
alter_shards(const AlterTableCall *alter)
{
	const DistTable *table = metadata_require(alter->table->relid);
	Node	   *late = late_shard_statement(alter);
	ListCell   *cell;

	if (local_shard_indexes(table) == NIL)
		return;
	publication_part_from_moves(alter->stmt, table->relid);
	foreach(cell, shard_statements(alter))
		run_on_local_shards(table, lfirst(cell), alter->call->query);
	default_action_forget(local_shard_relids(table));
	foreach_oid(constraint, new_constraints(alter, false))
		add_shard_constraint(table, constraint, alter->stmt->relation->inh);
	uncheck_shard_constraints(alter);
	if (late != NULL)
		run_on_local_shards(table, late, alter->call->query);
	if (may_add_not_null(alter->stmt))
		name_not_null_of_shards(table->relid);
}

/*
 * Errors unless each node can compute, by the column's own definition, the
 * values of a new column whose default the statement replaces.
 */
static void
check_replaced_default(const AlterTableCall *alter, const ColumnDef *definition)
{
	if (!definition_is_immutable(definition, get_atttype(alter->table->relid, get_attnum(alter->table->relid, definition->colname))))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot add column \"%s\" to distributed or reference table \"%s\" and replace its default in one statement",
						definition->colname, get_rel_name(alter->table->relid)),
				 errdetail("The first default is not immutable, and would give existing rows other values on each node."),
				 errhint("Use two ALTER TABLE statements.")));
}

/*
 * Errors if the nodes would compute different values for a new column of a
 * reference table.
 */
static void
check_new_column(const AlterTableCall *alter, const ColumnDef *definition)
{
	Oid			relid = alter->table->relid;
	const char *column = definition->colname;
	AttrNumber	attno = get_attnum(relid, column);

	if (default_is_replaced(alter, column))
		check_replaced_default(alter, definition);
	else if (alter->table->kind == DIST_REFERENCE && column_default_is_volatile(relid, attno) &&
		!relation_is_empty(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot add column \"%s\" with a volatile default to reference table \"%s\"", column,
						get_rel_name(relid)),
				 errdetail("Each node would compute other values for the rows that exist."),
				 errhint("Add the column without default, set the default, and UPDATE the rows.")));
}

/*
 * Errors if shards can't enforce the constraints that the logical table now
 * has.
 */
static void
check_altered_table(const AlterTableCall *alter)
{
	Relation	rel = table_open(alter->table->relid, AccessShareLock);	/* ALTER INDEX has locked the index alone */

	check_unique_indexes(rel, alter->table->dist_attno);
	if (alter->table->kind != DIST_REFERENCE)
		check_no_tableoid(rel);
	table_close(rel, NoLock);
	check_foreign_keys(alter->table->relid);
	check_triggers(alter->table->relid);
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (cmd->subtype == AT_AddColumn)
			check_new_column(alter, castNode(ColumnDef, cmd->def));
}

/*
 * Fills a new column of existing rows with values that the initiator computes:
 * for a default that uses a sequence, since other nodes can't draw values
 * before commit, or one that differs between nodes.  Fires no user triggers.
 */
static void
fill_column(const AlterTableCall *alter, const char *column)
{
	Oid			relid = alter->table->relid;
	char	   *name = relation_qualified_name(relid);
	char	   *not_null = psprintf("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", name, quote_identifier(column));
	int			level = NewGUCNestLevel();

	(void) set_config_option("session_replication_role", "replica", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
	run_commands(list_make1(psprintf("UPDATE %s SET %s = DEFAULT", name, quote_identifier(column))));
	AtEOXact_GUC(true, level);
	if (!column_is_not_null(relid, get_attnum(relid, column)))
		return;
	utility_relay_text(alter->call, not_null);
	run_commands_on_local_shards(metadata_require(relid), list_make1(not_null));
	name_not_null_of_shards(relid);
}

static void
fill_columns(const AlterTableCall *alter)
{
	if (alter->call->relayed)
		return;
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
	{
		Oid			relid = alter->table->relid;
		const char *column;

		if (cmd->subtype != AT_AddColumn || default_is_replaced(alter, castNode(ColumnDef, cmd->def)->colname))
			continue;
		column = castNode(ColumnDef, cmd->def)->colname;
		if ((alter->table->kind != DIST_REFERENCE && draws_from_sequence(alter, column)) ||
			default_differs(relid, get_attnum(relid, column)))
			fill_column(alter, column);
	}
	if (alter->table->kind != DIST_REFERENCE)
		add_late_constraints(alter->call, metadata_require(alter->table->relid), new_constraints(alter, true),
							 alter->stmt->relation->inh);
}

/*
 * Gives existing rows the same value of a stable default, such as now(),
 * everywhere: the value in the initiator's logical table.
 */
static void
spread_missing_values(const AlterTableCall *alter)
{
	Oid			relid = alter->table->relid;

	if (alter->call->relayed)
		return;
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
	{
		char	   *column;
		char	   *value;

		if (cmd->subtype != AT_AddColumn)
			continue;
		column = castNode(ColumnDef, cmd->def)->colname;
		value = missing_value_text(relid, get_attnum(relid, column));
		if (value == NULL)
			continue;
		utility_relay_call(alter->call, node_call(NODE_set_missing_value, node_text(relation_qualified_name(relid)),
												  node_text(column), node_text(value)));
		set_missing_value(relid, column, value);
	}
}

/* The partition that a subcommand attaches or detaches, or InvalidOid. */
static Oid
partition_of_command(const AlterTableCmd *cmd)
{
	if (cmd->subtype != AT_AttachPartition && cmd->subtype != AT_DetachPartition)
		return InvalidOid;
	return RangeVarGetRelid(castNode(PartitionCmd, cmd->def)->name, NoLock, true);
}

/*
 * ALTER of a local table, which must not get a foreign key to a distributed
 * one if it has rows.
 */
static bool
alter_local_table(UtilityCall *call, Oid relid)
{
	AlterTableStmt *stmt = castNode(AlterTableStmt, call->pstmt->utilityStmt);
	bool		adds = false;
	List	   *known;
	List	   *names;

	if (stmt->objtype != OBJECT_TABLE)
		return false;
	known = constraints_of_table(relid, &names);
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
	{
		if (cmd->subtype == AT_AddInherit || cmd->subtype == AT_AttachPartition)
			check_not_inherited(cmd->subtype == AT_AddInherit ? castNode(RangeVar, cmd->def) :
								castNode(PartitionCmd, cmd->def)->name);
		if (enforces_constraint(cmd))
			known = list_delete_oid(known, get_relation_constraint_oid(relid, *altered_constraint_name(cmd), true));
		adds |= (cmd->subtype == AT_AddConstraint || cmd->subtype == AT_AddColumn || enforces_constraint(cmd));
	}
	if (!adds)
		return false;
	utility_run(call);
	check_added_foreign_keys(relid, known);
	return true;
}

/* Whether ALTER TYPE has CASCADE. */
static bool
alters_typed_tables(const AlterTableStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->cmds)
	{
		if (lfirst_node(AlterTableCmd, cell)->behavior == DROP_CASCADE)
			return true;
	}
	return false;
}

/*
 * Errors if the statement would make the copies of a reference table differ.
 */
static void
check_transforms(const AlterTableCall *alter)
{
	if (alter->call->relayed || alter->table->kind != DIST_REFERENCE)
		return;
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
	{
		if (cmd->subtype == AT_AlterColumnType && castNode(ColumnDef, cmd->def)->raw_default != NULL)
			check_new_values(alter->table->relid, cmd->name, castNode(ColumnDef, cmd->def)->raw_default);
	}
}

/*
 * Whether the server makes foreign keys of shards again, because columns of
 * the table that they reference change their types.
 */
static bool
rebuilds_keys_of_shards(const AlterTableCall *alter)
{
	if (alter->table->kind != DIST_REFERENCE)
		return false;
	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
		if (cmd->subtype == AT_AlterColumnType)
			return true;
	return false;
}

/*
 * Locks on all nodes the tables that foreign keys reference which the
 * statement adds or drops.
 */
static void
lock_referenced_tables(const AlterTableCall *alter)
{
	Oid			relid = alter->table->relid;
	List	   *added = NIL;
	List	   *dropped = NIL;

	foreach_node(AlterTableCmd, cmd, alter->stmt->cmds)
	{
		const DistTable *other;

		if (cmd->subtype == AT_AddConstraint && castNode(Constraint, cmd->def)->contype == CONSTR_FOREIGN)
		{
			other = dist_table_of_rangevar(castNode(Constraint, cmd->def)->pktable);
			if (other != NULL && other->relid != relid)
				added = list_append_unique_oid(added, other->relid);
		}
		else if (cmd->subtype == AT_DropConstraint)
			dropped = list_concat_unique_oid(dropped, referenced_tables(relid, cmd->name, 0));
		else if (cmd->subtype == AT_DropColumn && get_attnum(relid, cmd->name) > 0)
			dropped = list_concat_unique_oid(dropped, referenced_tables(relid, NULL, get_attnum(relid, cmd->name)));
	}
	lock_others_everywhere(added, ShareRowExclusiveLock);
	lock_others_everywhere(dropped, AccessExclusiveLock);
}

bool
alter_table_utility(UtilityCall *call)
{
	AlterTableCall alter = {call};
	AlterTableStmt *stmt = castNode(AlterTableStmt, call->pstmt->utilityStmt);
	LOCKMODE	mode;
	Oid			relid;

	if (stmt->objtype == OBJECT_TYPE && alters_typed_tables(stmt))
		check_no_typed_tables(RangeVarGetRelid(stmt->relation, NoLock, true));
	if (stmt->objtype != OBJECT_TABLE && stmt->objtype != OBJECT_INDEX)
		return false;
	detach_at_once(call);
	mode = AlterTableGetLockLevel(stmt->cmds);
	alter.table = utility_table(call, stmt->relation, mode, stmt->objtype == OBJECT_INDEX ? AccessShareLock : mode);
	if (alter.table == NULL)
	{
		relid = RangeVarGetRelid(stmt->relation, NoLock, true);
		return OidIsValid(relid) ? alter_local_table(call, relid) : false;
	}
	relid = AlterTableLookupRelation(stmt, mode);
	alter.table = dist_table_of_relation(relid);
	if (alter.table == NULL)
		return false;
	alter.stmt = copyObject(stmt);
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
		(void) subcommand_scope(&alter, cmd);
	if (stmt->objtype == OBJECT_TABLE && OidIsValid(partition_of_command(linitial(stmt->cmds))))
		return alter_partition(call, alter.table, partition_of_command(linitial(stmt->cmds)));
	check_transforms(&alter);
	if (!call->relayed)
		lock_referenced_tables(&alter);
	(void) constraints_of_table(alter.table->relid, &alter.constraints_before);
	alter.unchecked = unchecked_constraints(&alter);
	alter.global_keys = global_key_names(&alter);

	foreach_node(AlterTableCmd, cmd, stmt->cmds)
		if (cmd->subtype == AT_AlterColumnType)
			global_indexes_drop_entries(relid, cmd->name);
	run_commands_set_rebuilds_keys(rebuilds_keys_of_shards(&alter));
	utility_run(call);
	run_commands_set_rebuilds_keys(false);
	if (checks_nothing(&alter))
		return true;
	CommandCounterIncrement();
	check_altered_table(&alter);
	global_keys_set_modes(alter.table->relid);
	relay_needs(call, alter.table->relid);
	sequences_changed(alter.table->relid);
	utility_relay(call);
	alter_shards(&alter);
	name_indexes_of_partitions(alter.table->relid);
	name_keys_of_partitions(alter.table->relid);
	spread_missing_values(&alter);
	fill_columns(&alter);
	if (!call->relayed)
	{
		global_indexes_create(alter.table->relid);
		global_keys_create(alter.table->relid, false);
		global_keys_validate(alter.table->relid, alter.unchecked);
	}
	return true;
}
