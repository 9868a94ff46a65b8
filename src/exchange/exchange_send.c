/*-------------------------------------------------------------------------
 *
 * exchange_send.c
 *	  An aggregate that sends rows to other nodes, each by its hash value.
 *
 * A task of the form SELECT exchange_send(id, map, hash, columns ..) FROM ..
 * runs where the rows are.  Each row goes into the batch of the node that the
 * map gives for its hash value; a full batch is sent to its node, over a
 * connection of this session, outside of any transaction, and stored there
 * (exchange_store.c).  The node processes at most one batch of this task while
 * the next one is filled, which bounds memory; since it only stores rows and
 * never waits, nodes can't deadlock.
 *
 * The result is a name, the number of rows, and rows that are too few for
 * connections to their nodes (exchange_relay.c).  Readers read only the rows
 * of names that their initiator has received, so the rows of a task that was
 * repeated after a lost connection are read once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "catalog/metadata.h"
#include "compat/sql_function.h"
#include "compat/tuple_desc.h"
#include "exchange/exchange_relay.h"
#include "exchange/exchange_row.h"
#include "exchange/exchange_store.h"
#include "remote/connection.h"
#include "sharding/hash.h"

/* Arguments of the aggregate in front of the columns, without its state. */
#define FIRST_COLUMN 3

/* A node that rows go to. */
typedef struct ExchangeTarget
{
	RemoteOwner owner;			/* of conn; must be first */
	int32		groupid;
	RemoteConn *conn;			/* NULL before the first batch, and for this
								 * node */
	bool		sent;			/* a batch that is not answered */
	StringInfoData batch;
	struct ExchangeSend *send;
} ExchangeTarget;

/* From a hash value on, up to the next one, rows go to a target. */
typedef struct ExchangeRange
{
	int32		min;
	ExchangeTarget *target;		/* NULL: nowhere */
} ExchangeRange;

typedef struct ExchangeSend
{
	char		id[EXCHANGE_ID_SIZE];
	char		source[EXCHANGE_ID_SIZE];
	ExchangeRow *row;
	int64		nrows;
	bool		stores;			/* rows are stored under the source's name */
	Datum	   *values;
	bool	   *nulls;
	int			nranges;
	ExchangeRange *ranges;		/* in order */
	List	   *targets;
} ExchangeSend;

/* RemoteOwner.yield: another owner gets the connection. */
static void
exchange_yield(RemoteOwner *owner, RemoteConn *conn)
{
	ExchangeTarget *target = (ExchangeTarget *) owner;

	remote_finish(conn);
	target->conn = NULL;
	target->sent = false;
}

/*
 * Waits until a target has stored what it was sent; releases its connection.
 */
static void
release_target(ExchangeTarget *target)
{
	if (target->conn == NULL)
		return;
	if (target->sent)
		remote_finish(target->conn);
	target->sent = false;
	remote_release_to_node(target->conn, &target->owner);
	target->conn = NULL;
}

/*
 * A connection to a target.  Before a new one is opened, for which this
 * session may have to wait until other sessions have closed theirs, all others
 * are released: so no source holds connections that other sources wait for.
 */
static RemoteConn *
connect_target(ExchangeTarget *target)
{
	ListCell   *cell;

	if (!remote_has_idle(target->groupid))
		foreach(cell, target->send->targets)
			release_target(lfirst(cell));
	return remote_acquire_alone(target->groupid, &target->owner);
}

static bool
is_own_node(const ExchangeTarget *target)
{
	return target->groupid == metadata_local_group();
}

/* Empties a target's batch: sends it to its node. */
static void
flush_target(ExchangeTarget *target)
{
	if (target->batch.len == 0)
		return;
	if (!is_own_node(target))
	{
		if (target->conn == NULL)
			target->conn = connect_target(target);
		if (target->sent)
			remote_finish(target->conn);
		target->sent = true;
	}
	exchange_pass(target->conn, target->send->id, target->send->source, &target->batch);
	target->send->stores = true;
}

/* Waits until a target has stored all rows, and releases its connection. */
static void
finish_target(ExchangeTarget *target)
{
	flush_target(target);
	release_target(target);
}

/* The target for a node; -1 is none. */
static ExchangeTarget *
target_of_group(ExchangeSend *send, int32 groupid)
{
	ExchangeTarget *target;
	ListCell   *cell;

	if (groupid < 0)
		return NULL;
	foreach(cell, send->targets)
	{
		target = lfirst(cell);
		if (target->groupid == groupid)
			return target;
	}
	target = palloc0(sizeof(ExchangeTarget));
	target->owner.yield = exchange_yield;
	target->groupid = groupid;
	target->send = send;
	initStringInfo(&target->batch);
	send->targets = lappend(send->targets, target);
	return target;
}

/* Reads the map: pairs of a hash value and the node from there on. */
static void
read_exchange_map(ExchangeSend *send, ArrayType *map)
{
	const int32 *numbers = (const int32 *) ARR_DATA_PTR(map);

	if (ARR_NDIM(map) != 1 || ARR_HASNULL(map) || ARR_ELEMTYPE(map) != INT4OID || ARR_DIMS(map)[0] % 2 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the map of an exchange is not one of pairs")));
	send->nranges = ARR_DIMS(map)[0] / 2;
	send->ranges = palloc(sizeof(ExchangeRange) * send->nranges);
	for (int i = 0; i < send->nranges; i++)
	{
		send->ranges[i].min = numbers[2 * i];
		send->ranges[i].target = target_of_group(send, numbers[2 * i + 1]);
	}
}

/* The columns of the rows, as the call has them. */
static TupleDesc
call_columns(FunctionCallInfo fcinfo)
{
	int			ncolumns = PG_NARGS() - 1 - FIRST_COLUMN;
	TupleDesc	columns = CreateTemplateTupleDesc(ncolumns);

	for (int i = 0; i < ncolumns; i++)
		TupleDescInitEntry(columns, i + 1, NULL, get_fn_expr_argtype(fcinfo->flinfo, i + 1 + FIRST_COLUMN), -1, 0);
	TupleDescFinalize(columns);
	return columns;
}

static ExchangeSend *
exchange_send_create(FunctionCallInfo fcinfo)
{
	ExchangeSend *send = palloc0(sizeof(ExchangeSend));
	TupleDesc	columns = call_columns(fcinfo);

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("an exchange has no name or no map")));
	text_to_cstring_buffer(PG_GETARG_TEXT_PP(1), send->id, sizeof(send->id));
	exchange_name(send->source);
	read_exchange_map(send, PG_GETARG_ARRAYTYPE_P(2));
	send->row = exchange_row_create(columns, true);
	send->values = palloc(sizeof(Datum) * columns->natts);
	send->nulls = palloc(sizeof(bool) * columns->natts);
	return send;
}

/*
 * The target of a hash value: that of the last range that begins not after it.
 * A row without a hash value matches no other row; it is sent to the first
 * target.
 */
static ExchangeTarget *
target_of_hash(const ExchangeSend *send, bool isnull, int32 hash)
{
	if (isnull)
		return send->targets != NIL ? linitial(send->targets) : NULL;
	if (send->nranges == 0)
		return NULL;
	return send->ranges[hash_position(&send->ranges[0].min, sizeof(ExchangeRange), send->nranges, hash)].target;
}

/*
 * citus_internal.exchange_send_row(internal, id text, map integer[], hash
 * integer, VARIADIC "any"): the aggregate's transition.
 */
SQL_FUNCTION(citus_internal_exchange_send_row);
Datum
citus_internal_exchange_send_row(PG_FUNCTION_ARGS)
{
	ExchangeSend *send = PG_ARGISNULL(0) ? NULL : (ExchangeSend *) PG_GETARG_POINTER(0);
	ExchangeTarget *target;
	MemoryContext context;
	MemoryContext old_context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "exchange_send_row called outside of an aggregate");
	if (send == NULL)
	{
		old_context = MemoryContextSwitchTo(context);
		send = exchange_send_create(fcinfo);
		MemoryContextSwitchTo(old_context);
	}
	target = target_of_hash(send, PG_ARGISNULL(3), PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3));
	if (target == NULL)
		PG_RETURN_POINTER(send);
	for (int i = 0; i < PG_NARGS() - 1 - FIRST_COLUMN; i++)
	{
		send->values[i] = PG_GETARG_DATUM(i + 1 + FIRST_COLUMN);
		send->nulls[i] = PG_ARGISNULL(i + 1 + FIRST_COLUMN);
	}
	exchange_row_append(send->row, &target->batch, send->values, send->nulls);
	send->nrows++;
	if (target->batch.len >= EXCHANGE_BATCH_SIZE)
		flush_target(target);
	PG_RETURN_POINTER(send);
}

/* Whether the initiator is to pass the rows on. */
static bool
is_relayed(const ExchangeTarget *target)
{
	return target->batch.len > 0 && target->conn == NULL && !is_own_node(target);
}

/*
 * Whether the rows that are left for nodes that this session has no connection
 * to are too few for it to open some.
 */
static bool
is_little(const ExchangeSend *send)
{
	int64		size = 0;
	int			ntargets = 0;

	foreach_ptr(const ExchangeTarget, target, send->targets)
	{
		if (!is_relayed(target))
			continue;
		size += target->batch.len;
		ntargets++;
	}
	return size <= EXCHANGE_RELAY_SIZE && size <= (int64) ntargets * EXCHANGE_RELAY_TARGET_SIZE;
}

/* The answer, in the form that exchange_relay.c describes. */
static bytea *
make_answer(ExchangeSend *send)
{
	StringInfoData answer;
	char		name[EXCHANGE_ID_SIZE] = "";

	if (send->stores)
		memcpy(name, send->source, sizeof(name));
	pq_begintypsend(&answer);
	pq_sendint64(&answer, send->nrows);
	pq_sendbytes(&answer, name, sizeof(name));
	foreach_ptr(const ExchangeTarget, target, send->targets)
	{
		if (!is_relayed(target))
			continue;
		pq_sendint32(&answer, target->groupid);
		pq_sendint32(&answer, target->batch.len);
		pq_sendbytes(&answer, target->batch.data, target->batch.len);
	}
	return pq_endtypsend(&answer);
}

/*
 * citus_internal.exchange_send_end(internal): what exchange_relay_take is to
 * get; null if there were no rows.
 */
SQL_FUNCTION(citus_internal_exchange_send_end);
Datum
citus_internal_exchange_send_end(PG_FUNCTION_ARGS)
{
	ExchangeSend *send = PG_ARGISNULL(0) ? NULL : (ExchangeSend *) PG_GETARG_POINTER(0);
	bool		little;

	if (send == NULL)
		PG_RETURN_NULL();
	little = is_little(send);
	foreach_ptr(ExchangeTarget, target, send->targets)
		if (!little || !is_relayed(target))
			flush_target(target);
	foreach_ptr(ExchangeTarget, target, send->targets)
		if (!little || !is_relayed(target))
			finish_target(target);
	PG_RETURN_BYTEA_P(make_answer(send));
}
