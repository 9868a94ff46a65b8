"""alter_distributed_table, alter_table_set_access_method, create_distributed_table_concurrently."""

import itertools
import os
import signal
import threading

import psycopg
import pytest

from harness import servers
from harness.servers import on_every_node, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped


@pytest.fixture(params=[0, 1])
def session(request, cluster, connect, schema):
    """A session with two colocated tables, a reference table, and what may hang on them."""
    session = connect(cluster.nodes[request.param])
    session.execute(f"""SET search_path = {schema}; SET citus.shard_count = 4;
        CREATE TABLE ref (id int PRIMARY KEY);
        CREATE TABLE a (id int, other int, part int, PRIMARY KEY (id, part));
        CREATE TABLE b (a int, part int, v serial, r int REFERENCES ref, FOREIGN KEY (a, part) REFERENCES a);
        SELECT create_reference_table('ref'); SELECT create_distributed_table('a', 'id', colocate_with => 'none');
        SELECT create_distributed_table('b', 'a', colocate_with => '{schema}.a');
        INSERT INTO ref SELECT generate_series(1, 5);
        INSERT INTO a SELECT g, g % 7, 1 FROM generate_series(1, 50) g;
        INSERT INTO b (a, part, r) SELECT g, 1, g % 5 + 1 FROM generate_series(1, 50) g;
        CREATE VIEW sums AS SELECT count(*), sum(v) FROM a JOIN b ON a.id = b.a;
        CREATE INDEX by_other ON a (other); GRANT SELECT ON a TO PUBLIC""")
    yield session
    session.execute("DROP TABLE IF EXISTS a, b, ref CASCADE")


def shape(session, table):
    return rows(session, "SELECT distribution_column, shard_count FROM citus_tables WHERE table_name = %s::regclass", [table])[0]


def colocated(session):
    return value(session, "SELECT count(DISTINCT colocationid) = 1 FROM pg_dist_partition WHERE logicalrelid IN ('a'::regclass, 'b')")


def check_whole(cluster, connect, session, schema):
    """What hangs on the tables is there, and every node answers the same."""
    for node in cluster.nodes:
        connection = connect(node)
        assert rows(connection, f"SELECT * FROM {schema}.sums") == [(50, 1275)]
        assert value(connection, f"SELECT count(*) FROM pg_indexes WHERE indexname = 'by_other' AND schemaname = '{schema}'") == 1
        assert value(connection, f"SELECT has_table_privilege('public', '{schema}.a', 'select')")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute(f"INSERT INTO {schema}.b (a, part) VALUES (1, 99)")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute(f"INSERT INTO {schema}.b (a, part, r) VALUES (1, 1, 99)")


def test_shard_count_of_all_that_are_colocated(cluster, connect, schema, session):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="cascade_to_colocated"):
        session.execute("SELECT alter_distributed_table('a', shard_count => 6)")
    session.execute("SELECT alter_distributed_table('a', shard_count => 6, cascade_to_colocated => true)")
    assert shape(session, "a") == ("id", 6) and shape(session, "b") == ("a", 6) and colocated(session)
    check_whole(cluster, connect, session, schema)


def test_what_keys_forbid_changes_nothing(cluster, connect, schema, session):
    """A key between tables that would not be colocated any more."""
    session.execute("SET citus.global_indexes = refuse")
    for change in ("shard_count => 6, cascade_to_colocated => false", "distribution_column => 'part'"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="foreign key"):
            session.execute(f"SELECT alter_distributed_table('a', {change})")
    assert shape(session, "a") == ("id", 4) and colocated(session)
    check_whole(cluster, connect, session, schema)


def test_column_and_colocation(cluster, session):
    session.execute("ALTER TABLE b DROP CONSTRAINT b_a_part_fkey")
    session.execute("SELECT alter_distributed_table('b', distribution_column => 'v', colocate_with => 'none')")
    assert shape(session, "b") == ("v", 4) and not colocated(session)
    session.execute("SELECT alter_distributed_table('b', distribution_column => 'a')")
    session.execute("SELECT alter_distributed_table('b', colocate_with => current_schema || '.a', cascade_to_colocated => false)")
    assert shape(session, "b") == ("a", 4) and colocated(session)
    assert rows(session, "SELECT * FROM sums") == [(50, 1275)]
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        session.execute("SELECT alter_distributed_table('a')")


def test_only_owners(cluster, connect, schema, session):
    session.execute(f"CREATE ROLE altering LOGIN; GRANT USAGE ON SCHEMA {schema} TO altering")
    try:
        for call in ("alter_distributed_table('{}.a', shard_count => 6, cascade_to_colocated => true)",
                     "alter_table_set_access_method('{}.a', 'heap')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connect(cluster.coordinator, user="altering").execute("SELECT " + call.format(schema))
    finally:
        session.execute("DROP OWNED BY altering; DROP ROLE altering")


def test_access_method(cluster, schema, session):
    """Of the table, on all nodes, and of its shards."""
    session.execute(f"CREATE ACCESS METHOD {schema} TYPE TABLE HANDLER heap_tableam_handler")
    try:
        session.execute(f"SELECT alter_table_set_access_method('a', '{schema}')")
        counts = on_every_node(cluster, "SELECT count(*) FILTER (WHERE relname = 'a'), count(*) FROM pg_class c "
                                        f"JOIN pg_am m ON m.oid = relam WHERE amname = '{schema}'").values()
        assert [sum(row[0][i] for row in counts) for i in range(2)] == [3, 7]
        assert rows(session, "SELECT * FROM sums") == [(50, 1275)]
    finally:
        session.execute(f"SELECT alter_table_set_access_method('a', 'heap'); DROP ACCESS METHOD {schema}")


class Writer:
    """Inserts, updates and deletes rows of its own until it is told to end; knows what the table must have of them."""

    def __init__(self, connection, table, number):
        self.connection, self.table, self.number = connection, table, number
        self.rows, self.error, self.ending = {}, None, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            for step in itertools.count():
                if self.ending:
                    return
                self.write(step)
        except (psycopg.Error, AssertionError) as error:
            self.error = error

    def write(self, step):
        row, old = 1000 * self.number + step % 500, 1000 * self.number + step * 7 % 500
        if row in self.rows:
            self.change(f"DELETE FROM {self.table} WHERE id = {row}")
            del self.rows[row]
        else:
            self.change(f"INSERT INTO {self.table} (id, v) VALUES ({row}, {step})")
            self.rows[row] = step
        if old in self.rows:
            self.change(f"UPDATE {self.table} SET v = v + 1 WHERE id = {old}")
            self.rows[old] += 1
        found = rows(self.connection, f"SELECT id, v FROM {self.table} WHERE id / 1000 = {self.number}")
        assert sorted(found) == sorted(self.rows.items())

    def change(self, statement):
        assert self.connection.execute(statement).rowcount == 1

    def finish(self):
        self.ending = True
        self.thread.join(servers.PATIENCE)
        assert not self.thread.is_alive() and self.error is None, self.error


@pytest.fixture
def plain(cluster, connect, schema):
    """A local table of a node that gets shards of it, with dropped and generated columns, and an index."""
    connection = connect(cluster.nodes[1])
    connection.execute(f"""SET search_path = {schema}; SET citus.shard_count = 6;
        CREATE TABLE plain (gone int, id int PRIMARY KEY, v int, d int GENERATED ALWAYS AS (v * 2) STORED, t text DEFAULT 'x');
        ALTER TABLE plain DROP COLUMN gone;
        CREATE INDEX ON plain (v);
        INSERT INTO plain (id, v) SELECT -g, g FROM generate_series(1, 300) g""")
    yield connection
    connection.execute("DROP TABLE IF EXISTS plain, referenced")


AWAITS_SWITCH = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = 'plain'::regclass"

CHANGES = """
    INSERT INTO plain (id, v) SELECT -g, 0 FROM generate_series(301, 1500) g;
    UPDATE plain SET v = v + 1000 WHERE id % 3 = 0;
    UPDATE plain SET id = id - 5000 WHERE id % 5 = 0;
    DELETE FROM plain WHERE id % 7 = 0;
    INSERT INTO plain (id, v, t) SELECT -g, g, repeat('again', 1000) FROM generate_series(7, 70, 7) g WHERE g % 5 <> 0"""


@pytest.mark.parametrize("method", ["heap", "columnar"])
def test_concurrently(cluster, connect, schema, plain, method):
    """A table is distributed while it is read and written: each change is there once, and no statement fails or waits long."""
    table = f"{schema}.plain"
    plain.execute(f"ALTER TABLE plain SET ACCESS METHOD {method}")
    standing = Stopped(cluster.nodes[1], "online-rows-copied",
                       f"SELECT create_distributed_table_concurrently('{table}', 'id', colocate_with => 'none', shard_count => 6)")
    plain.execute("SET lock_timeout = '20s'")
    plain.execute(CHANGES)
    expected = rows(plain, "SELECT id, v, d, t FROM plain ORDER BY id")
    writers = [Writer(connect(cluster.nodes[1]), table, number) for number in (1, 2)]
    holder = connect(cluster.nodes[1])
    holder.execute(f"BEGIN; INSERT INTO {table} (id, v) VALUES (-9000, 1)")
    os.kill(standing.pid, signal.SIGCONT)
    wait_until(lambda: value(plain, AWAITS_SWITCH) == 1, "the switch to wait for a transaction")
    before = [len(writer.rows) for writer in writers]
    wait_until(lambda: all(len(writer.rows) != old or writer.error for writer, old in zip(writers, before)), "writers to go on")
    holder.execute("COMMIT")
    assert standing.finish() is None
    assert shape(plain, "plain") == ("id", 6)
    for writer in writers:
        seen = len(writer.rows)
        wait_until(lambda w=writer, n=seen: len(w.rows) != n or w.error, "writers to write the shards")
        writer.finish()
    for node in cluster.nodes:
        connection = connect(node)
        assert rows(connection, f"SELECT id, v, d, t FROM {table} WHERE id < 0 AND id <> -9000 ORDER BY id") == expected
        assert dict(rows(connection, f"SELECT id, v FROM {table} WHERE id > 0")) == {**writers[0].rows, **writers[1].rows}
        assert value(connection, f"SELECT count(*) FROM {table} WHERE id = -9000") == 1
    plain.execute("SET citus.sum_over_shards = off")
    assert value(plain, "SELECT pg_relation_size('plain')") == 0


def test_concurrently_refused_or_cancelled(cluster, connect, schema, plain):
    """What can't be followed is refused; a call that is cancelled leaves a local table; a deadlock with it is found."""
    call = f"SELECT create_distributed_table_concurrently('{schema}.plain', 'id')"
    before = rows(plain, "SELECT * FROM plain ORDER BY id")
    for point in ("online-rows-copied", "online-rows-locked"):
        standing = Stopped(cluster.nodes[1], point, call)
        plain.execute("SELECT pg_cancel_backend(%s)", [standing.pid])
        assert isinstance(standing.go_on(), psycopg.errors.QueryCanceled)
        assert rows(plain, "SELECT * FROM plain ORDER BY id") == before
        for node in cluster.nodes:
            assert value(connect(node), "SELECT count(*) FROM pg_class WHERE relname LIKE 'plain\\_%' AND relkind = 'r'") == 0
    with pytest.raises(psycopg.errors.ActiveSqlTransaction), plain.transaction():
        plain.execute(call)
    holder = connect(cluster.nodes[1])
    holder.execute(f"BEGIN; UPDATE {schema}.plain SET v = v WHERE id = -1")
    switching = Statement(connect(cluster.nodes[1]), call)
    wait_until(lambda: value(plain, AWAITS_SWITCH) == 1, "the switch to wait for a transaction")
    locking = Statement(holder, f"LOCK TABLE {schema}.plain IN SHARE MODE")
    wait_until(lambda: not (switching.running and locking.running), "one of both to end")
    locking.finish()
    holder.execute("ROLLBACK")
    switching.finish()
    assert sorted(type(ended.error) for ended in (switching, locking) if ended.error) == [psycopg.errors.DeadlockDetected]
    assert rows(plain, "SELECT * FROM plain ORDER BY id") == before
    if switching.error is None:
        plain.execute("SELECT undistribute_table('plain')")
    for change in ("CREATE TABLE referenced (id int PRIMARY KEY); ALTER TABLE plain ADD FOREIGN KEY (v) REFERENCES referenced NOT VALID",
                   "ALTER TABLE plain DROP CONSTRAINT plain_v_fkey, DROP CONSTRAINT plain_pkey"):
        plain.execute(change)
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="concurrently") as refused:
            plain.execute(call)
        assert "create_distributed_table()" in refused.value.diag.message_hint


def test_colocate_with_is_found_by_the_search_path(coordinator, schema):
    """As any name of a table is; also one that isn't there, and one that needs quotes."""
    coordinator.execute(f"""SET search_path = {schema};
        CREATE TABLE moving (id int PRIMARY KEY);
        CREATE TABLE "Fixed One" (id int PRIMARY KEY);
        SELECT create_distributed_table('moving', 'id', shard_count => 2, colocate_with => 'none');
        SELECT create_distributed_table('"Fixed One"', 'id', shard_count => 3, colocate_with => 'none')""")
    with pytest.raises(psycopg.errors.UndefinedTable, match='"none_of_that"'):
        coordinator.execute("SELECT alter_distributed_table('moving', colocate_with => 'none_of_that')")
    coordinator.execute("""SELECT alter_distributed_table('moving', colocate_with => '"Fixed One"')""")
    assert value(coordinator, "SELECT count(DISTINCT colocation_id) FROM citus_tables WHERE table_name IN ('moving'::regclass, '\"Fixed One\"')") == 1
    coordinator.execute("SELECT alter_distributed_table('moving', colocate_with => 'NONE', cascade_to_colocated => false)")
    assert shape(coordinator, "moving") == ("id", 3)
