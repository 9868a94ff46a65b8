"""Cancelling: whoever gives up on a statement, its parts on all nodes end."""

import threading

import psycopg
import pytest

from harness import servers
from harness.servers import (fill, make_slow_function, pid_of, rows, value, wait_until,
                             wait_until_quiet)

# Sleeps on the shards, once per row.
SLOW = "SELECT count(*) FROM {table} WHERE {schema}.slow(payload)"
WORKING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> " \
          "pg_backend_pid() AND wait_event = 'PgSleep'"


@pytest.fixture
def table(cluster, schema, coordinator):
    name = f"{schema}.t"
    fill(coordinator, name, 100)
    make_slow_function(cluster, schema)
    return name


class Slow:
    """A slow statement in a thread of its own."""

    def __init__(self, connection, query):
        self.connection = connection
        self.error = None
        self.thread = threading.Thread(target=self.run, args=(query,))
        self.thread.start()

    def run(self, query):
        try:
            self.connection.execute(query)
        except psycopg.Error as error:
            self.error = error

    def finish(self):
        self.thread.join(servers.PATIENCE)
        assert not self.thread.is_alive(), "the statement goes on"
        return self.error


def wait_until_working(cluster):
    """Waits until the slow statement sleeps somewhere."""
    def working():
        total = 0
        for node in cluster.nodes:
            with servers.connect(node) as connection:
                total += value(connection, WORKING)
        return total

    wait_until(working, "the statement to be at work")


@pytest.mark.parametrize("statement", [
    SLOW,
    "SELECT * FROM {table} WHERE id = 5 AND {schema}.slow(payload)",
    "UPDATE {table} SET payload = 1 WHERE {schema}.slow(payload)",
    "INSERT INTO {table} SELECT id + 1000, 1 FROM {table} WHERE {schema}.slow(payload)",
    "SELECT count(*) FROM {table} WHERE pg_sleep(payload + 60) IS NOT NULL"])
@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_cancel_reaches_all_nodes(cluster, coordinator, schema, table, connect, initiator, statement):
    connection = connect(cluster.node(initiator))
    slow = Slow(connection, statement.format(table=table, schema=schema))
    wait_until_working(cluster)
    with servers.connect(cluster.node(initiator)) as other:
        assert value(other, "SELECT pg_cancel_backend(%s)", [pid_of(connection)])
    error = slow.finish()
    assert isinstance(error, psycopg.errors.QueryCanceled), error
    assert "user request" in str(error)
    wait_until_quiet(cluster, exclude=[pid_of(coordinator), pid_of(connection)])
    assert value(connection, f"SELECT count(*) FROM {table}") == 100


def test_statement_timeout(cluster, coordinator, schema, table, connect):
    connection = connect(cluster.coordinator)
    connection.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled) as caught:
        connection.execute(SLOW.format(table=table, schema=schema))
    assert "statement timeout" in str(caught.value)
    wait_until_quiet(cluster, exclude=[pid_of(coordinator), pid_of(connection)])
    connection.execute("SET statement_timeout = 0")
    assert value(connection, f"SELECT count(*) FROM {table}") == 100


def test_client_interrupt(cluster, coordinator, schema, table, connect):
    """The driver's own cancel request, as psql sends it for Ctrl-C."""
    connection = connect(cluster.coordinator)
    slow = Slow(connection, SLOW.format(table=table, schema=schema))
    wait_until_working(cluster)
    connection.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    wait_until_quiet(cluster, exclude=[pid_of(coordinator), pid_of(connection)])


def test_terminated_backend(cluster, coordinator, schema, table, connect):
    connection = connect(cluster.coordinator)
    slow = Slow(connection, SLOW.format(table=table, schema=schema))
    wait_until_working(cluster)
    coordinator.execute("SELECT pg_terminate_backend(%s)", [pid_of(connection)])
    assert isinstance(slow.finish(), psycopg.errors.AdminShutdown)
    wait_until_quiet(cluster, exclude=[pid_of(coordinator)])


def test_cancel_inside_a_transaction(cluster, coordinator, schema, table, connect):
    """What was written before the cancelled statement survives behind a savepoint."""
    connection = connect(cluster.coordinator, autocommit=False)
    connection.execute(f"UPDATE {table} SET payload = 1")
    connection.execute("SAVEPOINT here")
    connection.execute("SET LOCAL statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(SLOW.format(table=table, schema=schema))
    connection.execute("ROLLBACK TO here")
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 100
    connection.commit()
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 100
    wait_until_quiet(cluster, exclude=[pid_of(coordinator), pid_of(connection)])


def test_cancel_while_waiting_for_a_lock(cluster, coordinator, schema, table, connect):
    """A wait for another transaction's row lock on a node ends too."""
    holder = connect(cluster.coordinator, autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 5")
    waiter = connect(cluster.workers[0])
    slow = Slow(waiter, f"UPDATE {table} SET payload = 2 WHERE id = 5")

    def waiting():
        return any(rows(servers.connect(node), "SELECT 1 FROM pg_locks WHERE NOT granted")
                   for node in cluster.nodes)

    wait_until(waiting, "the second writer to wait")
    waiter.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    holder.commit()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = 5") == 1
    wait_until_quiet(cluster, exclude=[pid_of(c) for c in (coordinator, holder, waiter)])


def test_lock_timeout(cluster, coordinator, schema, table, connect):
    holder = connect(cluster.coordinator, autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 5")
    waiter = connect(cluster.coordinator)
    waiter.execute("SET lock_timeout = '200ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiter.execute(f"UPDATE {table} SET payload = 2 WHERE id = 5")
    holder.rollback()
    waiter.execute(f"UPDATE {table} SET payload = 2 WHERE id = 5")
