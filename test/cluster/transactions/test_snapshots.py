"""One snapshot over all nodes: each transaction is seen on all nodes or on none."""

import psycopg
import pytest

from harness import servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, sees_wrong_sum, total
from harness.servers import rows, value, wait_until_quiet


@pytest.fixture(scope="module")
def bank_cluster():
    """A cluster that the tests of this file share."""
    with servers.cluster(purpose="check-snapshots") as made:
        yield made


@pytest.fixture
def accounts(bank_cluster):
    account_tables(bank_cluster)
    yield bank_cluster
    wait_until_quiet(bank_cluster)


def test_anomaly_without(accounts):
    """With the setting off, sums are wrong soon: what the other tests look for does happen."""
    assert sees_wrong_sum(accounts, "-c citus.distributed_snapshots=off")


def test_read_committed(accounts):
    """Sums from every node, at READ COMMITTED, outside and inside transaction blocks."""
    def in_block(connection):
        with connection.transaction():
            check_total(connection)
            check_total(connection)

    load = Load()
    load.add_transfers(accounts)
    for node in accounts.nodes:
        load.add(node, check_total, f"reader {node.name}")
        load.add(node, in_block, f"block {node.name}")
    load.finish()


def test_repeatable_read(accounts):
    """Every account is read on its own in one transaction, from every node."""
    load = Load()
    load.add_transfers(accounts)
    for node in accounts.nodes:
        load.add(node, check_repeatable, f"reader {node.name}")
    load.finish()


def test_shapes(accounts):
    """Joins, rows that nodes send to each other, several connections to a node, cursors that take turns, INSERT .. SELECT, functions."""
    def join(connection):
        assert value(connection, "SELECT sum(a.balance) FROM account a JOIN account b USING (balance, id)"
                     " CROSS JOIN rate") == ACCOUNTS * BALANCE

    def cursors(connection):
        with connection.transaction():
            for name in ("one", "two"):
                connection.execute(f"DECLARE {name} CURSOR FOR SELECT balance FROM account")
            sums = {"one": 0, "two": 0}
            for _ in range(ACCOUNTS // 10):
                for name in sums:
                    sums[name] += sum(row[0] for row in rows(connection, f"FETCH 10 FROM {name}"))
            assert sums == {"one": ACCOUNTS * BALANCE, "two": ACCOUNTS * BALANCE}

    def keep(connection):
        kept = rows(connection, "WITH new AS (INSERT INTO totals SELECT sum(balance) FROM account RETURNING s) "
                    "SELECT s FROM new")
        assert kept == [(ACCOUNTS * BALANCE,)]

    def function(connection):
        assert value(connection, "SELECT twice()") == 2 * ACCOUNTS * BALANCE

    def moved(connection):
        joined = "SELECT sum(a.balance + b.balance) FROM account a JOIN account b ON b.id = {0} - a.id"
        grouped = "SELECT sum(s) FROM (SELECT balance * count(DISTINCT id) AS s FROM account GROUP BY balance, id % 7) x"
        for isolation in ("READ COMMITTED", "REPEATABLE READ"):
            connection.execute(f"BEGIN ISOLATION LEVEL {isolation}")
            assert value(connection, joined.format(ACCOUNTS + 1)) == 2 * ACCOUNTS * BALANCE
            assert value(connection, grouped) == ACCOUNTS * BALANCE
            assert all("exchange_send" in str(rows(connection, "EXPLAIN " + query))
                       for query in (joined.format(ACCOUNTS + 1), grouped))
            connection.execute("COMMIT")

    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS totals")
        connection.execute("CREATE TABLE totals (s bigint)")
        connection.execute("""
            CREATE OR REPLACE FUNCTION twice() RETURNS bigint LANGUAGE plpgsql AS $$
            DECLARE a bigint; b bigint;
            BEGIN
                SELECT sum(balance) INTO a FROM account;
                BEGIN
                    SELECT sum(balance) INTO b FROM account;
                EXCEPTION WHEN division_by_zero THEN NULL;
                END;
                RETURN a + b;
            END$$""")
    load = Load()
    load.add_transfers(accounts)
    load.add(accounts.coordinator, join, "join")
    load.add(accounts.coordinator, cursors, "cursors")
    load.add(accounts.coordinator, keep, "keep")
    load.add(accounts.coordinator, function, "function")
    load.add(accounts.workers[0], moved, "moved", options="-c citus.enable_broadcast_joins=off -c citus.exchange_cost=0 "
             "-c citus.value_cost=0 -c citus.task_cost=0 -c citus.round_trip_cost=0 -c citus.tuple_transfer_cost=1000")
    load.add(accounts.coordinator, check_total, "connections", options="-c citus.executor_slow_start_interval=0 -c citus.enable_node_tasks=off")
    load.finish()
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("DROP TABLE totals; DROP FUNCTION twice()")


def test_insert_select(accounts, connect):
    """Rows that shards insert from themselves, and rows that are sent on, are as of one point in time."""
    connection = connect(accounts.coordinator)
    for name, key, group in (("copied", "id", "account"), ("scattered", "balance", "none")):
        connection.execute(f"CREATE TABLE {name} (id int, balance bigint)")
        connection.execute(f"SELECT create_distributed_table('{name}', '{key}', colocate_with => '{group}')")
    plan = rows(connection, "EXPLAIN INSERT INTO copied SELECT id, balance FROM account")
    assert any("Pushdown" in line for line, in plan)

    def insert(connection, name):
        connection.execute("BEGIN")
        connection.execute(f"INSERT INTO {name} SELECT id, balance FROM account")
        assert value(connection, f"SELECT sum(balance) FROM {name}") == ACCOUNTS * BALANCE
        connection.execute("ROLLBACK")

    load = Load()
    load.add_transfers(accounts)
    for node in accounts.nodes:
        load.add(node, lambda connection: insert(connection, "copied"), f"copied {node.name}")
        load.add(node, lambda connection: insert(connection, "scattered"), f"scattered {node.name}",
                 options="-c citus.insert_stream_threshold=0")
    load.finish()
    connection.execute("DROP TABLE copied, scattered")


def test_own_writes(accounts, connect):
    """A transaction sees what it has written, at each level, however much it reads at once."""
    connection = connect(accounts.coordinator)
    for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        connection.execute("UPDATE account SET balance = balance + 1")
        assert total(connection) == (ACCOUNTS * (BALANCE + 1), ACCOUNTS)
        connection.execute("SAVEPOINT s")
        connection.execute("DELETE FROM account WHERE id <= 10")
        assert total(connection)[1] == ACCOUNTS - 10
        connection.execute("ROLLBACK TO s")
        assert total(connection) == (ACCOUNTS * (BALANCE + 1), ACCOUNTS)
        connection.execute("ROLLBACK")
        check_total(connection)


@pytest.mark.parametrize("statement", [
    "SELECT sum(f.v) FROM fees f JOIN account a USING (id)",
    "INSERT INTO fees SELECT 100, sum(v) FROM fees RETURNING v",
    "UPDATE fees SET v = (SELECT sum(v) FROM fees) WHERE id = 2 RETURNING v",
    "WITH added AS (INSERT INTO account SELECT -1, sum(v) FROM fees RETURNING balance) SELECT balance FROM added"])
def test_reference_table_again(accounts, connect, statement):
    """A transaction at REPEATABLE READ reads a reference table as of one time, whether or not a statement names other tables or writes."""
    connection, writer = connect(accounts.coordinator), connect(accounts.nodes[1])
    connection.execute("DROP TABLE IF EXISTS fees; CREATE TABLE fees (id int PRIMARY KEY, v numeric)")
    connection.execute("SELECT create_reference_table('fees')")
    connection.execute("INSERT INTO fees VALUES (1, 10), (2, 20)")
    for node in accounts.nodes:
        reader = connect(node)
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        before = value(reader, "SELECT sum(v) FROM fees")
        writer.execute("UPDATE fees SET v = v + 1 WHERE id = 1")
        assert value(reader, statement) == before
        reader.execute("ROLLBACK")
    connection.execute("DROP TABLE fees")


def test_early_end(accounts, connect):
    """A statement that wants few rows leaves its connections usable, and no transaction open."""
    connection = connect(accounts.coordinator)
    for _ in range(5):
        assert len(rows(connection, "SELECT id FROM account LIMIT 3")) == 3
        check_total(connection)
    with connection.transaction():
        assert len(rows(connection, "SELECT id FROM account LIMIT 3")) == 3
        connection.execute("TRUNCATE account")
        assert total(connection) == (None, 0)


def test_lost_connections(accounts, connect):
    """Cached connections that end between two statements are replaced, also if they end just now."""
    connection = connect(accounts.coordinator)
    killers = [connect(node) for node in accounts.workers]
    for _ in range(20):
        check_total(connection)
        for killer in killers:
            killer.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                           "WHERE application_name LIKE 'citus_internal%'")
        check_total(connection)


def test_exported(accounts, connect):
    """A snapshot exported at READ COMMITTED holds for its node alone: distributed tables can't be read under it."""
    exporter, importer = connect(accounts.coordinator), connect(accounts.coordinator)
    exporter.execute("BEGIN")
    name = value(exporter, "SELECT pg_export_snapshot()")
    for setting in ("on", "off"):
        importer.execute(f"SET citus.distributed_snapshots = {setting}")
        importer.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        importer.execute(f"SET TRANSACTION SNAPSHOT '{name}'")
        assert value(importer, "SELECT count(*) > 0 FROM pg_class")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            total(importer)
        importer.execute("ROLLBACK")
        check_total(importer)
    exporter.execute("COMMIT")


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_exported_over_all_nodes(accounts, connect, initiator):
    """Whoever takes a snapshot exported at REPEATABLE READ reads all nodes as of its time, whatever is committed then."""
    node = accounts.node(initiator)
    exporter, writer = connect(node), connect(accounts.coordinator)
    exporter.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    name = value(exporter, "SELECT pg_export_snapshot()")
    query = "SELECT id, balance FROM account ORDER BY id"
    before = rows(exporter, query)
    importers = [connect(node) for _ in range(3)]
    for importer in importers:
        for key in (before[0][0], before[-1][0]):
            writer.execute("UPDATE account SET balance = balance + 1 WHERE id <> %s", [key])
        importer.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        importer.execute(f"SET TRANSACTION SNAPSHOT '{name}'")
        assert value(importer, "SELECT balance FROM account WHERE id = %s", [before[0][0]]) == before[0][1]
    exporter.execute("COMMIT")
    writer.execute("UPDATE account SET balance = balance + 1")
    for importer in importers:
        assert rows(importer, query) == before
        importer.execute("COMMIT")
        assert rows(importer, query) != before
    with pytest.raises((psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedObject)):      # since 17
        importers[0].execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{name}'")
    importers[0].execute("ROLLBACK")
    assert value(connect(node), "SELECT count(*) FROM pg_ls_dir('pg_snapshots')") == 0
