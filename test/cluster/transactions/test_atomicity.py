"""What clients and backends leave behind when they die: nothing half-done."""

import os
import signal
import subprocess
import threading

import psycopg
import pytest

from harness import servers
from harness.servers import (fill, kill_process, on_every_node, pid_of, rows, value,
                             wait_until, wait_until_quiet)
from pomelo_cluster.host import clean_env

COPYING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'COPY%%' " \
          "AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state = 'active'"


def start_copy(node, table):
    """A psql that copies from a pipe; its input stays open."""
    return subprocess.Popen(node.psql_args("-X", "-q", "-c", f"COPY {table} FROM STDIN"),
                            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_env())


def feed(process, first, count):
    for number in range(first, first + count):
        process.stdin.write(f"{number}\t1\n")
    process.stdin.flush()


@pytest.fixture
def table(schema, coordinator):
    """A distributed table with 100 rows."""
    name = f"{schema}.t"
    fill(coordinator, name, 100)
    return name


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_client_killed_during_copy(cluster, coordinator, table, initiator):
    """Rows that a killed client had sent are nowhere, and no node waits for more."""
    process = start_copy(cluster.node(initiator), table)
    feed(process, 1000, 50000)
    with servers.connect(cluster.node(initiator)) as watcher:
        wait_until(lambda: rows(watcher, COPYING), "the COPY to be at work")
    process.kill()
    process.wait()
    wait_until_quiet(cluster)
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 100
    coordinator.execute(f"INSERT INTO {table} VALUES (1000, 2)")


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_backend_terminated_during_copy(cluster, coordinator, table, initiator):
    """The same when an administrator ends the backend."""
    process = start_copy(cluster.node(initiator), table)
    feed(process, 1000, 50000)
    with servers.connect(cluster.node(initiator)) as watcher:
        pid = wait_until(lambda: rows(watcher, COPYING), "the COPY to be at work")[0][0]
        assert value(watcher, "SELECT pg_terminate_backend(%s)", [pid])
    process.stdin.close()
    assert "terminating connection" in process.stderr.read()
    assert process.wait() != 0
    wait_until_quiet(cluster)
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 100


def test_client_gives_up_in_a_transaction(cluster, coordinator, table, connect):
    """A client that vanishes between statements takes its writes on all nodes with it."""
    process = subprocess.Popen(cluster.coordinator.psql_args("-X", "-q"), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=clean_env())
    process.stdin.write(f"BEGIN; UPDATE {table} SET payload = 7; SELECT 'written';\n")
    process.stdin.flush()
    while "written" not in process.stdout.readline():
        pass
    process.kill()
    process.wait()
    wait_until_quiet(cluster)
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 0


def test_worker_backend_terminated_in_a_transaction(cluster, coordinator, table, connect):
    """When a node loses its part of a transaction, the transaction can only roll back."""
    writer = connect(cluster.coordinator, autocommit=False)
    writer.execute(f"UPDATE {table} SET payload = 7")
    with servers.connect(cluster.workers[0]) as worker:
        killed = rows(worker, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()")
        assert killed
    with pytest.raises(psycopg.Error):
        writer.execute(f"SELECT count(*) FROM {table}")
        writer.commit()
    writer.rollback()
    wait_until_quiet(cluster)
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 0

    # The session goes on.
    writer.execute(f"UPDATE {table} SET payload = 1")
    writer.commit()
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 100


def failed_copy(cluster, coordinator, table, data, error):
    """Copies data that must fail, and leave nothing; returns the error."""
    with pytest.raises(error) as caught:
        with coordinator.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write(data)
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 100
    wait_until_quiet(cluster)
    return caught.value.diag


def test_copy_with_a_bad_row(cluster, coordinator, table):
    """A row that can't be stored undoes the whole COPY, and is named."""
    data = "".join(f"{n}\t1\n" for n in range(1000, 6000)) + "6000\tnot a number\n"
    diag = failed_copy(cluster, coordinator, table, data, psycopg.errors.InvalidTextRepresentation)
    assert "line 5001" in diag.context


def test_copy_with_a_duplicate(cluster, coordinator, table):
    """A constraint that one shard enforces undoes the COPY on all of them."""
    data = "".join(f"{n}\t1\n" for n in [*range(1000, 3000), 50])
    diag = failed_copy(cluster, coordinator, table, data, psycopg.errors.UniqueViolation)
    assert "(50)" in diag.message_detail


def test_update_that_fails_on_one_shard(cluster, coordinator, table):
    """An error on any shard undoes the statement everywhere."""
    with pytest.raises(psycopg.errors.DivisionByZero):
        coordinator.execute(f"UPDATE {table} SET payload = 1 / (id - 57)")
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 0
    wait_until_quiet(cluster)


def test_deferred_constraint_fails_at_commit(cluster, coordinator, schema, connect):
    """A constraint checked at commit, on a node, undoes all nodes."""
    coordinator.execute(f"CREATE TABLE {schema}.d (id int, k int, "
                        "UNIQUE (id, k) DEFERRABLE INITIALLY DEFERRED)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.d', 'id')")
    writer = connect(cluster.coordinator, autocommit=False)
    writer.execute(f"INSERT INTO {schema}.d SELECT g, 1 FROM generate_series(1, 50) g")
    writer.execute(f"INSERT INTO {schema}.d VALUES (7, 1)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        writer.commit()
    assert value(coordinator, f"SELECT count(*) FROM {schema}.d") == 0
    wait_until_quiet(cluster)


def test_backend_killed_in_a_transaction(own_cluster, connect):
    """A crash of the initiator's server: after its restart, nothing of the transaction is left."""
    connection = connect(own_cluster.coordinator)
    fill(connection, "t", 100)
    writer = connect(own_cluster.coordinator, autocommit=False)
    writer.execute("UPDATE t SET payload = 7")
    kill_process(pid_of(writer))
    wait_until(lambda: can_connect(own_cluster.coordinator), "the coordinator to be back")
    wait_until_quiet(own_cluster)
    assert value(connect(own_cluster.coordinator), "SELECT sum(payload) FROM t") == 0


def test_server_killed_during_writes(own_cluster, connect):
    """Whenever the coordinator is killed, each transaction is on all nodes or on none."""
    fill(connect(own_cluster.coordinator), "t", 100)
    own_cluster.coordinator.sql("ALTER SYSTEM SET citus.recover_2pc_interval = '1s'")
    own_cluster.coordinator.reload()
    stop = threading.Event()
    done = []

    def write():
        with servers.connect(own_cluster.coordinator) as connection:
            while not stop.is_set():
                connection.execute("UPDATE t SET payload = payload + 1")
                done.append(1)

    thread = threading.Thread(target=swallow(write))
    thread.start()
    wait_until(lambda: len(done) >= 5, "a few transactions")
    own_cluster.coordinator.kill()
    stop.set()
    thread.join()
    own_cluster.coordinator.start()
    wait_until_quiet(own_cluster)
    values = rows(connect(own_cluster.coordinator), "SELECT DISTINCT payload FROM t")
    assert len(values) == 1, "some nodes have the last transaction, others don't"
    assert len(done) <= values[0][0] <= len(done) + 1


def test_worker_killed_during_writes(own_cluster, connect):
    """The same when a participant is killed."""
    fill(connect(own_cluster.coordinator), "t", 100)
    done, failed = [], []
    stop = threading.Event()

    def write():
        with servers.connect(own_cluster.coordinator) as connection:
            while not stop.is_set():
                try:
                    connection.execute("UPDATE t SET payload = payload + 1")
                    done.append(1)
                except psycopg.Error as error:
                    failed.append(error)
                    return

    thread = threading.Thread(target=write)
    thread.start()
    wait_until(lambda: len(done) >= 5, "a few transactions")
    own_cluster.workers[0].kill()
    wait_until(lambda: failed, "the writer to notice")
    stop.set()
    thread.join()
    own_cluster.workers[0].start()
    connection = connect(own_cluster.coordinator)
    connection.execute("SELECT recover_prepared_transactions()")
    wait_until_quiet(own_cluster)
    values = rows(connection, "SELECT DISTINCT payload FROM t")
    assert len(values) == 1, "some nodes have the last transaction, others don't"
    assert len(done) <= values[0][0] <= len(done) + 1


def test_stopped_client_does_not_hold_servers(cluster, coordinator, table):
    """A client that reads nothing more, and is then killed, leaves no query behind."""
    process = subprocess.Popen(
        cluster.coordinator.psql_args("-X", "-q", "-A", "-t", "-c",
                                      f"SELECT repeat('x', 10000) FROM {table}, "
                                      "generate_series(1, 5000)"),
        stdout=subprocess.PIPE, env=clean_env())
    os.read(process.stdout.fileno(), 1000)
    process.send_signal(signal.SIGSTOP)
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until_quiet(cluster)


def can_connect(node):
    try:
        servers.connect(node).close()
        return True
    except psycopg.Error:
        return False


def swallow(action):
    """The action, without the error that a killed server causes."""
    def run():
        try:
            action()
        except psycopg.Error:
            pass
    return run


def test_nothing_stays_prepared(cluster):
    """After all of the above: no prepared transaction, no commit record that is long done."""
    found = on_every_node(cluster, "SELECT count(*) FROM pg_prepared_xacts")
    assert all(count == [(0,)] for count in found.values())
