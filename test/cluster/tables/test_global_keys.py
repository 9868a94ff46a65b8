"""Foreign keys between rows of different nodes: new nodes, moves, writers of both sides, sessions that are killed."""

import os
import random

import psycopg
import pytest

from harness import servers
from harness.load import SECONDS, Load, end_a_session, move_any_shard
from harness.servers import rows, value, wait_until, wait_until_quiet
from harness.stopped import Stopped

PARENTS = 30
FIRE = float(os.environ.get("POMELO_RANDOM_SECONDS", SECONDS))


@pytest.fixture
def related(own_cluster):
    """A cluster with parents p, whose id is a global key and who go with their owner o, and children of them: c, and d, partitioned, that goes with its parent.
    Partitioned parents q, whose key says the partition, and children of these: e, and f, partitioned, that follows its parent."""
    with servers.connect(own_cluster.coordinator) as connection:
        connection.execute("SET citus.global_indexes = on")
        connection.execute("CREATE TABLE o (t int PRIMARY KEY)")
        connection.execute("CREATE TABLE p (t int REFERENCES o ON DELETE CASCADE, id int PRIMARY KEY)")
        connection.execute("CREATE TABLE c (id int, p int REFERENCES p)")
        connection.execute("CREATE TABLE d (id int, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED)"
                           " PARTITION BY HASH (id)")
        for number in range(2):
            connection.execute(f"CREATE TABLE d_{number} PARTITION OF d FOR VALUES WITH (modulus 2, remainder {number})")
        connection.execute("SELECT create_distributed_table('o', 't', shard_count => 8), create_distributed_table('p', 't', colocate_with => 'o')")
        connection.execute("SELECT create_distributed_table('c', 'id', shard_count => 6)")
        connection.execute("SELECT create_distributed_table('d', 'id', shard_count => 4)")
        connection.execute("CREATE TABLE q (t int, id int PRIMARY KEY) PARTITION BY RANGE (id)")
        connection.execute("CREATE TABLE q_0 PARTITION OF q FOR VALUES FROM (0) TO (10); CREATE TABLE q_1 (id int NOT NULL, t int)")
        connection.execute("ALTER TABLE q ATTACH PARTITION q_1 DEFAULT; CREATE TABLE e (id int, q int REFERENCES q)")
        connection.execute("CREATE TABLE f (id int, q int REFERENCES q ON DELETE CASCADE ON UPDATE CASCADE) PARTITION BY HASH (id)")
        connection.execute("CREATE TABLE f_0 PARTITION OF f FOR VALUES WITH (modulus 1, remainder 0)")
        for table, column in ("q", "t"), ("e", "id"), ("f", "id"):
            connection.execute("SELECT create_distributed_table(%s, %s, shard_count => 4, colocate_with => 'none')", [table, column])
        connection.execute("INSERT INTO q SELECT i %% 7, i FROM generate_series(1, %s) i", [PARENTS])
        connection.execute("INSERT INTO o SELECT generate_series(0, 6)")
        connection.execute("INSERT INTO p SELECT i %% 7, i FROM generate_series(1, %s) i", [PARENTS])
    return own_cluster


def check(node):
    """Every child has a parent."""
    with servers.connect(node) as connection:
        for table, parent in ("c", "p"), ("d", "p"), ("e", "q"), ("f", "q"):
            assert rows(connection, f"SELECT * FROM {table} x WHERE NOT EXISTS (SELECT FROM {parent} y WHERE y.id = x.{parent})") == []
        assert rows(connection, "SELECT * FROM p WHERE NOT EXISTS (SELECT FROM o WHERE o.t = p.t)") == []
        for index in "p_pkey", "q_0_pkey", "q_1_pkey":
            assert value(connection, "SELECT citus_check_global_index(%s)", [index]) == 0


def refuses(connection, statement):
    with pytest.raises(psycopg.errors.ForeignKeyViolation) as failure:
        connection.execute(statement)
    return failure.value.diag.constraint_name


def test_node_that_is_added(related, connect):
    """A new node enforces the keys, also for rows that have moved there."""
    connection, port = connect(related.coordinator), related.workers[1].port
    connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", [port])
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [port])
    connection.execute("INSERT INTO c SELECT i, i % 5 + 1 FROM generate_series(1, 50) i")
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [port])
    added = connect(related.workers[1])
    assert refuses(added, "INSERT INTO c VALUES (3, 500)") == "c_p_fkey"
    assert refuses(added, "DELETE FROM p WHERE id = 1") == "c_p_fkey"
    connection.execute("SELECT rebalance_table_shards()")
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE nodeport = %s", [port]) > 0
    added.execute("INSERT INTO d SELECT i, i % 5 + 10 FROM generate_series(1, 50) i")
    assert refuses(connection, "INSERT INTO c VALUES (3, 500)") == "c_p_fkey"
    added.execute("DELETE FROM p WHERE id BETWEEN 10 AND 12")
    assert value(connection, "SELECT count(*) FROM d") == 20
    added.execute("INSERT INTO e VALUES (1, 1); INSERT INTO f SELECT i, i % 20 + 1 FROM generate_series(1, 50) i")
    assert refuses(added, "UPDATE q SET id = 50 WHERE id = 1") == "e_q_fkey"
    added.execute("UPDATE q SET id = id + 50 WHERE id IN (5, 15); DELETE FROM q_0 WHERE id > 1")
    assert value(added, "SELECT count(*) FROM f WHERE q > 50") == 5
    assert refuses(added, "ALTER TABLE q DETACH PARTITION q_0") is not None
    check(related.workers[1])


def change(connection):
    """One of the writes of both sides; whatever one server may refuse is passed over."""
    key, other, row = random.randint(1, PARENTS), random.randint(1, PARENTS), random.randint(1, 1000)
    statement = random.choice([
        f"INSERT INTO c VALUES ({row}, {key})",
        f"INSERT INTO d VALUES ({row}, {key}), ({row + 1}, {other})",
        f"DELETE FROM c WHERE p = {key}",
        f"DELETE FROM p WHERE id = {key}",
        f"INSERT INTO p VALUES ({row % 7}, {key})",
        f"UPDATE p SET id = {other} WHERE id = {key}",
        f"UPDATE p SET t = {row % 7} WHERE id = {key}",
        f"DELETE FROM o WHERE t = {row % 7}",
        f"INSERT INTO o VALUES ({row % 7}) ON CONFLICT DO NOTHING",
        f"UPDATE c SET p = {other} WHERE p = {key}",
        f"INSERT INTO e VALUES ({row}, {key})",
        f"DELETE FROM e WHERE q IN ({key}, {other})",
        f"INSERT INTO f VALUES ({row}, {key}), ({row + 1}, {other})",
        f"INSERT INTO q VALUES ({row % 7}, {key})",
        f"DELETE FROM q WHERE id = {key}",
        f"UPDATE q SET id = {other} WHERE id = {key}",
        f"UPDATE q SET id = {PARENTS + 1} - id WHERE id IN ({key}, {PARENTS + 1 - key})",
        f"BEGIN; INSERT INTO d VALUES ({row}, {key}); INSERT INTO p VALUES (1, {key}) ON CONFLICT DO NOTHING; COMMIT",
    ])
    try:
        connection.execute(statement)
    except (psycopg.errors.IntegrityError, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")


def test_writers_of_both_sides(related):
    """Clients of all nodes write both sides while shards move and sessions are ended: no child without a parent."""
    load = Load()
    for number in range(6):
        load.add(related.nodes[number % 3], change, f"client{number}")

    load.add(related.coordinator, move_any_shard, "move")
    load.add(None, lambda _: end_a_session(related.workers[0], change), "kill")
    load.finish(FIRE)
    wait_until_quiet(related)
    for node in related.nodes:
        check(node)


def node_of(connection, table, key):
    """The port of the node with the shard of a distribution value."""
    return value(connection, """SELECT nodeport FROM citus_shards
        WHERE shardid = get_shard_id_for_distribution_column(%s::regclass, %s)""", [table, key])


@pytest.mark.parametrize("table", ["c", "d"])
def test_child_that_is_being_committed(related, connect, table):
    """Who deletes a parent waits for a child that is being committed on another node, and sees it."""
    here, there = related.workers
    connection, watcher = connect(here), connect(there)
    tenant = next(t for t in range(7) if node_of(connection, "p", t) == here.port)
    child = next(i for i in range(1, 100) if node_of(connection, table, i) == there.port)
    parent = value(connection, "SELECT min(id) FROM p WHERE t = %s", [tenant])
    stopped = Stopped(there, "commit-after-decision", f"INSERT INTO {table} VALUES ({child}, {parent})")
    load = Load()

    def delete(_):
        if table == "c":
            assert refuses(connection, f"DELETE FROM p WHERE id = {parent}") == "c_p_fkey"
        else:
            connection.execute(f"DELETE FROM p WHERE id = {parent}")
        load.stop.set()

    load.add(None, delete, "deletes the parent")
    load.meanwhile(lambda: (
        wait_until(lambda: load.stop.is_set() or rows(connect(here), "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
                   "the DELETE to wait"),
        stopped.go_on(), load.stop.wait(servers.PATIENCE)))
    assert value(watcher, f"SELECT count(*) FROM {table}") == (1 if table == "c" else 0)
    check(related.coordinator)


def waits(node):
    with servers.connect(node) as watcher:
        return rows(watcher, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != []


def test_child_of_a_copy_that_is_being_committed(related, connect):
    """The same where the parent is a reference table's row, whose copy on another node the child has locked, and the child's shard is the only one that is read."""
    here, there = related.workers
    connection, remover = connect(here), connect(related.coordinator)
    connection.execute("SET citus.global_indexes = on")
    connection.execute("CREATE TABLE kinds (id int PRIMARY KEY); CREATE TABLE k (kind int REFERENCES kinds ON DELETE CASCADE, id int PRIMARY KEY)")
    connection.execute("SELECT create_reference_table('kinds'), create_distributed_table('k', 'kind')")
    connection.execute("INSERT INTO kinds SELECT generate_series(1, 50)")
    kind = next(i for i in range(1, 50) if node_of(connection, "k", i) == there.port)
    stopped = Stopped(here, "commit-after-decision", f"INSERT INTO k VALUES ({kind}, 1)")
    load = Load()
    load.add(None, lambda _: (remover.execute(f"DELETE FROM kinds WHERE id = {kind}"), load.stop.set()), "deletes the parent")
    load.meanwhile(lambda: (wait_until(lambda: load.stop.is_set() or waits(there), "the DELETE to wait"), stopped.go_on(),
                            load.stop.wait(servers.PATIENCE)))
    assert rows(connection, "SELECT * FROM k") == []
    assert value(connection, "SELECT citus_check_global_index('k_pkey')") == 0


def test_parent_that_is_being_committed(related, connect):
    """A child that has waited for its parent's commit keeps it from being deleted."""
    here, there = related.workers
    child, remover = connect(here), connect(related.coordinator)
    tenant = next(t for t in range(7) if node_of(child, "p", t) == there.port)
    stopped = Stopped(here, "commit-after-decision", f"INSERT INTO p VALUES ({tenant}, 1000)")
    load = Load()
    load.add(None, lambda _: (child.execute("BEGIN"), child.execute("INSERT INTO c VALUES (1, 1000)"), load.stop.set()), "inserts the child")
    load.meanwhile(lambda: (wait_until(lambda: load.stop.is_set() or waits(there), "the INSERT to wait"), stopped.go_on(),
                            load.stop.wait(servers.PATIENCE)))
    remover.execute("SET lock_timeout = 500")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        remover.execute("DELETE FROM p WHERE id = 1000")
    child.execute("COMMIT")
    assert refuses(remover, "DELETE FROM p WHERE id = 1000") == "c_p_fkey"
    check(there)
