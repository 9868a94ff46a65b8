"""Threads that move money between accounts, and others that add it up; moves and ended sessions beside any writers."""

import random
import threading

import psycopg
import pytest

from . import servers
from .servers import rows, value, wait_until

ACCOUNTS = 60
BALANCE = 1000
SECONDS = 4


def account_tables(cluster_):
    """Tables `account` and `rate` (a reference table), new; all balances are equal."""
    with servers.connect(cluster_.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS account, rate")
        connection.execute("CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL, pad text)")
        connection.execute("SELECT create_distributed_table('account', 'id', shard_count => 8)")
        connection.execute("CREATE TABLE rate (id int PRIMARY KEY, percent int)")
        connection.execute("SELECT create_reference_table('rate')")
        connection.execute("INSERT INTO account SELECT g, %s, repeat('x', 100) FROM generate_series(1, %s) g",
                           [BALANCE, ACCOUNTS])
        connection.execute("INSERT INTO rate VALUES (1, 0)")


def move_any_shard(connection):
    """Moves some shard to another worker, with writers blocked; a deadlock with one is no failure."""
    shard, source, target = rows(connection, """
        SELECT s.shardid, s.nodeport, w.nodeport FROM citus_shards s
            JOIN pg_dist_node w ON w.nodeport <> s.nodeport AND w.groupid > 0
        ORDER BY random() LIMIT 1""")[0]
    try:
        connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')",
                           [shard, source, target])
    except psycopg.errors.DeadlockDetected:
        pass


def end_a_session(node, work):
    """Ends a session of a node that repeats work(connection), in the middle of that, at whatever step."""
    with servers.connect(node) as victim, servers.connect(node) as killer:
        ending = threading.Timer(random.random() / 10, killer.execute,
                                 ["SELECT pg_terminate_backend(%s)", [servers.pid_of(victim)]])
        ending.start()
        with pytest.raises(psycopg.OperationalError):
            while True:
                work(victim)
        ending.join()


class Load:
    """Threads that repeat something until the load ends; whatever they raise fails the test."""

    def __init__(self):
        self.stop = threading.Event()
        self.threads, self.errors, self.counts = [], [], {}

    def add(self, node, work, name, **options):
        """Repeats work(connection) on a connection to node; on none if node is None."""
        def repeat(connection):
            while not self.stop.is_set():
                work(connection)
                self.counts[name] = self.counts.get(name, 0) + 1

        def run():
            try:
                if node is None:
                    repeat(None)
                else:
                    with servers.connect(node, **options) as connection:
                        repeat(connection)
            except BaseException as error:      # noqa: B902 - reported by the test
                self.errors.append((name, error))
                self.stop.set()

        self.threads.append(threading.Thread(target=run, name=name))

    def run(self, work):
        """Runs all threads until work() returns."""
        for thread in self.threads:
            thread.start()
        try:
            work()
        finally:
            self.stop.set()
            for thread in self.threads:
                thread.join(servers.PATIENCE)
        hanging = [thread.name for thread in self.threads if thread.is_alive()]
        assert not hanging, hanging

    def meanwhile(self, work):
        """As run; checks that nothing failed."""
        self.run(work)
        assert not self.errors, self.errors

    def finish(self, seconds=SECONDS, enough=lambda: True):
        """Runs all threads for so long, and on until each did something and enough() holds; checks that nothing failed."""
        def idle():
            return [thread.name for thread in self.threads if not self.counts.get(thread.name)]

        def work():
            self.stop.wait(seconds)
            wait_until(lambda: self.stop.is_set() or (not idle() and enough()), "threads to do something: all, and enough")

        self.meanwhile(work)

    def add_transfers(self, cluster_, clients=4):
        for number in range(clients):
            self.add(cluster_.nodes[number % len(cluster_.nodes)], transfer, f"transfer{number}")


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


def sees_wrong_sum(cluster_, options):
    """Whether a reader on the coordinator, with such options, soon sees a sum that transfers have never made."""
    load = Load()
    seen = []

    def read(connection):
        if total(connection) != (ACCOUNTS * BALANCE, ACCOUNTS):
            seen.append(True)
            load.stop.set()

    load.add_transfers(cluster_)
    load.add(cluster_.coordinator, read, "reader", options=options)
    load.meanwhile(lambda: load.stop.wait(servers.PATIENCE))
    return bool(seen)


def in_thread(work):
    """Starts work; returns a function that waits for what it returns, or for psycopg's error."""
    outcomes = []

    def run():
        try:
            outcomes.append(work())
        except psycopg.Error as error:
            outcomes.append(error)

    def outcome():
        running.join(servers.PATIENCE)
        assert outcomes, "the work goes on"
        return outcomes[0]

    running = threading.Thread(target=run)
    running.start()
    return outcome
