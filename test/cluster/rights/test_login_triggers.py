"""Login event triggers (PostgreSQL 17) are about clients: sessions that nodes open fire none, and no client can pass for a node."""

import psycopg
import pytest

from harness.servers import connect as open_connection, fill, rows, value

TRIGGER = """
    CREATE TABLE logins (name text, at timestamptz DEFAULT clock_timestamp());
    GRANT INSERT ON logins TO PUBLIC;
    CREATE FUNCTION note_login() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.logins (name) VALUES (session_user); END $$;
    CREATE EVENT TRIGGER note_login ON login EXECUTE FUNCTION note_login();
"""


@pytest.fixture
def noted(make_cluster):
    """A cluster with a login trigger that writes to a local table of the coordinator, so that it fails on all other nodes."""
    made = make_cluster()
    with open_connection(made.coordinator) as connection:
        if connection.info.server_version < 170000:
            pytest.skip("this version has no login triggers")
        fill(connection, "t", 100)
        connection.execute("CREATE ROLE somebody LOGIN; GRANT ALL ON t TO somebody")
        connection.execute(TRIGGER)
    for node in made.workers:
        assert value_without_triggers(node, "SELECT count(*) FROM pg_event_trigger WHERE evtname = 'note_login'") == 1
    return made


def value_without_triggers(node, query):
    with open_connection(node, options="-c event_triggers=off") as connection:
        return value(connection, query)


def logins(node):
    with open_connection(node, options="-c event_triggers=off") as connection:
        return rows(connection, "SELECT name, count(*) FROM logins GROUP BY name ORDER BY name")


@pytest.mark.parametrize("user", ["postgres", "somebody"])
def test_sessions_of_nodes(noted, connect, user):
    connection = connect(noted.coordinator, user=user)
    assert value(connection, "SELECT count(*) FROM t") == 100
    connection.execute("UPDATE t SET payload = 1")
    with connection.transaction():
        connection.execute("UPDATE t SET payload = payload + 1")
        assert value(connection, "SELECT sum(payload) FROM t") == 200
    connection.execute("CREATE TEMPORARY TABLE mine AS SELECT * FROM t")
    assert logins(noted.coordinator) == [(user, 1)]


def test_work_of_nodes(noted, connect):
    """Moves of shards, new nodes and the views over all nodes need sessions of other kinds."""
    connection = connect(noted.coordinator)
    shard, source = connection.execute("SELECT shardid, nodeport FROM citus_shards WHERE table_name = 't'::regclass AND nodeport = %s",
                                       [noted.workers[0].port]).fetchone()
    connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')",
                       [shard, source, noted.workers[1].port])
    assert value(connection, "SELECT count(*) FROM t") == 100
    assert value(connection, "SELECT bool_and(result) FROM citus_check_cluster_node_health()")
    assert value(connection, "SELECT count(DISTINCT nodeid) FROM citus_stat_activity") >= 1
    connection.execute("SELECT citus_drain_node('127.0.0.1', %s)", [noted.workers[0].port])
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [noted.workers[0].port])
    assert {name for name, _ in logins(noted.coordinator)} == {"postgres"}


def test_client_with_a_proof(noted, connect):
    """The option of nodes is worth nothing without the cluster's secret."""
    forged = ["superuser", "0" * 32 + ".0." + "0" * 64, "0" * 32 + ".1.-", "." * 40, "-"]
    for number, proof in enumerate(forged, start=1):
        connect(noted.coordinator, user="somebody", options=f"-c citus.node_proof={proof}")
        assert logins(noted.coordinator) == [("somebody", number)]
        with pytest.raises(psycopg.OperationalError, match="logins"):
            connect(noted.workers[0], user="somebody", options=f"-c citus.node_proof={proof}")
