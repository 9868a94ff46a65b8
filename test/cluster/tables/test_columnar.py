"""Columnar tables: several sessions at the same rows, crashes, publications."""

import random
import threading
import time

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until
from harness.statement import Statement
from pomelo_check.sample import SEED
from pomelo_cluster import find_free_ports

ROWS = 3000         # enough for a stripe
ROUNDS = 4
RANDOM_STATEMENTS = 60
BATCH = 2000
COLUMNAR = "CREATE TABLE {s}.t (a int PRIMARY KEY, v int) USING columnar"


@pytest.fixture
def columnar(schema, coordinator):
    """A local columnar table with keys 1 to ROWS, in stripes but for the first; its name."""
    coordinator.execute(COLUMNAR.format(s=schema))
    coordinator.execute(f"INSERT INTO {schema}.t SELECT i, 0 FROM generate_series(1, {ROWS}) i")
    assert value(coordinator, f"SELECT count(*) FROM {schema}.t WHERE ctid > '(2147483648,0)'") > ROWS // 2
    return f"{schema}.t"


@pytest.fixture
def sessions(cluster, connect):
    """Two sessions with transactions of their own."""
    return [connect(cluster.coordinator, autocommit=False) for _ in range(2)]


def waits(connection, other):
    """Whether the other session waits for a lock."""
    return value(connection, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s",
                 [other.info.backend_pid])


def start_waiting(coordinator, session, statement):
    running = Statement(session, statement)
    wait_until(lambda: waits(coordinator, session), "the statement waits")
    return running


def test_updates_of_a_row_add_up(columnar, sessions, coordinator):
    first, second = sessions
    first.execute(f"UPDATE {columnar} SET v = v + 1 WHERE a = 2000")
    running = start_waiting(coordinator, second, f"UPDATE {columnar} SET v = v + 10 WHERE a = 2000")
    first.commit()
    assert running.finish() is None
    second.commit()
    assert value(coordinator, f"SELECT v FROM {columnar} WHERE a = 2000") == 11


def test_update_of_a_deleted_row_does_nothing(columnar, sessions, coordinator):
    first, second = sessions
    first.execute(f"DELETE FROM {columnar} WHERE a = 2000")
    running = start_waiting(coordinator, second, f"UPDATE {columnar} SET v = v + 10 WHERE a = 2000")
    first.commit()
    assert running.finish() is None and running.cursor.rowcount == 0


def test_update_after_a_failed_one(columnar, sessions, coordinator):
    first, second = sessions
    first.execute(f"UPDATE {columnar} SET v = 5 WHERE a = 2000")
    running = start_waiting(coordinator, second, f"UPDATE {columnar} SET v = v + 10 WHERE a = 2000")
    first.rollback()
    assert running.finish() is None
    second.commit()
    assert value(coordinator, f"SELECT v FROM {columnar} WHERE a = 2000") == 10


def test_row_locks(columnar, sessions, coordinator):
    first, second = sessions
    for session, strength in ((first, "KEY SHARE"), (second, "SHARE")):
        session.execute(f"SELECT FROM {columnar} WHERE a = 2000 FOR {strength}")
    with pytest.raises(psycopg.errors.LockNotAvailable, match='in relation "t"'):
        coordinator.execute(f"SELECT FROM {columnar} WHERE a = 2000 FOR UPDATE NOWAIT")
    assert value(coordinator, f"SELECT a FROM {columnar} WHERE a IN (2000, 2001) FOR UPDATE SKIP LOCKED") == 2001


def test_repeatable_read(columnar, sessions, coordinator):
    first = sessions[0]
    first.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert value(first, f"SELECT count(*) FROM {columnar}") == ROWS
    coordinator.execute(f"DELETE FROM {columnar} WHERE a = 2000")
    coordinator.execute(f"UPDATE {columnar} SET v = 1 WHERE a > 2500")
    coordinator.execute(f"INSERT INTO {columnar} SELECT i, 0 FROM generate_series(10000, 12000) i")
    assert value(first, f"SELECT count(*) FROM {columnar} WHERE v = 0") == ROWS
    assert value(first, f"SELECT a FROM {columnar} WHERE a = 2000") == 2000
    with pytest.raises(psycopg.errors.SerializationFailure):
        first.execute(f"UPDATE {columnar} SET v = 1 WHERE a = 2000")


def test_write_skew_is_found(columnar, sessions):
    for session in sessions:
        session.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        session.execute(f"SELECT sum(v) FROM {columnar} WHERE a IN (2000, 2001)").fetchall()
    for key, session in enumerate(sessions, 2000):
        session.execute(f"UPDATE {columnar} SET v = 1 WHERE a = {key}")
    with pytest.raises(psycopg.errors.SerializationFailure):
        for session in sessions:
            session.commit()


def test_keys_of_stripes_in_progress_are_taken(columnar, sessions, coordinator):
    """The first session's rows have entries in the index before they are stored."""
    first, second = sessions
    first.execute(f"INSERT INTO {columnar} SELECT i, 0 FROM generate_series(10001, 12000) i")
    running = start_waiting(coordinator, second, f"INSERT INTO {columnar} VALUES (11900, 1)")
    first.commit()
    assert isinstance(running.finish(), psycopg.errors.UniqueViolation)
    second.rollback()
    first.execute(f"DELETE FROM {columnar} WHERE a = 11900")
    running = start_waiting(coordinator, second, f"INSERT INTO {columnar} VALUES (11900, 1)")
    first.commit()
    assert running.finish() is None
    second.commit()
    assert value(coordinator, f"SELECT v FROM {columnar} WHERE a = 11900") == 1


def test_foreign_key_keeps_a_row(columnar, schema, sessions, coordinator):
    first, second = sessions
    coordinator.execute(f"CREATE TABLE {schema}.child (a int REFERENCES {columnar})")
    first.execute(f"INSERT INTO {schema}.child VALUES (2000)")
    running = start_waiting(coordinator, second, f"DELETE FROM {columnar} WHERE a = 2000")
    first.commit()
    assert isinstance(running.finish(), psycopg.errors.ForeignKeyViolation)


def test_snapshot_older_than_vacuum_full(columnar, sessions, coordinator):
    first = sessions[0]
    first.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    first.execute("SELECT 1 FROM pg_class LIMIT 1")
    coordinator.execute(f"DELETE FROM {columnar} WHERE a = 2000")
    coordinator.execute(f"VACUUM FULL {columnar}")
    with pytest.raises(psycopg.errors.SerializationFailure, match="was rewritten"):
        first.execute(f"SELECT count(*) FROM {columnar}")
    first.rollback()
    assert value(first, f"SELECT count(*) FROM {columnar}") == ROWS - 1


def test_marks_outlive_vacuum(columnar, coordinator):
    coordinator.execute(f"DELETE FROM {columnar} WHERE a > 2900")
    coordinator.execute(f"UPDATE {columnar} SET v = 1 WHERE a > 2800")
    for _ in range(3):
        coordinator.execute(f"VACUUM (FREEZE) {columnar}")
    assert value(coordinator, f"SELECT (count(*), sum(v))::text FROM {columnar}") == f"({ROWS - 100},100)"
    assert value(coordinator, f"SELECT count(*) FROM {columnar} WHERE a = 2901") == 0


def test_rows_outlive_a_failed_attempt_to_store_them(columnar, sessions, coordinator):
    """The rows of a transaction are stored when they are read, here in a subtransaction that fails by that."""
    session = sessions[0]
    session.execute(f"INSERT INTO {columnar} SELECT i, 0 FROM generate_series(10001, 14000) i")
    with pytest.raises(psycopg.errors.InternalError), session.transaction():
        session.execute("SELECT set_config('citus.debug_points', 'columnar-store=error', true)")
        session.execute(f"SELECT count(*) FROM {columnar}")
    session.commit()
    assert value(coordinator, f"SELECT count(*) FROM {columnar}") == ROWS + 4000
    assert value(coordinator, f"SELECT count(*) FROM {columnar} WHERE a = 13999") == 1


def test_parallel_workers_see_rows_of_the_transaction(columnar, schema, sessions):
    """A function that reads the table in workers, of which the plan doesn't know."""
    session = sessions[0]
    session.execute(f"CREATE FUNCTION {schema}.rows() RETURNS bigint PARALLEL SAFE STABLE LANGUAGE plpgsql AS "
                    f"$$BEGIN RETURN (SELECT count(*) FROM {columnar}); END$$")
    session.execute(f"CREATE TABLE {schema}.one AS SELECT 1 AS a")
    session.execute("SET LOCAL force_parallel_mode = on" if session.info.server_version < 160000
                    else "SET LOCAL debug_parallel_query = on")
    session.execute(f"INSERT INTO {columnar} SELECT i, 0 FROM generate_series(10001, 14000) i")
    assert value(session, f"SELECT max({schema}.rows()) FROM {schema}.one") == ROWS + 4000


def test_copy_fills_a_stripe_of_each_shard(schema, coordinator):
    """The rows of a shard come in parts, between those of others."""
    coordinator.execute(COLUMNAR.format(s=schema))
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'a', shard_count => 4)")
    with coordinator.cursor().copy(f"COPY {schema}.t FROM STDIN") as copy:
        for i in range(40000):
            copy.write(f"{i}\t{i}\n")
    stripes = rows(coordinator, f"""SELECT result FROM run_command_on_shards('{schema}.t',
        $$SELECT count(*) || ' ' || (sum(row_count) > 9000) FROM columnar.stripe WHERE relation = '%s'::regclass$$)""")
    assert stripes == [("1 true",)] * 4
    assert value(coordinator, f"SELECT count(*) FROM {schema}.t") == 40000


def test_row_of_a_stripe_moves_to_another_shard(schema, coordinator, connect, cluster):
    """Who has waited for it is told so."""
    coordinator.execute(COLUMNAR.format(s=schema))
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'a', shard_count => 4)")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT i, 0 FROM generate_series(1, {4 * ROWS}) i")
    session, waiting = [connect(cluster.coordinator, autocommit=False) for _ in range(2)]
    session.execute(f"UPDATE {schema}.t SET a = -a WHERE a > {3 * ROWS}")
    running = Statement(waiting, f"UPDATE {schema}.t SET v = 1 WHERE a = {4 * ROWS}")
    wait_until(lambda: value(coordinator, "SELECT count(*) FROM citus_lock_waits") > 0, "the statement waits")
    session.commit()
    assert isinstance(running.finish(), psycopg.errors.SerializationFailure)
    assert value(coordinator, f"SELECT (count(*), count(*) FILTER (WHERE a < 0))::text FROM {schema}.t") == f"({4 * ROWS},{ROWS})"


def test_index_is_built_while_rows_come(columnar, schema, sessions, coordinator, connect, cluster):
    """An index that is built concurrently gets the rows of stripes that were stored meanwhile, and those that changed."""
    coordinator.execute(f"""CREATE FUNCTION {schema}.slow(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
        $$BEGIN IF i = 1500 THEN PERFORM pg_advisory_xact_lock_shared(3217); END IF; RETURN i; END$$""")
    holder = sessions[0]
    holder.execute("SELECT pg_advisory_lock(3217)")
    holder.commit()
    building = Statement(connect(cluster.coordinator), f"CREATE UNIQUE INDEX CONCURRENTLY i ON {columnar} (({schema}.slow(a)))")
    wait_until(lambda: value(coordinator, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") > 0, "the build to wait")
    coordinator.execute(f"INSERT INTO {columnar} SELECT i, 1 FROM generate_series(10001, 12000) i")
    coordinator.execute(f"UPDATE {columnar} SET v = 2 WHERE a BETWEEN 1400 AND 1600; DELETE FROM {columnar} WHERE a = 1450")
    holder.execute("SELECT pg_advisory_unlock(3217)")
    holder.commit()
    assert building.finish() is None
    coordinator.execute("SET enable_seqscan = off")
    plan = "\n".join(line for line, in rows(coordinator, f"EXPLAIN SELECT v FROM {columnar} WHERE {schema}.slow(a) = 11000"))
    assert "Index Scan using i" in plan
    for a, v in ((11000, [1]), (1500, [2]), (1450, []), (10001, [1]), (12000, [1]), (1700, [0])):
        assert [v for v, in rows(coordinator, f"SELECT v FROM {columnar} WHERE {schema}.slow(a) = {a}")] == v
    assert value(coordinator, f"SELECT count(*) FROM {columnar} WHERE {schema}.slow(a) > 0") == ROWS + 2000 - 1


def test_publication(columnar, schema, coordinator):
    """Subscribers get what a heap's get, but an update of a stripe's row as a delete and an insert; the writer sees no more rows."""
    def decoded():
        found = rows(coordinator, f"SELECT data FROM pg_logical_slot_get_changes('{schema}', NULL, NULL, 'skip-empty-xacts', '1')")
        return [data.partition(": ")[2] for data, in found if data.startswith("table")]

    coordinator.execute(f"CREATE PUBLICATION {schema} FOR TABLE {columnar}")
    try:
        coordinator.execute(f"SELECT pg_create_logical_replication_slot('{schema}', 'test_decoding')")
        coordinator.execute(f"INSERT INTO {columnar} SELECT i, 0 FROM generate_series(10000, 19999) i")
        assert value(coordinator, f"SELECT count(*) FROM {columnar} WHERE a >= 10000 AND ctid < '(2147483648,0)'") == 10000
        assert len(decoded()) == 10000
        with coordinator.transaction():
            coordinator.execute(f"UPDATE {columnar} SET v = 1 WHERE a = 2000")
            coordinator.execute(f"DELETE FROM {columnar} WHERE a = 2001")
            assert value(coordinator, f"SELECT count(*) FROM {columnar} WHERE a BETWEEN 2000 AND 2002") == 2
            coordinator.execute(f"SAVEPOINT s; DELETE FROM {columnar} WHERE a < 2000; ROLLBACK TO s; UPDATE {columnar} SET v = 2 WHERE a = 2000")
            assert value(coordinator, f"SELECT count(*) FROM {columnar}") == ROWS + 10000 - 1
        assert decoded() == [
            "DELETE: a[integer]:2000", "INSERT: a[integer]:2000 v[integer]:1", "DELETE: a[integer]:2001",
            "UPDATE: a[integer]:2000 v[integer]:2"]
        coordinator.execute(f"ALTER TABLE {columnar} ADD t text; ALTER TABLE {columnar} REPLICA IDENTITY FULL")
        coordinator.execute(f"UPDATE {columnar} SET t = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500) i) WHERE a < 2")
        coordinator.execute(f"VACUUM FULL {columnar}")
        decoded()
        with coordinator.transaction():
            coordinator.execute(f"DELETE FROM {columnar} WHERE a < 3")
            assert value(coordinator, f"SELECT count(*) FROM {columnar} WHERE a < 4") == 1
        assert sorted(len(text) for text in decoded()) == [33, 16044]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            coordinator.execute(f"ALTER TABLE {columnar} REPLICA IDENTITY NOTHING; DELETE FROM {columnar}")
        assert value(coordinator, f"SELECT count(*) FROM {columnar}") == ROWS + 10000 - 3
    finally:
        coordinator.execute(f"DROP PUBLICATION {schema}")
        coordinator.execute(f"SELECT pg_drop_replication_slot('{schema}')")


COLUMNS = ("a bigint, b text, c numeric(12,3), d date, e bool, f float8, g bigint, h int[], i varchar(10), j timestamp")
NEW_ROWS = """SELECT (random() * 1000)::int, CASE WHEN random() < .1 THEN NULL WHEN random() < .5 THEN 'k' || (random() * 20)::int
        ELSE md5(random()::text) END, CASE WHEN random() > .05 THEN round((random() * 10000)::numeric, 3) END,
    date '2020-01-01' + g / {per_day}, random() < .3, CASE WHEN random() > .1 THEN random() * 100 END, g::bigint * 1000000007,
    CASE WHEN random() < .5 THEN ARRAY[g, NULL, 3] END, 'v' || g % 7, timestamp '2020-01-01' + g * interval '1 min'
    FROM generate_series({start}, {start} + {count} - 1) g"""
CONDITIONS = [
    "a < {n}", "d BETWEEN '2020-01-05' AND '2020-02-01'", "b = 'k{small}'", "c > {n} AND e", "f IS NULL", "g = {n} * 1000000007::bigint",
    "b IS NULL OR a = {n}", "i IN ('v1', 'v3') AND f < 50", "a IN (1, 2, 3, {n}) OR d = '2020-01-05'", "h[1] > {n}",
    "NOT (a > 500)", "j < '2020-01-01 10:{small}'", "f > 10 AND f <> 50", "e AND d <> '2020-01-05'", "NOT e AND {n} >= a",
    "b LIKE 'k1%' AND i > 'v2'", "i = 'v3' AND b IS NOT NULL AND length(b) < 10", "f = 'nan' OR a + g > {n}", "c < a AND f < {small}::float4",
    "a = (SELECT {n})", "a <> {n} AND i = 'v' || a % 7"]
CHANGES = ["a = a + 1", "b = 'u' || a", "c = c + 1, d = d + 1", "f = NULL", "h = ARRAY[a::int]", "b = left(repeat(b, 50), 2000)"]
HOW_TO_READ = [
    "SET enable_seqscan = off", "RESET enable_seqscan", "SET columnar.enable_custom_scan = off", "RESET columnar.enable_custom_scan",
    "SET columnar.enable_qual_pushdown = off", "RESET columnar.enable_qual_pushdown", "SET max_parallel_workers_per_gather = 0",
    "SET columnar.enable_vectorization = off", "RESET columnar.enable_vectorization",
    "SET max_parallel_workers_per_gather = 2"]
HOW_TO_WRITE = {"row_wise_limit": [0, 500], "chunk_group_row_limit": [1000, 10000], "stripe_row_limit": [1000, 5000, 150000],
                "compression": ["none", "pglz", "lz4", "zstd"]}


class Twins:
    """The same random statements on a heap and on a columnar table, which must stay equal."""

    def __init__(self, connection, schema):
        self.connection = connection
        self.tables = [f"{schema}.heap", f"{schema}.columnar"]
        self.chosen = random.Random(SEED)
        self.rows = 0
        for table, method in zip(self.tables, ("heap", "columnar")):
            connection.execute(f"CREATE TABLE {table} ({COLUMNS}) USING {method}")
        connection.execute(f"CREATE TABLE {schema}.new ({COLUMNS})")
        self.new = f"{schema}.new"

    def condition(self):
        text = self.chosen.choice(CONDITIONS)
        return "(" + text.format(n=self.chosen.randint(0, 1000), small=self.chosen.randint(10, 20)) + ")"

    def both(self, statement):
        counts = [self.connection.execute(statement.format(table)).rowcount for table in self.tables]
        assert counts[0] == counts[1], statement

    def insert(self):
        count = self.chosen.choice([1, 20, 600, 2500, 12000])
        self.connection.execute(f"DELETE FROM {self.new}")
        self.connection.execute(f"INSERT INTO {self.new} " + NEW_ROWS.format(
            start=self.rows, count=count, per_day=self.chosen.choice([1, 10, 100])))
        self.rows += count
        for name, values in HOW_TO_WRITE.items():
            self.connection.execute(f"SET columnar.{name} = {self.chosen.choice(values)}")
        self.both("INSERT INTO {} (a, b, c, d, e, f, g, h, i, j) SELECT * FROM " + self.new)

    def update(self):
        self.both("UPDATE {} SET " + f"{self.chosen.choice(CHANGES)} WHERE {self.condition()}")

    def delete(self):
        self.both("DELETE FROM {} WHERE " + f"{self.condition()} AND g % 7 = {self.chosen.randint(0, 6)}")

    def lock(self):
        self.both("SELECT 1 FROM {} WHERE " + f"{self.condition()} FOR {self.chosen.choice(['UPDATE', 'SHARE', 'KEY SHARE'])}")

    def read(self):
        self.connection.execute(self.chosen.choice(HOW_TO_READ))
        query = ("SELECT (count(*), sum(a), max(b COLLATE \"C\"), sum(c), min(d), count(f), sum(cardinality(h)), sum(length(i)))::text "
                 "FROM {} WHERE " + self.condition())
        answers = [value(self.connection, query.format(table)) for table in self.tables]
        assert answers[0] == answers[1], query

    def index(self):
        self.both("CREATE INDEX ON {} " + self.chosen.choice(["(a)", "USING hash (b)", "(d, a)", "(g)", "(lower(b))"]))

    def alter(self):
        self.both("ALTER TABLE {} " + self.chosen.choice([
            f"ADD COLUMN n{self.chosen.randint(0, 10 ** 9)} int DEFAULT 7", "ALTER i TYPE text", "ALTER i TYPE varchar(20)",
            "ALTER a TYPE numeric", "ALTER a TYPE bigint"]))

    def vacuum(self):
        command = self.chosen.choice(["VACUUM {}", "VACUUM FULL {}", "VACUUM (FREEZE) {}", "ANALYZE {}", "SELECT columnar.compact('{}')"])
        self.connection.execute(command.format(self.tables[1]))

    def transaction(self):
        """Some changes, of which some are undone."""
        with self.connection.transaction(force_rollback=self.chosen.random() < 0.3):
            for _ in range(self.chosen.randint(1, 4)):
                with self.connection.transaction(force_rollback=self.chosen.random() < 0.3):
                    self.chosen.choice([self.insert, self.update, self.delete, self.lock, self.read])()

    def check(self):
        heap, columnar = self.tables
        for one, other in ((heap, columnar), (columnar, heap)):
            assert value(self.connection, f"SELECT count(*) FROM (TABLE {one} EXCEPT ALL TABLE {other}) x") == 0


def test_random_statements(schema, connect, cluster):
    connection = connect(cluster.coordinator)
    connection.execute("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0")
    twins = Twins(connection, schema)
    actions = 3 * [twins.insert, twins.update, twins.delete, twins.transaction] + 4 * [twins.read] + [
        twins.lock, twins.index, twins.alter, twins.vacuum]
    for step in range(RANDOM_STATEMENTS):
        twins.chosen.choice(actions)()
        if step % 10 == 0:
            twins.check()
    twins.check()


def write_batches(node, first_batch, committed):
    """Transactions that insert a batch, update some of it and delete its first row, until the server is gone.

    The batches that were committed are appended to a list.
    """
    try:
        with servers.connect(node, autocommit=False) as connection:
            for batch in range(first_batch, first_batch + 1000):
                start = batch * BATCH
                connection.execute("INSERT INTO s.t SELECT i, 0 FROM generate_series(%s::int, %s) i",
                                   [start, start + BATCH - 1])
                connection.execute("UPDATE s.t SET v = 1 WHERE a BETWEEN %s AND %s", [start, start + 9])
                connection.execute("DELETE FROM s.t WHERE a = %s", [start])
                connection.commit()
                committed.append(batch)
    except psycopg.OperationalError:
        pass


def compact_and_vacuum(node):
    """Moves rows all the time, until the server is gone."""
    try:
        with servers.connect(node) as connection:
            while True:
                connection.execute("SELECT columnar.compact('s.t')")
                connection.execute("VACUUM s.t")
    except psycopg.OperationalError:
        pass


def check_batches(connection, batches):
    """Each of the first batches is there once, in the table and in its index."""
    found = value(connection, "SELECT (count(*), count(DISTINCT a), sum(v))::text FROM s.t")
    assert found == f"({batches * (BATCH - 1)},{batches * (BATCH - 1)},{batches * 9})"
    connection.execute("SET enable_seqscan = off")
    assert value(connection, "SELECT count(*) FROM generate_series(0, %s, 97) i JOIN s.t ON a = i AND i %% 2000 > 0",
                 [batches * BATCH - 1]) == sum(1 for i in range(0, batches * BATCH, 97) if i % BATCH)
    connection.execute("RESET enable_seqscan")


def test_standby(make_cluster):
    """A base backup that is made while a table is written and compacted becomes a standby, which has the same rows when it is promoted."""
    made = make_cluster(kind="bare", workers=0)
    node = made.coordinator
    node.sql("CREATE SCHEMA s;" + COLUMNAR.format(s="s"))
    committed = []
    threads = [threading.Thread(target=write_batches, args=(node, 0, committed)), threading.Thread(target=compact_and_vacuum, args=(node,))]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(committed) >= 2, "batches are written")
    standby = made.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50))
    seen = len(committed)
    wait_until(lambda: len(committed) >= seen + 2, "batches are written")
    with servers.connect(node) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
        for thread in threads:
            thread.join()
        batches = value(connection, "SELECT count(DISTINCT a / %s) FROM s.t", [BATCH])
        check_batches(connection, batches)
        end = value(connection, "SELECT pg_current_wal_flush_lsn()")
    with servers.connect(standby) as connection:
        wait_until(lambda: value(connection, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [end]), "the standby to have all")
        check_batches(connection, batches)
    node.kill()
    standby.promote()
    with servers.connect(standby) as connection:
        check_batches(connection, batches)
        connection.execute("SELECT columnar.compact('s.t')")
        connection.execute("DELETE FROM s.t WHERE a % 2 = 0")
        assert value(connection, "SELECT count(*) FROM s.t") == batches * BATCH / 2


def test_kill(make_cluster):
    """No committed batch is lost or halved by kill -9, at any moment, while rows move; indexes agree with the table."""
    node = make_cluster(kind="bare", workers=0).coordinator
    chosen = random.Random(SEED)
    node.sql("CREATE SCHEMA s;" + COLUMNAR.format(s="s"))
    batches = 0
    for _ in range(ROUNDS):
        committed = []
        threads = [threading.Thread(target=write_batches, args=(node, batches, committed)),
                   threading.Thread(target=compact_and_vacuum, args=(node,))]
        for thread in threads:
            thread.start()
        stop = chosen.randint(2, 8)
        wait_until(lambda: len(committed) >= stop, "batches are written")
        time.sleep(chosen.random() / 20)    # at any moment of a batch
        node.kill()
        for thread in threads:
            thread.join()
        node.start()
        batches += len(committed)
        with servers.connect(node) as connection:
            # the last one may have been committed without the client's knowing
            batches += value(connection, "SELECT count(*) FROM s.t WHERE a >= %s", [batches * BATCH]) > 0
            check_batches(connection, batches)
    with servers.connect(node) as connection:
        connection.execute("VACUUM FULL s.t")
        assert value(connection, "SELECT count(*) FROM s.t") == batches * (BATCH - 1)
