"""Clusters of more nodes than a node has connections for: sessions wait for connections, and none fails."""

import threading
import time

import pytest

from harness import servers
from harness.servers import fill, rows, value

WORKERS = 4
MAX_CONNECTIONS = 12
SESSIONS = 3


@pytest.fixture(scope="module")
def narrow():
    """Four workers, of which each has fewer connections than sessions of the other nodes want."""
    with servers.cluster(purpose="check-narrow", workers=WORKERS,
                         settings={
                             "max_connections": MAX_CONNECTIONS, "superuser_reserved_connections": 2,
                             "citus.enable_stat_counters": "on", "citus.kept_connection_lifetime": 0}) as made:
        with servers.connect(made.coordinator) as connection:
            fill(connection, "t", 1000)
            fill(connection, "u", 1000)
        yield made


def work_at_once(nodes, work, meanwhile=lambda: time.sleep(0.1)):
    """Runs work(connection) in SESSIONS sessions of each node, at the same time; returns what failed."""
    failed = []
    start = threading.Barrier(len(nodes) * SESSIONS)

    def run(node):
        try:
            with servers.connect(node) as connection:
                start.wait()
                work(connection)
        except Exception as error:      # pylint: disable=broad-except
            failed.append(error)

    threads = [threading.Thread(target=run, args=(node,)) for node in nodes for _ in range(SESSIONS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        meanwhile()
    return failed


def test_statements_wait_for_peers(narrow):
    """Sessions of all nodes that read and write all shards want more connections than a node has."""
    def work(connection):
        for _ in range(5):
            assert value(connection, "SELECT count(*) FROM t") == 1000
            connection.execute("UPDATE t SET payload = payload WHERE id = 1")

    assert work_at_once(narrow.nodes, work) == []


def sessions_of(connection, node):
    """How many sessions that work for a client's session a node has."""
    gpid = value(connection, "SELECT citus_backend_gpid()")
    with servers.connect(node) as watcher:
        return value(watcher, "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [f"citus_internal gpid={gpid}"])


def test_crowds_wait_at_home(narrow, connect):
    """Where many nodes' sessions want all of a node's connections, they take turns on their own nodes, and leave some."""
    def look():
        ports = {port for port, in rows(watcher, "SELECT client_port FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid%%'")}
        seen.append(len(ports if servers.MULTIPLEXED else ports & servers.client_sockets(narrow.workers[0].port)))

    def work(connection):
        for _ in range(5):
            assert value(connection, "SELECT count(*) FROM t") == 1000

    seen = []
    watcher = connect(narrow.workers[0])
    assert work_at_once(narrow.nodes[:1] + narrow.nodes[2:], work, look) == []
    assert max(seen) <= MAX_CONNECTIONS // 2


def test_transactions_that_stay_open_do_not_keep_others_waiting(narrow, connect):
    """A node waits for room on others only while its own sessions end, or for a part of the time limit."""
    held = []
    for _ in range(5):
        held.append(connect(narrow.coordinator, autocommit=False))
        held[-1].execute("SET citus.node_connection_timeout = '9s'")
        assert value(held[-1], "SELECT count(*) FROM t") == 1000


@pytest.mark.parametrize("statement,nodes", [
    ("SELECT * FROM t WHERE id = 1", 1), ("SELECT count(*) FROM t", WORKERS), ("UPDATE t SET payload = payload WHERE id = 1", 1),
    ("UPDATE t SET payload = payload", WORKERS), ("COPY", WORKERS), ("ALTER TABLE u ADD COLUMN c int; ALTER TABLE u DROP COLUMN c", WORKERS),
    ("BEGIN; SELECT count(*) FROM t; UPDATE t SET payload = payload; SELECT count(*) FROM u; COMMIT", WORKERS)])
def test_what_statements_open(narrow, connect, statement, nodes):
    """The manual's table of connections: short statements open one to each node that they need, however long it takes to connect."""
    connection = connect(narrow.coordinator)
    connection.execute("SET citus.executor_slow_start_interval = 0; SET citus.max_cached_conns_per_worker = 4")
    if statement == "COPY":
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for key in range(20000, 20100):
                copy.write_row((key, 0))
        connection.execute("DELETE FROM t WHERE id >= 20000")
    else:
        connection.execute(statement)
    opened = [sessions_of(connection, node) for node in narrow.workers]
    assert max(opened) == 1
    assert sum(opened) == nodes


@pytest.fixture(scope="module")
def exchanged(narrow):
    """Tables for the manual's table of connections; keys of x whose rows are on two nodes."""
    with servers.connect(narrow.coordinator) as connection:
        for table in ("x", "y"):
            connection.execute(f"CREATE TABLE {table} (id bigint, other bigint, filler text)")
            connection.execute("SELECT create_distributed_table(%s, 'id')", [table])
            connection.execute(f"INSERT INTO {table} SELECT g, g * 7, repeat('x', 200) FROM generate_series(1, 15000) g")
            connection.execute(f"ANALYZE {table}")
        connection.execute("CREATE TABLE ref (id bigint); SELECT create_reference_table('ref'); INSERT INTO ref VALUES (1)")
        return [key for key, in rows(connection, """
            SELECT (SELECT min(g) FROM generate_series(1, 1000) g WHERE get_shard_id_for_distribution_column('x', g) = ANY (array_agg(shardid)))
            FROM citus_shards WHERE table_name = 'x'::regclass GROUP BY nodeport LIMIT 2""")]


EXCHANGE = "SELECT max({0}) FROM x JOIN y ON x.other = y.other"     # not to be grouped before the join
TARGETS = 2     # nodes that get rows, as there are few


@pytest.mark.parametrize("statement,own,others", [
    ("SELECT * FROM x WHERE id = 1", {1}, 0), ("UPDATE x SET filler = filler WHERE id = 1", {1}, 0), ("SELECT count(*) FROM x", {WORKERS}, 0),
    ("SELECT count(*) FROM x TABLESAMPLE system (1)", range(WORKERS, 16 * WORKERS), 0),
    ("UPDATE x SET filler = filler WHERE id < 10", {WORKERS}, 0), ("COPY", {WORKERS}, 0),
    ("BEGIN; UPDATE x SET filler = filler WHERE id = {keys[0]}; UPDATE x SET filler = filler WHERE id = {keys[1]}; COMMIT", {2}, 0),
    ("UPDATE ref SET id = id", {WORKERS}, 0), ("CREATE INDEX ON y (other)", {WORKERS}, 0),
    (EXCHANGE.format("x.id + y.id"), {WORKERS + TARGETS}, 0), (EXCHANGE.format("x.filler || y.filler"), {WORKERS + TARGETS}, TARGETS * (WORKERS - 1))])
def test_connections_of_a_new_session(narrow, exchanged, connect, statement, own, others):
    """Each row of the manual's table of connections: what the statement's server opens, and what the nodes open to each other."""
    def made():
        return [value(watcher, "SELECT connection_establishment_succeeded FROM citus_stat_counters WHERE name = current_database()")
                for watcher in watchers]

    def opened():
        before = made()
        with servers.connect(narrow.coordinator) as connection:
            connection.execute("SET citus.executor_slow_start_interval = '10s'")
            connection.execute("SET citus.enable_broadcast_joins = off")
            if statement == "COPY":
                with connection.cursor().copy("COPY x FROM STDIN") as copy:
                    for key in range(20100, 20200):
                        copy.write_row((key, 0, ""))
            else:
                connection.execute(statement.format(keys=exchanged))
            first, *rest = [after - earlier for after, earlier in zip(made(), before)]
        return first, sum(rest)

    watchers = [connect(node) for node in narrow.nodes]
    counts = [opened()]
    while len(counts) < 5 and not (counts[-1][0] in own and counts[-1][1] == others):
        counts.append(opened())     # meanwhile nodes may have opened connections for other purposes
    assert counts[-1][0] in own and counts[-1][1] == others, counts


def test_idle_sessions_leave_some(narrow, connect):
    """Idle sessions keep connections to a node, but not all that it has."""
    held = [connect(narrow.coordinator) for _ in range(MAX_CONNECTIONS - 2)]
    for connection in held:
        for _ in range(2):
            value(connection, "SELECT count(*) FROM t")
    assert 0 < servers.sessions_between(narrow.coordinator, narrow.workers[0]) < MAX_CONNECTIONS - 2


def test_repartition_joins_at_once(narrow):
    """Nodes that exchange rows for several joins don't keep connections from each other."""
    join = "SELECT count(*) FROM r JOIN s ON r.other = s.other"
    with servers.connect(narrow.coordinator) as connection:
        for table in ("r", "s"):
            connection.execute(f"CREATE TABLE {table} (id bigint, other bigint, filler text)")
            connection.execute("SELECT create_distributed_table(%s, 'id')", [table])
            connection.execute(f"INSERT INTO {table} SELECT g, g * 7, repeat('x', 50) FROM generate_series(1, 30000) g")
            connection.execute(f"ANALYZE {table}")
        assert "exchange" in str(rows(connection, "EXPLAIN (VERBOSE) " + join)).lower()

    def work(connection):
        assert value(connection, join) == 30000

    assert work_at_once([narrow.coordinator], work) == []


@pytest.mark.parametrize("read,tasks", [("m JOIN n ON m.other = n.other", 2), ("m LEFT JOIN n ON m.other = n.other + 7 AND n.id > 100", 2),
                                        ("m FULL JOIN n ON m.nothing = n.nothing", 2), ("m JOIN n ON m.other = n.id", 4)])
def test_few_nodes_get_few_rows(narrow, read, tasks):
    """Where nodes send all rows that a join reads, few nodes compute it if there are few rows; with one side's shards, all of them do."""
    with servers.connect(narrow.coordinator) as connection:
        if not rows(connection, "SELECT 1 FROM pg_class WHERE relname = 'm'"):
            for table in ("m", "n"):
                connection.execute(f"CREATE TABLE {table} (id bigint, other bigint, nothing int)")
                connection.execute(f"CREATE TABLE local_{table} (LIKE {table})")
                connection.execute("SELECT create_distributed_table(%s, 'id')", [table])
                for copy in (table, f"local_{table}"):
                    connection.execute(f"INSERT INTO {copy} SELECT g, g * 7, nullif(g % 20000, 0) FROM generate_series(1, 20000) g")
                    connection.execute(f"ANALYZE {copy}")
        connection.execute("SET citus.enable_broadcast_joins = off")
        sums = "SELECT count(*), sum(m.id), sum(n.id)"
        plan = [row[0] for row in rows(connection, f"EXPLAIN (ANALYZE, COSTS off, TIMING off) {sums} FROM {read}")]
        assert "Repartition: true" in "".join(plan)
        assert next(line.strip() for line in plan if "Task Count" in line) == f"Task Count: {tasks}"
        local = read.replace("m ", "local_m m ", 1).replace(" n ", " local_n n ", 1)
        assert rows(connection, f"{sums} FROM {read}") == rows(connection, f"{sums} FROM {local}")
