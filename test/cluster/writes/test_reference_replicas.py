"""citus_check_reference_table(): compares a reference table's rows on all nodes."""

import random
import threading
import time

import psycopg
import pytest

from harness import servers
from harness.servers import on_every_node, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped


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
    worker = connect(cluster.workers[0], options="-c citus.node_proof=superuser")
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


def test_equal_after_columns_are_computed(coordinator, table):
    """By defaults that are stable, of rows that are written anew; what would differ is refused."""
    coordinator.execute(f'ALTER TABLE {table} ADD COLUMN at timestamptz DEFAULT now(), ALTER v TYPE numeric')
    assert equal(coordinator, table) == [(True, 100)] * 3
    assert value(coordinator, f"SELECT count(DISTINCT at) FROM {table}") == 1
    for expression in ("now()::text", "(random() * id)::text", "current_date::text", "CASE WHEN localtime < '12:00' THEN 'x' END"):
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            coordinator.execute(f'ALTER TABLE {table} ALTER "Name" TYPE varchar USING {expression}')
    coordinator.execute(f'ALTER TABLE {table} ALTER "Name" TYPE int USING substr("Name", 8)::int')
    assert equal(coordinator, table) == [(True, 100)] * 3


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


def check_equal(coordinator, *tables):
    for name in tables:
        found = equal(coordinator, name)
        assert all(replica[0] for replica in found), (name, found)


@pytest.fixture
def pair(schema, coordinator):
    """Two reference tables with ten rows each."""
    for name in ("one", "two"):
        coordinator.execute(f"CREATE TABLE {schema}.{name} (id int PRIMARY KEY, v int)")
        coordinator.execute(f"SELECT create_reference_table('{schema}.{name}')")
        coordinator.execute(f"INSERT INTO {schema}.{name} SELECT g, 0 FROM generate_series(1, 10) g")
    return f"{schema}.one", f"{schema}.two"


# What a writer does to rows of which it can't know by their locks, since another has just made them.
LATER = ["DELETE FROM {one} WHERE id > 100", "UPDATE {one} SET v = 1 WHERE id > 100",
         "DELETE FROM {two} WHERE id + 100 IN (SELECT id FROM {one})",
         "UPDATE {one} SET v = v + 1 + (random() * 0)::int",
         "INSERT INTO {two} SELECT id, 1 FROM {one} WHERE id > 100"]


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
@pytest.mark.parametrize("later", LATER)
def test_writer_that_waited(cluster, coordinator, connect, pair, initiator, later):
    """A statement that began before its predecessor's commit sees it on all nodes."""
    one, two = pair
    first = connect(cluster.node(initiator))
    first.execute("BEGIN")
    first.execute(f"INSERT INTO {one} SELECT g, 0 FROM generate_series(101, 105) g")
    first.execute(f"UPDATE {one} SET v = v + 1 WHERE id = 1")
    second = Statement(connect(cluster.node(initiator)), later.format(one=one, two=two))
    if later.startswith(("DELETE FROM {one}", "UPDATE {one}")):
        wait_until(lambda: any(row for found in on_every_node(
            cluster, "SELECT 1 FROM pg_locks WHERE locktype = 'object' AND NOT granted").values() for row in found),
                   "the second writer to wait")
    first.execute("COMMIT")
    assert second.finish() is None
    check_equal(coordinator, one, two)


READERS = ["INSERT INTO {one} VALUES (11, (SELECT sum(v) FROM {two}))",
           "INSERT INTO {one} VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET v = (SELECT max(id) FROM {two})",
           "UPDATE {one} SET v = {two}.id FROM {two} WHERE {one}.id = {two}.id",
           "DELETE FROM {one} WHERE id IN (SELECT id FROM {two} WHERE id < 3)",
           "DELETE FROM {one} WHERE id = 1 RETURNING (SELECT count(*) FROM {two})"]


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
@pytest.mark.parametrize("statement", READERS)
def test_reading_keeps_no_writer_off(cluster, coordinator, connect, pair, initiator, statement):
    """A table that a writer of another reads may be written before its commit, and the copies of both stay equal."""
    one, two = pair
    first = connect(cluster.node(initiator))
    first.execute("BEGIN")
    first.execute(statement.format(one=one, two=two))
    second = connect(cluster.workers[1])
    second.execute("SET lock_timeout = '5s'")
    second.execute(f"UPDATE {two} SET id = id + 1000")
    first.execute("COMMIT")
    check_equal(coordinator, one, two)


@pytest.mark.parametrize("later", LATER)
def test_commit_that_spreads(cluster, coordinator, connect, pair, later):
    """A statement that begins while its predecessor's commit has reached some nodes only."""
    one, two = pair
    stopped = Stopped(cluster.workers[0], "commit-between-commits",
                      f"INSERT INTO {one} SELECT g, 0 FROM generate_series(101, 105) g")
    second = Statement(connect(cluster.workers[1]), later.format(one=one, two=two))
    try:
        wait_until(lambda: not second.running or any(row for found in on_every_node(
            cluster, "SELECT 1 FROM pg_locks WHERE NOT granted").values() for row in found), "the second writer to wait")
    finally:
        assert stopped.go_on() is None
    assert second.finish() is None
    check_equal(coordinator, one, two)


def test_equal_after_all_kinds_of_writes(cluster, coordinator, pair):
    """Rows made, changed and deleted by range, from all nodes, also in what is rolled back."""
    one, two = pair
    end = time.monotonic() + 2
    failures = []

    def write(node, number):
        choose = random.Random(number)
        with servers.connect(node) as connection:
            while time.monotonic() < end:
                key = choose.randrange(20, 40)
                statements = choose.sample([
                    f"INSERT INTO {one} VALUES ({key}, {number}) ON CONFLICT (id) DO UPDATE SET v = {one}.v + 1",
                    f"INSERT INTO {one} VALUES ({key}, {number}) ON CONFLICT DO NOTHING",
                    f"DELETE FROM {one} WHERE id > {key}", f"UPDATE {one} SET v = v + 1 WHERE id > {key}",
                    f"DELETE FROM {two} WHERE id IN (SELECT id FROM {one}) AND id > 20",
                    f"INSERT INTO {two} SELECT id, v FROM {one} ON CONFLICT DO NOTHING"], 2)
                try:
                    with connection.transaction(force_rollback=choose.random() < 0.2):
                        for statement in statements:
                            connection.execute(statement)
                except psycopg.Error as error:
                    failures.append(error)

    threads = [threading.Thread(target=write, args=[cluster.nodes[number % 3], number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [error for error in failures if error.sqlstate != "40P01"], failures
    check_equal(coordinator, one, two)
