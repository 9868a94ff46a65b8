"""Compaction of columnar tables beside sessions that read, lock and change the rows that it moves."""

import random
import threading

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped
from pomelo_check.sample import SEED

ROWS = 3000
IN_STRIPES = "ctid >= '(2147483648,0)'"


@pytest.fixture
def table(schema, coordinator):
    """A local columnar table: keys 1 to 100 are row-wise, others in stripes; its name."""
    coordinator.execute(f"CREATE TABLE {schema}.t (a int PRIMARY KEY, v int, t text) USING columnar; CREATE INDEX ON {schema}.t (v) WHERE v > 0")
    coordinator.execute(f"SET columnar.row_wise_limit = 0; INSERT INTO {schema}.t SELECT i, 0, i FROM generate_series(101, {ROWS}) i")
    coordinator.execute(f"RESET columnar.row_wise_limit; INSERT INTO {schema}.t SELECT i, 0, i FROM generate_series(1, 100) i")
    assert row_wise(coordinator, f"{schema}.t") == 100
    return f"{schema}.t"


def row_wise(connection, table):
    return value(connection, f"SELECT count(*) FROM {table} WHERE NOT {IN_STRIPES}")


def compact(connection, table):
    return value(connection, f"SELECT columnar.compact('{table}')")


def content(connection, table):
    return rows(connection, f"SELECT * FROM {table} ORDER BY a")


def test_all_rows_get_into_stripes(table, coordinator, connect, cluster):
    """Rows stay the same, for older snapshots and by indexes too; keys are still unique; there is nothing to do a second time."""
    old = connect(cluster.coordinator, autocommit=False)
    old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert value(old, f"SELECT sum(v) FROM {table}") == 0
    coordinator.execute(f"UPDATE {table} SET v = a WHERE a % 10 = 0; DELETE FROM {table} WHERE a % 7 = 0; UPDATE {table} SET t = repeat('x', 5000) WHERE a = 50")
    before = content(coordinator, table)
    assert compact(coordinator, table) == len(before)
    assert content(coordinator, table) == before
    assert row_wise(coordinator, table) == 0
    assert value(coordinator, f"SELECT sum(deleted_rows) FROM columnar.stripe WHERE relation = '{table}'::regclass") == 0
    assert compact(coordinator, table) == 0
    assert value(old, f"SELECT (count(*), sum(v), count(t))::text FROM {table}") == f"({ROWS},0,{ROWS})"
    coordinator.execute("SET enable_seqscan = off")
    for a, v in ((10, 10), (101, 0), (500, 500), (ROWS, ROWS)):
        assert value(coordinator, f"SELECT v FROM {table} WHERE a = {a}") == v
        assert rows(coordinator, f"SELECT a FROM {table} WHERE v = {v} AND v > 0") == ([(a,)] if v else [])
        with pytest.raises(psycopg.errors.UniqueViolation):
            coordinator.execute(f"INSERT INTO {table} VALUES ({a})")
    assert rows(coordinator, f"SELECT FROM {table} WHERE a = 70") == []
    old.execute("SET LOCAL enable_seqscan = off")
    assert value(old, f"SELECT v FROM {table} WHERE a = 70") == 0
    with pytest.raises(psycopg.errors.SerializationFailure):
        old.execute(f"UPDATE {table} SET v = 1 WHERE a = 500")


@pytest.mark.parametrize("key", [50, 500])
@pytest.mark.parametrize("statement, expected", [
    ("UPDATE {t} SET v = v + 1 WHERE a = {a} AND (SELECT true FROM pg_advisory_xact_lock(3218))", (ROWS, 1)),
    ("DELETE FROM {t} WHERE a = {a} AND (SELECT true FROM pg_advisory_xact_lock(3218))", (ROWS - 1, 0)),
    ("WITH l AS (SELECT a FROM {t} WHERE a = {a} AND (SELECT true FROM pg_advisory_xact_lock(3218)) FOR UPDATE) "
     "UPDATE {t} t SET v = 5 FROM l WHERE l.a = t.a", (ROWS, 5)),
    ("MERGE INTO {t} USING (VALUES ({a})) s (a) ON t.a = s.a AND (SELECT true FROM pg_advisory_xact_lock(3218)) "
     "WHEN MATCHED THEN UPDATE SET v = v + 2", (ROWS, 2))])
def test_statement_with_older_snapshot_follows(table, coordinator, connect, cluster, key, statement, expected):
    """A row that is moved after a statement's snapshot was taken is changed where it is."""
    holder, session = connect(cluster.coordinator), connect(cluster.coordinator)
    holder.execute("SELECT pg_advisory_lock(3218)")
    coordinator.execute(f"DELETE FROM {table} WHERE a = 1000; INSERT INTO {table} VALUES (1000, 0)")
    running = Statement(session, statement.format(t=table, a=key))
    wait_until(lambda: value(coordinator, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == 1, "the statement waits")
    assert compact(coordinator, table) == ROWS
    assert compact(coordinator, table) == 0
    holder.execute("SELECT pg_advisory_unlock(3218)")
    assert running.finish() is None
    assert rows(coordinator, f"SELECT count(*), sum(v) FROM {table}") == [expected]


@pytest.mark.parametrize("key", [50, 500])
def test_row_that_is_being_changed_stays(table, coordinator, connect, cluster, key):
    """Compaction waits for nobody: it leaves the row, or its stripe."""
    session = connect(cluster.coordinator, autocommit=False)
    session.execute(f"UPDATE {table} SET v = 1 WHERE a = {key}; SELECT FROM {table} WHERE a = {key + 1} FOR KEY SHARE")
    coordinator.execute(f"SET lock_timeout = '10s'; DELETE FROM {table} WHERE a = 1 OR a = 600")
    assert compact(coordinator, table) == (97 + (ROWS - 101) if key == 50 else 99)
    session.execute(f"UPDATE {table} SET v = v + 1 WHERE a = {key + 1}")
    session.commit()
    assert value(coordinator, f"SELECT (count(*), sum(v))::text FROM {table}") == f"({ROWS - 2},2)"
    assert compact(coordinator, table) > 0
    assert row_wise(coordinator, table) == 0
    assert value(coordinator, f"SELECT (count(*), sum(v))::text FROM {table}") == f"({ROWS - 2},2)"


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("key", [50, 500])
def test_writer_waits_for_a_compaction(table, coordinator, connect, cluster, key, commits):
    coordinator.execute(f"DELETE FROM {table} WHERE a = 1000")
    compacting = Stopped(cluster.coordinator, "columnar-compacted", f"SELECT columnar.compact('{table}')")
    session = connect(cluster.coordinator)
    running = Statement(session, f"UPDATE {table} SET v = v + 1 WHERE a = {key}")
    wait_until(lambda: value(coordinator, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [session.info.backend_pid]),
               "the statement waits")
    assert value(coordinator, f"SELECT count(*) FROM {table}") == ROWS - 1
    if not commits:
        coordinator.execute("SELECT pg_cancel_backend(%s)", [compacting.pid])
    assert (compacting.go_on() is None) == commits
    assert running.finish() is None
    assert value(coordinator, f"SELECT (count(*), sum(v))::text FROM {table}") == f"({ROWS - 1},1)"
    assert (row_wise(coordinator, table) == 1) == commits


def test_refused(table, schema, coordinator, connect, cluster):
    coordinator.execute(f"CREATE TABLE {schema}.h (a int)")
    for given, error in ((f"'{schema}.h'", psycopg.errors.WrongObjectType), ("1", psycopg.errors.UndefinedTable)):
        with pytest.raises(error):
            coordinator.execute(f"SELECT columnar.compact({given})")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), coordinator.transaction():
        coordinator.execute(f"CREATE ROLE nobody_compacts; GRANT USAGE ON SCHEMA {schema} TO nobody_compacts; SET LOCAL ROLE nobody_compacts;"
                            f"SELECT columnar.compact('{table}')")


def test_index_expression_that_fails(table, coordinator):
    """Entries can't be made for a row: nothing is moved, by hand or by VACUUM FULL, until the function works again."""
    schema = table.split(".")[0]
    function = f"CREATE OR REPLACE FUNCTION {schema}.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN 6 / {{}}; END$$"
    coordinator.execute(function.format("1"))
    coordinator.execute(f"CREATE INDEX ON {table} ({schema}.f(a)) WHERE a > 50")
    coordinator.execute(f"DELETE FROM {table} WHERE a % 100 = 0")
    before = content(coordinator, table)
    coordinator.execute(function.format("(1501 - $1)"))
    with pytest.raises(psycopg.errors.DivisionByZero):
        compact(coordinator, table)
    with pytest.raises(psycopg.errors.DivisionByZero):
        coordinator.execute(f"VACUUM FULL {table}")
    assert content(coordinator, table) == before and row_wise(coordinator, table) == 99
    coordinator.execute(f"UPDATE {table} SET v = 1 WHERE a = 2001")
    coordinator.execute(function.format("1"))
    assert compact(coordinator, table) == len(before)
    coordinator.execute(f"UPDATE {table} SET v = 0 WHERE a = 2001; SET enable_seqscan = off")
    assert content(coordinator, table) == before
    assert value(coordinator, f"SELECT count(*) FROM {table} WHERE {schema}.f(a) = 6 AND a > 50") == sum(row[0] > 50 for row in before)


def test_beside_writers(table, coordinator, connect, cluster):
    """No change of any writer is lost, and no row is doubled, while rows move all the time."""
    ended = threading.Event()
    counts = [0, 0, 0]
    errors = []

    def write(number):
        choice = random.Random(f"{SEED} {number}")
        try:
            with servers.connect(cluster.coordinator) as session:
                while not ended.is_set():
                    keys = sorted(choice.sample(range(1, ROWS + 1), 5))
                    done = session.execute(f"UPDATE {table} SET v = v + 1 WHERE a = ANY (%s)", [keys]).rowcount
                    counts[number] += done
                    if done != 5:
                        errors.append(f"{done} of {keys}")
        except psycopg.errors.DeadlockDetected:
            pass
        except BaseException as error:      # noqa: B902 - reported by the test
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(counts))]
    for thread in threads:
        thread.start()
    try:
        moved = [compact(coordinator, table) for _ in range(12)]
        seen = [value(coordinator, f"SELECT count(*) FROM {table}") for _ in range(5)]
    finally:
        ended.set()
        for thread in threads:
            thread.join(servers.PATIENCE)
    assert not errors
    assert sum(moved) > ROWS and seen == [ROWS] * 5
    assert value(coordinator, f"SELECT (count(*), count(DISTINCT a), sum(v))::text FROM {table}") == f"({ROWS},{ROWS},{sum(counts)})"


def test_room_is_used_again(table, coordinator):
    """Entries of indexes for rows that have moved are removed, and the row-wise part is cut off."""
    def size(relation):
        return value(coordinator, f"SELECT pg_relation_size('{relation}')")

    def vacuum():
        coordinator.execute(f"VACUUM {table}")
        return size(table) == 8192

    first = size(f"{table}_pkey")
    for number in range(8):
        coordinator.execute(f"UPDATE {table} SET v = {number}")
        assert compact(coordinator, table) == ROWS
        wait_until(vacuum, "the row-wise part to be cut off")
    assert size(f"{table}_pkey") <= 3 * first
    assert size("pg_toast.pg_toast_" + str(value(coordinator, f"SELECT '{table}'::regclass::oid"))) < 1000000
    coordinator.execute(f"DELETE FROM {table} WHERE a % 2 = 0; SET enable_seqscan = off")
    vacuum()
    assert value(coordinator, f"SELECT count(*) FROM {table} WHERE a > 0") == ROWS / 2
    assert value(coordinator, f"SELECT a FROM {table} WHERE a = 1501") == 1501
    told = []
    coordinator.add_notice_handler(lambda notice: told.append(notice.message_primary))
    coordinator.execute(f"VACUUM (VERBOSE) {table}")
    assert any(f"total row count: {ROWS}, stripe count: " in text and f"deleted rows in stripes: {ROWS // 2}" in text for text in told)


def test_daemon(make_cluster):
    """The daemon does it by itself."""
    made = make_cluster(settings={"columnar.compaction_naptime": "200ms"}, workers=0)
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE t (a int PRIMARY KEY, v int) USING columnar")
        for start in range(0, 20000, 400):
            connection.execute(f"INSERT INTO t SELECT i, 0 FROM generate_series({start}, {start + 399}) i")
        wait_until(lambda: row_wise(connection, "t") < 10000, "the daemon to move rows")
        connection.execute("UPDATE t SET v = 1 WHERE a % 4 = 0")
        wait_until(lambda: value(connection, "SELECT coalesce(sum(deleted_rows), 0) FROM columnar.stripe") == 0, "the daemon to leave rows out")
        assert value(connection, "SELECT (count(*), count(DISTINCT a), sum(v))::text FROM t") == "(20000,20000,5000)"


def test_stripes_are_not_moved_all_at_once(make_cluster):
    """With few deleted rows in each stripe, the next ones wait until what the first ones have left can be vacuumed; the daemon does that, too."""
    deleted = "SELECT coalesce(sum(deleted_rows), 0) FROM columnar.stripe"
    made = make_cluster(settings={"columnar.compaction_naptime": "200ms", "autovacuum": "off"}, workers=0)
    with servers.connect(made.coordinator) as connection, servers.connect(made.coordinator) as reader:
        connection.execute("CREATE TABLE t (a int PRIMARY KEY, v text) USING columnar WITH (columnar.stripe_row_limit = 1000, columnar.chunk_group_row_limit = 1000)")
        connection.execute("SET columnar.row_wise_limit = 0; INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 20000) i")
        assert value(connection, "SELECT count(*) FROM columnar.stripe") == 20
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        assert value(reader, "SELECT count(*) FROM t") == 20000
        connection.execute("DELETE FROM t WHERE a % 10 = 0")
        wait_until(lambda: value(connection, deleted) < 2000, "the daemon to move the first stripes")
        looks = value(connection, "SELECT pg_stat_get_vacuum_count('t'::regclass)")
        wait_until(lambda: value(connection, "SELECT pg_stat_get_vacuum_count('t'::regclass)") > looks + 2, "the daemon to look again")
        assert value(connection, deleted) > 1000
        assert value(reader, "SELECT count(*) FROM t") == 20000
        reader.execute("COMMIT")
        wait_until(lambda: value(connection, deleted) == 0, "the daemon to move all")
        assert value(connection, "SELECT (count(*), sum(a))::text FROM t") == "(18000,180000000)"
