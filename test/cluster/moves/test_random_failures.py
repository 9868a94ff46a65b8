"""Eight clients at work on all nodes while shards are moved, split and merged and servers and sessions are killed.

No money is lost, no row that a client was told of, and nothing is left behind. POMELO_RANDOM_SECONDS says how long
(20 by default), POMELO_RANDOM_SEED repeats a choice of actions.
"""

import os
import random
import threading
import time
from contextlib import suppress

import psycopg
import pytest
import test_moves
import test_splits

from pomelo_check.sample import SEED

from harness import bank, servers
from harness.servers import kill_one_of, rows, value, wait_until

SECONDS = float(os.environ.get("POMELO_RANDOM_SECONDS", "20"))
CLIENTS = 8

# What clients of servers that die and of transactions that block each other may get to see.
EXPECTED = {
    "55P03": "lock timeout", "40P01": "deadlock", "40001": "serialization failure",
    "08000": "connection", "08001": "connection", "08003": "connection", "08004": "connection",
    "08006": "connection", "08007": "connection, outcome unknown",
    "57P01": "server shut down", "57P02": "crash of another process", "57P03": "server starts",
    "25P02": "earlier error", "53300": "too many connections",
}

# Errors after which it is sure that nothing was written.
NOTHING_DONE = {"55P03", "40P01", "40001", "25P02", "57P03", "08001"}

# What a change of shards may end with besides: somebody else's change of the same ones, or one of their tables.
EXPECTED_OF_CHANGES = {"55006": "in use", "55000": "changed meanwhile", "42704": "no such shard any more",
                       "42710": "isolated already", "57014": "took too long", "58000": "replication broken off",
                       "22023": "other shards meanwhile"}

CHANGER = "changer"     # whose sessions are killed at debug points
POINTS = sorted({*test_moves.CALLER, *test_moves.SOURCE, *test_splits.POINTS})


def create_tables(made):
    """What clients write besides the bank's tables: rows that they keep a list of.

    Of journal, a client's role sees the rows of its own number only; duty is a reference table without a key.
    """
    with servers.connect(made.coordinator) as connection:
        connection.execute(f"""CREATE ROLE {CHANGER} SUPERUSER LOGIN;
            CREATE TABLE event (id bigint PRIMARY KEY, note text); CREATE TABLE tally (id int PRIMARY KEY, n int NOT NULL)""")
        for table in ("event", "tally"):
            connection.execute("SELECT create_distributed_table(%s, 'id', shard_count => 6, colocate_with => 'none')", [table])
        connection.execute("""
            CREATE TABLE journal (id bigint PRIMARY KEY, note text);
            CREATE POLICY own ON journal USING (id >> 32 = substring(current_user FROM '\\d+$')::bigint);
            ALTER TABLE journal ENABLE ROW LEVEL SECURITY;
            GRANT ALL ON journal TO PUBLIC;
            SELECT create_distributed_table('journal', 'id', shard_count => 6, colocate_with => 'none');
            CREATE FUNCTION enter(key bigint, undone bool) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO journal VALUES (key, 'entered');
                UPDATE journal SET note = 'undone' WHERE id = key - 1 AND undone;
                IF undone THEN RAISE 'undone'; END IF;
            EXCEPTION WHEN raise_exception THEN
                UPDATE journal SET note = 'kept' WHERE id = key - 1;
            END $$;
            CREATE TABLE duty (client int, note text);
            SELECT create_reference_table('duty')""")
        for number in range(CLIENTS):
            connection.execute(f"CREATE ROLE client_{number}")


def check_events(written, found):
    """Whether the rows found are those that have been written: by id, True, False or, if nobody knows, None."""
    lost = {number for number, there in written.items() if there} - set(found)
    undone = {number for number, there in written.items() if there is False} & set(found)
    assert not lost and not undone and len(found) == len(set(found)) and set(found) <= set(written), {
        "lost": sorted(lost), "undone": sorted(undone), "found": len(found), "different": len(set(found)),
        "unknown": sorted(set(found) - set(written))}


class Worker(threading.Thread):
    """A client that connects to any node, and again when that has died."""

    def __init__(self, made, number, stop):
        super().__init__()
        self.made, self.stop = made, stop
        self.number = number
        self.random = random.Random(SEED * 100 + number)
        self.done = {}
        self.failure = None
        self.events = {}        # by id: whether the row must be there; None: nobody knows
        self.tallies = {}       # by id: the least and the most that may have been counted
        self.entries = {}       # by id: as events, of journal
        self.duties = (0, 0)    # the least and the most rows of duty that may be there

    def run(self):
        while not self.stop.is_set() and self.failure is None:
            try:
                with servers.connect(self.random.choice(self.made.nodes)) as connection:
                    connection.execute("SET lock_timeout = '3s'; SET statement_timeout = '60s'")
                    self.work(connection)
            except psycopg.OperationalError:
                time.sleep(0.05)    # the node is down: there is no event to wait for
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error

    def work(self, connection):
        actions = [self.transfer] * 4 + [self.insert] * 2 + [self.contend, self.read, self.rate, self.repeatable_read,
                                                             self.upsert, self.count_events, self.define,
                                                             self.enter, self.enter, self.count_entries, self.duty]
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

    def insert(self, connection):
        """Rows for several shards."""
        first = (self.number << 32) + len(self.events)
        ids = list(range(first, first + self.random.randrange(1, 6)))
        self.events.update(dict.fromkeys(ids))
        try:
            connection.execute("INSERT INTO event SELECT n, 'x' FROM unnest(%s::bigint[]) n", [ids])
            self.events.update(dict.fromkeys(ids, True))
        except psycopg.Error as error:
            if error.sqlstate in NOTHING_DONE:
                self.events.update(dict.fromkeys(ids, False))
            raise

    def upsert(self, connection):
        """One more, of a few things that only this client counts."""
        key = self.number * 10 + self.random.randrange(5)
        least, most = self.tallies.get(key, (0, 0))
        self.tallies[key] = least, most + 1
        try:
            connection.execute("INSERT INTO tally VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET n = tally.n + 1", [key])
            self.tallies[key] = least + 1, most + 1
        except psycopg.Error as error:
            if error.sqlstate in NOTHING_DONE:
                self.tallies[key] = least, most
            raise

    def count_events(self, connection):
        """Each row that this client was told of is there once, and none whose statement has failed."""
        check_events(self.events, [number for number, in rows(
            connection, "SELECT id FROM event WHERE id >> 32 = %s", [self.number])])

    def nest(self, connection, ids):
        """Rows of journal, in random savepoints and exception blocks; returns those that are not undone."""
        kept = []
        for key in ids:
            how = self.random.choice(["plain", "function", "undone function", "released", "rolled back", "nested"])
            if how == "nested":
                connection.execute("SAVEPOINT outermost")
            if how in ("released", "rolled back", "nested"):
                connection.execute("SAVEPOINT s")
            if how.endswith("function"):
                connection.execute("SELECT enter(%s, %s)", [key, how.startswith("undone")])
            else:
                connection.execute("INSERT INTO journal VALUES (%s, 'x')", [key])
            if how == "rolled back":
                connection.execute("ROLLBACK TO s")
            elif how in ("released", "nested"):
                connection.execute("RELEASE s")
            if how == "nested" and self.random.random() < 0.5:
                connection.execute("ROLLBACK TO outermost")
            elif how not in ("undone function", "rolled back"):
                kept.append(key)
        return kept

    def enter(self, connection):
        """One transaction with savepoints, by a role to which row-level security applies."""
        first = (self.number << 32) + len(self.entries)
        ids = list(range(first, first + self.random.randrange(2, 7)))
        self.entries.update(dict.fromkeys(ids))
        kept = None
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL ROLE client_{self.number}")
                kept = self.nest(connection, ids)
            self.entries.update({key: key in kept for key in ids})
        except psycopg.Error as error:
            if kept is None or error.sqlstate in NOTHING_DONE:
                self.entries.update(dict.fromkeys(ids, False))
            raise

    def count_entries(self, connection):
        """The role sees all its rows and nobody else's."""
        with connection.transaction():
            connection.execute(f"SET LOCAL ROLE client_{self.number}")
            check_events(self.entries, [number for number, in rows(connection, "SELECT id FROM journal")])

    def duty(self, connection):
        """Equal rows of a reference table without a key, some of them in a savepoint that is undone."""
        count = self.random.randrange(1, 4)
        least, most = self.duties
        self.duties = least, most + count
        try:
            with connection.transaction():
                connection.execute("INSERT INTO duty SELECT %s, 'x' FROM generate_series(1, %s)", [self.number, count])
                connection.execute("SAVEPOINT s")
                connection.execute("INSERT INTO duty VALUES (-1, 'undone')")
                connection.execute("DELETE FROM duty WHERE client = %s", [self.number])
                connection.execute("ROLLBACK TO s")
                connection.execute("UPDATE duty SET note = note || 'x' WHERE client = %s AND note < 'xx'", [self.number])
            self.duties = least + count, most + count
        except psycopg.Error as error:
            if error.sqlstate in NOTHING_DONE:
                self.duties = least, most
            raise

    def define(self, connection):
        """DDL on a table whose shards move, or a new table beside it.

        The transaction of this client's last session, which was killed, may end meanwhile: IF NOT EXISTS doesn't see what
        is not committed yet, on one server either.
        """
        name = f"c{self.number}"
        with suppress(psycopg.errors.DuplicateTable, psycopg.errors.UniqueViolation):
            connection.execute(self.random.choice([
                f"ALTER TABLE event ADD COLUMN IF NOT EXISTS {name} int DEFAULT {self.number}",
                f"ALTER TABLE event DROP COLUMN IF EXISTS {name}",
                f"CREATE INDEX IF NOT EXISTS event_{name} ON event (note, id)",
                f"DROP INDEX IF EXISTS event_{name}",
                f"BEGIN; CREATE TABLE {name} (id bigint); SELECT create_distributed_table('{name}', 'id', "
                f"colocate_with => 'event'); INSERT INTO {name} SELECT generate_series(1, 9); DROP TABLE {name}; COMMIT"]))

    def check_total(self, connection, found):
        """With one snapshot over all nodes, every reader sees the same total."""
        if value(connection, "SELECT current_setting('citus.distributed_snapshots', true)") == "on":
            assert found == [(bank.ACCOUNTS * bank.START, bank.ACCOUNTS)], found


class Changer(threading.Thread):
    """Moves, splits, merges and isolates shards, from any node."""

    def __init__(self, made, number, stop):
        super().__init__()
        self.made, self.stop = made, stop
        self.random = random.Random(SEED * 100 + 50 + number)
        self.done = {}
        self.failed = {}
        self.failure = None

    def run(self):
        while not self.stop.is_set() and self.failure is None:
            try:
                with servers.connect(self.random.choice(self.made.nodes), user=CHANGER) as connection:
                    connection.execute("SET citus.move_switch_timeout = '10s'; SET statement_timeout = '60s'")
                    what = self.change(connection)
                self.done[what] = self.done.get(what, 0) + 1
            except psycopg.Error as error:
                if error.sqlstate is not None and error.sqlstate not in {**EXPECTED, **EXPECTED_OF_CHANGES}:
                    self.failure = error
                self.failed[error.sqlstate] = self.failed.get(error.sqlstate, 0) + 1
                self.stop.wait(0.05)
            except Exception as error:  # pylint: disable=broad-except
                self.failure = error

    def change(self, connection):
        table = self.random.choice(["account", "event", "tally", "journal"])
        if self.random.random() < 0.1:
            connection.execute("SELECT alter_distributed_table(%s, shard_count => %s, cascade_to_colocated => true)",
                               [table, self.random.randrange(3, 7)])
            return "shard_count"
        return test_splits.change_one(self.random, connection, table, self.random.choice(test_moves.MODES))


def alter_changer(made, setting):
    """Changes a setting of the role that changes shards, on all nodes, also those that are just starting."""
    def alter(node):
        with servers.connect(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute(f"ALTER ROLE {CHANGER} " + setting)
            return True

    for node in made.nodes:
        wait_until(lambda node=node: alter(node), "a setting to be changed")


def kill_at_point(made, chosen):
    """Has sessions that change shards, and begin in the next moment, die at a point of theirs."""
    alter_changer(made, f"SET citus.debug_points = '{chosen.choice(POINTS)}=kill'")
    time.sleep(chosen.random())
    alter_changer(made, "RESET citus.debug_points")


def kill_something(made, chosen):
    """A whole server, which is then started again, or one of its processes."""
    node = chosen.choice(made.nodes)
    how = chosen.choice(["server", "server", "session", "terminate", "restart", "point", "point", "nothing", "nothing"])
    if how == "server":
        node.kill()
        time.sleep(chosen.random() * 0.5)
        node.start()
    elif how == "restart":
        node.restart()
    elif how == "point":
        kill_at_point(made, chosen)
    elif how != "nothing":
        with servers.connect(node) as connection:
            pids = [pid for (pid,) in rows(connection, """
                SELECT pid FROM pg_stat_activity
                WHERE backend_type NOT IN ('checkpointer', 'background writer', 'walwriter', 'logger', 'startup')
                  AND pid <> pg_backend_pid()""")]
            if how == "session":
                kill_one_of(pids, chosen)
            elif pids:
                connection.execute("SELECT pg_terminate_backend(%s)", [chosen.choice(pids)])


@pytest.fixture
def bank_cluster():
    settings = {"citus.recover_2pc_interval": "2s", "deadlock_timeout": "100ms", "citus.defer_shard_delete_interval": "1s"}
    with servers.cluster(purpose="check-random", settings=settings) as made:
        bank.create(made)
        create_tables(made)
        yield made


def check_rows(made, workers):
    """All rows that clients have been told of are there once, on the word of each node, and no others."""
    written = {}
    entered = {}
    counted = {}
    for worker in workers:
        written.update(worker.events)
        entered.update(worker.entries)
        counted.update(worker.tallies)
    for node in made.nodes:
        with servers.connect(node) as connection:
            check_events(written, [number for number, in rows(connection, "SELECT id FROM event")])
            check_events(entered, [number for number, in rows(connection, "SELECT id FROM journal")])
            duties = dict(rows(connection, "SELECT client, count(*) FROM duty GROUP BY 1"))
            for worker in workers:
                assert worker.duties[0] <= duties.pop(worker.number, 0) <= worker.duties[1], (worker.number, worker.duties)
            assert not duties
            copies = rows(connection, "SELECT equal, nodeport, row_count FROM citus_check_reference_table('duty')")
            assert len(copies) == len(made.nodes) and all(copy[0] for copy in copies), copies
            tallies = dict(rows(connection, "SELECT id, n FROM tally"))
            for key, (least, most) in counted.items():
                assert least <= tallies.get(key, 0) <= most, (key, least, tallies.get(key), most)


def test_money_is_constant(bank_cluster):
    print(f"POMELO_RANDOM_SEED={SEED}")
    stop = threading.Event()
    workers = [Worker(bank_cluster, number, stop) for number in range(CLIENTS)]
    changers = [Changer(bank_cluster, number, stop) for number in range(2)]
    everybody = workers + changers
    for worker in everybody:
        worker.start()
    chosen = random.Random(SEED)
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end and not any(worker.failure for worker in everybody):
            stop.wait(0.3 + chosen.random())
            try:
                kill_something(bank_cluster, chosen)
            except (psycopg.OperationalError, ProcessLookupError):
                pass    # it was restarting, or the session had ended
    finally:
        stop.set()
        for worker in everybody:
            worker.join(90)
    bank_cluster.start()
    print([(changer.done, changer.failed) for changer in changers])
    failures = [repr(worker.failure) for worker in everybody if worker.failure]
    print(*failures, sep="\n")
    assert not failures
    assert not any(worker.is_alive() for worker in everybody), "a client hangs"
    for action in ("transfer", "contend", "rate", "read", "repeatable_read", "insert", "upsert", "count_events", "define",
                   "enter", "count_entries", "duty"):
        count = sum(worker.done.get(action, 0) for worker in workers)
        print(action, count)
        assert count > 0, f"no {action} went through"
    servers.wait_until_quiet(bank_cluster)
    test_moves.check_clean(bank_cluster, timeout=120)
    bank.check(bank_cluster)
    check_rows(bank_cluster, workers)
