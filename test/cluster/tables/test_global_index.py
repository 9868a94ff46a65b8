"""Unique keys without the distribution column: new nodes, moves, every kind of writer, sessions that are killed."""

import os
import random

import psycopg
import pytest

from harness import servers
from harness.load import SECONDS, Load, end_a_session, move_any_shard
from harness.servers import rows, value, wait_until, wait_until_quiet
from harness.stopped import Stopped

KEYS = 40
FIRE = float(os.environ.get("POMELO_RANDOM_SECONDS", SECONDS))


@pytest.fixture
def keyed(own_cluster):
    """A cluster with the table g, distributed by t, whose column k is a global unique key."""
    with servers.connect(own_cluster.coordinator) as connection:
        connection.execute("CREATE TABLE parent (t int PRIMARY KEY)")
        connection.execute("SELECT create_distributed_table('parent', 't', shard_count => 8)")
        connection.execute("INSERT INTO parent SELECT generate_series(1, 9)")
        connection.execute("CREATE TABLE g (t int REFERENCES parent, k int UNIQUE)")
        connection.execute("SET citus.global_indexes = on")
        connection.execute("SELECT create_distributed_table('g', 't', colocate_with => 'parent')")
    return own_cluster


def check(node):
    """The keys are unique, and the entries are those of the rows."""
    with servers.connect(node) as connection:
        assert rows(connection, "SELECT k, count(*) FROM g WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1") == []
        assert value(connection, "SELECT citus_check_global_index('g_k_key')") == 0


def refuses(connection, statement):
    """The statement fails with 23505, and names the index."""
    with pytest.raises(psycopg.errors.UniqueViolation) as failure:
        connection.execute(statement)
    assert (failure.value.diag.constraint_name, failure.value.diag.table_name) == ("g_k_key", "g")


def test_node_that_is_added(keyed, connect):
    """A new node, and shards of table and entries that have moved there, keep the keys as the others do."""
    connection, port = connect(keyed.coordinator), keyed.workers[1].port
    connection.execute("SELECT rebalance_table_shards(drain_only => false)")
    connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", [port])
    # so that the entries' row comes first
    connect(keyed.workers[1]).execute("UPDATE pg_dist_partition SET partmethod = partmethod WHERE logicalrelid = 'g'::regclass")
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [port])
    connection.execute("INSERT INTO g SELECT i % 9 + 1, i FROM generate_series(1, 100) i")
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [port])
    added = connect(keyed.workers[1])
    refuses(added, "INSERT INTO g VALUES (3, 50)")
    added.execute("INSERT INTO g VALUES (3, 150)")
    connection.execute("SELECT rebalance_table_shards()")
    assert value(connection, "SELECT count(*) FROM citus_shards WHERE nodeport = %s", [port]) > 0
    refuses(connection, "INSERT INTO g VALUES (4, 150)")
    added.execute("UPDATE g SET k = k + 1000 WHERE k = 7")
    check(keyed.workers[1])


def test_writers(keyed, connect):
    """Subtransactions, roles of replication, prepared statements, WITH, functions, TRUNCATE of a referenced table."""
    connection = connect(keyed.coordinator)
    connection.execute("BEGIN; SAVEPOINT s; INSERT INTO g VALUES (3, 3); ROLLBACK TO s; INSERT INTO g VALUES (1, 3); COMMIT")
    connection.execute("SET session_replication_role = replica")
    refuses(connection, "INSERT INTO g VALUES (2, 3)")
    connection.execute("RESET session_replication_role")
    connection.execute("ALTER TABLE g DISABLE TRIGGER USER")
    refuses(connection, "INSERT INTO g VALUES (2, 3)")
    connection.execute("PREPARE p AS INSERT INTO g VALUES ($1, $2)")
    for number in range(7):
        connection.execute(f"EXECUTE p ({number % 9 + 1}, {100 + number})")
    refuses(connection, "EXECUTE p (9, 101)")
    connection.execute("WITH d AS (DELETE FROM g WHERE k = 102 RETURNING *) INSERT INTO g SELECT t % 9 + 1, k FROM d")
    connection.execute("""CREATE FUNCTION next_free() RETURNS void LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO g VALUES (1, 103); EXCEPTION WHEN unique_violation THEN INSERT INTO g VALUES (1, 999); END $$""")
    connection.execute("SELECT next_free()")
    assert value(connection, "SELECT count(*) FROM g WHERE k = 999") == 1
    check(keyed.coordinator)
    connection.execute("SET citus.global_indexes = refuse")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("ALTER TABLE g ADD FOREIGN KEY (t) REFERENCES parent ON DELETE CASCADE")
    connection.execute("TRUNCATE parent CASCADE")
    check(keyed.coordinator)


def change(connection):
    """One of the writes of colliding keys; whatever one server may refuse, or a killed session loses, is passed over."""
    key, tenant = random.randint(1, KEYS), random.randint(1, 9)
    statement = random.choice([
        f"INSERT INTO g VALUES ({tenant}, {key})",
        f"DELETE FROM g WHERE k = {key}",
        f"UPDATE g SET k = {key} WHERE t = {tenant}",
        f"UPDATE g SET t = {tenant} WHERE k = {key}",
        f"BEGIN; DELETE FROM g WHERE k = {key}; INSERT INTO g VALUES ({tenant}, {key}); COMMIT",
    ])
    try:
        connection.execute(statement)
    except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")


def upsert(connection):
    """No writer of the same key makes ON CONFLICT fail."""
    key, tenant = random.randint(1, KEYS), random.randint(1, 9)
    try:
        connection.execute(f"INSERT INTO g VALUES ({tenant}, {key}) ON CONFLICT (k) " +
                           random.choice(["DO NOTHING", "DO UPDATE SET t = excluded.t", "DO UPDATE SET k = excluded.k"]))
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        pass


def test_collisions(keyed, connect):
    """Clients of all nodes write colliding keys while shards move and sessions are ended: no key twice, no entry lost."""
    load = Load()
    for number in range(6):
        load.add(keyed.nodes[number % 3], change, f"client{number}")

    for number, node in enumerate(keyed.nodes):
        load.add(node, upsert, f"upsert{number}")
    load.add(keyed.coordinator, move_any_shard, "move")
    load.add(None, lambda _: end_a_session(keyed.workers[0], change), "kill")
    load.finish(FIRE)
    wait_until_quiet(keyed)
    for node in keyed.nodes:
        check(node)


def change_other(connection):
    """Writes of a table with a deferred unique key, and an index that isn't unique."""
    key, other, tenant = random.randint(1, KEYS), random.randint(1, KEYS), random.randint(1, 9)
    try:
        connection.execute(random.choice([
            f"INSERT INTO h VALUES ({tenant}, {key}, {other % 5}, {other})",
            f"DELETE FROM h WHERE k = {key}",
            f"DELETE FROM h WHERE s = {other % 5} AND t = {tenant}",
            f"UPDATE h SET s = NULLIF({other % 5}, 3), t = {tenant} WHERE k = {key}",
            f"UPDATE h SET t = t % 9 + 1 WHERE s = {other % 5}",
            f"BEGIN; UPDATE h SET u = {other} WHERE k = {key}; UPDATE h SET u = {key} WHERE k = {other}; COMMIT",
            f"BEGIN; INSERT INTO h VALUES ({tenant}, {key}, 1, {other}); DELETE FROM h WHERE u = {other} AND k <> {key}; COMMIT",
        ]))
    except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")


def test_other_kinds(keyed):
    """The same for deferred constraints and indexes that aren't unique; a read of entries is one of rows."""
    with servers.connect(keyed.coordinator) as connection:
        connection.execute("SET citus.global_indexes = on")
        connection.execute("CREATE TABLE h (t int, k int PRIMARY KEY, s int, u int CONSTRAINT h_u UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        connection.execute("CREATE INDEX h_s ON h (s) INCLUDE (u) WHERE citus_global_index()")
        connection.execute("SELECT create_distributed_table('h', 't', colocate_with => 'parent')")
    load = Load()
    for number in range(6):
        load.add(keyed.nodes[number % 3], change_other, f"client{number}")

    load.add(keyed.coordinator, move_any_shard, "move")
    load.add(None, lambda _: end_a_session(keyed.workers[0], change_other), "kill")
    load.finish(FIRE)
    wait_until_quiet(keyed)
    for node in keyed.nodes:
        with servers.connect(node) as connection:
            assert rows(connection, "SELECT u FROM h GROUP BY u HAVING count(*) > 1") == []
            for index in "h_pkey", "h_s", "h_u":
                assert value(connection, "SELECT citus_check_global_index(%s::regclass)", [index]) == 0, index
            for group in range(5):
                query = f"SELECT k, u FROM h WHERE s = {group} ORDER BY k"
                found = rows(connection, query)
                connection.execute("SET citus.enable_global_index_lookups = off")
                assert rows(connection, query) == found
                connection.execute("RESET citus.enable_global_index_lookups")


def node_of(connection, table, key):
    """The port of the node with the shard of a distribution value."""
    return value(connection, """SELECT nodeport FROM citus_shards
        WHERE shardid = get_shard_id_for_distribution_column(%s::regclass, %s)""", [table, key])


def shard_of(connection, table, key):
    """The shard of a distribution value."""
    return value(connection, "SELECT get_shard_id_for_distribution_column(%s::regclass, %s)", [table, key])


def keys_on(connection, node):
    """Keys whose entries are on the node."""
    entries = value(connection, """SELECT objid::regclass::text FROM pg_depend
        WHERE refobjid = 'g_k_key'::regclass AND deptype = 'i' AND classid = 'pg_class'::regclass""")
    return [key for key in range(1, KEYS) if node_of(connection, entries, key) == node.port]


@pytest.mark.parametrize("mode", ["NOT DEFERRABLE", "DEFERRABLE"])
@pytest.mark.parametrize("count, statement", [
    (1, "DELETE FROM g WHERE t = {t}"), (2, "DELETE FROM g WHERE t = {t}"),
    (1, "UPDATE g SET k = k + 1000 WHERE t = {t}"), (1, "UPDATE g SET t = t % 9 + 1 WHERE t = {t}")])
def test_entries_that_are_being_committed(keyed, connect, count, statement, mode):
    """Whoever changes a row waits until its entry is committed, too: on another node, that comes later."""
    here, there = keyed.workers
    connection, watcher = connect(here), connect(there)
    connection.execute("SET citus.global_indexes = on")
    connection.execute(f"ALTER TABLE g DROP CONSTRAINT g_k_key, ADD CONSTRAINT g_k_key UNIQUE (k) {mode}")
    tenant = next(t for t in range(1, 10) if node_of(connection, "g", t) == here.port)
    keys = keys_on(connection, there)[:count]
    stopped = Stopped(here, "commit-after-decision",
                      "INSERT INTO g VALUES " + ", ".join(f"({tenant}, {key})" for key in keys))
    load = Load()

    def change_rows(_):
        assert connection.execute(statement.format(t=tenant)).rowcount == count
        load.stop.set()

    load.add(None, change_rows, "changes rows")
    load.meanwhile(lambda: (
        wait_until(lambda: load.stop.is_set() or rows(watcher, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
                   "the change to wait"),
        stopped.go_on(), load.stop.wait(servers.PATIENCE)))
    check(keyed.coordinator)


def test_deferred_key_of_two_rows(keyed, connect):
    """One of two rows with a deferred key goes beside a row whose entry is being committed: the other one keeps its entry."""
    here, there = keyed.workers
    connection, watcher = connect(here), connect(there)
    connection.execute("SET citus.global_indexes = on")
    connection.execute("ALTER TABLE g ADD n int, DROP CONSTRAINT g_k_key, ADD CONSTRAINT g_k_key UNIQUE (k) DEFERRABLE INITIALLY DEFERRED")
    tenant = next(t for t in range(1, 10) if node_of(connection, "g", t) == here.port)
    committing, twice = keys_on(connection, there)[:2]
    connection.execute(f"INSERT INTO g VALUES ({tenant}, {twice})")
    stopped = Stopped(here, "commit-after-decision", f"INSERT INTO g VALUES ({tenant}, {committing})")
    load = Load()

    def change_rows(_):
        with connection.transaction():
            connection.execute(f"INSERT INTO g VALUES ({tenant}, {twice}, 1)")
            assert connection.execute(f"DELETE FROM g WHERE t = {tenant} AND n IS NULL").rowcount == 2
        load.stop.set()

    load.add(None, change_rows, "changes rows")
    load.meanwhile(lambda: (
        wait_until(lambda: load.stop.is_set() or rows(watcher, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
                   "the change to wait"),
        stopped.go_on(), load.stop.wait(servers.PATIENCE)))
    assert rows(watcher, "SELECT k, n FROM g") == [(twice, 1)]
    check(keyed.coordinator)


def test_index_concurrently(keyed, connect):
    """Who writes while the entries of an index are made doesn't wait, and what is written is in the index."""
    connection = connect(keyed.coordinator)
    connection.execute("CREATE TABLE w (t int, k int, n int DEFAULT 0)")
    connection.execute("SELECT create_distributed_table('w', 't', shard_count => 8)")
    connection.execute("INSERT INTO w SELECT i % 50, i FROM generate_series(1, 3000) i")
    builder = connect(keyed.workers[0])
    builder.execute("SET citus.global_indexes = on")
    builder.execute("SET default_transaction_isolation = 'repeatable read'")
    stopped = Stopped(keyed.workers[0], "global-index-listed", "CREATE UNIQUE INDEX CONCURRENTLY w_k ON w (k)", builder)
    reader = connect(keyed.workers[1])
    reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert value(reader, "SELECT count(*) FROM parent") == 9
    for node in keyed.nodes:
        writer, n = connect(node), node.port % 100
        other = next(t for t in range(61, 99) if shard_of(connection, "w", t) != shard_of(connection, "w", (n + 500) % 50))
        for statement in (f"DELETE FROM w WHERE k = {n}",
                          f"BEGIN; DELETE FROM w WHERE k = {n + 100}; INSERT INTO w VALUES (60, {n + 100}, 1); COMMIT",
                          f"UPDATE w SET k = k + 10000 WHERE k = {n + 200}",
                          f"UPDATE w SET t = t + 1 WHERE k = {n + 300}",
                          f"UPDATE w SET n = 1 WHERE k = {n + 400}",
                          f"INSERT INTO w VALUES (70, {n + 20000}), (71, {n + 30000})",
                          f"DELETE FROM w WHERE k = {n + 20000}",
                          f"INSERT INTO w VALUES ({other}, {n + 500}); DELETE FROM w WHERE k = {n + 500} AND t <> {other}"):
            writer.execute(statement)
        with pytest.raises(psycopg.errors.UniqueViolation):
            writer.execute(f"INSERT INTO w VALUES (80, {n + 30000})")
    watchers = [connect(node) for node in keyed.nodes]
    with connect(keyed.workers[1]) as holder:
        holder.execute("BEGIN; UPDATE w SET n = 2 WHERE k IN (700, 701); DELETE FROM w WHERE k = 702")
        load = Load()
        load.add(None, lambda _: (stopped.go_on(), load.stop.set()), "builder goes on")
        load.meanwhile(lambda: (
            wait_until(lambda: load.stop.is_set() or any(
                rows(watcher, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'") for watcher in watchers),
                "the build to wait for the locked rows"),
            connection.execute("UPDATE w SET n = 3 WHERE k = 800"),
            holder.execute("COMMIT"), load.stop.wait(servers.PATIENCE)))
    assert stopped.error is None
    assert rows(reader, "SELECT n FROM w WHERE k = 900") == [(0,)]
    reader.execute("COMMIT")
    assert value(connection, "SELECT citus_check_global_index('w_k')") == 0
    assert value(connection, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'w_k'::regclass")
    assert rows(connection, "SELECT k FROM w GROUP BY k HAVING count(*) > 1") == []
    for key in 700, 800, keyed.nodes[0].port % 100 + 100:
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(f"INSERT INTO w VALUES (90, {key})")
    connection.execute("INSERT INTO w VALUES (90, 702)")


@pytest.mark.parametrize("number", [0, 2])
def test_index_concurrently_waits_for_a_row_that_moves(keyed, connect, number):
    """The row that the build waits for goes to another shard: it is listed again, or has its entry."""
    connection, builder, holder = connect(keyed.coordinator), connect(keyed.workers[0]), connect(keyed.nodes[number])
    connection.execute("CREATE TABLE w (t int, k int, n int DEFAULT 0)")
    connection.execute("SELECT create_distributed_table('w', 't', shard_count => 8)")
    connection.execute("INSERT INTO w SELECT i % 50, i FROM generate_series(1, 1000) i")
    builder.execute("SET citus.global_indexes = on")
    stopped = Stopped(keyed.workers[0], "global-index-listed", "CREATE UNIQUE INDEX CONCURRENTLY w_k ON w (k)", builder)
    other = next(t for t in range(61, 99) if shard_of(connection, "w", t) != shard_of(connection, "w", 7))
    holder.execute("BEGIN; UPDATE w SET n = 2 WHERE k = 7")
    load = Load()
    load.add(None, lambda _: (stopped.go_on(), load.stop.set()), "builder goes on")
    load.meanwhile(lambda: (
        wait_until(lambda: load.stop.is_set() or any(
            rows(connect(node), "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'") for node in keyed.nodes),
            "the build to wait for the locked row"),
        holder.execute(f"UPDATE w SET t = {other} WHERE k = 7; COMMIT"), load.stop.wait(servers.PATIENCE)))
    assert stopped.error is None
    assert value(connection, "SELECT citus_check_global_index('w_k')") == 0
    assert value(connection, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'w_k'::regclass")
    assert rows(connection, "SELECT t, n FROM w WHERE k = 7") == [(other, 2)]


def change_while_built(connection):
    """One of the writes that leave the keys distinct."""
    key, tenant = random.randint(1, KEYS * 50), random.randint(1, 60)
    try:
        connection.execute(random.choice([
            f"UPDATE w SET t = {tenant} WHERE k = {key}",
            f"UPDATE w SET n = n + 1 WHERE k BETWEEN {key} AND {key + 20}",
            f"WITH d AS (DELETE FROM w WHERE k = {key} RETURNING k) INSERT INTO w SELECT {tenant}, k FROM d",
            f"BEGIN; DELETE FROM w WHERE k = {key}; SELECT; COMMIT",
            f"UPDATE w SET k = -k WHERE k IN ({key}, -{key})",
        ]))
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")


def test_index_concurrently_under_fire(keyed, connect):
    """Indexes are built and dropped while clients of all nodes write: every one of them is complete."""
    connection = connect(keyed.coordinator)
    connection.execute("CREATE TABLE w (t int, k int, n int DEFAULT 0)")
    connection.execute("SELECT create_distributed_table('w', 't', shard_count => 8)")
    connection.execute(f"INSERT INTO w SELECT i % 50, i FROM generate_series(1, {KEYS * 50}) i")
    load = Load()

    def build(builder):
        builder.execute("SET citus.global_indexes = on")
        try:
            builder.execute("CREATE UNIQUE INDEX CONCURRENTLY w_k ON w (k)")
            assert value(builder, "SELECT citus_check_global_index('w_k')") == 0
        except psycopg.errors.DeadlockDetected:
            pass
        builder.execute("DROP INDEX w_k")

    for number in range(3):
        load.add(keyed.nodes[number], change_while_built, f"client{number}")
    load.add(keyed.workers[0], build, "build")
    load.finish(FIRE)


def test_index_concurrently_finds_equal_keys(keyed, connect):
    """Equal keys in two shards fail the build; the index that it leaves isn't used, and can be dropped only."""
    connection = connect(keyed.coordinator)
    connection.execute("SET citus.global_indexes = on")
    connection.execute("CREATE TABLE w (t int, k int)")
    connection.execute("SELECT create_distributed_table('w', 't', shard_count => 8)")
    connection.execute("INSERT INTO w SELECT i, i % 40 FROM generate_series(1, 41) i")
    with pytest.raises(psycopg.errors.UniqueViolation) as failure:
        connection.execute("CREATE UNIQUE INDEX CONCURRENTLY w_k ON w (k)")
    assert failure.value.diag.constraint_name == "w_k"
    assert failure.value.diag.message_detail == "Key (k)=(1) already exists."
    assert len(rows(connection, "SELECT t FROM w WHERE k = 1")) == 2
    for statement in "REINDEX INDEX w_k", "REINDEX TABLE CONCURRENTLY w":
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            connection.execute(statement)
    connection.execute("DELETE FROM w WHERE t = 41")
    connection.execute("DROP INDEX w_k")
    connection.execute("CREATE UNIQUE INDEX CONCURRENTLY w_k ON w (k)")
    assert value(connection, "SELECT citus_check_global_index('w_k')") == 0
    assert value(connection, "SELECT count(*) FROM pg_class WHERE relname ~ '^global_index_[0-9]+$'") == 2


def test_index_that_is_newer_than_a_snapshot(keyed, connect):
    """A transaction at REPEATABLE READ that began before the index finds rows without it."""
    connection, reader = connect(keyed.coordinator), connect(keyed.workers[0])
    connection.execute("CREATE TABLE w (t int, k int, n int)")
    connection.execute("SELECT create_distributed_table('w', 't', shard_count => 8)")
    connection.execute("INSERT INTO w SELECT i, i, i FROM generate_series(1, 20) i")
    reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert value(reader, "SELECT count(*) FROM parent") == 9
    connection.execute("SET citus.global_indexes = on")
    connection.execute("CREATE UNIQUE INDEX w_k ON w (k)")
    assert rows(reader, "SELECT t FROM w WHERE k = 7") == [(7,)]
    assert rows(reader, "SELECT n FROM w WHERE k = 7") == [(7,)]
    reader.execute("COMMIT")
    assert "GlobalIndexLookup" in str(rows(reader, "EXPLAIN SELECT n FROM w WHERE k = 7"))


def test_lookups(keyed, connect):
    """A key that goes from row to row, and a row that goes from shard to shard, is found by everybody who reads it."""
    connection = connect(keyed.coordinator)
    connection.execute("INSERT INTO g SELECT i, NULLIF(i, 2) FROM generate_series(1, 9) i")
    load = Load()

    def exchange(writer):
        writer.execute("BEGIN")
        writer.execute("UPDATE g SET k = NULL WHERE t = 1; UPDATE g SET k = 1 WHERE t = 2")
        writer.execute("COMMIT")
        writer.execute("BEGIN")
        writer.execute("UPDATE g SET k = NULL WHERE t = 2; UPDATE g SET k = 1 WHERE t = 1")
        writer.execute("COMMIT")

    def wander(writer):
        for target in random.sample(range(3, 10), 3):
            writer.execute("UPDATE g SET t = %s WHERE k = 3", [target])

    def read(reader):
        for key in (1, 3):
            assert len(rows(reader, "SELECT t FROM g WHERE k = %s", [key])) == 1, key

    def count(reader):
        """By the entries, since shards cost more than round trips."""
        reader.execute("SET citus.round_trip_cost = 0; SET citus.task_cost = 0")
        assert value(reader, "SELECT count(*) FROM g WHERE k IN (1, 3)") == 2
        assert value(reader, "SELECT count(*) FROM parent JOIN g USING (t) WHERE k = 3") == 1

    def in_a_hurry(client):
        """Is cancelled at any moment; the row may have gone to another shard since the entry told the one before."""
        try:
            client.execute(f"SET statement_timeout = '{random.randint(1, 20)}ms'")
            assert client.execute("UPDATE g SET k = 3 WHERE k = 3").rowcount <= 1
            client.execute("SELECT count(*) FROM g WHERE k = 3")
        except (psycopg.errors.QueryCanceled, psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            pass

    def locked(write):
        def repeat(client):
            try:
                write(client)
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                pass
        return repeat

    load.add(keyed.coordinator, exchange, "exchange")
    load.add(keyed.workers[0], locked(wander), "wander")
    load.add(keyed.workers[1], in_a_hurry, "in a hurry")
    load.add(keyed.workers[1], count, "count")
    for number, node in enumerate(keyed.nodes):
        load.add(node, read, f"reader{number}")
    load.finish()
    for node in keyed.nodes:
        check(node)
