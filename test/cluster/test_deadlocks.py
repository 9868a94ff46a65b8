"""Deadlocks that no single node can see: broken in time, the youngest gives way, and never a false alarm."""

import time

import psycopg
import pytest

from harness import servers
from harness.servers import fill, on_every_node, rows, value, wait_until, wait_until_quiet
from harness.statement import Statement

LIMIT = 2.0     # citus.distributed_deadlock_detection_factor * deadlock_timeout, in seconds
GRACE = 3.0     # what a loaded machine may add


def waiting(cluster):
    """How many waits for locks there are on all nodes."""
    return sum(row[0] for found in on_every_node(cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()
               for row in found)


def wait_for_waits(cluster, count):
    wait_until(lambda: waiting(cluster) >= count, f"{count} waits for locks")


def key_on(connection, table, node, skip=0):
    """A value of the distribution column whose row is on a node."""
    return rows(connection, """
        SELECT g FROM generate_series(1, 100) g, pg_dist_placement p, pg_dist_node n
        WHERE p.shardid = get_shard_id_for_distribution_column(%s::regclass, g::bigint)
          AND n.groupid = p.groupid AND n.nodeport = %s ORDER BY g""", [table, node.port])[skip][0]


def update(table, key):
    return f"UPDATE {table} SET payload = payload + 1 WHERE id = {key}"


def close_circle(cluster, sessions, statements):
    """Runs statements, each of which waits for the next session, so that the last one makes a deadlock.

    Exactly one is cancelled, in time, and the rest goes on. Returns who.
    """
    running = []
    for session, statement in zip(sessions, statements):
        running.append(Statement(session, statement))
        if len(running) < len(sessions):
            wait_for_waits(cluster, len(running))
    began = time.monotonic()
    wait_until(lambda: any(statement.error for statement in running), "a victim", LIMIT + GRACE)
    took = time.monotonic() - began
    victims = [i for i, statement in enumerate(running) if statement.error]
    assert len(victims) == 1
    error = running[victims[0]].error
    assert isinstance(error, psycopg.errors.DeadlockDetected), error
    assert error.diag.message_primary == "deadlock detected"
    assert error.diag.message_detail.count("blocked by process") >= len(sessions)
    assert took < LIMIT + GRACE
    # the others end one after the other
    while any(statement.running for statement in running):
        for session, statement in zip(sessions, running):
            if not statement.running:
                session.commit()
        time.sleep(0.01)
    assert [i for i, statement in enumerate(running) if statement.finish()] == victims
    for session in sessions:
        session.commit()
    return victims[0]


@pytest.fixture
def table(schema, coordinator):
    name = f"{schema}.t"
    fill(coordinator, name, 100)
    return name


@pytest.fixture
def session(cluster, connect):
    """Opens a session on the node of that number, in a transaction block from its first statement on."""
    opened = []

    def open_one(node):
        opened.append(connect(cluster.nodes[node], autocommit=False))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()
    wait_until_quiet(cluster)


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1), (1, 2), (2, 1)])
def test_two_rows_on_two_nodes(cluster, coordinator, table, session, nodes):
    """Each session has a row on one node, and wants the other's on another."""
    keys = [key_on(coordinator, table, worker) for worker in cluster.workers]
    sessions = [session(node) for node in nodes]
    for one, key in zip(sessions, keys):
        one.execute(update(table, key))
    victim = close_circle(cluster, sessions, [update(table, keys[1]), update(table, keys[0])])
    assert victim == 1, "the younger one gives way"
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 2
