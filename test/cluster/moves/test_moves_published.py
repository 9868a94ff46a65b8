"""citus_move_shard_placement without blocking writers: nothing that clients do fails since the shards are in a publication meanwhile."""

import os
import signal
import time

import psycopg
import pytest

from harness import servers
from harness.load import Load
from harness.servers import rows, value, wait_until
from harness.stopped import Stopped

# How a table is made, the first version that has such, and the one since which it can't be replicated.
GENERATED = {
    "stored": ("CREATE TABLE {t} (k int, a int, d int GENERATED ALWAYS AS (a * 3) STORED)", 15, 18),
    "virtual": ("CREATE TABLE {t} (k int, a int, d int GENERATED ALWAYS AS (a * 3) VIRTUAL)", 18, 18),
    "stored beside a key": ("CREATE TABLE {t} (k int PRIMARY KEY, a int, d int GENERATED ALWAYS AS (a * 3) STORED)", 15, 99),
    "virtual beside a key": ("CREATE TABLE {t} (k int PRIMARY KEY, a int, d int GENERATED ALWAYS AS (a * 3) VIRTUAL)", 18, 99),
    "stored in a key": ("CREATE TABLE {t} (k int, a int, d int GENERATED ALWAYS AS (k * 3) STORED, PRIMARY KEY (k, d))", 15, 15),
    "whole rows": ("CREATE TABLE {t} (k int PRIMARY KEY, a int, d int GENERATED ALWAYS AS (a * 3) STORED); "
                   "ALTER TABLE {t} REPLICA IDENTITY FULL", 15, 18),
    "partitions": ("CREATE TABLE {t} (k int, a int, d int GENERATED ALWAYS AS (a * 3) STORED) PARTITION BY RANGE (k); "
                   "CREATE TABLE {t}_1 PARTITION OF {t} FOR VALUES FROM (0) TO (20); CREATE TABLE {t}_2 PARTITION OF {t} DEFAULT", 15, 18),
}


def shard_of(connection, table, key=1):
    """A key's shard, and the port of its node."""
    return rows(connection, """
        SELECT shardid, nodeport FROM citus_shards
        WHERE table_name = %s::regclass AND shardid = get_shard_id_for_distribution_column(%s::regclass, %s)""",
                [table, table, key])[0]


def move_text(cluster, connection, table, mode):
    """The move of a shard to the other worker."""
    shard, source = shard_of(connection, table)
    target = next(node.port for node in cluster.workers if node.port != source)
    return f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {source}, '127.0.0.1', {target}, '{mode}')"


def older(connection, version):
    return connection.info.server_version // 10000 < version


def distributed_table(coordinator, schema, create, needs):
    """The name of a new table of two shards; skips the test on versions of the server that are older than it needs."""
    if older(coordinator, needs):
        pytest.skip(f"needs version {needs}")
    table = f"{schema}.t"
    coordinator.execute(create.format(t=table))
    coordinator.execute(f"SELECT create_distributed_table('{table}', 'k', shard_count => 2, colocate_with => 'none')")
    return table


@pytest.mark.parametrize("kind", GENERATED)
def test_generated_columns(cluster, coordinator, connect, schema, kind):
    """Rows are updated and deleted while they move, also where generated columns are part of what would find them in the copy."""
    create, needs, limit = GENERATED[kind]
    table = distributed_table(coordinator, schema, create, needs)
    coordinator.execute(f"INSERT INTO {table} (k, a) SELECT g, 0 FROM generate_series(1, 40) g")
    counts = [0, 0]

    def write(number):
        def work(connection):
            assert connection.execute(f"UPDATE {table} SET a = a + 1 WHERE k % 2 = {number}").rowcount == 20
            connection.execute(f"INSERT INTO {table} (k, a) VALUES ({100 + number}, 7)")
            assert connection.execute(f"DELETE FROM {table} WHERE k = {100 + number}").rowcount == 1
            counts[number] += 1
        return work

    def move_twice():
        with connect(cluster.coordinator) as mover:
            for _ in range(2):
                mover.execute(move_text(cluster, mover, table, "auto"))
            if older(mover, limit):
                mover.execute(move_text(cluster, mover, table, "force_logical"))
                return
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="generated columns in the replica identity") as caught:
                mover.execute(move_text(cluster, mover, table, "force_logical"))
            assert "block_writes" in caught.value.diag.message_hint

    load = Load()
    for number in range(2):
        load.add(cluster.nodes[number], write(number), f"writer {number}")
    load.meanwhile(move_twice)
    assert min(counts) > 0
    factor = "k" if kind == "stored in a key" else "a"
    assert rows(coordinator, f"SELECT k % 2, a, count(*) FROM {table} WHERE d = 3 * {factor} GROUP BY 1, 2 ORDER BY 1") == [
        (0, counts[0], 20), (1, counts[1], 20)]


# How a table is made, with v = k; DDL while a shard is published, with writes, after which v = k + 1; the first version that has such.
DDL = {
    "unlogged": ("CREATE TABLE {t} (k int PRIMARY KEY, v int)",
                 ["ALTER TABLE {t} SET UNLOGGED", "UPDATE {t} SET v = v + 1", "ALTER TABLE {t} SET LOGGED"], 15),
    "rewritten": ("CREATE TABLE {t} (k int PRIMARY KEY, v int)", ["ALTER TABLE {t} ALTER COLUMN v TYPE int USING v + 1"], 15),
    "without a key": ("CREATE TABLE {t} (k int, v int, CONSTRAINT pk PRIMARY KEY (k))",
                      ["ALTER TABLE {t} DROP CONSTRAINT pk", "UPDATE {t} SET v = v + 1"], 15),
    "without a key's column": ("CREATE TABLE {t} (k int, v int, g int DEFAULT 1, PRIMARY KEY (k, g))",
                               ["ALTER TABLE {t} DROP COLUMN g", "UPDATE {t} SET v = v + 1"], 15),
    "without identity": ("CREATE TABLE {t} (k int PRIMARY KEY, v int)",
                         ["ALTER TABLE {t} REPLICA IDENTITY NOTHING", "UPDATE {t} SET v = v + 1"], 15),
    "partitions": ("CREATE TABLE {t} (k int, v int) PARTITION BY RANGE (k); CREATE TABLE {t}_1 PARTITION OF {t} DEFAULT",
                   ["ALTER TABLE {t} ALTER COLUMN v TYPE int USING v + 1"], 15),
    "new expression": ("CREATE TABLE {t} (k int PRIMARY KEY, v int GENERATED ALWAYS AS (k) VIRTUAL)",
                       ["ALTER TABLE {t} ALTER COLUMN v SET EXPRESSION AS (k + 1)"], 18),
    "virtual column": ("CREATE TABLE {t} (k int, v int)",
                       ["ALTER TABLE {t} ADD COLUMN g int GENERATED ALWAYS AS (v) VIRTUAL", "UPDATE {t} SET v = v + 1"], 18),
}


@pytest.mark.parametrize("kind", DDL)
def test_ddl_beside_a_move(cluster, coordinator, connect, schema, kind):
    """It succeeds, and so do writes; the move fails at its end, even if the table is as before, and succeeds when it is tried again."""
    create, statements, needs = DDL[kind]
    table = distributed_table(coordinator, schema, create, needs)
    right = f"SELECT count(*), min(v - k), max(v - k) FROM {table}"
    coordinator.execute(f"INSERT INTO {table} SELECT g, g FROM generate_series(1, 40) g" if kind != "new expression" else
                        f"INSERT INTO {table} SELECT generate_series(1, 40)")
    assert rows(coordinator, right) == [(40, 0, 0)]
    moving = Stopped(cluster.coordinator, "move-subscribed", move_text(cluster, coordinator, table, "force_logical"))
    with connect(cluster.nodes[1]) as client:
        client.execute("SET lock_timeout = '10s'")
        for statement in statements:
            client.execute(statement.format(t=table))
    assert isinstance(moving.go_on(), psycopg.errors.ObjectNotInPrerequisiteState)
    assert rows(coordinator, right) == [(40, 1, 1)]
    coordinator.execute(move_text(cluster, coordinator, table, "auto"))
    assert rows(coordinator, right) == [(40, 1, 1)]


def test_cleanup_beside_a_slot_in_use(cluster, coordinator, connect, schema):
    """Clean-up doesn't wait for whoever uses a move's slot: a worker of a subscription that can't be dropped yet may take it again and again."""
    table = distributed_table(coordinator, schema, "CREATE TABLE {t} (k int PRIMARY KEY, a int)", 15)
    _, port = shard_of(coordinator, table)
    source = next(node for node in cluster.workers if node.port == port)
    with servers.connect(source) as cleaner:
        moving = Stopped(cluster.coordinator, "move-switched", move_text(cluster, coordinator, table, "force_logical"))
        sender = value(cleaner, "SELECT active_pid FROM pg_replication_slots WHERE active_pid IS NOT NULL AND slot_name ~ 'move'")
        os.kill(sender, signal.SIGSTOP)
        try:
            begun = time.monotonic()
            assert moving.go_on() is None
            assert time.monotonic() - begun < 20
            cleaner.execute("SET statement_timeout = '20s'")
            assert value(cleaner, "SELECT citus_internal.cleanup()") > 0
        finally:
            os.kill(sender, signal.SIGCONT)
        wait_until(lambda: value(cleaner, "SELECT citus_internal.cleanup()") == 0, "clean-up to end")
        assert value(cleaner, "SELECT count(*) FROM pg_replication_slots") == 0
