/*-------------------------------------------------------------------------
 *
 * wait_graph.c
 *	  The wait edges of all nodes, merged.
 *
 * In addition to the edges for locks, there are edges over the network, which
 * follow from the states of the two ends of a connection:
 *
 *	  the session that was opened waits for its client's next message
 *			it waits for its opener, since its transaction ends with that one's
 *	  it does anything else, and the opener isn't waiting for its own client
 *			the opener waits for it
 *
 * A process that waits for a prepared transaction waits for the process that
 * is to end it, if that process still exists.
 *
 * A session that waits for its opener to take its answer waits for it only if
 * that one waits for a lock: otherwise the opener is reading.
 *
 * Whether a connection still belongs to its opener is decided by the opener's
 * data, not the session's: an abandoned session may wait for a lock for a
 * while.
 *
 * The nodes can't be read at one moment, so a cycle in one collection proves
 * nothing.  But an edge that is the same in two collections, of which one
 * ended before the other began, was there all the time between them: a wait
 * for a lock has the same start, a session is in the same transaction.  A
 * cycle of such edges was there at one moment, and a deadlock doesn't go away
 * by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/metadata.h"
#include "catalog/node.h"
#include "lib/spi_query.h"
#include "remote/connection.h"
#include "txn/private.h"
#include "txn/wait_graph.h"
#include "txn/wait_reach.h"

/* Runs as a superuser: all names must be qualified. */
static const char wait_query[] =
"SELECT g.kind, g.pid, g.lxid, g.other_group, g.other_pid, g.other_lxid, g.wait_start, g.age, g.what, "
"(EXTRACT(epoch FROM a.xact_start) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8, x.gid "
"FROM citus_internal.local_wait_graph() g "
"LEFT JOIN pg_catalog.pg_stat_get_activity(NULL) a "
"ON g.kind OPERATOR(pg_catalog.=) 'p' AND a.pid OPERATOR(pg_catalog.=) g.pid "
"LEFT JOIN pg_catalog.pg_prepared_xact() x ON g.kind OPERATOR(pg_catalog.=) 'x' "
"AND x.transaction::pg_catalog.text OPERATOR(pg_catalog.=) g.other_lxid::pg_catalog.text "
"AND " PREPARED_FOR_NODE;

/* Reads a row's text, except the columns "kind", "what" and "gid". */
static void
add_graph_row(List **rows, int32 groupid, char **values)
{
	WaitRow    *row = palloc(sizeof(WaitRow));

	row->groupid = groupid;
	for (int i = 0; i < WAIT_COLUMNS; i++)
		row->values[i] = values[i] == NULL || i == 8 || i == 10 ? 0 : strtoll(values[i], NULL, 10);
	row->values[0] = values[0][0];
	row->what = values[8] == NULL ? "" : pstrdup(values[8]);
	row->gid = values[10] == NULL ? "" : pstrdup(values[10]);
	*rows = lappend(*rows, row);
}

/* Adds the rows of this node. */
static void
collect_here(List **rows)
{
	int			ncolumns;

	foreach_ptr(SpiText, values, spi_rows(wait_query, &ncolumns))
		add_graph_row(rows, metadata_local_group(), values);
}

/* Waits for more of a node's answer, up to a deadline. */
static void
await_more(RemoteConn *conn, TimestampTz deadline)
{
	long		remaining = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

	if (remaining <= 0 || remote_wait(&conn, 1, remaining) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("node %s:%d does not tell who waits for whom", conn->nodename, conn->nodeport)));
}

/* Adds the rows of a node that was asked. */
static void
collect_there(RemoteConn *conn, TimestampTz deadline, List **rows)
{
	RemotePoll	found;

	while ((found = remote_poll(conn)) != REMOTE_DONE)
	{
		char	   *values[WAIT_COLUMNS];

		if (found == REMOTE_NOT_YET)
		{
			await_more(conn, deadline);
			continue;
		}
		for (int column = 0; column < WAIT_COLUMNS; column++)
			values[column] = conn->row.values[column].data;
		add_graph_row(rows, conn->groupid, values);
	}
}

/* Never asked to yield: nothing else runs in the transaction. */
static void
collect_yield(RemoteOwner *owner, RemoteConn *conn)
{
	elog(ERROR, "connection to node %s:%d is in use", conn->nodename, conn->nodeport);
}

static RemoteOwner collect_owner = {collect_yield};

/*
 * Asks those of some groups that weren't asked yet, nor are to be skipped;
 * adds their rows.  False if there are none.
 */
static bool
collect_groups(const Bitmapset *groups, Bitmapset **asked, TimestampTz deadline, List **rows, int32 *failed_group)
{
	List	   *conns = NIL;

	foreach_ptr(ClusterNode, node, node_active_primaries_remote())
	{
		RemoteConn *conn;

		if (!bms_is_member(node->groupid, groups) || bms_is_member(node->groupid, *asked))
			continue;
		*asked = bms_add_member(*asked, node->groupid);
		*failed_group = node->groupid;
		conn = remote_acquire(node->groupid, &collect_owner, false);
		remote_send(conn, wait_query, NULL, SEND_LONE);
		conns = lappend(conns, conn);
	}
	foreach_ptr(RemoteConn, conn, conns)
	{
		*failed_group = conn->groupid;
		collect_there(conn, deadline, rows);
		remote_release(conn, &collect_owner);
	}
	*failed_group = -1;
	return conns != NIL;
}

/* The rows of this node, and of those that its processes may wait for. */
static List *
collect_graph(List *skipped_groups, long timeout_ms, int32 *failed_group)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);
	Bitmapset  *asked = bms_make_singleton(metadata_local_group());
	List	   *rows = NIL;
	ListCell   *cell;

	foreach(cell, skipped_groups)
		asked = bms_add_member(asked, lfirst_int(cell));
	collect_here(&rows);
	while (collect_groups(wait_reach(rows, asked), &asked, deadline, &rows, failed_group))
		;
	return rows;
}

static int
compare_procs(const void *left, const void *right)
{
	const WaitProc *a = left;
	const WaitProc *b = right;

	if (a->groupid != b->groupid)
		return a->groupid < b->groupid ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int
find_proc(const WaitGraph *graph, int32 groupid, int32 pid)
{
	WaitProc	key = {groupid, pid};
	WaitProc   *found = graph->nprocs == 0 ? NULL :
		bsearch(&key, graph->procs, graph->nprocs, sizeof(WaitProc), compare_procs);

	return found == NULL ? -1 : found - graph->procs;
}

static void
add_procs(WaitGraph *graph, List *rows)
{
	graph->procs = palloc(sizeof(WaitProc) * Max(list_length(rows), 1));
	foreach_ptr(WaitRow, row, rows)
	{
		WaitProc   *proc = &graph->procs[graph->nprocs];

		if (row->values[0] != 'p')
			continue;
		proc->groupid = row->groupid;
		proc->pid = row->values[1];
		proc->lxid = row->values[2];
		proc->state = row->what[0];
		proc->victim = row->what[1];
		proc->committing = row->values[5];
		proc->started = row->values[9];
		proc->parent = -1;
		graph->nprocs++;
	}
	qsort(graph->procs, graph->nprocs, sizeof(WaitProc), compare_procs);
}

static WaitEdge *
add_edge(WaitGraph *graph, int from, int to)
{
	WaitEdge   *edge = &graph->edges[graph->nedges++];

	memset(edge, 0, sizeof(WaitEdge));
	edge->from = from;
	edge->to = to;
	return edge;
}

/*
 * The process that will end a prepared transaction, if it is still working on
 * it; else -1.
 */
static int
find_preparer(const WaitGraph *graph, const char *gid)
{
	ParsedGid	parsed;
	int			proc;

	if (!gid_parse(gid, &parsed))
		return -1;
	proc = find_proc(graph, parsed.groupid, parsed.pid);
	return proc >= 0 && graph->procs[proc].committing == parsed.number ? proc : -1;
}

/* The edge of a wait for a lock. */
static void
add_lock_edge(WaitGraph *graph, WaitRow *row)
{
	int			from = find_proc(graph, row->groupid, row->values[1]);
	int			to = row->values[0] == 'x' ? find_preparer(graph, row->gid) :
		find_proc(graph, row->groupid, row->values[4]);
	WaitEdge   *edge;

	if (from < 0 || to < 0 || graph->procs[from].lxid != (uint32) row->values[2] ||
		(row->values[0] == 'l' && graph->procs[to].lxid != (uint32) row->values[5]))
		return;
	edge = add_edge(graph, from, to);
	edge->wait_start = row->values[6];
	edge->age_ms = row->values[7];
	edge->what = row->what;
}

/*
 * The edge between the two ends of a connection, if there is one; see the head
 * of this file.
 */
static void
add_remote_edge(WaitGraph *graph, WaitRow *row)
{
	int			opener = find_proc(graph, row->groupid, row->values[1]);
	int			session = find_proc(graph, row->values[3], row->values[4]);
	char		opener_state;
	char		session_state;

	if (opener < 0 || session < 0 || opener == session ||
		graph->procs[opener].lxid != (uint32) row->values[2])
		return;
	graph->procs[session].parent = opener;
	opener_state = graph->procs[opener].state;
	session_state = graph->procs[session].state;

	if (session_state == WAIT_STATE_READS ||
		(session_state == WAIT_STATE_WRITES && opener_state == WAIT_STATE_LOCK))
		add_edge(graph, session, opener)->remote = true;
	else if (session_state != WAIT_STATE_WRITES && opener_state != WAIT_STATE_READS &&
			 opener_state != WAIT_STATE_WRITES)
		add_edge(graph, opener, session)->remote = true;
}

static int
compare_edges(const void *left, const void *right)
{
	const WaitEdge *a = left;
	const WaitEdge *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

WaitGraph *
wait_graph_collect(List *skipped_groups, long timeout_ms, int32 *failed_group)
{
	List	   *rows = collect_graph(skipped_groups, timeout_ms, failed_group);
	WaitGraph  *graph = palloc0(sizeof(WaitGraph));

	add_procs(graph, rows);
	graph->edges = palloc(sizeof(WaitEdge) * Max(list_length(rows), 1));
	foreach_ptr(WaitRow, row, rows)
	{
		if (row->values[0] == 'l' || row->values[0] == 'x')
			add_lock_edge(graph, row);
		else if (row->values[0] == 'c')
			add_remote_edge(graph, row);
	}
	qsort(graph->edges, graph->nedges, sizeof(WaitEdge), compare_edges);
	return graph;
}

/* The identity of an edge in two collections. */
typedef struct EdgeIdentity
{
	int32		from_group;
	int32		from_pid;
	uint32		from_lxid;
	int32		to_group;
	int32		to_pid;
	uint32		to_lxid;
	int64		wait_start;		/* 0 if remote */
} EdgeIdentity;

static EdgeIdentity
identity_of(const WaitGraph *graph, const WaitEdge *edge)
{
	const WaitProc *from = &graph->procs[edge->from];
	const WaitProc *to = &graph->procs[edge->to];
	EdgeIdentity identity;

	memset(&identity, 0, sizeof(identity));
	identity.from_group = from->groupid;
	identity.from_pid = from->pid;
	identity.from_lxid = from->lxid;
	identity.to_group = to->groupid;
	identity.to_pid = to->pid;
	identity.to_lxid = to->lxid;
	identity.wait_start = edge->wait_start;
	return identity;
}

void
wait_graph_confirm(WaitGraph *later, const WaitGraph *earlier)
{
	HASHCTL		info = {0};
	HTAB	   *known;
	int			n = 0;

	info.keysize = info.entrysize = sizeof(EdgeIdentity);
	info.hcxt = CurrentMemoryContext;
	known = hash_create("wait edges", Max(earlier->nedges, 16), &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (int i = 0; i < earlier->nedges; i++)
	{
		EdgeIdentity identity = identity_of(earlier, &earlier->edges[i]);

		hash_search(known, &identity, HASH_ENTER, NULL);
	}
	for (int i = 0; i < later->nedges; i++)
	{
		EdgeIdentity identity = identity_of(later, &later->edges[i]);

		if (hash_search(known, &identity, HASH_FIND, NULL) != NULL)
			later->edges[n++] = later->edges[i];
	}
	later->nedges = n;
	hash_destroy(known);
}
