/*-------------------------------------------------------------------------
 *
 * constraint.h
 *	  Constraints in statements and in pg_constraint.
 *
 * Since version 18 a table's NOT NULL is a constraint with a row in
 * pg_constraint, a constraint may be NOT ENFORCED, what ALTER CONSTRAINT says
 * is a node of its own (before, that is a Constraint), and what violates
 * RESTRICT has another error than what violates NO ACTION.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CITUS_COMPAT_CONSTRAINT_H
#define CITUS_COMPAT_CONSTRAINT_H

#include "postgres.h"

#include "catalog/pg_constraint.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"

/* Before version 17 there are no such rows. */
#ifndef CONSTRAINT_NOTNULL
#define CONSTRAINT_NOTNULL 'n'
#endif

/* Whether NOT NULL of tables has names. */
#if PG_VERSION_NUM >= 180000
#define NOT_NULL_HAS_NAMES true
#else
#define NOT_NULL_HAS_NAMES false
#endif

/* Whether RESTRICT of foreign keys has an error of its own. */
#if PG_VERSION_NUM >= 180000
#define RESTRICT_HAS_ERROR true
#else
#define RESTRICT_HAS_ERROR false
#endif

/* A constraint of a column, as the grammar makes it. */
static inline Constraint *
make_column_constraint(ConstrType type, Node *expression)
{
	Constraint *constraint = makeNode(Constraint);

	constraint->contype = type;
	constraint->raw_expr = expression;
	constraint->initially_valid = true;
	constraint->location = -1;
#if PG_VERSION_NUM >= 180000
	constraint->is_enforced = true;
#endif
	return constraint;
}

/* Where ALTER CONSTRAINT (AT_AlterConstraint) has the constraint's name. */
static inline char **
altered_constraint_name(AlterTableCmd *cmd)
{
#if PG_VERSION_NUM >= 180000
	return &castNode(ATAlterConstraint, cmd->def)->conname;
#else
	return &castNode(Constraint, cmd->def)->conname;
#endif
}

/* Whether a subcommand has a constraint enforced that may not have been. */
static inline bool
enforces_constraint(AlterTableCmd *cmd)
{
#if PG_VERSION_NUM >= 180000
	return cmd->subtype == AT_AlterConstraint && castNode(ATAlterConstraint, cmd->def)->alterEnforceability &&
		castNode(ATAlterConstraint, cmd->def)->is_enforced;
#else
	return false;
#endif
}

/* Whether a subcommand changes whether a constraint is enforced. */
static inline bool
changes_enforcement(AlterTableCmd *cmd)
{
#if PG_VERSION_NUM >= 180000
	return cmd->subtype == AT_AlterConstraint && castNode(ATAlterConstraint, cmd->def)->alterEnforceability;
#else
	return false;
#endif
}

/*
 * ALTER COLUMN .. SET EXPRESSION, whose def is the raw expression (since
 * version 17).
 */
#if PG_VERSION_NUM < 170000
#define AT_SetExpression ((AlterTableType) -1)
#endif

#endif							/* CITUS_COMPAT_CONSTRAINT_H */
