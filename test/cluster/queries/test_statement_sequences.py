"""Any sequence of statements in a transaction does what it does on one PostgreSQL server.

Sequences of reads, writes of one and of many shards, reference and local tables, DDL, COPY, savepoints,
cursors, loops and modes of constraints are made up at random and run on a plain server and on a cluster; every answer must be
the same, and so must the tables afterwards, from every node. POMELO_SEQUENCES says how many,
POMELO_RANDOM_SEED repeats them.
"""

import os
import random

import psycopg
import pytest

from pomelo_check.sample import SEED

from harness import servers

SEQUENCES = int(os.environ.get("POMELO_SEQUENCES", "30"))
ROWS = 40
TABLES = ["near", "far", "ref", "here"]

SETUP = """
    DROP TABLE IF EXISTS far, near, ref, here, late;
    CREATE TABLE ref (id int PRIMARY KEY, v int);
    CREATE TABLE near (id int PRIMARY KEY, v int);
    CREATE TABLE far (id int PRIMARY KEY, v int, k int);
    CREATE TABLE here (id int PRIMARY KEY, v int);
    CREATE TABLE late (id int, v int, UNIQUE (id) DEFERRABLE);
"""
DISTRIBUTE = """
    SELECT create_reference_table('ref');
    SELECT create_distributed_table('near', 'id', shard_count => 4);
    SELECT create_distributed_table('far', 'id', colocate_with => 'near');
    SELECT create_distributed_table('late', 'id', colocate_with => 'near');
"""
FILL = "; ".join(f"INSERT INTO {table} (id, v) SELECT g, g % 7 FROM generate_series(1, {ROWS}) g"
                 for table in TABLES)


class Generator:
    """Makes up the statements of a transaction."""

    def __init__(self, seed, initiator):
        self.random = random.Random(seed)
        self.savepoints = []
        self.cursors = []       # (name, how many savepoints it was opened in)
        self.next_id = 1000
        self.tables = TABLES if initiator == "coordinator" else TABLES[:3]
        self.kinds = [self.read_one, self.read_all, self.join, self.write_one, self.write_one, self.write_all,
                      self.insert_one, self.insert_many, self.insert_select, self.delete_one, self.upsert,
                      self.move_row, self.read_for_update, self.savepoint, self.savepoint, self.copy, self.failing,
                      self.declare, self.fetch, self.fetch, self.loop, self.late, self.late, self.read_only]
        if initiator == "coordinator":
            self.kinds += [self.ddl, self.ddl, self.truncate]

    def key(self):
        return self.random.randrange(1, ROWS + 1)

    def table(self):
        return self.random.choice(self.tables)

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def statements(self, count):
        for _ in range(count):
            yield from self.random.choice(self.kinds)()

    def read_one(self):
        yield f"SELECT id, v FROM {self.table()} WHERE id = {self.key()}"

    def read_all(self):
        yield f"SELECT count(*), sum(v), min(id), max(id) FROM {self.table()}"

    def join(self):
        one, two = self.table(), self.table()
        yield f"SELECT count(*), sum(a.v + b.v) FROM {one} a JOIN {two} b ON a.id = b.v WHERE a.v < 6"

    def write_one(self):
        yield f"UPDATE {self.table()} SET v = v + 1 WHERE id = {self.key()} RETURNING id, v"

    def write_all(self):
        yield f"UPDATE {self.table()} SET v = v + 1 WHERE id % 3 = {self.random.randrange(3)}"

    def insert_one(self):
        yield f"INSERT INTO {self.table()} (id, v) VALUES ({self.new_id()}, 3)"

    def insert_many(self):
        first = self.next_id + 1
        self.next_id += 10
        yield f"INSERT INTO {self.table()} (id, v) SELECT g, g % 5 FROM generate_series({first}, {self.next_id}) g"

    def insert_select(self):
        self.next_id += 10000
        yield (f"INSERT INTO {self.table()} (id, v) SELECT id + {self.next_id}, v FROM {self.table()} "
               f"WHERE id < {self.key()}")

    def delete_one(self):
        yield f"DELETE FROM {self.table()} WHERE id = {self.key()}"

    def upsert(self):
        table = self.table()
        yield (f"INSERT INTO {table} (id, v) VALUES ({self.key()}, 1), ({self.new_id()}, 2) "
               f"ON CONFLICT (id) DO UPDATE SET v = {table}.v + excluded.v")

    def move_row(self):
        yield f"UPDATE {self.table()} SET id = {self.new_id()} WHERE id = {self.key()}"

    def read_for_update(self):
        yield f"SELECT v FROM {self.table()} WHERE id = {self.key()} FOR UPDATE"

    def copy(self):
        yield ("copy", self.table(), [(self.new_id(), 4) for _ in range(5)])

    def truncate(self):
        yield f"TRUNCATE {self.table()}"

    def ddl(self):
        table, number = self.table(), self.random.randrange(3)
        yield "SAVEPOINT ddl"
        yield self.random.choice([
            f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS c{number} int DEFAULT 5",
            f"ALTER TABLE {table} DROP COLUMN IF EXISTS c{number}",
            f"CREATE INDEX IF NOT EXISTS {table}_v{number} ON {table} (v)",
            f"DROP INDEX IF EXISTS {table}_v{number}",
            f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS k, ADD CONSTRAINT k CHECK (v > -{number + 1}) NOT VALID",
            f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS k",
            f"ALTER TABLE {table} ALTER COLUMN v SET DEFAULT {number}"])
        yield self.random.choice(["RELEASE SAVEPOINT ddl", "RELEASE SAVEPOINT ddl", "ROLLBACK TO SAVEPOINT ddl"])

    def failing(self):
        yield "SAVEPOINT failing"
        yield self.random.choice([
            f"INSERT INTO {self.table()} (id, v) VALUES ({self.key()}, 1), ({self.key()}, 1)",
            f"UPDATE {self.table()} SET v = 1 / (v - v)", "SELECT nothing"])
        yield "ROLLBACK TO SAVEPOINT failing"

    def savepoint(self):
        """Opens one, or ends one of those that are open, with all within it."""
        if not self.savepoints or self.random.random() < 0.5:
            self.savepoints.append(f"s{len(self.savepoints)}")
            yield f"SAVEPOINT {self.savepoints[-1]}"
            return
        at = self.random.randrange(len(self.savepoints))
        if self.random.random() < 0.5:
            yield f"RELEASE SAVEPOINT {self.savepoints[at]}"
            del self.savepoints[at:]
            self.cursors = [(name, min(depth, at)) for name, depth in self.cursors]
        else:
            yield f"ROLLBACK TO SAVEPOINT {self.savepoints[at]}"
            del self.savepoints[at + 1:]
            self.cursors = [(name, depth) for name, depth in self.cursors if depth <= at]

    def declare(self):
        name = f"c{self.new_id()}"
        self.cursors.append((name, len(self.savepoints)))
        table = self.table()
        yield f"DECLARE {name} CURSOR FOR " + self.random.choice([
            f"SELECT id, v FROM {table}", f"SELECT id, v FROM {table} ORDER BY id", f"SELECT sum(v) FROM {table}",
            f"SELECT id, v FROM {table} WHERE id = {self.key()}",
            f"SELECT a.id, b.v FROM {table} a JOIN {self.table()} b ON b.id = a.v + 1"])

    def fetch(self):
        """How many rows there are, or all; which come first is not said."""
        if self.cursors:
            name, _ = self.random.choice(self.cursors)
            if self.random.random() < 0.4:
                yield f"MOVE {self.key()} FROM {name}"
                yield f"MOVE ALL FROM {name}"
            else:
                yield f"FETCH ALL FROM {name}"

    def loop(self):
        """Writes to what it reads, and undoes some of that."""
        table, other = self.table(), self.table()
        yield f"""DO $$
            DECLARE
                rec record;
                total int := 0;
            BEGIN
                FOR rec IN SELECT id, v FROM {table} WHERE id < {self.key()} LOOP
                    total := total + rec.v;
                    BEGIN
                        UPDATE {table} SET v = v + 1 WHERE id = rec.id + 3;
                        IF rec.id % 4 = 0 THEN RAISE EXCEPTION 'no'; END IF;
                    EXCEPTION WHEN raise_exception THEN
                        NULL;
                    END;
                END LOOP;
                INSERT INTO {other} (id, v) VALUES ({self.new_id()}, total);
            END $$"""

    def late(self):
        """A constraint that may be checked at the end."""
        key = self.random.randrange(1, 9)
        yield "SAVEPOINT late"
        yield self.random.choice([
            f"INSERT INTO late VALUES ({key}, 1), ({key + 1}, 1)", f"INSERT INTO late VALUES ({key}, 2)",
            f"DELETE FROM late WHERE id = {key} AND v = 1", "UPDATE late SET v = 3 - v",
            "SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS late_id_key DEFERRED", "SET CONSTRAINTS ALL IMMEDIATE"])
        yield self.random.choice(["RELEASE SAVEPOINT late", "RELEASE SAVEPOINT late", "ROLLBACK TO SAVEPOINT late"])

    def read_only(self):
        yield "SAVEPOINT ro"
        yield "SET TRANSACTION READ ONLY"
        yield from self.read_all()
        yield from self.random.choice([self.read_one, self.read_one, self.write_one])()
        yield self.random.choice(["RELEASE SAVEPOINT ro", "ROLLBACK TO SAVEPOINT ro"])

    def beginning(self):
        return self.random.choice(["BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ",
                                   "BEGIN ISOLATION LEVEL SERIALIZABLE"])

    def ending(self):
        return self.random.choice([["COMMIT"], ["COMMIT"], ["ROLLBACK"],
                                   ["PREPARE TRANSACTION 'trap'", "COMMIT PREPARED 'trap'"],
                                   ["PREPARE TRANSACTION 'trap'", "ROLLBACK PREPARED 'trap'"]])


def answer(connection, statement):
    """What a statement gives, as comparable text."""
    try:
        if isinstance(statement, tuple):
            with connection.cursor() as cursor:
                with cursor.copy(f"COPY {statement[1]} (id, v) FROM STDIN") as copy:
                    for row in statement[2]:
                        copy.write_row(row)
            return "copied"
        cursor = connection.execute(statement)
        if cursor.description is None:
            return cursor.statusmessage
        return sorted(cursor.fetchall(), key=repr)
    except psycopg.Error as error:
        return f"error {error.sqlstate}"


CONTENTS = "; ".join(f"SELECT '{table}', count(*), sum(id::bigint * v) FROM {table}" for table in TABLES[:3])


def contents(connection):
    cursor = connection.execute(CONTENTS)
    found = []
    while True:
        found += cursor.fetchall()
        if not cursor.nextset():
            return found


@pytest.fixture(scope="module")
def pair():
    """A plain server and a cluster."""
    with servers.cluster(purpose="check-plain", kind="plain", settings={"max_prepared_transactions": "10"}) as plain, \
            servers.cluster(purpose="check-traps") as cluster:
        yield plain.nodes[0], cluster


def run_sequence(plain, node, generator):
    """Runs the same statements on both; the first difference is the failure."""
    done = []
    with servers.connect(plain) as one, servers.connect(node) as two:
        two.execute("SET lock_timeout = '60s'")
        begin = generator.beginning()
        one.execute(begin)
        two.execute(begin)
        for statement in [*generator.statements(18), *generator.ending()]:
            done.append(statement)
            expected, got = answer(one, statement), answer(two, statement)
            assert got == expected, "\n".join(["these statements:", *map(str, done), f"gave {got}, not {expected}"])
    return done


@pytest.mark.some(1)
@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_sequences(pair, initiator):
    plain, cluster = pair
    for number in range(SEQUENCES if initiator == "coordinator" else SEQUENCES // 2):
        seed = f"{SEED}/{initiator}/{number}"
        print("sequence", seed)
        generator = Generator(seed, initiator)
        with servers.connect(plain) as one, servers.connect(cluster.coordinator) as two:
            one.execute(SETUP)
            two.execute(SETUP)
            two.execute(DISTRIBUTE)
            one.execute(FILL)
            two.execute(FILL)
        done = run_sequence(plain, cluster.node(initiator), generator)
        with servers.connect(plain) as one:
            expected = contents(one)
        for node in cluster.nodes:
            with servers.connect(node) as two:
                assert contents(two) == expected, "\n".join([f"{node.name} differs after:", *map(str, done)])
    servers.wait_until_quiet(cluster)
