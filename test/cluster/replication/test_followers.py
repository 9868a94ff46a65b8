"""citus.use_secondary_nodes: a session reads other nodes' shards on their standbys."""

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until
from pomelo_cluster import find_free_ports


@pytest.fixture(scope="module")
def followed():
    """A cluster whose workers have a standby each; rows of a distributed and a reference table."""
    with servers.cluster(purpose="check-followers") as made:
        made.standbys = []
        with servers.connect(made.coordinator) as connection:
            connection.execute("""
                CREATE TABLE d (id int PRIMARY KEY, v int);
                CREATE TABLE r (id int PRIMARY KEY, v int);
                SELECT create_distributed_table('d', 'id'), create_reference_table('r');
                INSERT INTO d SELECT i, i % 10 FROM generate_series(1, 1000) i;
                INSERT INTO r SELECT i, i FROM generate_series(0, 9) i;""")
            for node in made.workers:
                standby = made.add_standby(node, find_free_ports(1, servers.FIRST_PORT + 50))
                made.standbys.append(standby)
                connection.execute("SELECT citus_add_secondary_node('127.0.0.1', %s, '127.0.0.1', %s, 'reports')", [standby.port, node.port])
        yield made


@pytest.fixture
def reader(followed):
    options = "-c citus.cluster_name=reports -c citus.use_secondary_nodes=always"
    with psycopg.connect(followed.coordinator.dsn, options=options, autocommit=True) as connection:
        yield connection


def pause(standby, paused=True):
    standby.sql(f"SELECT pg_wal_replay_{'pause' if paused else 'resume'}()")
    if paused:
        wait_until(lambda: standby.sql("SELECT pg_get_wal_replay_pause_state()") == "paused", "the standby to pause")


def caught_up(followed, connection):
    """Waits until standbys show what is committed."""
    total = value(connection, "SELECT sum(v) FROM d")
    wait_until(lambda: value(connection, "SELECT sum(v) FROM d") == total, "rows")
    for node, standby in zip(followed.workers, followed.standbys, strict=True):
        position = node.sql("SELECT pg_current_wal_insert_lsn()")
        wait_until(lambda standby=standby, position=position: standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{position}'") == "t", "the standby")


def test_reads(followed, reader):
    """Statements of one shard, of all, joins and sub-queries, in a block or not, are those of the primaries."""
    with servers.connect(followed.coordinator) as writer:
        caught_up(followed, writer)
        for query in ("SELECT v FROM d WHERE id = 5", "SELECT count(*), sum(v) FROM d", "SELECT r.v, count(*) FROM d JOIN r ON r.id = d.v GROUP BY 1 ORDER BY 1",
                      "SELECT count(*) FROM d a JOIN d b ON a.v = b.id", "SELECT * FROM d WHERE v > (SELECT avg(v) FROM d) ORDER BY id LIMIT 5",
                      "WITH x AS MATERIALIZED (SELECT * FROM d) SELECT count(*) FROM x JOIN d USING (id)"):
            expected = rows(writer, query)
            assert rows(reader, query) == expected
            for level in ("READ COMMITTED", "REPEATABLE READ"):
                reader.execute(f"BEGIN ISOLATION LEVEL {level}")
                assert rows(reader, query) == expected
                reader.execute("COMMIT")


def test_reads_on_standbys(followed, reader):
    """What a standby hasn't replayed isn't seen; the primaries' sessions aren't used."""
    key = next(i for i in range(1, 1000) if followed.coordinator.sql(f"SELECT nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('d', {i})")
               == str(followed.workers[0].port))
    with servers.connect(followed.coordinator) as writer:
        before = value(writer, f"SELECT v FROM d WHERE id = {key}")
        caught_up(followed, writer)
        pause(followed.standbys[0])
        writer.execute(f"UPDATE d SET v = v + 1000 WHERE id = {key}")
        assert value(reader, f"SELECT v FROM d WHERE id = {key}") == before
        pause(followed.standbys[0], False)
        wait_until(lambda: value(reader, f"SELECT v FROM d WHERE id = {key}") == before + 1000, "the change")
        writer.execute(f"UPDATE d SET v = {before} WHERE id = {key}")


def test_staleness(followed, reader):
    """A standby that has fallen behind refuses; one of an idle node doesn't."""
    with servers.connect(followed.coordinator) as writer:
        caught_up(followed, writer)
    reader.execute("SET citus.max_follower_staleness = '20s'")
    wait_until(lambda: succeeds(reader, "SELECT count(*) FROM d"), "the first mark")
    pause(followed.standbys[1])
    reader.execute("SET citus.max_follower_staleness = '1ms'")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="fallen behind"):
        reader.execute("SELECT count(*) FROM d")
    reader.execute("SET citus.max_follower_staleness = -1")
    assert value(reader, "SELECT count(*) FROM d") == 1000
    pause(followed.standbys[1], False)


def succeeds(connection, query):
    try:
        connection.execute(query)
    except psycopg.errors.ObjectNotInPrerequisiteState:
        return False
    return True


@pytest.mark.parametrize("statement", ["UPDATE d SET v = v", "INSERT INTO d VALUES (-1, 0)", "DELETE FROM d WHERE id = 1", "SELECT * FROM d WHERE id = 1 FOR UPDATE",
                                       "WITH x AS (DELETE FROM d WHERE id = 1 RETURNING id) SELECT * FROM x", "UPDATE r SET v = v", "TRUNCATE d",
                                       "ALTER TABLE d ADD COLUMN w int", "CREATE TABLE refused (a int); SELECT create_distributed_table('refused', 'a')",
                                       "MERGE INTO d USING r ON d.id = r.id WHEN MATCHED THEN DELETE"])
def test_writes_are_refused(followed, reader, statement):
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        reader.execute(statement)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), reader.cursor().copy("COPY d FROM STDIN") as copy:
        copy.write_row((-1, 1))
    assert value(reader, "SELECT count(*) FROM d") == 1000
    reader.execute("SET citus.use_secondary_nodes = never")
    reader.execute("UPDATE d SET v = v WHERE id = 1")


def test_no_secondary(followed):
    """The default cluster has no secondaries here."""
    with servers.connect(followed.coordinator) as connection:
        connection.execute("SET citus.use_secondary_nodes = always")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no secondary node in cluster \"default\""):
            connection.execute("SELECT count(*) FROM d")
