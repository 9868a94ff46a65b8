"""Eight clients at work on all nodes while servers and sessions are killed: no money is lost.

POMELO_RANDOM_SECONDS says how long (20 by default), POMELO_RANDOM_SEED repeats a choice of actions.
"""

import os
import random
import threading
import time

import psycopg
import pytest

from harness import bank, servers
from harness.servers import kill_process, rows, value

SECONDS = float(os.environ.get("POMELO_RANDOM_SECONDS", "20"))
SEED = int(os.environ.get("POMELO_RANDOM_SEED", str(random.randrange(10**9))))
CLIENTS = 8

# What clients of servers that die and of transactions that block each other may get to see.
EXPECTED = {
    "55P03": "lock timeout", "40P01": "deadlock", "40001": "serialization failure",
    "08000": "connection", "08001": "connection", "08003": "connection", "08004": "connection",
    "08006": "connection", "08007": "connection, outcome unknown",
    "57P01": "server shut down", "57P02": "crash of another process", "57P03": "server starts",
    "25P02": "earlier error", "53300": "too many connections",
}


class Worker(threading.Thread):
    """A client that connects to any node, and again when that has died."""

    def __init__(self, made, number, stop):
        super().__init__()
        self.made, self.stop = made, stop
        self.random = random.Random(SEED * 100 + number)
        self.done = {}
        self.failure = None

    def run(self):
        while not self.stop.is_set() and self.failure is None:
            try:
                with servers.connect(self.random.choice(self.made.nodes)) as connection:
                    connection.execute("SET lock_timeout = '3s'; SET statement_timeout = '20s'")
                    self.work(connection)
            except psycopg.OperationalError:
                time.sleep(0.05)    # the node is down: there is no event to wait for
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error

    def work(self, connection):
        actions = [self.transfer] * 4 + [self.contend, self.read, self.rate, self.repeatable_read]
        for _ in range(self.random.randrange(5, 60)):
            if self.stop.is_set():
                return
            action = self.random.choice(actions)
            try:
                action(connection)
                self.done[action.__name__] = self.done.get(action.__name__, 0) + 1
            except psycopg.Rollback:
                return      # the server has died before it was told of it
            except psycopg.Error as error:
                if error.sqlstate is not None and error.sqlstate not in EXPECTED:
                    raise AssertionError(f"{action.__name__}: {error.sqlstate} {error}") from error
                if connection.closed or connection.broken:
                    return
                connection.rollback()

    def transfer(self, connection):
        """Between two accounts, in one transaction, sometimes with a subtransaction that is undone."""
        payer, payee = self.random.sample(range(1, bank.ACCOUNTS + 1), 2)
        amount = self.random.randrange(1, 20)
        with connection.transaction():
            connection.execute("UPDATE account SET balance = balance - %s WHERE id = %s", [amount, payer])
            if self.random.random() < 0.2:
                connection.execute("SAVEPOINT s")
                connection.execute("UPDATE account SET balance = 0 WHERE id = %s", [payee])
                connection.execute("ROLLBACK TO s")
            connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s", [amount, payee])
            if self.random.random() < 0.1:
                raise psycopg.Rollback()

    def contend(self, connection):
        """Several of few accounts, in any order: what deadlocks are made of."""
        ids = self.random.sample(range(1, 9), 4)
        with connection.transaction():
            for number, id_ in enumerate(ids):
                connection.execute("UPDATE account SET balance = balance + %s WHERE id = %s",
                                   [1 if number % 2 else -1, id_])

    def rate(self, connection):
        """Writes to the reference table."""
        with connection.transaction():
            key = self.random.randrange(1, 20)
            connection.execute("INSERT INTO rate VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET last = rate.last + 1",
                               [key])
            if self.random.random() < 0.3:
                connection.execute("DELETE FROM rate WHERE id = %s", [self.random.randrange(11, 20)])

    def read(self, connection):
        """One statement over all shards."""
        self.check_total(connection, rows(connection, "SELECT sum(balance), count(*) FROM account"))

    def repeatable_read(self, connection):
        """Two such statements in one transaction."""
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for _ in range(2):
                self.check_total(connection, rows(connection, "SELECT sum(balance), count(*) FROM account"))

    def check_total(self, connection, found):
        """With one snapshot over all nodes, every reader sees the same total."""
        if value(connection, "SELECT current_setting('citus.distributed_snapshots', true)") == "on":
            assert found == [(bank.ACCOUNTS * bank.START, bank.ACCOUNTS)], found


def kill_something(made, chosen):
    """A whole server, which is then started again, or one of its sessions."""
    node = chosen.choice(made.nodes)
    how = chosen.choice(["server", "server", "session", "terminate", "restart"])
    if how == "server":
        node.kill()
        time.sleep(chosen.random() * 0.5)
        node.start()
    elif how == "restart":
        node.restart()
    else:
        with servers.connect(node) as connection:
            pids = [pid for (pid,) in rows(connection, """
                SELECT pid FROM pg_stat_activity
                WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()""")]
            if pids and how == "session":
                kill_process(chosen.choice(pids))
            elif pids:
                connection.execute("SELECT pg_terminate_backend(%s)", [chosen.choice(pids)])


@pytest.fixture
def bank_cluster():
    with servers.cluster(purpose="check-random", settings={"citus.recover_2pc_interval": "2s", "deadlock_timeout": "100ms"}) as made:
        bank.create(made)
        yield made


def test_money_is_constant(bank_cluster):
    print(f"POMELO_RANDOM_SEED={SEED}")
    stop = threading.Event()
    workers = [Worker(bank_cluster, number, stop) for number in range(CLIENTS)]
    for worker in workers:
        worker.start()
    chosen = random.Random(SEED)
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end and not any(worker.failure for worker in workers):
            stop.wait(0.3 + chosen.random())
            try:
                kill_something(bank_cluster, chosen)
            except (psycopg.OperationalError, ProcessLookupError):
                pass    # it was restarting, or the session had ended
    finally:
        stop.set()
        for worker in workers:
            worker.join(60)
    bank_cluster.start()
    assert not [worker.failure for worker in workers if worker.failure]
    assert not any(worker.is_alive() for worker in workers), "a client hangs"
    for action in ("transfer", "contend", "rate", "read", "repeatable_read"):
        count = sum(worker.done.get(action, 0) for worker in workers)
        print(action, count)
        assert count > 0, f"no {action} went through"
    servers.wait_until_quiet(bank_cluster)
    bank.check(bank_cluster)
