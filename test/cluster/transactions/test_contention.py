"""Contention: without deadlocks nobody may be told of one, and with them everybody gets on.

POMELO_CONTENTION_SECONDS says how long (10 by default), POMELO_CONTENTION_SEED repeats a choice of actions.
"""

import os
import random
import threading

import psycopg
import pytest

from harness import servers
from harness.servers import fill, value, wait_until_quiet

SECONDS = float(os.environ.get("POMELO_CONTENTION_SECONDS", "10"))
SEED = int(os.environ.get("POMELO_CONTENTION_SEED", str(random.randrange(10**9))))
CLIENTS = 10
ROWS = 12   # few enough that writers wait for each other most of the time

# Looks every 16 ms for waits that are older than 20 ms, while PostgreSQL itself needn't look at all.
EAGER = {"deadlock_timeout": "40ms", "citus.distributed_deadlock_detection_factor": "1"}


class Client(threading.Thread):
    """A client of one node. It locks rows in the order of their keys, and tables in the order of their names."""

    def __init__(self, node, number, stop):
        super().__init__()
        self.node, self.stop = node, stop
        self.random = random.Random(SEED * 100 + number)
        self.done = {}
        self.failure = None
        self.actions = [self.transfer] * 4 + [self.reference, self.idle, self.read, self.limited, self.savepoint,
                                              self.give_up, self.give_up_in_transaction, self.copy]

    def run(self):
        action = None
        try:
            with servers.connect(self.node) as connection:
                while not self.stop.is_set():
                    action = self.random.choice(self.actions)
                    action(connection)
                    self.done[action.__name__] = self.done.get(action.__name__, 0) + 1
        except Exception as error:  # pylint: disable=broad-except
            self.failure = (self.node.name, getattr(action, "__name__", None), error)
            self.stop.set()

    def keys(self, count):
        return sorted(self.random.sample(range(1, ROWS + 1), count))

    def transfer(self, connection):
        with connection.transaction():
            for key in self.keys(self.random.randrange(2, 5)):
                connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", [key])

    def idle(self, connection):
        """Between its statements the session waits for its client."""
        with connection.transaction():
            for key in self.keys(2):
                connection.execute("SELECT * FROM account WHERE id = %s FOR UPDATE", [key])
                self.stop.wait(0.06)

    def savepoint(self, connection):
        with connection.transaction():
            for key in self.keys(3):
                connection.execute("SAVEPOINT s")
                connection.execute("UPDATE account SET payload = payload - 1 WHERE id = %s", [key])
                connection.execute("ROLLBACK TO s" if self.random.random() < 0.3 else "RELEASE s")

    def reference(self, connection):
        """The reference table comes after all rows."""
        with connection.transaction():
            connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", self.keys(1))
            connection.execute("UPDATE rate SET payload = payload + 1 WHERE id = 1")

    def read(self, connection):
        connection.execute("SELECT sum(a.payload + r.payload) FROM account a, rate r").fetchall()

    def limited(self, connection):
        connection.execute("SELECT * FROM account LIMIT 1").fetchall()

    def copy(self, connection):
        """A client that takes its time with COPY."""
        with connection.cursor().copy("COPY arrived FROM STDIN") as copy:
            for _ in range(3):
                copy.write_row([self.random.randrange(1000)])
                self.stop.wait(0.02)

    def give_up(self, connection):
        """A statement that times out may leave its part on a node behind for a moment."""
        connection.execute("SET lock_timeout = '15ms'")
        try:
            connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", self.keys(1))
        except psycopg.errors.LockNotAvailable:
            pass
        connection.execute("RESET lock_timeout")

    def give_up_in_transaction(self, connection):
        """What times out behind a savepoint, with locks held before it."""
        keys = self.keys(2)
        with connection.transaction():
            connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", keys[:1])
            connection.execute("SET LOCAL statement_timeout = '25ms'")
            try:
                with connection.transaction():
                    connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", keys[1:])
            except psycopg.errors.QueryCanceled:
                pass


class Changer(Client):
    """A client that also changes the table now and then, if it may: on the coordinator."""

    def run(self):
        self.actions = [*self.actions, self.repeatable_read, *([self.ddl] if self.node.name == "coordinator" else [])]
        super().run()

    def ddl(self, connection):
        connection.execute(f"ALTER TABLE account ALTER COLUMN payload SET DEFAULT {self.random.randrange(9)}")

    def repeatable_read(self, connection):
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT sum(payload) FROM account").fetchall()
            connection.execute("SELECT sum(payload) FROM rate").fetchall()


@pytest.fixture
def contended(make_cluster, request):
    made = make_cluster(settings=getattr(request, "param", EAGER))
    with servers.connect(made.coordinator) as connection:
        fill(connection, "account", ROWS)
        connection.execute("CREATE TABLE rate (id int PRIMARY KEY, payload int)")
        connection.execute("SELECT create_reference_table('rate')")
        connection.execute("INSERT INTO rate VALUES (1, 0)")
        connection.execute("CREATE TABLE arrived (id int)")
        connection.execute("SELECT create_distributed_table('arrived', 'id')")
    return made


def run(contended, kind):
    """Lets clients of a kind work for a while; the number of their actions by name."""
    stop = threading.Event()
    clients = [kind(contended.nodes[i % len(contended.nodes)], i, stop) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    stop.wait(SECONDS)
    stop.set()
    for client in clients:
        client.join(servers.PATIENCE)
        assert not client.is_alive(), f"seed {SEED}: a client hangs"
    failures = [client.failure for client in clients if client.failure is not None]
    assert not failures, f"seed {SEED}: {failures}"
    done = {}
    for client in clients:
        for name, count in client.done.items():
            done[name] = done.get(name, 0) + count
    print(f"seed {SEED}: {sum(done.values())} actions: {done}")
    wait_until_quiet(contended)
    return done


def test_contention(contended):
    assert len(run(contended, Client)) == 9
    with servers.connect(contended.coordinator) as connection:
        assert value(connection, "SELECT count(*) FROM account") == ROWS
    for node in contended.nodes:
        assert "to break a deadlock" not in node.log_since(0), f"seed {SEED}"


@pytest.mark.parametrize("contended", [{}], indirect=True)
def test_contention_with_ddl(contended):
    """With the usual settings, by which DDL that gives way does so before it looks like a deadlock."""
    assert run(contended, Changer)["ddl"] > 0


class Reckless(Client):
    """A client that locks rows in any order, and goes on when it is told of a deadlock."""

    def run(self):
        try:
            with servers.connect(self.node) as connection:
                connection.execute("SET statement_timeout = '20s'")
                while not self.stop.is_set():
                    action = self.random.choice([self.transfer, self.caught, self.everything, self.rate_first])
                    try:
                        action(connection)
                        self.count(action.__name__)
                    except psycopg.errors.DeadlockDetected:
                        self.count("deadlock")
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error
            self.stop.set()

    def count(self, name):
        self.done[name] = self.done.get(name, 0) + 1

    def keys(self, count):
        return self.random.sample(range(1, ROWS + 1), count)

    def everything(self, connection):
        connection.execute("UPDATE account SET payload = payload + 1")

    def rate_first(self, connection):
        with connection.transaction():
            connection.execute("UPDATE rate SET payload = payload + 1 WHERE id = 1")
            connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", self.keys(1))
            connection.execute("UPDATE rate SET payload = payload + 1 WHERE id = 1")

    def caught(self, connection):
        """What is done after a deadlock, in the same transaction, is not the victim of the same one again."""
        with connection.transaction():
            for key in self.keys(2):
                connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", [key])
            try:
                with connection.transaction():
                    connection.execute("UPDATE account SET payload = payload + 1 WHERE id = %s", self.keys(1))
            except psycopg.errors.DeadlockDetected:
                self.count("caught")
                connection.execute("SELECT pg_sleep(0.02)")


def test_reckless_clients(contended):
    """Everybody gets on, however many deadlocks there are."""
    done = run(contended, Reckless)
    assert done["transfer"] > 10 and done["caught"] > 0 and done["deadlock"] > 0, done
