"""A node that is down: a clear error for what needs it, and everything else goes on."""

import signal
import threading
import time

import psycopg
import pytest

from harness.servers import (PATIENCE, SLOW, cluster, connect as open_connection, fill, kill_process, rows, stopped, value,
                             wait_until, wait_until_quiet, wait_until_slow)


def make_tables(connection):
    """Distributed table t, reference table r, local table l."""
    fill(connection, "t", 200)
    connection.execute("CREATE TABLE r (id int PRIMARY KEY, v text)")
    connection.execute("SELECT create_reference_table('r')")
    connection.execute("INSERT INTO r VALUES (1, 'one')")
    connection.execute("CREATE TABLE l (id int)")


@pytest.fixture(scope="module")
def broken():
    """A cluster whose first worker is down, with tables."""
    with cluster(purpose="check-down") as made:
        with open_connection(made.coordinator) as connection:
            make_tables(connection)
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

    made.silence = lambda: stopped(made.workers[0])
    return made


# What a client does before its node stops, and then; whether that may have been committed.
PHASES = {
    "connect": ([], "SELECT count(*) FROM t"),
    "statement": (["SELECT count(*) FROM t"], "SELECT count(*) FROM t"),
    "fetch": (["BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t", "FETCH 1 FROM c"], "UPDATE t SET payload = 1"),
    "lone write": (["UPDATE t SET payload = 0 WHERE id = {id}"], "UPDATE t SET payload = 1 WHERE id = {id}"),
    "lock": (["BEGIN", "UPDATE t SET payload = 1 WHERE id = {id}"], "SELECT * FROM t WHERE id = {id} FOR UPDATE"),
    "one-phase commit": (["BEGIN", "UPDATE t SET payload = 1 WHERE id = {id}"], "COMMIT"),
    "prepare": (["BEGIN", "UPDATE t SET payload = 1"], "COMMIT"),
    "commit of readers": (["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM t"], "COMMIT"),
    "savepoint": (["BEGIN", "UPDATE t SET payload = 1", "SAVEPOINT a", "UPDATE t SET payload = 2"], "ROLLBACK TO a; COMMIT"),
    "rollback": (["BEGIN", "UPDATE t SET payload = 1"], "ROLLBACK"),
    "reference": ([], "UPDATE r SET v = 'new'"),
    "ddl": (["SELECT count(*) FROM t"], "ALTER TABLE t ADD COLUMN c int"),
    "copy": (["SELECT count(*) FROM t"], "COPY t (id, payload) FROM STDIN"),
    "insert": (["SELECT count(*) FROM t"], "INSERT INTO t SELECT i, 1 FROM generate_series(1001, 50000) i"),
    "sequence": (["SELECT count(*) FROM t"], "SELECT create_distributed_table('l', 'id')"),
}
ENDS = {
    "keepalive": "SET citus.node_keepalive = '300ms'; SET citus.node_connection_timeout = '500ms'",
    "timeout": "SET citus.node_keepalive = 0; SET statement_timeout = '1s'",
    "cancel": "SET citus.node_keepalive = 0",
}
END_LIMIT = 10      # seconds: 1 for the statement, 3 to ask for its cancellation, 1 to prepare, and a loaded machine


@pytest.fixture(scope="module")
def stoppable():
    """A cluster whose first worker can be stopped for the time of a `with`, with tables; id: of a row there."""
    with cluster(purpose="check-stop") as made:
        with open_connection(made.coordinator) as connection:
            make_tables(connection)
            made.id = ids_on(connection, made.workers[0].port, 1)[0]
        yield made


def run_to_end(connection, statement):
    """Runs it; returns the error."""
    try:
        if statement.startswith("COPY"):
            with connection.cursor().copy(statement) as copy:
                for number in range(1001, 20000):
                    copy.write_row((number, 1))
        else:
            connection.execute(statement)
    except psycopg.Error as error:
        return error
    return None


def what_is_left(made):
    with open_connection(made.coordinator) as connection:
        return rows(connection, "SELECT max(payload), count(*), (SELECT v FROM r), (SELECT count(*) FROM pg_attribute"
                                " WHERE attrelid = 't'::regclass AND attname = 'c'), (SELECT count(*) FROM citus_tables) FROM t")


@pytest.mark.some(4)
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("end", ENDS)
def test_stopped_node(stoppable, connect, end, phase):
    """Whatever a session waits for, it ends: by a keepalive, a timeout or a request; and what it says is true."""
    before, statement = [[text.format(id=stoppable.id) for text in part] if isinstance(part, list) else part.format(id=stoppable.id)
                         for part in PHASES[phase]]
    connection = connect(stoppable.coordinator)
    connection.execute(ENDS[end])
    left = what_is_left(stoppable)
    for text in before:
        connection.execute(text)
    with stopped(stoppable.workers[0]):
        begun = time.monotonic()
        request = threading.Timer(1, connection.cancel)
        if end == "cancel":
            request.start()
        error = run_to_end(connection, statement)
        elapsed = time.monotonic() - begun
        request.cancel()
        print(f"{phase} by {end}: {elapsed:.1f} s, {error and error.sqlstate} {error}")
        assert elapsed < END_LIMIT
        assert value(connection, "SELECT 1") == 1 if connection.info.transaction_status == 0 else True
    connection.close()
    wait_until_quiet(stoppable)
    if error is None:
        assert phase in ("commit of readers", "rollback")
    elif phase in ("one-phase commit", "lone write"):
        assert error.sqlstate in ("08007", "57014")
    else:
        assert error.sqlstate in ("08006", "57014")
    if error is None or error.sqlstate != "08007":
        assert what_is_left(stoppable) == left
    with open_connection(stoppable.coordinator) as later:
        later.execute("UPDATE t SET payload = 0")


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


@pytest.mark.parametrize("end", ["keepalive", "timeout", "cancel", "connect"])
def test_stopped_node_behind_a_gateway(make_cluster, end):
    """A statement that the gateway has sent directly to a node ends, too, and others get an answer."""
    settings = {"citus.node_keepalive": "1s" if end == "keepalive" else "0",
                "citus.node_connection_timeout": "1s" if end in ("keepalive", "connect") else "30s"}
    made = make_cluster(settings=settings)
    gateway = made.coordinator.start_gateway()
    made.coordinator.wait_for_gateway(gateway)
    with open_connection(made.coordinator) as direct:
        fill(direct, "t", 100)
        number = ids_on(direct, made.workers[0].port, 1)[0]
    read = "SELECT payload FROM t WHERE id = %s", [number]
    with psycopg.connect(made.coordinator.dsn, port=gateway, autocommit=True) as client:
        if end == "timeout":
            client.execute("SET statement_timeout = '1s'")
            client.execute("SELECT count(*) FROM t")
        if end != "connect":
            wait_until(lambda: client.execute(*read, prepare=True) and routed(made) > 3, "the statement to be routed")
        with stopped(made.workers[0]):
            begun = time.monotonic()
            request = threading.Timer(1, client.cancel)
            if end in ("cancel", "connect"):
                request.start()
            with pytest.raises(psycopg.OperationalError) as caught:
                client.execute(*read, prepare=True)
            elapsed = time.monotonic() - begun
            request.cancel()
            print(f"{end}: {elapsed:.1f} s, {caught.value.sqlstate} {caught.value}")
            assert elapsed < END_LIMIT + 5
            with psycopg.connect(made.coordinator.dsn, port=gateway, autocommit=True) as other:
                assert value(other, "SELECT 1") == 1
    wait_until_quiet(made)


def routed(made):
    with open_connection(made.coordinator) as connection:
        return value(connection, "SELECT sum(routed) FROM citus_stat_gateway")
