"""A node that is down: a clear error for what needs it, and everything else goes on."""

import signal
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest

from harness.servers import (PATIENCE, SLOW, cluster, connect as open_connection, fill, kill_process, pid_of, rows, value,
                             wait_until_quiet, wait_until_slow)


@pytest.fixture(scope="module")
def broken():
    """A cluster whose first worker is down; distributed table t, reference table r, local table l."""
    with cluster(purpose="check-down") as made:
        with open_connection(made.coordinator) as connection:
            fill(connection, "t", 200)
            connection.execute("CREATE TABLE r (id int PRIMARY KEY, v text)")
            connection.execute("SELECT create_reference_table('r')")
            connection.execute("INSERT INTO r VALUES (1, 'one')")
            connection.execute("CREATE TABLE l (id int)")
        made.workers[0].kill()
        yield made


def ids_on(connection, port, wanted):
    """Some ids whose shards are on the node with that port."""
    found = rows(connection, """
        SELECT id FROM generate_series(1, 200) id JOIN pg_dist_placement p
          ON p.shardid = get_shard_id_for_distribution_column('t', id::bigint)
          JOIN pg_dist_node n USING (groupid)
        WHERE n.nodeport = %s ORDER BY id LIMIT %s""", [port, wanted])
    return [row[0] for row in found]


def test_error_names_the_node(broken, connect):
    """And what an operator can do."""
    connection = connect(broken.coordinator)
    with pytest.raises(psycopg.OperationalError) as caught:
        connection.execute("SELECT count(*) FROM t")
    assert caught.value.diag.sqlstate.startswith("08")
    assert f"127.0.0.1:{broken.workers[0].port}" in str(caught.value)
    with pytest.raises(psycopg.OperationalError) as caught:
        connection.execute("INSERT INTO r VALUES (2, 'two')")
    assert "citus_disable_node" in caught.value.diag.message_hint


@pytest.mark.parametrize("statement", ["CREATE VIEW v AS SELECT * FROM t", "CREATE ROLE nobody_else", "INSERT INTO r VALUES (2, 'two')"])
def test_hint_is_a_command(make_cluster, connect, statement):
    """What needs all nodes says how to go on without one; doing so, it works."""
    made = make_cluster()
    connection = connect(made.coordinator)
    fill(connection, "t", 10)
    connection.execute("CREATE TABLE r (id int PRIMARY KEY, v text); SELECT create_reference_table('r')")
    made.workers[0].kill()
    with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
        connection.execute(statement)
    command = caught.value.diag.message_hint.split("the node: ")[1].split(" makes its shards")[0]
    assert command == f"SELECT citus_disable_node('127.0.0.1', {made.workers[0].port}, force => true)"
    connection.execute(command)
    connection.execute(statement)


def test_hint_for_the_coordinator(make_cluster, connect):
    """It can't be disabled."""
    made = make_cluster(workers=1)
    made.coordinator.kill()
    with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
        connect(made.workers[0]).execute("CREATE ROLE nobody_else")
    assert "citus_update_node" in caught.value.diag.message_hint and "citus_disable_node" not in caught.value.diag.message_hint


def test_hint_for_a_refused_login(cluster, coordinator, connect, schema, table):
    """The node is up: that it could be disabled is no help."""
    coordinator.execute(f"CREATE ROLE shut_out LOGIN; GRANT USAGE ON SCHEMA {schema} TO shut_out; GRANT SELECT ON {table} TO shut_out")
    for node in cluster.workers:
        node.sql("SET citus.enable_ddl_propagation = off; ALTER ROLE shut_out NOLOGIN")
    with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
        connect(cluster.coordinator, user="shut_out").execute(f"SELECT count(*) FROM {table}")
    assert "not permitted to log in" in caught.value.diag.message_detail
    assert caught.value.diag.message_hint is None
    coordinator.execute("DROP OWNED BY shut_out; DROP ROLE shut_out")


def test_detail_of_a_silent_node(own_cluster, connect):
    """A node that accepts connections, and no more: the detail says that, and for how long."""
    connection = connect(own_cluster.coordinator)
    connection.execute("SET citus.node_connection_timeout = '500ms'")
    stopped = own_cluster.workers[0].pid()
    kill_process(stopped, signal.SIGSTOP)
    try:
        with pytest.raises(psycopg.errors.ConnectionFailure) as caught:
            connection.execute("CREATE ROLE nobody_else")
    finally:
        kill_process(stopped, signal.SIGCONT)
    assert caught.value.diag.message_detail == "The node did not answer within 500 ms."
    assert "citus_disable_node" in caught.value.diag.message_hint


def test_other_shards_are_served(broken, connect):
    connection = connect(broken.coordinator)
    for number in ids_on(connection, broken.workers[1].port, 5):
        assert value(connection, "SELECT payload FROM t WHERE id = %s", [number]) == 0
        connection.execute("UPDATE t SET payload = 0 WHERE id = %s", [number])


def test_shards_of_the_node_are_not(broken, connect):
    connection = connect(broken.coordinator)
    number = ids_on(connection, broken.workers[0].port, 1)[0]
    for statement in ("SELECT * FROM t WHERE id = %s", "UPDATE t SET payload = 1 WHERE id = %s"):
        with pytest.raises(psycopg.OperationalError):
            connection.execute(statement, [number])


def test_local_work_goes_on(broken, connect):
    connection = connect(broken.coordinator)
    connection.execute("INSERT INTO l VALUES (1); DELETE FROM l")
    assert rows(connection, "SELECT * FROM r") == [(1, "one")]


@pytest.mark.parametrize("statement", [
    "INSERT INTO r VALUES (2, 'two')",
    "UPDATE t SET payload = payload + 1",
    "ALTER TABLE t ADD COLUMN c int",
    "CREATE INDEX t_payload ON t (payload)",
    "TRUNCATE t",
    "DROP TABLE t",
    "CREATE TABLE u (a int); SELECT create_distributed_table('u', 'a')",
])
def test_writes_that_need_the_node(broken, connect, statement):
    """They fail as a whole, on all nodes."""
    connection = connect(broken.coordinator)
    with pytest.raises(psycopg.OperationalError):
        connection.execute(statement)
    assert rows(connection, "SELECT * FROM r") == [(1, "one")]
    number = ids_on(connection, broken.workers[1].port, 1)[0]
    assert value(connection, "SELECT payload FROM t WHERE id = %s", [number]) == 0
    assert value(connect(broken.workers[1]), "SELECT count(*) FROM pg_prepared_xacts") == 0
    assert value(connection, "SELECT to_regclass('u')") is None


def test_old_session_recovers(make_cluster, connect):
    """A session whose cached connections broke works again as soon as the node is back."""
    made = make_cluster()
    connection = connect(made.coordinator)
    fill(connection, "t", 100)
    assert value(connection, "SELECT count(*) FROM t") == 100
    made.workers[0].kill()
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT count(*) FROM t")
    made.workers[0].start()
    assert value(connection, "SELECT count(*) FROM t") == 100
    connection.execute("UPDATE t SET payload = 3")
    assert value(connection, "SELECT sum(payload) FROM t") == 300

    # A clean restart while the session is idle isn't even noticed.
    made.workers[1].restart()
    assert value(connection, "SELECT sum(payload) FROM t") == 300
    wait_until_quiet(made)


def test_node_lost_during_a_query(make_cluster, connect):
    made = make_cluster()
    connection = connect(made.coordinator)
    fill(connection, "t", 100)
    failures = []

    def ask():
        try:
            connection.execute(f"SELECT count(*) FROM t WHERE {SLOW}")
        except psycopg.Error as error:
            failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until_slow(made)
    made.workers[0].kill()
    thread.join(PATIENCE)
    assert failures, "the query didn't notice that its node is gone"
    assert failures[0].diag.sqlstate == "08006", made.coordinator.tail(40)
    print(made.coordinator.tail(30))
    assert value(connection, "SELECT 1") == 1


@pytest.fixture
def silent(make_cluster):
    """Stops all processes of a worker for the time of a `with`: its connections stay, and nothing is answered."""
    made = make_cluster()

    @contextmanager
    def silence():
        node = made.workers[0]
        pids = [node.pid(), *node.processes()]
        for pid in pids:
            kill_process(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                kill_process(pid, signal.SIGCONT)

    made.silence = silence
    return made


def test_commit_with_a_silent_node(silent, connect):
    """A COMMIT that waits for a node's answer ends by statement_timeout, as long as it can still be undone."""
    connection = connect(silent.coordinator)
    fill(connection, "t", 100)
    connection.execute("SET statement_timeout = '2s'")
    connection.execute("BEGIN; UPDATE t SET payload = 1")
    with silent.silence():
        begun = time.monotonic()
        with pytest.raises(psycopg.errors.ConnectionFailure):
            connection.execute("COMMIT")
        assert time.monotonic() - begun < 12
    wait_until_quiet(silent)
    assert value(connection, "SELECT sum(payload) FROM t") == 0


def test_views_with_a_silent_node(silent, connect):
    """Views over all nodes give what they have, with a warning, also where a connection is open already."""
    connection = connect(silent.coordinator)
    fill(connection, "t", 100)
    connection.execute("SET citus.node_connection_timeout = '2s'")
    queries = ["SELECT string_agg(table_name || coalesce(table_size, '-'), ' ') FROM citus_tables",
               "SELECT sum(shard_size) FROM citus_shards", "SELECT count(*) FROM citus_stat_activity",
               "SELECT count(*) FROM citus_locks", "SELECT count(*) FROM citus_check_cluster_node_health()"]
    for query in queries:
        assert value(connection, query) is not None
    warnings = []
    connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
    with silent.silence():
        for query in queries:
            warnings.clear()
            begun = time.monotonic()
            assert value(connection, query) is not None
            assert time.monotonic() - begun < 10, query
            assert "health" in query or any(str(silent.workers[0].port) in text for text in warnings), query
