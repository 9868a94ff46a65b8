"""Nodes remember few commits: a read that can choose its point in time anew does so, rather than fail."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import servers
from harness.servers import fill, kill_process, rows, value, wait_until

RING = 16
SLOW = 0.2      # seconds; the initiator takes precautions from 0.1 on


@pytest.fixture(scope="module")
def forgetful():
    """A cluster whose nodes remember 16 commits."""
    with servers.cluster(purpose="check-forgetful", settings={"citus.commit_ring_size": str(RING)}) as made:
        with servers.connect(made.coordinator) as connection:
            fill(connection, "t", 100)
            connection.execute("CREATE TABLE here (v int)")
            connection.execute("INSERT INTO here VALUES (1)")
        yield made


@pytest.fixture
def reader(forgetful):
    """A session on the coordinator with one connection to each node."""
    with servers.connect(forgetful.coordinator) as connection:
        connection.execute("SET citus.executor_slow_start_interval = '60s'")
        connection.execute("SET citus.enable_node_tasks = off")
        connection.execute("UPDATE t SET payload = 0")
        assert value(connection, "SELECT sum(payload) FROM t") == 0
        yield connection


@pytest.fixture
def background():
    """Runs a query while the test goes on; the future has its rows."""
    with ThreadPoolExecutor() as pool:
        yield lambda connection, query: pool.submit(rows, connection, query)


def commit_many(cluster, nodes):
    """A write of every row of t, and then more commits on each node than it remembers."""
    with servers.connect(cluster.coordinator) as connection:
        connection.execute("UPDATE t SET payload = payload + 1")
    for node in nodes:
        with servers.connect(node) as connection:
            for _ in range(2 * RING):
                connection.execute("SELECT txid_current()")


def all_serving(node, gpid, what="true"):
    with servers.connect(node) as connection:
        return [pid for pid, in rows(connection, "SELECT pid FROM pg_stat_activity "
                                     f"WHERE application_name = 'citus_internal gpid={gpid}' AND {what}")]


def serving(node, gpid, what="true"):
    return next(iter(all_serving(node, gpid, what)), None)


@pytest.mark.parametrize("in_block", [False, True])
@pytest.mark.parametrize("busy", ["coordinator", "worker2", "all"])
def test_node_that_is_slow_to_answer(forgetful, reader, background, busy, in_block):
    """While one node is asked for its clock, the others, or the initiator, forget what the reader must know."""
    slow = forgetful.workers[0]
    gpid = value(reader, "SELECT citus_backend_gpid()")
    if in_block:
        reader.execute("BEGIN")
        value(reader, "SELECT sum(payload) FROM t")
    pid = serving(slow, gpid)
    kill_process(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        found = background(reader, "SELECT sum(payload), count(DISTINCT payload) FROM t")
        wait_until(lambda: serving(forgetful.workers[1], gpid, "state = 'idle in transaction' AND "
                                   "query LIKE '%snapshot_begin%'"), "the other node's answer")
        nodes = {node.name: node for node in forgetful.nodes}
        commit_many(forgetful, [node for node in forgetful.nodes if node is not slow] if busy == "all" else [nodes[busy]])
        wait_until(lambda: time.monotonic() - stopped > SLOW, "the node to be slow")
    finally:
        kill_process(pid, signal.SIGCONT)
    assert found.result() in ([(0, 1)], [(100, 1)])
    if in_block:
        reader.execute("COMMIT")


def test_cursor(forgetful, reader):
    """It reads as of its declaration, however much is committed before the first row is fetched."""
    reader.execute("BEGIN")
    reader.execute("DECLARE c CURSOR FOR SELECT sum(payload) FROM t")
    commit_many(forgetful, forgetful.nodes)
    assert value(reader, "FETCH c") == 0
    assert value(reader, "SELECT sum(payload) FROM t") == 100
    reader.execute("COMMIT")


@pytest.mark.parametrize("query", [
    "WITH waited AS MATERIALIZED (SELECT pg_advisory_xact_lock(1)) SELECT sum(payload) FROM t, waited",
    "SELECT (SELECT sum(payload) FROM t WHERE id = x.id) FROM here, LATERAL (SELECT g AS id, pg_advisory_xact_lock(1) "
    "FROM generate_series(1, 5) g) x",
    "SELECT sum(payload) FROM t JOIN (SELECT v, pg_advisory_xact_lock(1) FROM here OFFSET 0) h ON h.v = t.id - t.id + 1"])
def test_scan_that_begins_late(forgetful, reader, background, query):
    """What the statement does first takes long; then it reads the table as of its start."""
    with servers.connect(forgetful.coordinator, autocommit=False) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(1)")
        found = background(reader, query)
        wait_until(lambda: rows(holder, "SELECT FROM pg_locks WHERE NOT granted"), "the reader to wait")
        commit_many(forgetful, forgetful.nodes)
        holder.commit()
    assert {row[0] for row in found.result()} == {0}


def test_extra_connection_that_comes_too_late(forgetful, reader, background):
    """What it can't read any more is read by the node's first one, though that had nothing left to do."""
    slow = forgetful.workers[0]
    gpid = value(reader, "SELECT citus_backend_gpid()")
    reader.execute("SET citus.max_cached_conns_per_worker = 4")
    reader.execute("SET citus.executor_slow_start_interval = 0")
    value(reader, "SELECT count(pg_sleep(0.01)) FROM t")
    reader.execute("SET citus.executor_slow_start_interval = '60s'")
    value(reader, "SELECT sum(payload) FROM t")
    first = serving(slow, gpid, "true ORDER BY state_change DESC LIMIT 1")
    extra = [pid for pid in all_serving(slow, gpid) if pid != first]
    assert extra
    reader.execute("SET citus.executor_slow_start_interval = 0")
    for pid in extra:
        kill_process(pid, signal.SIGSTOP)
    try:
        found = background(reader, "SELECT sum(payload), count(DISTINCT payload) FROM t")
        wait_until(lambda: serving(slow, gpid, f"pid = {first} AND state = 'idle in transaction' AND "
                                   "now() - state_change > '0.2s'"), "the first connection to be done")
        assert not found.done()
        commit_many(forgetful, forgetful.nodes)
    finally:
        for pid in extra:
            kill_process(pid, signal.SIGCONT)
    assert found.result() == [(0, 1)]
