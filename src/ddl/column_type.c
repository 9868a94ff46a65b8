/*-------------------------------------------------------------------------
 *
 * column_type.c
 *	  What ALTER COLUMN .. TYPE does to stored values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_type.h"
#include "utils/lsyscache.h"

#include "ddl/column_type.h"

bool
column_type_keeps_values(Oid relid, const AlterTableCmd *cmd)
{
	ColumnDef  *column = castNode(ColumnDef, cmd->def);
	AttrNumber	attno = get_attnum(relid, cmd->name);
	Oid			type;
	Oid			new_type;
	Oid			collation;
	int32		typmod;
	int32		new_typmod;
	Node	   *value;

	get_atttypetypmodcoll(relid, attno, &type, &typmod, &collation);
	typenameTypeIdAndMod(NULL, column->typeName, &new_type, &new_typmod);
	if (column->raw_default != NULL || new_type != type || GetColumnDefCollation(NULL, column, type) != collation)
		return false;
	/* functions that change lengths are left out where they do nothing */
	value = (Node *) makeVar(1, attno, type, typmod, collation, 0);
	value = coerce_to_target_type(NULL, value, type, new_type, new_typmod, COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
	value = (Node *) expression_planner((Expr *) value);
	while (IsA(value, RelabelType))
		value = (Node *) castNode(RelabelType, value)->arg;
	return IsA(value, Var);
}
