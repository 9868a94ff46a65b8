/*-------------------------------------------------------------------------
 *
 * modify_change.c
 *	  From a row of the table to its change.
 *
 * BEFORE ROW triggers are called here, since the row that they leave
 * determines the shard.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "executor/cursor.h"
#include "executor/modify.h"
#include "sharding/hash.h"

/* Whether an expression calls functions of users; for any node. */
static bool
calls_users_function(Oid funcid, void *context)
{
	return funcid >= FirstNormalObjectId;
}

static bool
users_function_walker(Node *node, void *context)
{
	return node != NULL && (check_functions_in_node(node, calls_users_function, NULL) ||
							expression_tree_walker(node, users_function_walker, context));
}

/*
 * Whether a null is a value of the domain.  False if only functions of users
 * could tell, which might fail, or count their calls.
 */
static bool
domain_has_null(Oid type, ExprContext *econtext)
{
	/* the reset of its context still uses it */
	DomainConstraintRef *ref = palloc(sizeof(DomainConstraintRef));

	InitDomainConstraintRef(type, ref, CurrentMemoryContext, true);
	econtext->domainValue_datum = (Datum) 0;
	econtext->domainValue_isNull = true;
	foreach_ptr(DomainConstraintState, constraint, ref->constraints)
	{
		bool		isnull;
		Datum		result;

		if (constraint->constrainttype == DOM_CONSTRAINT_NOTNULL ||
			users_function_walker((Node *) constraint->check_expr, NULL))
			return false;
		result = ExecEvalExprSwitchContext(constraint->check_exprstate, econtext, &isnull);
		if (!isnull && !DatumGetBool(result))
			return false;
	}
	return true;
}

/*
 * A node checks all values of the rows that it is sent against their domains.
 * Those of columns that aren't assigned can violate a constraint that is NOT
 * VALID, so they are left out where the domain has a null.
 */
void
modify_begin_updates(DistModifyState *state)
{
	for (int i = 0; state->plan.update_text != NULL && i < state->row_desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(state->row_desc, i);

		if (attribute->attisdropped || list_member_int(state->plan.written, attribute->attnum) ||
			get_typtype(attribute->atttypid) != TYPTYPE_DOMAIN ||
			!domain_has_null(attribute->atttypid, state->css.ss.ps.ps_ExprContext))
			continue;
		if (state->left_out == NULL)
			state->left_out = palloc0(sizeof(bool) * state->row_desc->natts);
		state->left_out[i] = true;
	}
}

/* The nulls of a row to be sent for an UPDATE. */
static bool *
sent_nulls(DistModifyState *state, bool *nulls)
{
	bool	   *result = nulls;

	if (state->left_out != NULL)
	{
		result = palloc(sizeof(bool) * state->row_desc->natts);
		for (int i = 0; i < state->row_desc->natts; i++)
			result[i] = nulls[i] || state->left_out[i];
	}
	return result;
}

RowIdentity
modify_row_identity(DistModifyState *state, Datum row, Datum ctid)
{
	RowIdentity identity = {.id = ctid};
	int			position = 0;

	if (state->table->kind != DIST_REFERENCE)
		return identity;
	modify_deform_row(state, row, state->image_values, state->image_nulls);
	identity.id = row_image_make(state->image, state->image_values, state->image_nulls);
	identity.keys = palloc(sizeof(Datum) * list_length(state->plan.key_attnos));
	foreach_int(attno, state->plan.key_attnos)
		identity.keys[position++] = state->image_values[attno - 1];
	return identity;
}

HeapTuple
modify_old_tuple(DistModifyState *state, Datum *values, bool *nulls)
{
	HeapTuple	tuple;

	if (state->triggers == NULL)
		return NULL;
	tuple = heap_form_tuple(state->row_desc, values, nulls);
	tuple->t_tableOid = OidIsValid(state->partition) ? state->partition : state->plan.relid;
	return tuple;
}

int
modify_stored_shard(DistModifyState *state, Datum *values, bool *nulls)
{
	AttrNumber	dist = state->table->dist_attno;

	return dist == 0 ? 0 :
		shard_index_of_stored(state->table, values[dist - 1], nulls[dist - 1]);
}

bool
modify_add_update(DistModifyState *state, TupleTableSlot *child, int shard, const RowIdentity *identity,
				  HeapTuple old, Datum *values, bool *nulls)
{
	int			new_shard = shard;

	if (state->triggers != NULL && !triggers_before_update(state->triggers, old, values, nulls))
		return false;
	modify_check_new_row(state, values, nulls);
	if (state->plan.moves_rows)
		new_shard = modify_stored_shard(state, values, nulls);
	if (new_shard == shard && !state->plan.replaces_rows)
		modify_add_change(state, &state->pending.updates, shard, identity, values, sent_nulls(state, nulls), child);
	else
	{
		cursor_row_moves(state->plan.relid);
		modify_add_change(state, &state->pending.moves, shard, identity, NULL, NULL, child);
		modify_add_change(state, &state->pending.inserts, new_shard, NULL, values, nulls, child);
	}
	if (state->triggers != NULL)
		triggers_after_update(state->triggers, old, values, nulls);
	return true;
}
