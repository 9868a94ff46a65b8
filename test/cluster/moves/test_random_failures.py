"""Eight clients at work on all nodes while shards are moved, split and merged and servers and sessions are killed.

No money is lost, no row that a client was told of, and nothing is left behind. POMELO_RANDOM_SECONDS says how long
(20 by default), POMELO_RANDOM_SEED repeats a choice of actions.
"""

import os
import threading
from contextlib import suppress

import psycopg
import pytest
import test_moves
import test_splits

from harness import bank, servers
from harness.fire import CHANGER, NOTHING_DONE, SETTINGS, Changer, Client, check_rows_told, under_fire
from harness.servers import rows, value

SECONDS = float(os.environ.get("POMELO_RANDOM_SECONDS", "20"))
CLIENTS = 8

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


class Worker(Client):
    """Writes money, rows that it keeps a list of, and tables."""

    def __init__(self, made, number, stop):
        super().__init__(made, number, stop)
        self.events = {}        # by id: whether the row must be there; None: nobody knows
        self.tallies = {}       # by id: the least and the most that may have been counted
        self.entries = {}       # by id: as events, of journal
        self.duties = (0, 0)    # the least and the most rows of duty that may be there
        self.actions = [self.transfer] * 4 + [self.insert] * 2 + [self.contend, self.read, self.rate, self.repeatable_read,
                                                                  self.upsert, self.count_events, self.define,
                                                                  self.enter, self.enter, self.count_entries, self.duty]

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
        check_rows_told(self.events, [number for number, in rows(
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
            check_rows_told(self.entries, [number for number, in rows(connection, "SELECT id FROM journal")])

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


@pytest.fixture
def bank_cluster():
    with servers.cluster(purpose="check-random", settings=SETTINGS) as made:
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
            check_rows_told(written, [number for number, in rows(connection, "SELECT id FROM event")])
            check_rows_told(entered, [number for number, in rows(connection, "SELECT id FROM journal")])
            duties = dict(rows(connection, "SELECT client, count(*) FROM duty GROUP BY 1"))
            for worker in workers:
                assert worker.duties[0] <= duties.pop(worker.number, 0) <= worker.duties[1], (worker.number, worker.duties)
            assert not duties
            copies = rows(connection, "SELECT equal, nodeport, row_count FROM citus_check_reference_table('duty')")
            assert len(copies) == len(made.nodes) and all(copy[0] for copy in copies), copies
            tallies = dict(rows(connection, "SELECT id, n FROM tally"))
            for key, (least, most) in counted.items():
                assert least <= tallies.get(key, 0) <= most, (key, least, tallies.get(key), most)


def change_shards(choice, connection):
    """Moves, splits, merges or isolates shards, or changes their number."""
    table = choice.choice(["account", "event", "tally", "journal"])
    if choice.random() < 0.1:
        connection.execute("SELECT alter_distributed_table(%s, shard_count => %s, cascade_to_colocated => true)",
                           [table, choice.randrange(3, 7)])
        return "shard_count"
    return test_splits.change_one(choice, connection, table, choice.choice(test_moves.MODES))


def test_money_is_constant(bank_cluster):
    stop = threading.Event()
    workers = [Worker(bank_cluster, number, stop) for number in range(CLIENTS)]
    changers = [Changer(bank_cluster, number, stop, change_shards) for number in range(2)]
    under_fire(bank_cluster, stop, workers, changers, POINTS, SECONDS)
    servers.wait_until_quiet(bank_cluster)
    test_moves.check_clean(bank_cluster, timeout=120)
    bank.check(bank_cluster)
    check_rows(bank_cluster, workers)
