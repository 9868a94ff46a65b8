"""citus.writable_standby_coordinator: a session on a standby writes rows of other nodes."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until
from pomelo_cluster import find_free_ports

READ_ONLY = psycopg.errors.ReadOnlySqlTransaction


@pytest.fixture(scope="module")
def made():
    """A cluster whose coordinator, which has shards too, has a standby."""
    with servers.cluster(purpose="check-standby-writes") as cluster:
        with servers.connect(cluster.coordinator) as connection:
            connection.execute("""
                CREATE TABLE d (id int PRIMARY KEY, v int, r int);
                CREATE TABLE log (id int, line text);
                CREATE TABLE r (id int PRIMARY KEY, v int);
                CREATE TABLE l (id int);
                CREATE SEQUENCE s;
                SELECT citus_set_coordinator_host('127.0.0.1', inet_server_port());
                SELECT citus_set_node_property('127.0.0.1', inet_server_port(), 'shouldhaveshards', true);
                SELECT create_distributed_table('d', 'id'), create_distributed_table('log', 'id'), create_reference_table('r');
                ALTER TABLE d ADD FOREIGN KEY (r) REFERENCES r;
                INSERT INTO r SELECT i, i FROM generate_series(0, 9) i;
                INSERT INTO d SELECT i, i % 10, i % 10 FROM generate_series(1, 1000) i;
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO log VALUES (new.id, 'changed'); RETURN NULL; END$$;
                CREATE TABLE t (id int PRIMARY KEY, v int);
                SELECT create_distributed_table('t', 'id', colocate_with => 'log');
                CREATE TRIGGER note AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();""")
        cluster.standby = cluster.add_standby(cluster.coordinator, find_free_ports(1, servers.FIRST_PORT + 60))
        position = cluster.coordinator.sql("SELECT pg_current_wal_flush_lsn()")
        wait_until(lambda: cluster.standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{position}'") == "t", "the standby")
        yield cluster


@pytest.fixture
def writer(made):
    with servers.connect(made.standby) as connection:
        connection.execute("SET citus.writable_standby_coordinator = on")
        yield connection


def keys(made, node, count=3):
    """Ids of rows whose shard a node has."""
    found = made.coordinator.sql("SELECT string_agg(id::text, ',') FROM (SELECT id FROM generate_series(1, 1000) id JOIN citus_shards c ON c.shardid = "
                                 f"get_shard_id_for_distribution_column('d', id) WHERE c.nodeport = {node.port} ORDER BY id LIMIT {count}) q")
    return [int(key) for key in found.split(",")]


def test_refused_without_the_setting(made, writer):
    key = keys(made, made.workers[0])[0]
    writer.execute("SET citus.writable_standby_coordinator = off")
    with pytest.raises(READ_ONLY):
        writer.execute(f"UPDATE d SET v = v WHERE id = {key}")
    with pytest.raises(READ_ONLY):
        writer.execute(f"SELECT * FROM d WHERE id = {key} FOR UPDATE")


def test_writes(made, writer):
    """Statements of one shard, of a node's shards, prepared, in blocks and with savepoints; the primary of the standby sees them."""
    first, second, third = keys(made, made.workers[0])
    with servers.connect(made.coordinator) as primary:
        assert rows(writer, f"UPDATE d SET v = 100 WHERE id = {first} RETURNING id, v") == [(first, 100)]
        assert value(writer, f"SELECT v FROM d WHERE id = {first}") == value(primary, f"SELECT v FROM d WHERE id = {first}") == 100
        for prepared in (False, True):
            writer.execute("UPDATE d SET v = v + 1 WHERE id = %s", [first], prepare=prepared)
        assert value(primary, f"SELECT v FROM d WHERE id = {first}") == 102
        writer.execute(f"DELETE FROM d WHERE id = {second}")
        writer.execute(f"INSERT INTO d VALUES ({second}, 7, 7) ON CONFLICT (id) DO UPDATE SET v = 8")
        assert writer.execute(f"UPDATE d SET v = 5 WHERE id IN ({first}, {second}, {third})").rowcount == 3
        writer.execute(f"MERGE INTO d USING (SELECT {third} AS id) n ON d.id = n.id WHEN MATCHED THEN UPDATE SET v = 6")
        with writer.transaction():
            assert value(writer, "SELECT count(*) FROM d") == 1000
            assert rows(writer, f"SELECT v FROM d WHERE id = {third} FOR UPDATE") == [(6,)]
            writer.execute(f"UPDATE d SET v = 50 WHERE id = {first}")
            with pytest.raises(psycopg.errors.ForeignKeyViolation), writer.transaction():
                writer.execute(f"UPDATE d SET r = 4711 WHERE id = {first}")
            with writer.transaction():
                writer.execute(f"UPDATE d SET v = 51 WHERE id = {second}")
            assert value(primary, f"SELECT v FROM d WHERE id = {first}") == 5
            assert value(writer, f"SELECT sum(v) FROM d WHERE id IN ({first}, {second})") == 101
        assert rows(primary, f"SELECT v FROM d WHERE id IN ({first}, {second}) ORDER BY id") == [(50,), (51,)]
        with pytest.raises(psycopg.errors.DivisionByZero), writer.transaction():
            writer.execute(f"UPDATE d SET v = 0 WHERE id = {first}")
            writer.execute("SELECT 1 / 0")
        assert value(primary, f"SELECT v FROM d WHERE id = {first}") == 50
        assert value(writer, "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) UPDATE d SET v = 50 WHERE id = %s", [first])


def test_triggers(made, writer):
    """A trigger runs on the standby, and may write rows of the same node."""
    key = keys(made, made.workers[1])[0]
    writer.execute(f"INSERT INTO t VALUES ({key}, 1)")
    assert made.coordinator.sql(f"SELECT line FROM log WHERE id = {key}") == "changed"


def test_one_node(made, writer):
    """The statement that would write on a second node fails, and nothing stays of the transaction."""
    first, second = keys(made, made.workers[0])[0], keys(made, made.workers[1])[0]
    before = made.coordinator.sql("SELECT sum(v) FROM d")
    with pytest.raises(READ_ONLY, match="several nodes"), writer.transaction():
        writer.execute(f"UPDATE d SET v = v + 1 WHERE id = {first}")
        writer.execute(f"UPDATE d SET v = v + 1 WHERE id = {second}")
    for statement in ("UPDATE d SET v = v + 1", f"UPDATE d SET v = v + 1 WHERE id IN ({first}, {second})",
                      f"INSERT INTO t SELECT id, 0 FROM d WHERE id IN ({first}, {second})"):
        with pytest.raises(READ_ONLY):
            writer.execute(statement)
    assert made.coordinator.sql("SELECT sum(v) FROM d") == before
    assert made.workers[0].sql("SELECT count(*) FROM pg_prepared_xacts") == "0"
    writer.execute(f"UPDATE d SET v = v WHERE id = {second}")


@pytest.mark.parametrize("statement, message", [
    ("UPDATE r SET v = v", "reference table \"r\""), ("INSERT INTO l VALUES (1)", "cannot execute INSERT"), ("SELECT nextval('s')", "nextval"),
    ("ALTER TABLE d ADD COLUMN w int", "cannot execute ALTER TABLE"), ("TRUNCATE d", "cannot execute TRUNCATE"), ("DROP TABLE d", "cannot execute DROP TABLE"), ("CREATE INDEX ON d (v)", "cannot execute CREATE INDEX"), ("CREATE TABLE n (id int)", "cannot execute CREATE TABLE"),
    ("WITH x AS (UPDATE r SET v = v RETURNING id) UPDATE d SET v = 1 WHERE id = 1 AND r IN (SELECT id FROM x)", "reference table \"r\"")])
def test_refused(made, writer, statement, message):
    """What would be written on the standby."""
    with pytest.raises(READ_ONLY, match=message):
        writer.execute(statement)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="recovery"):
        writer.execute("SELECT create_distributed_table('l', 'id')")
    assert made.coordinator.sql("SELECT count(*) FROM d") == "1000"


def test_own_shard(made, writer):
    """Rows of the node itself."""
    own = keys(made, made.coordinator)
    for statement in (f"UPDATE d SET v = 1 WHERE id = {own[0]}", f"UPDATE d SET v = 1 WHERE id IN ({own[0]}, {own[1]})", f"DELETE FROM d WHERE id = {own[0]} RETURNING *"):
        with pytest.raises(READ_ONLY, match="shard of this node"):
            writer.execute(statement)
    assert value(writer, "SELECT count(*) FROM d WHERE id = ANY(%s)", [own]) == len(own)


def test_copy(made, writer):
    with pytest.raises(READ_ONLY), writer.cursor().copy("COPY d FROM STDIN") as copy:
        copy.write_row((-1, 1, 1))


def test_read_only_stays(made, writer):
    """A transaction that its client wants READ ONLY, wholly or in a savepoint, writes nothing."""
    key = keys(made, made.workers[0])[0]
    statement = f"UPDATE d SET v = v WHERE id = {key}"
    for begin in ("BEGIN READ ONLY", "BEGIN; SET TRANSACTION READ ONLY"):
        writer.execute(begin)
        with pytest.raises(READ_ONLY):
            writer.execute(statement)
        writer.execute("ROLLBACK")
    writer.execute("BEGIN; SAVEPOINT a; SET TRANSACTION READ ONLY; SAVEPOINT b")
    with pytest.raises(READ_ONLY):
        writer.execute(statement)
    writer.execute("ROLLBACK TO a")
    writer.execute(statement)
    writer.execute("COMMIT")
    writer.execute("SET default_transaction_read_only = on")
    with pytest.raises(READ_ONLY):
        writer.execute(statement)
    writer.execute("RESET default_transaction_read_only")
    writer.execute(statement)


def test_after_a_promotion(made):
    """On a server that isn't a standby, the setting changes nothing."""
    with servers.connect(made.coordinator) as connection:
        connection.execute("SET citus.writable_standby_coordinator = on")
        connection.execute("UPDATE d SET v = v; UPDATE r SET v = v")
        with pytest.raises(READ_ONLY):
            connection.execute("BEGIN READ ONLY; UPDATE d SET v = v")
