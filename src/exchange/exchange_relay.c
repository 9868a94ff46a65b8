/*-------------------------------------------------------------------------
 *
 * exchange_relay.c
 *	  Rows that sources return to their initiator, which passes them on.
 *
 * A connection from node to node costs both of them more than a hundred
 * kilobytes that take another way.  So a source that has few rows for each
 * target returns them with its answer (exchange_send.c), and the initiator,
 * which has a connection to each source and each target anyway, sends them to
 * the targets, those of all sources together.  With n nodes, that takes n
 * connections instead of n for each target.
 *
 * An answer: the number of the source's rows (int64); its name
 * (EXCHANGE_ID_SIZE bytes), empty if it has sent none of them itself; then for
 * each target the node's group (int32), the length of its rows (int32), and
 * these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "catalog/metadata.h"
#include "compat/varlena.h"
#include "exchange/exchange_relay.h"
#include "remote/node_call.h"

/* A node that rows are passed to. */
typedef struct RelayTarget
{
	int32		groupid;
	RemoteConn *conn;			/* NULL: this node */
	StringInfoData batch;
} RelayTarget;

struct ExchangeRelay
{
	const char *id;
	char		source[EXCHANGE_ID_SIZE];	/* the relay's own name */
	bool		passed;			/* rows under that name */
	List	   *targets;
	ArrayBuildState *sources;
};

void
exchange_pass(RemoteConn *conn, const char *id, const char *source, StringInfo batch)
{
	char	   *values[] = {unconstify(char *, id), unconstify(char *, source), batch->data};
	int			lengths[] = {strlen(id), strlen(source), batch->len};
	int			formats[] = {1, 1, 1};
	RemoteParams params = {.count = 3,.types = node_types(NODE_exchange_receive),.values = values,.lengths = lengths,.formats = formats};

	if (conn == NULL)
		exchange_store_append(id, source, batch->data, batch->len);
	else
		remote_send(conn, "SELECT citus_internal.exchange_receive($1, $2, $3)", &params, SEND_LONE);
	resetStringInfo(batch);
}

static void
add_relay_target(ExchangeRelay *relay, int32 groupid, RemoteConn *conn)
{
	RelayTarget *target = palloc(sizeof(RelayTarget));

	target->groupid = groupid;
	target->conn = conn;
	initStringInfo(&target->batch);
	relay->targets = lappend(relay->targets, target);
}

ExchangeRelay *
exchange_relay_create(const char *id, const List *conns)
{
	ExchangeRelay *relay = palloc0(sizeof(ExchangeRelay));

	relay->id = id;
	exchange_name(relay->source);
	relay->sources = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	add_relay_target(relay, metadata_local_group(), NULL);
	foreach_ptr(RemoteConn, conn, conns)
		add_relay_target(relay, conn->groupid, conn);
	return relay;
}

/* Waits until a target has stored what it was sent. */
static void
await_relay_target(const RelayTarget *target)
{
	if (target->conn != NULL && target->conn->state == REMOTE_BUSY)
		remote_finish(target->conn);
}

static void
flush_relay_target(ExchangeRelay *relay, RelayTarget *target)
{
	if (target->batch.len == 0)
		return;
	await_relay_target(target);
	exchange_pass(target->conn, relay->id, relay->source, &target->batch);
	relay->passed = true;
}

/* Takes a source's rows for one target off its answer. */
static void
take_relayed_rows(ExchangeRelay *relay, StringInfo answer)
{
	int32		groupid = (int32) pq_getmsgint(answer, sizeof(int32));
	int			len = (int) pq_getmsgint(answer, sizeof(int32));
	const char *rows = pq_getmsgbytes(answer, len);

	foreach_ptr(RelayTarget, target, relay->targets)
	{
		if (target->groupid != groupid)
			continue;
		appendBinaryStringInfo(&target->batch, rows, len);
		if (target->batch.len >= EXCHANGE_BATCH_SIZE)
			flush_relay_target(relay, target);
		return;
	}
	elog(ERROR, "a source of an exchange has rows for group %d, which doesn't hold it", groupid);
}

static void
add_source(ExchangeRelay *relay, const char *name)
{
	relay->sources = accumArrayResult(relay->sources, CStringGetTextDatum(name), false, TEXTOID, CurrentMemoryContext);
}

int64
exchange_relay_take(ExchangeRelay *relay, bytea *answer)
{
	StringInfoData data = {.data = VARDATA_ANY(answer),.len = VARSIZE_ANY_EXHDR(answer),.maxlen = VARSIZE_ANY_EXHDR(answer)};
	int64		nrows = pq_getmsgint64(&data);
	char		name[EXCHANGE_ID_SIZE];

	pq_copymsgbytes(&data, name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (name[0] != '\0')
		add_source(relay, name);
	while (data.cursor < data.len)
		take_relayed_rows(relay, &data);
	return nrows;
}

ArrayType *
exchange_relay_end(ExchangeRelay *relay)
{
	foreach_ptr(RelayTarget, target, relay->targets)
		flush_relay_target(relay, target);
	foreach_ptr(const RelayTarget, target, relay->targets)
		await_relay_target(target);
	if (relay->passed)
		add_source(relay, relay->source);
	return DatumGetArrayTypeP(makeArrayResult(relay->sources, CurrentMemoryContext));
}
