"""citus.use_secondary_nodes: a session reads other nodes' shards on their standbys."""

import psycopg
import pytest

from harness import servers
from harness.load import in_thread
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


def test_plans_are_measured(followed, reader):
    for query in ("SELECT v FROM d WHERE id = 5", "SELECT count(*) FROM d", "SELECT count(*) FROM d a JOIN d b ON a.v = b.id"):
        reader.execute("SET citus.explain_all_tasks = on")
        assert "actual time" in "\n".join(line for line, in reader.execute(f"EXPLAIN (ANALYZE) {query}"))


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
    reader.execute("SET citus.distributed_snapshots = off")
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


def test_every_node_knows_all(followed):
    """A standby's own primary knows of it, too, and commits once a second for it."""
    for node in followed.nodes:
        assert node.sql("SELECT count(*) FROM pg_dist_node WHERE noderole = 'secondary'") == "2", node.name
    for standby in followed.standbys:
        first = standby.sql("SELECT pg_last_xact_replay_timestamp()")
        wait_until(lambda standby=standby, first=first: standby.sql("SELECT pg_last_xact_replay_timestamp()") != first, "a mark")


def test_no_secondary(followed):
    """The default cluster has no secondaries here."""
    with servers.connect(followed.coordinator) as connection:
        connection.execute("SET citus.use_secondary_nodes = always")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no secondary node in cluster \"default\""):
            connection.execute("SELECT count(*) FROM d")


def connect_reader(followed, mode):
    return psycopg.connect(followed.coordinator.dsn, options=f"-c citus.cluster_name=reports -c citus.use_secondary_nodes={mode}", autocommit=True)


def test_read_your_writes(followed, reader):
    """With the token of a session that has written, another one waits until standbys show that, or errs; with prefer, it reads the primary."""
    with servers.connect(followed.coordinator) as writer, connect_reader(followed, "prefer") as preferring:
        caught_up(followed, writer)
        token = value(writer, "SELECT citus_session_token()")
        assert sorted(int(part.split(":")[0]) for part in token.split(",")) == [0, 1, 2]
        for round_ in range(20):
            writer.execute("UPDATE d SET v = v + 1")
            token = value(writer, "SELECT citus_session_token()")
            total = value(writer, "SELECT sum(v) FROM d")
            for connection in (reader, preferring):
                connection.execute("SELECT set_config('citus.session_token', %s, false)", [token])
                assert value(connection, "SELECT sum(v) FROM d") == total, round_
                with connection.transaction():
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                    assert value(connection, "SELECT sum(v) FROM d") == total
        pause(followed.standbys[0])
        try:
            writer.execute("UPDATE d SET v = v + 1")
            for connection in (reader, preferring):
                connection.execute("SET citus.follower_wait_timeout = '2s'")
                connection.execute("SELECT set_config('citus.session_token', %s, false)", [value(writer, "SELECT citus_session_token()")])
            assert value(preferring, "SELECT sum(v) FROM d") == value(writer, "SELECT sum(v) FROM d")
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="citus.session_token"):
                reader.execute("SELECT sum(v) FROM d")
        finally:
            pause(followed.standbys[0], False)
        wait_until(lambda: succeeds(reader, "SELECT sum(v) FROM d"), "the standby")
        writer.execute("UPDATE d SET v = v - 21")
        for damaged in ("x", "1:0/0,", "1:0/0,x", "1", "1:0", "1:0/0 ", "1:0/zz"):
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                reader.execute("SELECT set_config('citus.session_token', %s, false)", [damaged])
        # a session on a standby itself doesn't read what it stands for either
        with servers.connect(followed.standbys[0]) as there:
            there.execute("SELECT set_config('citus.session_token', '1:FFFFFFFF/0', false)")
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="not yet replayed"):
                there.execute("SELECT * FROM r")


def probe_of(standby):
    """The process on a standby that answers a session's question how far it is, over and over."""
    return standby.sql("SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_last_wal_replay_lsn%' AND pid <> pg_backend_pid()")


def test_waits_for_a_token(followed):
    """A session that waits for a standby can be cancelled; if it loses the connection by which it asks, the standby counts as down."""
    standby = followed.standbys[0]
    with servers.connect(followed.coordinator) as writer, connect_reader(followed, "always") as always, connect_reader(followed, "prefer") as prefer:
        caught_up(followed, writer)
        pause(standby)
        try:
            writer.execute("UPDATE d SET v = v + 1")
            token, total = value(writer, "SELECT citus_session_token()"), value(writer, "SELECT sum(v) FROM d")
            for connection in always, prefer:
                connection.execute("SET citus.follower_wait_timeout = '10min'")
                connection.execute("SELECT set_config('citus.session_token', %s, false)", [token])
                outcome = in_thread(lambda: value(connection, "SELECT sum(v) FROM d"))
                wait_until(lambda: probe_of(standby), "the session to ask the standby")
                connection.cancel()
                assert isinstance(outcome(), psycopg.errors.QueryCanceled)
                wait_until(lambda: not probe_of(standby), "the session to ask no more")
                outcome = in_thread(lambda: value(connection, "SELECT sum(v) FROM d"))
                standby.sql(f"SELECT pg_terminate_backend({wait_until(lambda: probe_of(standby), 'the session to ask again')})")
                if connection is always:
                    assert isinstance(outcome(), psycopg.errors.ObjectNotInPrerequisiteState)
                else:
                    assert outcome() == total
        finally:
            pause(standby, False)
        writer.execute("UPDATE d SET v = v - 1")


def test_fallback(followed):
    """With prefer, a standby that has fallen behind, or is down, is passed over, and used again later."""
    with servers.connect(followed.coordinator) as writer, connect_reader(followed, "prefer") as connection:
        caught_up(followed, writer)
        assert value(connection, "SELECT count(*) FROM d") == 1000
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("UPDATE d SET v = v")
        connection.execute("SET citus.max_follower_staleness = '3s'")
        pause(followed.standbys[1])
        writer.execute("UPDATE d SET v = v + 1")
        wait_until(lambda: value(connection, "SELECT sum(v) FROM d") == value(writer, "SELECT sum(v) FROM d"), "the primary to be read")
        pause(followed.standbys[1], False)
        followed.standbys[1].kill()
        with connect_reader(followed, "prefer") as other:
            assert value(other, "SELECT sum(v) FROM d") == value(writer, "SELECT sum(v) FROM d")
        with connect_reader(followed, "always") as other, pytest.raises(psycopg.OperationalError):
            other.execute("SELECT sum(v) FROM d")
        wait_until(lambda: value(connection, "SELECT sum(v) FROM d") == value(writer, "SELECT sum(v) FROM d") if succeeds_at_all(connection) else False, "the primary")
        followed.standbys[1].start()
        writer.execute("UPDATE d SET v = v - 1")
        caught_up(followed, writer)


def succeeds_at_all(connection):
    try:
        connection.execute("SELECT sum(v) FROM d")
    except psycopg.OperationalError:
        return False
    return True


def test_read_only_transactions(followed):
    """With read_only, READ ONLY transactions read standbys, and others, on the same session, the primaries."""
    with servers.connect(followed.coordinator) as writer, connect_reader(followed, "read_only") as connection:
        connection.execute("SET citus.distributed_snapshots = off")     # or reads wait for standbys that have paused
        caught_up(followed, writer)
        before = value(writer, "SELECT sum(v) FROM d")
        for standby in followed.standbys:
            pause(standby)
        try:
            for round_ in range(1, 4):
                connection.execute("UPDATE d SET v = v + 1")
                for level in ("READ COMMITTED", "REPEATABLE READ"):
                    connection.execute(f"BEGIN ISOLATION LEVEL {level} READ ONLY")
                    assert value(connection, "SELECT sum(v) FROM d") == before
                    assert value(connection, "SELECT v FROM d WHERE id = 5") is not None
                    connection.execute("COMMIT")
                    assert value(connection, "SELECT sum(v) FROM d") == before + 1000 * round_
                connection.execute("BEGIN")
                connection.execute("UPDATE d SET v = v WHERE id = 1")
                assert value(connection, "SELECT sum(v) FROM d") == before + 1000 * round_
                connection.execute("COMMIT")
        finally:
            for standby in followed.standbys:
                pause(standby, False)
        connection.execute("UPDATE d SET v = v - 3")
        caught_up(followed, writer)


def test_through_the_gateway(followed):
    """Clients of the gateway that ask for it read standbys in READ ONLY transactions."""
    port = followed.coordinator.start_gateway()
    followed.coordinator.wait_for_gateway(port)
    with servers.connect(followed.coordinator) as writer, \
            psycopg.connect(followed.coordinator.dsn, port=port, autocommit=True, options="-c citus.use_secondary_nodes=read_only -c citus.distributed_snapshots=off") as client:
        caught_up(followed, writer)
        for standby, node in zip(followed.standbys, followed.workers, strict=True):
            writer.execute("SELECT citus_remove_node('127.0.0.1', %s)", [standby.port])
            writer.execute("SELECT citus_add_secondary_node('127.0.0.1', %s, '127.0.0.1', %s)", [standby.port, node.port])
            pause(standby)
        try:
            for query in ("SELECT sum(v) FROM d", "SELECT v FROM d WHERE id = 5"):
                before = value(client, query)
                client.execute("UPDATE d SET v = v + 1")
                client.execute("BEGIN READ ONLY")
                assert value(client, query) == before - (0 if query.startswith("SELECT sum") else 1)
                client.execute("COMMIT")
                assert value(client, query) > before
        finally:
            for standby in followed.standbys:
                pause(standby, False)
