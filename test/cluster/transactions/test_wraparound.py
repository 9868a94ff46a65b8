"""Transaction ids start again from 3 on every node while clients are at work: snapshots as of a timestamp hold 32-bit ids."""

import os
import random

import psycopg
import pytest

from harness import servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, total
from harness.servers import rows, value, wait_until, wait_until_quiet
from harness.stopped import Stopped
from pomelo_cluster import host

UPDATE_ALL = "UPDATE account SET balance = balance + 1"
EPOCH = 2**32
START = EPOCH - 6000            # some way from the end, for the extension and the tables
SUBTRANSACTIONS = 80            # more than the 64 of which a server keeps the ids at hand


def near_the_end(node):
    """Brings an empty server there: nothing may be left in it whose age counts."""
    for database in ("postgres", "template1"):
        node.sql("VACUUM FREEZE", dbname=database)
    node.stop()
    page = os.path.join(node.data, "pg_xact", f"{START // 32768 // 32:04X}")
    with open(page, "wb") as file:
        file.write(bytes(32 * 8192))
    host.give(page)
    done = host.run_server_program([node.program("pg_resetwal"), "-x", str(START), "-u", str(START), "-D", node.data],
                                   capture_output=True)
    assert done.returncode == 0, done.stderr
    node.start()
    node.sql(f"SET allow_system_table_mods = on; UPDATE pg_database SET datfrozenxid = '{START}';"
             f" UPDATE pg_class SET relfrozenxid = '{START}' WHERE relfrozenxid <> '0'")


@pytest.fixture
def old_cluster():
    """A cluster whose nodes have few transaction ids left before the first one comes again."""
    with servers.cluster(purpose="check-wraparound", kind="empty", settings={"autovacuum": "off"}) as made:
        for node in made.nodes:
            near_the_end(node)
            node.sql("CREATE EXTENSION citus")
        with servers.connect(made.coordinator) as connection:
            connection.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [made.coordinator.port])
            for node in made.workers:
                connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [node.port])
        account_tables(made)
        yield made


def next_id(node):
    with servers.connect(node) as connection:
        return value(connection, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")


def use_up_to(node, goal):
    """Uses transaction ids until the next one is the goal."""
    missing = goal - next_id(node)
    assert missing > 0, "the test began too late"
    node.sql(f"DO $$BEGIN FOR i IN 1 .. {missing} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END$$")


def transfer_in_many(connection):
    """A transfer in as many subtransactions as a snapshot can't list, some rolled back."""
    first, second = sorted(random.sample(range(1, ACCOUNTS + 1), 2))
    update = "UPDATE account SET balance = balance + %s WHERE id = %s"
    try:
        with connection.transaction():
            for number in range(SUBTRANSACTIONS):
                connection.execute("SAVEPOINT s")
                connection.execute(update, [1, second] if number % 2 else [-1, first])
                if number % 20 > 17:
                    connection.execute("ROLLBACK TO s")
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        pass


def check_long(connection):
    """A transaction that sees the same for as long as it takes to use many ids."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        check_total(connection)
        before = rows(connection, "SELECT id, balance FROM account ORDER BY id")
        connection.execute("SELECT pg_sleep(0.3)")
        assert rows(connection, "SELECT id, balance FROM account ORDER BY id") == before


def burn(connection):
    """Uses ids, as not every node needs many for the rest."""
    for _ in range(10):
        connection.execute("SELECT pg_current_xact_id()")


def vacuum(connection):
    connection.execute("VACUUM (FREEZE) account")


def test_wraparound(old_cluster, connect):
    """From one epoch to the next, on all nodes: transfers, also in subtransactions; long readers; a prepared transaction."""
    for node in old_cluster.nodes:
        use_up_to(node, EPOCH - 600)
    old_reader = connect(old_cluster.workers[1])
    old_reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    check_total(old_reader)
    load = Load()

    def crossed():
        return all(next_id(node) > EPOCH + 600 for node in old_cluster.nodes) and len(load.counts) == len(load.threads)

    load.add_transfers(old_cluster, clients=3)
    for node in old_cluster.nodes:
        load.add(node, burn, f"ids {node.name}")
        load.add(node, transfer_in_many, f"subtransactions {node.name}")
        load.add(node, check_total, f"sum {node.name}")
        load.add(node, check_repeatable, f"reader {node.name}")
        load.add(node, check_long, f"long reader {node.name}")
    load.add(old_cluster.coordinator, vacuum, "vacuum")
    load.meanwhile(lambda: wait_until(
        lambda: load.stop.is_set() or crossed(), "the next epoch"))
    check_total(old_reader)
    old_reader.execute("COMMIT")
    wait_until_quiet(old_cluster)


def test_prepared_across(old_cluster, connect):
    """A transaction that was prepared in one epoch is committed in the next one, and seen as a whole."""
    for node in old_cluster.nodes:
        use_up_to(node, EPOCH - 300)
    early = connect(old_cluster.workers[1])
    early.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    check_total(early)
    stopped = Stopped(old_cluster.coordinator, "commit-after-decision", UPDATE_ALL)
    assert all(next_id(node) < EPOCH for node in old_cluster.nodes)
    for node in old_cluster.nodes:
        use_up_to(node, EPOCH + 100)
    with servers.connect(old_cluster.workers[0], options="-c citus.snapshot_timeout=200ms") as connection, \
            pytest.raises(psycopg.errors.LockNotAvailable):
        total(connection)
    assert stopped.go_on() is None
    check_total(early)
    early.execute("COMMIT")
    for node in old_cluster.nodes:
        with servers.connect(node) as connection:
            assert total(connection) == (ACCOUNTS * (BALANCE + 1), ACCOUNTS)
    assert connect(old_cluster.coordinator).execute("SELECT recover_prepared_transactions()").fetchone() == (0,)
