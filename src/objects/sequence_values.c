/*-------------------------------------------------------------------------
 *
 * sequence_values.c
 *	  Values of a sequence that all nodes have, drawn on any of them.
 *
 * Such a sequence has the same definition on every node, and the coordinator's
 * is authoritative.  Another node takes blocks of values from there, which all
 * its sessions share.  The rest of a block is lost when the server stops, or
 * when another sequence needs its slot in the store: sequences may have gaps.
 * Each block is longer than the last one, up to a small part of the sequence's
 * range.
 *
 * The node's own sequence is closed: it is at its end, so that a call that the
 * planner hasn't replaced by citus_internal.nextval()
 * (planner/replaced_function.c) fails instead of returning a value that
 * another node may return as well.
 *
 * setval() sets the coordinator's sequence.  As after ALTER SEQUENCE and
 * TRUNCATE ..  RESTART IDENTITY, all nodes then discard their stored values:
 * code that changes a sequence calls sequence_changed() on each node.  A block
 * that is requested at that time is discarded as well, since
 * SequenceStore.changes has changed.  One that is taken between a change and
 * its COMMIT is discarded at the COMMIT.
 *
 * Locks: the store's lightweight lock is held for a moment only.  Only one
 * session of a node requests a block of a sequence at a time (by an object
 * lock).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "catalog/node_session.h"
#include "catalog/object_scope.h"
#include "compat/sql_function.h"
#include "lib/shared_area.h"
#include "lib/transaction_end.h"
#include "objects/sequence_values.h"
#include "planner/replaced_function.h"
#include "remote/connection.h"
#include "remote/node_call.h"
#include "table/definition.h"

SQL_FUNCTION(citus_internal_nextval);
SQL_FUNCTION(citus_internal_currval);
SQL_FUNCTION(citus_internal_lastval);
SQL_FUNCTION(citus_internal_setval);
SQL_FUNCTION(citus_internal_take_sequence_values);
SQL_FUNCTION(citus_internal_adopt_sequence);

/*
 * A sequence has its slot in one of STORE_SETS, beside STORE_WAYS - 1 others.
 */
#define STORE_SETS 256
#define STORE_WAYS 4

/*
 * The longest block; and the largest part of a sequence's range in one block.
 */
#define FIRST_BLOCK 16
#define LONGEST_BLOCK 1024
#define RANGE_PART 1024

/* The values of a sequence that this node has. */
typedef struct StoredBlock
{
	Oid			database;		/* InvalidOid: the slot is free */
	Oid			seqid;
	int64		next;
	int64		increment;
	int32		left;			/* values, from next on */
	int32		length;			/* of the last block */
} StoredBlock;

typedef struct SequenceStore
{
	SharedHeader header;
	uint64		changes;		/* counts calls of give_up_values */
	uint32		last_victim;
	StoredBlock blocks[STORE_SETS][STORE_WAYS];
} SequenceStore;

/* This session's state of a sequence. */
typedef struct SequenceUse
{
	Oid			seqid;			/* key */
	bool		scope_known;
	bool		everywhere;		/* all nodes have it */
	bool		has_value;
	int64		value;			/* for currval() */
} SequenceUse;

static SequenceStore *sequence_store = NULL;
static HTAB *sequence_uses = NULL;

/*
 * The sequence of lastval(): InvalidOid if the server's own nextval() was
 * called last.
 */
static Oid	last_sequence = InvalidOid;

/* Sequences that this transaction has changed; in TopMemoryContext. */
static List *changed_sequences = NIL;

static void
forget_scope(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	SequenceUse *use;

	hash_seq_init(&status, sequence_uses);
	while ((use = hash_seq_search(&status)) != NULL)
	{
		if (relid == InvalidOid || relid == use->seqid)
			use->scope_known = false;
	}
}

static SequenceUse *
sequence_use(Oid seqid)
{
	SequenceUse *use;
	bool		found;

	if (sequence_uses == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(SequenceUse)};

		sequence_uses = hash_create("citus sequences", 64, &ctl, HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(forget_scope, (Datum) 0);
	}
	use = hash_search(sequence_uses, &seqid, HASH_ENTER, &found);
	if (!found)
	{
		use->scope_known = false;
		use->has_value = false;
	}
	if (!use->scope_known)
	{
		ObjectAddress object = {RelationRelationId, seqid, 0};
		char		relkind = get_rel_relkind(seqid);

		if (relkind == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation with OID %u does not exist", seqid)));
		use->everywhere = relkind == RELKIND_SEQUENCE && !object_is_local(&object);
		use->scope_known = true;
	}
	return use;
}

/* Whether the coordinator gives the sequence's values to this node. */
static bool
draws_from_coordinator(const SequenceUse *use)
{
	return use->everywhere && metadata_local_group() > COORDINATOR_GROUP;
}

static void
check_sequence_rights(Oid seqid, AclMode mode)
{
	if (pg_class_aclcheck(seqid, GetUserId(), mode) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for sequence %s", get_rel_name(seqid))));
}

/*
 * The slot of a sequence in the locked store; NULL if it has none and make
 * is false.
 */
static StoredBlock *
stored_block(Oid seqid, bool make)
{
	StoredBlock *set = sequence_store->blocks[hash_bytes_uint32(seqid ^ MyDatabaseId) % STORE_SETS];
	StoredBlock *slot = NULL;

	for (int i = 0; i < STORE_WAYS; i++)
	{
		if (set[i].database == MyDatabaseId && set[i].seqid == seqid)
			return &set[i];
		if (!OidIsValid(set[i].database))
			slot = &set[i];
	}
	if (!make)
		return NULL;
	if (slot == NULL)
		slot = &set[sequence_store->last_victim++ % STORE_WAYS];
	*slot = (StoredBlock) {.database = MyDatabaseId,.seqid = seqid};
	return slot;
}

/*
 * Takes a value that is in store; else false, with the store's count of
 * changes and the length of the last block, or 0.
 */
static bool
take_stored(Oid seqid, int64 *value, uint64 *changes, int32 *length)
{
	StoredBlock *block;
	bool		found;

	LWLockAcquire(sequence_store->header.lock, LW_EXCLUSIVE);
	block = stored_block(seqid, false);
	found = block != NULL && block->left > 0;
	if (found)
	{
		*value = block->next;
		if (--block->left > 0)
			block->next += block->increment;
	}
	*changes = sequence_store->changes;
	*length = block == NULL ? 0 : block->length;
	LWLockRelease(sequence_store->header.lock);
	return found;
}

/*
 * Stores what follows the first value of a block, unless sequences have been
 * changed since it was asked for.
 */
static void
store_block(Oid seqid, int64 first, int64 last, int64 increment, uint64 changes, int32 length)
{
	LWLockAcquire(sequence_store->header.lock, LW_EXCLUSIVE);
	if (sequence_store->changes == changes)
	{
		StoredBlock *block = stored_block(seqid, true);

		block->length = length;
		block->increment = increment;
		block->left = (int32) ((last - first) / increment);
		block->next = block->left > 0 ? first + increment : first;
	}
	LWLockRelease(sequence_store->header.lock);
}

static void
give_up_values(Oid seqid)
{
	StoredBlock *block;

	LWLockAcquire(sequence_store->header.lock, LW_EXCLUSIVE);
	sequence_store->changes++;
	block = stored_block(seqid, false);
	if (block != NULL)
		block->database = InvalidOid;
	LWLockRelease(sequence_store->header.lock);
}

static void
give_up_changed(void)
{
	foreach_oid(sequence, changed_sequences)
		give_up_values(sequence);
	list_free(changed_sequences);
	changed_sequences = NIL;
}

static FormData_pg_sequence
sequence_form(Oid seqid)
{
	HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(seqid));
	FormData_pg_sequence form;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence with OID %u does not exist", seqid)));
	form = *(Form_pg_sequence) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return form;
}

/* How many values to ask for after a block of some length. */
static int32
next_length(const FormData_pg_sequence *form, int32 length)
{
	uint64		range = (uint64) form->seqmax - (uint64) form->seqmin;
	uint64		step = form->seqincrement > 0 ? form->seqincrement : -(uint64) form->seqincrement;
	uint64		most = range / step / RANGE_PART;

	length = length == 0 ? FIRST_BLOCK : Min(length * 2, LONGEST_BLOCK);
	return (int32) Max(Min((uint64) length, most), 1);
}

/* Asks the coordinator, also in a call that uses this node alone. */
static RemoteResult *
ask_for_block(const char *command)
{
	RemoteResult *volatile result = NULL;

	node_session_asks = true;
	PG_TRY();
	{
		result = remote_read(COORDINATOR_GROUP, command);
	}
	PG_FINALLY();
	{
		node_session_asks = false;
	}
	PG_END_TRY();
	return result;
}

/*
 * Asks the coordinator for a block, and stores all but its first value, which
 * is returned.
 */
static int64
take_block(Oid seqid, uint64 changes, int32 length)
{
	FormData_pg_sequence form = sequence_form(seqid);
	RemoteResult *result;
	int64		ends[2];		/* first and last value */

	length = next_length(&form, length);
	result = ask_for_block(node_call(NODE_take_sequence_values, node_text(relation_qualified_name(seqid)), node_int(length)));
	if (node_int64s(remote_value(result, 0, 0), ends, 2) != 2)
		elog(ERROR, "expected two values, got %s", remote_value(result, 0, 0));
	store_block(seqid, ends[0], ends[1], form.seqincrement, changes, length);
	return ends[0];
}

static int64
draw_value(Oid seqid)
{
	int64		value;
	uint64		changes;
	int32		length;

	if (take_stored(seqid, &value, &changes, &length))
		return value;
	LockDatabaseObject(SequenceRelationId, seqid, 1, ExclusiveLock);
	if (!take_stored(seqid, &value, &changes, &length))
		value = take_block(seqid, changes, length);
	UnlockDatabaseObject(SequenceRelationId, seqid, 1, ExclusiveLock);
	return value;
}

/*
 * Whether a call is for an identity column, for which the server checks no
 * rights; users can't write such a call.
 */
static bool
call_is_identity(FunctionCallInfo fcinfo)
{
	Node	   *call = fcinfo->flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) && ((FuncExpr *) call)->funcformat == COERCE_SQL_SYNTAX;
}

/* citus_internal.nextval(sequence regclass) */
Datum
citus_internal_nextval(PG_FUNCTION_ARGS)
{
	Oid			seqid = PG_GETARG_OID(0);
	SequenceUse *use = sequence_use(seqid);
	int64		value;

	if (!draws_from_coordinator(use))
	{
		use->has_value = false;
		last_sequence = InvalidOid;
		PG_RETURN_INT64(nextval_internal(seqid, !call_is_identity(fcinfo)));
	}
	if (!call_is_identity(fcinfo))
		check_sequence_rights(seqid, ACL_USAGE | ACL_UPDATE);
	PreventCommandIfReadOnly("nextval()");
	PreventCommandIfParallelMode("nextval()");
	value = draw_value(seqid);
	use = sequence_use(seqid);
	use->value = value;
	use->has_value = true;
	last_sequence = seqid;
	PG_RETURN_INT64(value);
}

/* citus_internal.currval(sequence regclass) */
Datum
citus_internal_currval(PG_FUNCTION_ARGS)
{
	Oid			seqid = PG_GETARG_OID(0);
	SequenceUse *use = sequence_use(seqid);

	if (!draws_from_coordinator(use))
		return DirectFunctionCall1(currval_oid, PG_GETARG_DATUM(0));
	check_sequence_rights(seqid, ACL_SELECT | ACL_USAGE);
	if (!use->has_value)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("currval of sequence \"%s\" is not yet defined in this session", get_rel_name(seqid))));
	PG_RETURN_INT64(use->value);
}

/* citus_internal.lastval() */
Datum
citus_internal_lastval(PG_FUNCTION_ARGS)
{
	if (!OidIsValid(last_sequence))
		return lastval(fcinfo);
	if (get_rel_relkind(last_sequence) != RELKIND_SEQUENCE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("lastval is not yet defined in this session")));
	check_sequence_rights(last_sequence, ACL_SELECT | ACL_USAGE);
	PG_RETURN_INT64(sequence_use(last_sequence)->value);
}

static void
set_here(Oid seqid, int64 value, bool is_called)
{
	DirectFunctionCall3(setval3_oid, ObjectIdGetDatum(seqid), Int64GetDatum(value), BoolGetDatum(is_called));
}

static char *
adopt_call(Oid seqid, int64 value, bool is_called)
{
	return node_call(NODE_adopt_sequence, node_text(relation_qualified_name(seqid)), node_bigint(value), node_bool(is_called));
}

/*
 * citus_internal.setval(sequence regclass, value bigint, is_called boolean
 * DEFAULT true)
 */
Datum
citus_internal_setval(PG_FUNCTION_ARGS)
{
	Oid			seqid = PG_GETARG_OID(0);
	int64		value = PG_GETARG_INT64(1);
	bool		is_called = PG_NARGS() < 3 || PG_GETARG_BOOL(2);
	SequenceUse *use = sequence_use(seqid);

	if (!use->everywhere)
	{
		set_here(seqid, value, is_called);
		PG_RETURN_INT64(value);
	}
	check_sequence_rights(seqid, ACL_UPDATE);
	PreventCommandIfReadOnly("setval()");
	PreventCommandIfParallelMode("setval()");
	if (metadata_local_group() == COORDINATOR_GROUP)
		set_here(seqid, value, is_called);
	else
		remote_exec(COORDINATOR_GROUP, adopt_call(seqid, value, is_called));
	foreach_ptr(const ClusterNode, node, node_active_primaries_remote())
		if (node->groupid != COORDINATOR_GROUP)
			remote_exec(node->groupid, adopt_call(seqid, value, is_called));
	give_up_values(seqid);
	use = sequence_use(seqid);
	if (is_called)
		use->value = value;
	use->has_value = use->has_value || is_called;
	PG_RETURN_INT64(value);
}

/*
 * citus_internal.take_sequence_values(sequence regclass, count integer)
 *
 * Draws up to that many values on the coordinator for another node, which has
 * checked its user's rights; the first and the last one.  Stops at a value
 * that doesn't follow the one before, since other sessions draw as well, and
 * doesn't use it.
 */
Datum
citus_internal_take_sequence_values(PG_FUNCTION_ARGS)
{
	Oid			seqid = PG_GETARG_OID(0);
	FormData_pg_sequence form;
	int64		first;
	int64		last;
	Datum		bounds[2];

	node_function_check(fcinfo);
	form = sequence_form(seqid);
	first = last = nextval_internal(seqid, false);
	for (int32 count = PG_GETARG_INT32(1); count > 1; count--)
	{
		int64		next;

		if (pg_add_s64_overflow(last, form.seqincrement, &next) || next > form.seqmax || next < form.seqmin ||
			nextval_internal(seqid, false) != next)
			break;
		last = next;
	}
	bounds[0] = Int64GetDatum(first);
	bounds[1] = Int64GetDatum(last);
	PG_RETURN_ARRAYTYPE_P(construct_array(bounds, 2, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

bool
sequence_is_closed(Oid seqid)
{
	return draws_from_coordinator(sequence_use(seqid));
}

void
sequence_changed(Oid seqid)
{
	static TransactionEnd end = {.run = give_up_changed};
	MemoryContext old;

	CacheInvalidateRelcacheByRelid(seqid);
	if (sequence_uses != NULL)
		forget_scope((Datum) 0, seqid);
	if (!draws_from_coordinator(sequence_use(seqid)))
		return;
	set_here(seqid, sequence_form(seqid).seqincrement > 0 ? sequence_form(seqid).seqmax : sequence_form(seqid).seqmin,
			 true);
	give_up_values(seqid);
	old = MemoryContextSwitchTo(TopMemoryContext);
	changed_sequences = list_append_unique_oid(changed_sequences, seqid);
	MemoryContextSwitchTo(old);
	at_transaction_end(&end);
}

void
sequences_changed(Oid relid)
{
	foreach_oid(sequence, getOwnedSequences(relid))
		sequence_changed(sequence);
}

void
sequence_reopen(Oid seqid)
{
	char	   *name = relation_qualified_name(seqid);
	RemoteResult *result;

	if (metadata_local_group() == COORDINATOR_GROUP)
		return;
	result = remote_query(COORDINATOR_GROUP, psprintf("SELECT last_value, is_called::int FROM %s", name), NULL);
	set_here(seqid, remote_int64(result, 0, 0), strcmp(remote_value(result, 0, 1), "1") == 0);
	give_up_values(seqid);
	CacheInvalidateRelcacheByRelid(seqid);
}

void
sequences_reopen(Oid relid)
{
	foreach_oid(sequence, getOwnedSequences(relid))
		sequence_reopen(sequence);
}

/*
 * citus_internal.adopt_sequence(sequence regclass, value bigint, is_called
 * boolean)
 *
 * For nodes: continues a sequence after a value that another node has drawn or
 * set, unless that is NULL.
 */
Datum
citus_internal_adopt_sequence(PG_FUNCTION_ARGS)
{
	node_function_check(fcinfo);
	if (metadata_local_group() != COORDINATOR_GROUP)
		sequence_changed(PG_GETARG_OID(0));
	else if (!PG_ARGISNULL(1))
		set_here(PG_GETARG_OID(0), PG_GETARG_INT64(1), PG_GETARG_BOOL(2));
	PG_RETURN_VOID();
}

/* Other nodes discard the values that they have stored. */
static bool
other_nodes_draw(void)
{
	return metadata_local_group() != COORDINATOR_GROUP || node_active_primaries_remote() != NIL;
}

/* The coordinator's own sequences are the authoritative ones. */
static bool
coordinator_draws(void)
{
	return metadata_local_group() != COORDINATOR_GROUP;
}

static const ReplacedFunction sequence_functions[] = {
	{F_NEXTVAL, "nextval", 1, {REGCLASSOID}, coordinator_draws},
	{F_CURRVAL, "currval", 1, {REGCLASSOID}, coordinator_draws},
	{F_LASTVAL, "lastval", 0, {0}, coordinator_draws},
	{F_SETVAL_REGCLASS_INT8, "setval", 2, {REGCLASSOID, INT8OID}, other_nodes_draw},
	{F_SETVAL_REGCLASS_INT8_BOOL, "setval", 3, {REGCLASSOID, INT8OID, BOOLOID}, other_nodes_draw},
};

void
sequence_values_init(void)
{
	static SharedArea area = {
		.name = "citus_sequences",
		.fixed = sizeof(SequenceStore),
		.memory = (SharedHeader **) &sequence_store,
	};

	shared_area_add(&area);
	replaced_functions_add(sequence_functions, lengthof(sequence_functions));
}
