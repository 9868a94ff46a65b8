"""Sixteen clients of all nodes write colliding keys, and both sides of foreign keys, while shards of rows and of entries
are moved and split and servers and sessions are killed: no two equal keys, no lost entry, no orphan.

With POMELO_CHECK_ALL ten minutes, else some seconds; POMELO_RANDOM_SECONDS says how long.
"""

import os
import threading
from contextlib import suppress

import psycopg
import pytest
import test_moves
import test_splits
from test_random_failures import POINTS

from harness import servers
from harness.fire import CHANGER, NOTHING_DONE, SETTINGS, Changer, Client, check_rows_told, under_fire
from harness.servers import rows, value
from pomelo_check.sample import ALL

SECONDS = float(os.environ.get("POMELO_RANDOM_SECONDS", "600" if ALL else "12"))
CLIENTS = 16
KEYS = 60
PARENTS = 30
TENANTS = 20
INDEXES = ["one_pkey", "one_n", "late_pkey", "late_u", "late_e", "event_pkey", "tally_k_key", "halved_0_k_half_key", "halved_1_k_half_key", "parent_pkey",
           "tree_pkey", "clan_1_pkey", "clan_2_pkey"]
UNIQUE = {"one": "k", "late": "u", "event": "id", "tally": "k", "halved": "k", "parent": "id", "tree": "id", "clan": "id"}
CHILDREN = {"child": "parent", "dependant": "parent", "ward": "parent", "tree": "tree", "member": "clan", "ally": "clan"}


def create_tables(made):
    """Tables of tenants: with one key; with late and partial ones; of which clients keep a list; of foreign keys."""
    with servers.connect(made.coordinator) as connection:
        connection.execute(f"""CREATE ROLE {CHANGER} SUPERUSER LOGIN;
            SET citus.global_indexes = on;
            CREATE TABLE one (t int, k int PRIMARY KEY, n int);
            CREATE INDEX one_n ON one (n) INCLUDE (t) WHERE citus_global_index();
            CREATE TABLE late (t int, k int PRIMARY KEY, u int CONSTRAINT late_u UNIQUE DEFERRABLE INITIALLY DEFERRED, e int);
            CREATE UNIQUE INDEX late_e ON late ((e % 1000)) WHERE e > 0;
            CREATE TABLE event (t int, id bigint PRIMARY KEY);
            CREATE TABLE tally (t int, k int UNIQUE, n int);
            CREATE TABLE halved (t int, k int, half int, n int, UNIQUE (k, half)) PARTITION BY LIST (half);
            CREATE TABLE halved_0 PARTITION OF halved FOR VALUES IN (0);
            CREATE TABLE halved_1 (n int, half int, k int, t int);
            ALTER TABLE halved ATTACH PARTITION halved_1 FOR VALUES IN (1);
            CREATE TABLE parent (t int, id int PRIMARY KEY);
            CREATE TABLE child (id int, p int REFERENCES parent) PARTITION BY RANGE (id);
            CREATE TABLE child_1 PARTITION OF child FOR VALUES FROM (0) TO (500);
            CREATE TABLE child_2 (p int, id int);
            ALTER TABLE child ATTACH PARTITION child_2 FOR VALUES FROM (500) TO (1001);
            CREATE TABLE dependant (id int, p int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE ward (id int, p int REFERENCES parent ON DELETE SET NULL);
            CREATE TABLE tree (t int, id int PRIMARY KEY, p int REFERENCES tree ON DELETE CASCADE);
            CREATE TABLE clan (t int, id int PRIMARY KEY) PARTITION BY RANGE (id);
            CREATE TABLE clan_1 PARTITION OF clan FOR VALUES FROM (0) TO ({PARENTS // 2});
            CREATE TABLE clan_2 (id int NOT NULL, t int);
            ALTER TABLE clan ATTACH PARTITION clan_2 FOR VALUES FROM ({PARENTS // 2}) TO ({PARENTS + 1});
            CREATE TABLE member (id int, p int REFERENCES clan ON DELETE CASCADE ON UPDATE CASCADE);
            CREATE TABLE ally (id int, p int REFERENCES clan DEFERRABLE)""")
        for table, column in [("one", "t"), ("event", "t"), ("parent", "t"), ("child", "id"), ("dependant", "id"), ("ward", "id"),
                              ("clan", "t"), ("member", "id"), ("ally", "id")]:
            connection.execute("SELECT create_distributed_table(%s, %s, shard_count => 6, colocate_with => 'none')", [table, column])
        for table in ("late", "tally", "halved", "tree"):
            connection.execute("SELECT create_distributed_table(%s, 't', colocate_with => 'one')", [table])
        for table in ("parent", "clan"):
            connection.execute(f"INSERT INTO {table} SELECT i %% 7, i FROM generate_series(1, %s) i", [PARENTS])


def tables_of_entries(connection):
    return [name for name, in rows(connection, """
        SELECT objid::regclass::text FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
        AND deptype = 'i' AND refobjid = ANY (%s::regclass[])""", [INDEXES])]


class Writer(Client):
    """Writes keys that others write, too, and rows of which it keeps a list."""

    def __init__(self, made, number, stop):
        super().__init__(made, number, stop)
        self.events = {}        # by id: whether the row must be there; None: nobody knows
        self.tallies = {}       # by table and key: the least and the most that may have been counted
        self.actions = [self.collide] * 5 + [self.relate] * 7 + [self.upsert, self.upsert, self.insert, self.insert, self.wander, self.erase,
                                                                 self.find, self.find_own, self.compare, self.count_orphans]

    def key(self):
        return self.random.randint(1, KEYS)

    def may_fail(self, connection, statements, *errors):
        """Runs one of the statements, which may fail so on one server, too."""
        try:
            with suppress(psycopg.errors.UniqueViolation, *errors):
                connection.execute(self.random.choice(statements))
        finally:
            if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")

    def collide(self, connection):
        key, other, tenant = self.key(), self.key(), self.random.randrange(TENANTS)
        self.may_fail(connection, [
            f"INSERT INTO one VALUES ({tenant}, {key}, {other % 5})",
            f"INSERT INTO one VALUES ({tenant}, {key}, 1), ({tenant + 1}, {other}, 2)",
            f"DELETE FROM one WHERE k = {key}",
            f"DELETE FROM one WHERE n = {other % 5} AND t < 5",
            f"UPDATE one SET k = {other} WHERE k = {key}",
            f"UPDATE one SET t = {tenant}, n = {key % 5} WHERE k = {key}",
            f"BEGIN; DELETE FROM one WHERE k = {key}; INSERT INTO one VALUES ({tenant}, {key}, 3); COMMIT",
            f"BEGIN; SAVEPOINT s; INSERT INTO one VALUES ({tenant}, {key}, 4) ON CONFLICT DO NOTHING; ROLLBACK TO s; "
            f"UPDATE one SET n = 4 WHERE k = {key}; COMMIT",
            f"MERGE INTO one USING (VALUES ({key})) v (x) ON k = x WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES ({tenant}, x, 0)",
            f"INSERT INTO one VALUES ({tenant}, {key}, 1) ON CONFLICT (k) DO UPDATE SET t = excluded.t, n = excluded.n",
            f"INSERT INTO late VALUES ({tenant}, {key}, {other}, {key + other})",
            f"INSERT INTO late VALUES ({tenant}, {key}, NULL, {key}) ON CONFLICT (k) DO UPDATE SET e = NULL",
            f"DELETE FROM late WHERE k = {key}",
            f"UPDATE late SET t = {tenant}, e = -e WHERE k = {key}",
            f"BEGIN; UPDATE late SET u = {other} WHERE k = {key}; UPDATE late SET u = {key} WHERE k = {other}; COMMIT",
            f"BEGIN; INSERT INTO late VALUES ({tenant}, {key}, {other}, 0); DELETE FROM late WHERE u = {other} AND k <> {key}; COMMIT",
        ])

    def relate(self, connection):
        key, other, row = self.random.randint(1, PARENTS), self.random.randint(1, PARENTS), self.random.randint(1, 1000)
        self.may_fail(connection, [
            f"INSERT INTO child VALUES ({row}, {key})",
            f"INSERT INTO dependant VALUES ({row}, {key}), ({row + 1}, {other})",
            f"INSERT INTO ward VALUES ({row}, {key})",
            f"DELETE FROM child WHERE p = {key}",
            f"DELETE FROM ward WHERE p IS NULL AND id < {row}",
            f"DELETE FROM parent WHERE id = {key}",
            f"INSERT INTO parent VALUES ({row % 7}, {key})",
            f"INSERT INTO parent VALUES ({row % 7}, {key}) ON CONFLICT DO NOTHING",
            f"UPDATE parent SET id = {other} WHERE id = {key}",
            f"UPDATE parent SET t = {row % 7} WHERE id = {key}",
            f"UPDATE child SET p = {other} WHERE p = {key}",
            f"BEGIN; INSERT INTO dependant VALUES ({row}, {key}); INSERT INTO parent VALUES (1, {key}) ON CONFLICT DO NOTHING; COMMIT",
            f"INSERT INTO tree VALUES ({row % TENANTS}, {row}, {row // 3})",
            f"INSERT INTO tree VALUES ({row % TENANTS}, {row}, NULL) ON CONFLICT DO NOTHING",
            f"DELETE FROM tree WHERE id = {row // 5}",
            f"INSERT INTO member VALUES ({row}, {key}), ({row + 1}, {other})",
            f"INSERT INTO ally VALUES ({row}, {key})",
            f"DELETE FROM ally WHERE p = {key}",
            f"UPDATE ally SET p = {other} WHERE p = {key}",
            f"DELETE FROM clan WHERE id = {key}",
            f"INSERT INTO clan VALUES ({row % 7}, {key}), ({row % 5}, {other}) ON CONFLICT DO NOTHING",
            f"UPDATE clan SET id = {other} WHERE id = {key}",
            f"UPDATE clan SET t = {row % 7} WHERE id = {key}",
        ], psycopg.errors.ForeignKeyViolation)

    def upsert(self, connection):
        """One more; no writer of the same key makes it fail."""
        number, tenant = self.key(), self.random.randrange(TENANTS)
        table, values, keys = self.random.choice([("tally", [tenant, number, 1], "k"), ("halved", [tenant, number, number % 2, 1], "k, half")])
        key = table, number
        least, most = self.tallies.get(key, (0, 0))
        self.tallies[key] = least, most + 1
        try:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join(map(str, values))}) "
                               f"ON CONFLICT ({keys}) DO UPDATE SET n = {table}.n + 1, t = excluded.t")
            self.tallies[key] = least + 1, most + 1
        except psycopg.Error as error:
            if error.sqlstate in NOTHING_DONE:
                self.tallies[key] = least, most
            raise

    def change_events(self, connection, ids, there, statement):
        """Runs a statement with ids, of which it is known afterwards whether they are there."""
        before = {number: self.events.get(number, False) for number in ids}
        self.events.update(dict.fromkeys(ids))
        try:
            assert connection.execute(statement, [ids]).rowcount == len(ids)
            self.events.update(dict.fromkeys(ids, there))
        except psycopg.Error as error:
            if error.sqlstate in NOTHING_DONE:
                self.events.update(before)
            raise

    def own(self, count):
        """Some of the rows that must be there."""
        known = [number for number, there in self.events.items() if there]
        return self.random.sample(known, min(count, len(known)))

    def insert(self, connection):
        first = (self.number << 32) + len(self.events)
        self.change_events(connection, list(range(first, first + self.random.randrange(1, 5))), True,
                           "INSERT INTO event SELECT random() * 100, n FROM unnest(%s::bigint[]) n")

    def wander(self, connection):
        self.change_events(connection, self.own(2), True, "UPDATE event SET t = random() * 100 WHERE id = ANY (%s)")

    def erase(self, connection):
        self.change_events(connection, self.own(3), False, "DELETE FROM event WHERE id = ANY (%s)")

    def find(self, connection):
        """By its key, a row that is there, and one that isn't."""
        for number in self.own(2):
            assert value(connection, "SELECT id FROM event WHERE id = %s", [number]) == number
        gone = next((number for number, there in self.events.items() if there is False), -1)
        assert rows(connection, "SELECT t FROM event WHERE id = %s", [gone]) == []

    def find_own(self, connection):
        check_rows_told(self.events, [number for number, in rows(connection, "SELECT id FROM event WHERE id >> 32 = %s", [self.number])])

    def compare(self, connection):
        """In one snapshot, entries tell of the same rows as the table; no key is there twice."""
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            query = f"SELECT t FROM one WHERE n = {self.random.randrange(5)} ORDER BY t"
            found = rows(connection, query)
            connection.execute("SET LOCAL citus.enable_global_index_lookups = off")
            assert rows(connection, query) == found
            check_unique(connection, self.random.choice(list(UNIQUE)))

    def count_orphans(self, connection):
        check_parents(connection, self.random.choice(list(CHILDREN)))


def check_unique(connection, table):
    key = UNIQUE[table]
    assert rows(connection, f"SELECT {key}, count(*) FROM {table} WHERE {key} IS NOT NULL GROUP BY {key} HAVING count(*) > 1") == [], table


def check_parents(connection, child):
    assert rows(connection, f"SELECT * FROM {child} c WHERE c.p IS NOT NULL AND NOT EXISTS "
                            f"(SELECT FROM {CHILDREN[child]} p WHERE p.id = c.p)") == [], child


def check(node, writers):
    """Keys are unique, entries are those of the rows, children have parents, and rows are those that clients were told of."""
    written = {number: there for writer in writers for number, there in writer.events.items()}
    with servers.connect(node) as connection:
        connection.execute("SET citus.enable_global_index_lookups = off")
        for table in UNIQUE:
            check_unique(connection, table)
        for child in CHILDREN:
            check_parents(connection, child)
        for index in INDEXES:
            assert value(connection, "SELECT citus_check_global_index(%s::regclass)", [index]) == 0, index
        check_rows_told(written, [number for number, in rows(connection, "SELECT id FROM event")])
        for table in ("tally", "halved"):
            tallies = dict(rows(connection, f"SELECT k, n FROM {table}"))
            for key in range(1, KEYS + 1):
                told = [writer.tallies.get((table, key), (0, 0)) for writer in writers]
                least, most = (sum(numbers) for numbers in zip(*told))
                assert least <= tallies.get(key, 0) <= most, (table, key, least, tallies.get(key), most)
        print(node.name, {table: value(connection, f"SELECT count(*) FROM {table}") for table in [*UNIQUE, *CHILDREN]})


@pytest.fixture
def burning():
    with servers.cluster(purpose="check-keys-under-fire", settings=SETTINGS) as made:
        create_tables(made)
        yield made


def test_keys(burning):
    with servers.connect(burning.coordinator) as connection:
        tables = ["one", "event", "parent", "child", "dependant", "ward", "clan", "member", *tables_of_entries(connection)]

    def change_shards(choice, connection):
        table = choice.choice(tables)
        what = test_splits.change_one(choice, connection, table, choice.choice(test_moves.MODES))
        return f"{what} of {'entries' if '.' in table else 'rows'}"

    stop = threading.Event()
    writers = [Writer(burning, number, stop) for number in range(CLIENTS)]
    changers = [Changer(burning, number, stop, change_shards) for number in range(2)]
    under_fire(burning, stop, writers, changers, POINTS, SECONDS)
    servers.wait_until_quiet(burning)
    test_moves.check_clean(burning, timeout=120)
    for node in burning.nodes:
        check(node, writers)
