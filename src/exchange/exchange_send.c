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
 * The result is a name and the number of rows.  Readers read only the rows of
 * names that their initiator has received, so the rows of a task that was
 * repeated after a lost connection are read once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "catalog/metadata.h"
#include "compat/sql_function.h"
#include "exchange/exchange_row.h"
#include "exchange/exchange_store.h"
#include "remote/connection.h"
#include "remote/node_call.h"
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

/* Sends a target's batch to its node. */
static void
send_batch(ExchangeTarget *target)
{
	char	   *values[] = {target->send->id, target->send->source, target->batch.data};
	int			lengths[] = {strlen(values[0]), strlen(values[1]), target->batch.len};
	int			formats[] = {1, 1, 1};
	RemoteParams params = {.count = 3,.types = node_types(NODE_exchange_receive),.values = values,.lengths = lengths,.formats = formats};

	if (target->conn == NULL)
		target->conn = connect_target(target);
	if (target->sent)
		remote_finish(target->conn);
	remote_send(target->conn, "SELECT citus_internal.exchange_receive($1, $2, $3)", &params, SEND_LONE);
	target->sent = true;
}

/* Empties a target's batch. */
static void
flush_target(ExchangeTarget *target)
{
	if (target->batch.len == 0)
		return;
	if (target->groupid == metadata_local_group())
		exchange_store_append(target->send->id, target->send->source, target->batch.data, target->batch.len);
	else
		send_batch(target);
	resetStringInfo(&target->batch);
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

/*
 * citus_internal.exchange_send_end(internal): the source's name and number of
 * rows, separated by a blank; null if there were none.
 */
SQL_FUNCTION(citus_internal_exchange_send_end);
Datum
citus_internal_exchange_send_end(PG_FUNCTION_ARGS)
{
	ExchangeSend *send = PG_ARGISNULL(0) ? NULL : (ExchangeSend *) PG_GETARG_POINTER(0);
	ListCell   *cell;

	if (send == NULL)
		PG_RETURN_NULL();
	foreach(cell, send->targets)
		flush_target(lfirst(cell));
	foreach(cell, send->targets)
		finish_target(lfirst(cell));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s " INT64_FORMAT, send->source, send->nrows)));
}
