"""One snapshot over all nodes: each transaction is seen on all nodes or on none."""

import random
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until_quiet

ACCOUNTS = 60
BALANCE = 1000
SECONDS = 4


@pytest.fixture(scope="module")
def bank_cluster():
    """A cluster that the tests of this file share; they may restart its servers."""
    with servers.cluster(purpose="check-snapshots") as made:
        yield made


@pytest.fixture
def bank(bank_cluster):
    """A cluster whose tables `account` and `rate` (a reference table) are new; all balances are equal."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS account, rate")
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL, pad text)")
        connection.execute("SELECT create_distributed_table('account', 'id', shard_count => 8)")
        connection.execute("CREATE TABLE rate (id int PRIMARY KEY, percent int)")
        connection.execute("SELECT create_reference_table('rate')")
        connection.execute("INSERT INTO account SELECT g, %s, repeat('x', 100) FROM generate_series(1, %s) g",
                           [BALANCE, ACCOUNTS])
        connection.execute("INSERT INTO rate VALUES (1, 0)")
    yield bank_cluster
    wait_until_quiet(bank_cluster)


class Load:
    """Threads that repeat something until the load ends; whatever they raise fails the test."""

    def __init__(self):
        self.stop = threading.Event()
        self.threads, self.errors, self.counts = [], [], {}

    def add(self, node, work, name, **options):
        """Repeats work(connection) on a connection to node."""
        def run():
            try:
                with servers.connect(node, **options) as connection:
                    while not self.stop.is_set():
                        work(connection)
                        self.counts[name] = self.counts.get(name, 0) + 1
            except BaseException as error:      # noqa: B902 - reported by the test
                self.errors.append((name, error))
                self.stop.set()

        self.threads.append(threading.Thread(target=run, name=name))

    def run(self, seconds=SECONDS):
        """Runs all threads for so long; returns how often each name's work was done."""
        for thread in self.threads:
            thread.start()
        self.stop.wait(seconds)
        self.stop.set()
        for thread in self.threads:
            thread.join(servers.PATIENCE)
            assert not thread.is_alive(), f"{thread.name} hangs"
        return self.counts


def transfer(connection):
    """Moves money between two accounts, most often on different nodes; may lose a deadlock."""
    first, second = random.sample(range(1, ACCOUNTS + 1), 2)
    first, second = min(first, second), max(first, second)
    amount = random.randint(-10, 10)
    try:
        with connection.transaction():
            connection.execute("UPDATE account SET balance = balance - %s WHERE id = %s", [amount, first])
            connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s", [amount, second])
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        pass


def total(connection):
    return rows(connection, "SELECT sum(balance), count(*) FROM account")[0]


def check_total(connection):
    assert total(connection) == (ACCOUNTS * BALANCE, ACCOUNTS)


def check_repeatable(connection):
    """A transaction that reads the same twice, shard by shard and as a whole."""
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            one_by_one = 0
            for key in range(1, ACCOUNTS + 1):
                one_by_one += value(connection, "SELECT balance FROM account WHERE id = %s", [key])
            assert one_by_one == ACCOUNTS * BALANCE
            check_total(connection)
    except psycopg.errors.SerializationFailure:
        pass


def add_transfers(load, cluster, clients=4):
    for number in range(clients):
        load.add(cluster.nodes[number % len(cluster.nodes)], transfer, f"transfer{number}")


def finish(load, seconds=SECONDS):
    counts = load.run(seconds)
    assert not load.errors, load.errors
    assert all(counts.get(thread.name, 0) > 0 for thread in load.threads), counts
    return counts


def test_anomaly_without(bank):
    """With the setting off, sums are wrong soon: what the other tests look for does happen."""
    load = Load()
    seen = []

    def read(connection):
        if total(connection) != (ACCOUNTS * BALANCE, ACCOUNTS):
            seen.append(True)
            load.stop.set()

    add_transfers(load, bank)
    load.add(bank.coordinator, read, "reader", options="-c citus.distributed_snapshots=off")
    load.run(30)
    assert not load.errors and seen


def test_read_committed(bank):
    """Sums from every node, at READ COMMITTED, outside and inside transaction blocks."""
    def in_block(connection):
        with connection.transaction():
            check_total(connection)
            check_total(connection)

    load = Load()
    add_transfers(load, bank)
    for node in bank.nodes:
        load.add(node, check_total, f"reader {node.name}")
        load.add(node, in_block, f"block {node.name}")
    finish(load)


def test_repeatable_read(bank):
    """Every account is read on its own in one transaction, from every node."""
    load = Load()
    add_transfers(load, bank)
    for node in bank.nodes:
        load.add(node, check_repeatable, f"reader {node.name}")
    finish(load)
