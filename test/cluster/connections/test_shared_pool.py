"""citus.max_shared_pool_size: sessions wait for connections, and none waits for ever."""

import threading

import psycopg
import pytest

from harness import servers
from harness.servers import fill, rows, value, wait_until
from harness.statement import Statement

LIMIT = 2
SESSIONS = 6 * LIMIT
ROUNDS = 3


@pytest.fixture(scope="module")
def small():
    """A cluster whose coordinator has two connections to each worker."""
    with servers.cluster(purpose="check-pool", settings={"citus.max_shared_pool_size": LIMIT}) as made:
        with servers.connect(made.coordinator) as connection:
            fill(connection, "t", 100)
            fill(connection, "other", 100)
            connection.execute("CREATE TABLE plain (id int PRIMARY KEY, n int)")
            connection.execute("INSERT INTO plain VALUES (1, 0)")
        yield made


def id_on(cluster, number):
    """An id whose row of t is on that worker."""
    with servers.connect(cluster.coordinator) as connection:
        return value(connection, """
            SELECT min(id) FROM t JOIN citus_shards s ON s.shardid = get_shard_id_for_distribution_column('t', id)
            WHERE s.nodeport = %s""", [cluster.workers[number].port])


def backends(made, number=0):
    """How many connections the sessions of the coordinator have to a worker."""
    return servers.sessions_between(made.coordinator, made.workers[number])


def waiting(cluster, connection):
    """Whether a session waits for something of ours."""
    with servers.connect(cluster.coordinator) as watcher:
        return value(watcher, "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s AND state = 'active'",
                     [servers.pid_of(connection)]) == "Extension"


@pytest.fixture
def holders(small, connect):
    """Sessions that have all there is: each in a transaction that used one worker."""
    opened = [connect(small.coordinator, autocommit=False) for _ in range(LIMIT)]
    for holder in opened:
        value(holder, "SELECT payload FROM t WHERE id = 1")
    assert max(backends(small, number) for number in range(len(small.workers))) == LIMIT
    return opened


def test_limit_holds(small, connect):
    """Many more sessions than the limit, reading and writing: all get through, and the limit holds."""
    def work(connection, number):
        try:
            for _ in range(ROUNDS):
                with connection.transaction():
                    connection.execute("UPDATE t SET payload = payload + 1 WHERE id = %s", [number])
                    connection.execute("UPDATE t SET payload = payload + 1 WHERE id = %s", [number + 50])
                assert value(connection, "SELECT count(*) FROM t") == 100
        except Exception as error:      # pylint: disable=broad-except
            failed.append(error)

    failed = []
    sessions = [connect(small.coordinator) for _ in range(SESSIONS)]
    before = value(sessions[0], "SELECT sum(payload) FROM t")
    threads = [threading.Thread(target=work, args=(session, number + 1)) for number, session in enumerate(sessions)]
    for thread in threads:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in threads):
        most = max(most, *(backends(small, number) for number in range(len(small.workers))))
    assert failed == []
    assert 0 < most <= LIMIT
    assert value(sessions[0], "SELECT sum(payload) FROM t") == before + SESSIONS * ROUNDS * 2


def test_idle_sessions_give_up(small, connect):
    """Sessions that are idle outside a transaction don't keep others waiting."""
    sessions = [connect(small.coordinator) for _ in range(4 * LIMIT)]
    for session in sessions:
        session.execute("SET citus.node_connection_timeout = '5s'")
        assert value(session, "SELECT count(*) FROM t") == 100
    assert backends(small) <= LIMIT


def test_wait_ends(small, connect, holders):
    """A wait ends with the time limit, a statement's time limit, a cancel request, and with success."""
    waiter = connect(small.coordinator)
    waiter.execute("SET citus.node_connection_timeout = '300ms'")
    with pytest.raises(psycopg.errors.TooManyConnections) as caught:
        waiter.execute("SELECT count(*) FROM t")
    assert "citus.max_shared_pool_size" in caught.value.diag.message_hint
    waiter.execute("SET citus.node_connection_timeout = '1h'")
    waiter.execute("SET statement_timeout = '200ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        waiter.execute("SELECT count(*) FROM t")
    waiter.execute("RESET statement_timeout")
    statement = Statement(waiter, "SELECT count(*) FROM t")
    wait_until(lambda: waiting(small, waiter), "the session to wait")
    waiter.cancel()
    assert isinstance(statement.finish(), psycopg.errors.QueryCanceled)
    statement = Statement(waiter, "SELECT count(*) FROM t")
    wait_until(lambda: waiting(small, waiter), "the session to wait")
    holders[0].commit()
    assert statement.finish() is None


def test_session_that_ends_while_it_waits(small, connect, holders):
    """Nobody's turn is lost with it."""
    first, second = connect(small.coordinator), connect(small.coordinator)
    statements = []
    for session in (first, second):
        statements.append(Statement(session, "SELECT count(*) FROM t"))
        wait_until(lambda: waiting(small, session), "the session to wait")
    with servers.connect(small.coordinator) as killer:
        killer.execute("SELECT pg_terminate_backend(%s)", [servers.pid_of(first)])
    assert isinstance(statements[0].finish(), psycopg.errors.AdminShutdown)
    holders[1].rollback()
    assert statements[1].finish() is None


def test_transactions_that_cross(small, connect):
    """Who has come to one node comes to the others too."""
    ids = [id_on(small, 0), id_on(small, 1)]
    sessions = [connect(small.coordinator, autocommit=False) for _ in range(LIMIT)]
    for number, session in enumerate(sessions):
        session.execute("SET citus.node_connection_timeout = '5s'")
        session.execute("UPDATE t SET payload = 0 WHERE id = %s", [ids[number % 2]])
    late = connect(small.coordinator)
    statement = Statement(late, "SELECT count(*) FROM t")
    wait_until(lambda: waiting(small, late), "the session to wait")
    for number, session in enumerate(sessions):
        assert value(session, "SELECT count(*) FROM t") == 100
        session.execute("UPDATE other SET payload = 0 WHERE id = %s", [ids[(number + 1) % 2]])
    for session in sessions:
        session.commit()
    assert statement.finish() is None


def test_sessions_that_wait_for_the_one_that_waits(small, connect, holders):
    """A session that has what all others wait for doesn't wait for them."""
    first = connect(small.coordinator, autocommit=False)
    first.execute("UPDATE plain SET n = n + 1")
    statements = []
    for holder in holders:              # one after the other: most often they get the row in this order
        statements.append(Statement(holder, "UPDATE plain SET n = n + 1"))
        wait_until(lambda: servers.rows(first, "SELECT 1 FROM pg_locks WHERE NOT granted AND pid = %s",
                                        [servers.pid_of(holder)]), "the session to wait")
    assert value(first, "SELECT count(*) FROM t") == 100
    first.commit()
    rest = dict(zip(holders, statements))
    while rest:
        holder = wait_until(lambda: next((one for one, statement in rest.items() if not statement.running), None), "one to get the row")
        assert rest.pop(holder).finish() is None
        holder.commit()


def test_extra_connections_are_given_up(small, connect):
    """A read in parallel keeps others waiting for no longer than a task takes."""
    reader, other = connect(small.coordinator), connect(small.coordinator)
    reader.execute("SET citus.executor_slow_start_interval = 0")
    reader.execute("SET citus.enable_node_tasks = off")
    statement = Statement(reader, "SELECT count(*) FROM t WHERE factorial(12000 + payload) > 0")
    wait_until(lambda: backends(small) == LIMIT, "an extra connection")
    assert value(other, "SELECT payload IS NOT NULL FROM t WHERE id = 1")
    assert statement.running
    reader.cancel()
    assert isinstance(statement.finish(), psycopg.errors.QueryCanceled)


JOIN = "SELECT count(*), sum(a.payload + b.payload) FROM t a JOIN other b ON a.id % 10 = b.id / 10"


def test_join_in_a_full_pool(small, connect, holders):
    """The second scan's connection is optional: here the session has the only slot that is free."""
    holders[0].rollback()
    connection = connect(small.coordinator)
    connection.execute("SET enable_hashjoin = off")
    connection.execute("SET enable_mergejoin = off")
    assert value(connection, JOIN) > 0
    with connection.transaction():
        connection.execute("UPDATE t SET payload = payload WHERE id = 1")
        assert value(connection, JOIN) > 0
    assert backends(small) <= LIMIT


@pytest.mark.some(1)
@pytest.mark.parametrize("join", ["hash", "merge", "nestloop"])
@pytest.mark.parametrize("write", [False, True])
def test_join_on_a_full_node(own_cluster, connect, join, write):
    """A node that has no room for another connection is read over the one that there is."""
    connection = connect(own_cluster.coordinator)
    fill(connection, "t", 100)
    fill(connection, "other", 100)
    connection.execute("CREATE TABLE result (LIKE t)")
    connection.execute("SELECT create_distributed_table('result', 'id')")
    for method in {"hashjoin", "mergejoin", "nestloop"} - {join.replace("join", ""), f"{join}join"}:
        connection.execute(f"SET enable_{method} = off")
    expected = rows(connection, JOIN)
    opened = []
    for node in own_cluster.workers:
        with pytest.raises(psycopg.OperationalError):
            while True:
                opened.append(connect(node))
    if write:
        connection.execute("INSERT INTO result SELECT a.id * 100 + b.id, 1 FROM t a JOIN other b ON a.id % 10 = b.id / 10")
        assert value(connection, "SELECT count(*) FROM result") == expected[0][0]
    else:
        assert rows(connection, JOIN) == expected
