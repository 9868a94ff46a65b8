"""citus_check_reference_table(): compares a reference table's rows on all nodes."""

import threading

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value


@pytest.fixture
def table(schema, coordinator):
    name = f'{schema}."Rates"'
    coordinator.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, v float8, \"Name\" text)")
    coordinator.execute("SELECT create_reference_table(%s)", [name])
    coordinator.execute(f"INSERT INTO {name} SELECT g, g / 3.0, 'number ' || g FROM generate_series(1, 100) g")
    return name


def equal(connection, table_):
    return rows(connection, "SELECT equal, row_count FROM citus_check_reference_table(%s)", [table_])


def test_equal_and_different(cluster, coordinator, table, connect):
    assert equal(coordinator, table) == [(True, 100)] * 3
    worker = connect(cluster.workers[0])
    # what a task for this node looks like: other nodes don't hear of it
    worker.execute(f"/*citus:node*/ UPDATE {table} SET v = v + 1 WHERE id = 7")
    assert equal(worker, table) == [(True, 100), (False, 100), (True, 100)]
    worker.execute(f"/*citus:node*/ DELETE FROM {table} WHERE id = 7")
    assert equal(coordinator, table) == [(True, 100), (False, 99), (True, 100)]


def test_empty(coordinator, table):
    coordinator.execute(f"DELETE FROM {table}")
    assert equal(coordinator, table) == [(True, 0)] * 3


def test_not_a_reference_table(coordinator, schema):
    coordinator.execute(f"CREATE TABLE {schema}.t (id int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    with pytest.raises(psycopg.errors.WrongObjectType):
        equal(coordinator, f"{schema}.t")


def test_equal_while_it_is_written(cluster, coordinator, table):
    """Writers on all nodes, of keys of their own and of common ones, leave equal replicas at every moment."""
    stop = threading.Event()
    failures = []

    def write(node, number):
        try:
            with servers.connect(node) as connection:
                key = 1000 * number
                while not stop.is_set():
                    key += 1
                    with connection.transaction():
                        connection.execute(f"INSERT INTO {table} VALUES (%s, random(), 'x')", [key])
                        connection.execute(f"UPDATE {table} SET v = random() WHERE id = %s", [key % 5 + 1])
        except psycopg.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[node, number + 1]) for number, node in enumerate(cluster.nodes)]
    for thread in threads:
        thread.start()
    found = [equal(coordinator, table) for _ in range(5)]
    stop.set()
    for thread in threads:
        thread.join()
    assert not [error for error in failures if error.sqlstate != "40P01"], failures
    assert all(replica[0] for replicas in found for replica in replicas), found
    assert value(coordinator, f"SELECT count(*) FROM {table}") > 100
