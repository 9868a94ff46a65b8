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
                         settings={"max_connections": MAX_CONNECTIONS, "superuser_reserved_connections": 2}) as made:
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
