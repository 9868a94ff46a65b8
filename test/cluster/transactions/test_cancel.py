"""Cancelling: whoever gives up on a statement, its parts on all nodes end."""

import re
import signal
import time
from contextlib import nullcontext, suppress

import psycopg
import pytest

from harness import servers
from harness.servers import (SLOW, fill, kill_process, pid_of, rows, value, wait_until, wait_until_quiet,
                             wait_until_slow)
from harness.statement import Statement

COUNT = f"SELECT count(*) FROM {{table}} WHERE {SLOW}"


@pytest.fixture
def table(schema, coordinator):
    name = f"{schema}.t"
    fill(coordinator, name, 100)
    return name


@pytest.mark.parametrize("statement", [
    COUNT,
    f"UPDATE {{table}} SET payload = 1 WHERE {SLOW}",
    f"INSERT INTO {{table}} SELECT id + 1000, 1 FROM {{table}} WHERE {SLOW}",
    f"COPY (SELECT * FROM {{table}} WHERE {SLOW}) TO STDOUT"])
@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_cancel_reaches_all_nodes(cluster, coordinator, table, connect, initiator, statement):
    connection = connect(cluster.node(initiator))
    slow = Statement(connection, statement.format(table=table))
    wait_until_slow(cluster)
    with servers.connect(cluster.node(initiator)) as other:
        assert value(other, "SELECT pg_cancel_backend(%s)", [pid_of(connection)])
    error = slow.finish()
    assert isinstance(error, psycopg.errors.QueryCanceled), error
    assert "user request" in str(error)
    wait_until_quiet(cluster)
    assert value(connection, f"SELECT count(*) FROM {table}") == 100


def test_cancel_on_the_initiator(cluster, coordinator, table, connect):
    """What only the initiator evaluates, a volatile function, is cancelled there, and its scan too."""
    connection = connect(cluster.coordinator)
    slow = Statement(connection, f"SELECT count(*) FROM {table} WHERE pg_sleep(payload + 60) IS NOT NULL")
    wait_until(lambda: rows(coordinator, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' "
                            "AND pid = %s", [pid_of(connection)]), "the statement to sleep")
    connection.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    wait_until_quiet(cluster)


@pytest.mark.parametrize("side, query", [
    ("small", "SELECT sum(payload) FROM {table} JOIN (SELECT pg_sleep(g + 60) IS NULL AS n, g FROM generate_series(1, 2) g) s "
              "ON payload = g"),
    ("large", f"SELECT sum(payload) FROM {{table}} JOIN (VALUES (1), (2)) s(g) ON payload > g AND {SLOW}"),
])
def test_cancel_of_a_join_that_sends_rows_along(cluster, coordinator, table, connect, side, query):
    """While the small side is computed here, or the nodes join it."""
    coordinator.execute(f"ANALYZE {table}")
    connection = connect(cluster.coordinator)
    plan = "\n".join(line for line, in rows(connection, "EXPLAIN (VERBOSE) " + query.format(table=table)))
    assert "unnest($" in plan.lower(), plan
    slow = Statement(connection, query.format(table=table))
    if side == "small":
        wait_until(lambda: rows(coordinator, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' "
                                "AND pid = %s", [pid_of(connection)]), "the statement to sleep")
    else:
        wait_until_slow(cluster)
    connection.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    wait_until_quiet(cluster)
    assert value(connection, f"SELECT count(*) FROM {table} JOIN (VALUES (1)) s(g) ON payload < g") == \
        value(connection, f"SELECT count(*) FROM {table} WHERE payload < 1")


def test_statement_timeout(cluster, coordinator, table, connect):
    connection = connect(cluster.coordinator)
    connection.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled) as caught:
        connection.execute(COUNT.format(table=table))
    assert "statement timeout" in str(caught.value)
    wait_until_quiet(cluster)
    connection.execute("SET statement_timeout = 0")
    assert value(connection, f"SELECT count(*) FROM {table}") == 100


def test_client_interrupt(cluster, coordinator, table, connect):
    """The driver's own cancel request, as psql sends it for Ctrl-C."""
    connection = connect(cluster.coordinator)
    slow = Statement(connection, COUNT.format(table=table))
    wait_until_slow(cluster)
    connection.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    wait_until_quiet(cluster)


def test_terminated_backend(cluster, coordinator, table, connect):
    connection = connect(cluster.coordinator)
    slow = Statement(connection, COUNT.format(table=table))
    wait_until_slow(cluster)
    coordinator.execute("SELECT pg_terminate_backend(%s)", [pid_of(connection)])
    assert isinstance(slow.finish(), psycopg.errors.AdminShutdown)
    wait_until_quiet(cluster)


def test_cancel_inside_a_transaction(cluster, coordinator, table, connect):
    """What was written before the cancelled statement survives behind a savepoint."""
    connection = connect(cluster.coordinator, autocommit=False)
    connection.execute(f"UPDATE {table} SET payload = 1")
    connection.execute("SAVEPOINT here")
    connection.execute("SET LOCAL statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(COUNT.format(table=table))
    connection.execute("ROLLBACK TO here")
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 100
    connection.commit()
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 100
    wait_until_quiet(cluster)


def test_cancel_while_waiting_for_a_lock(cluster, coordinator, table, connect):
    """A wait for another transaction's row lock on a node ends too."""
    holder = connect(cluster.coordinator, autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 5")
    waiter = connect(cluster.workers[0])
    slow = Statement(waiter, f"UPDATE {table} SET payload = 2 WHERE id = 5")

    def waiting():
        return any(rows(servers.connect(node), "SELECT 1 FROM pg_locks WHERE NOT granted")
                   for node in cluster.nodes)

    wait_until(waiting, "the second writer to wait")
    waiter.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    holder.commit()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = 5") == 1
    wait_until_quiet(cluster)


def test_lock_timeout(cluster, coordinator, table, connect):
    holder = connect(cluster.coordinator, autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 5")
    waiter = connect(cluster.coordinator)
    waiter.execute("SET lock_timeout = '200ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiter.execute(f"UPDATE {table} SET payload = 2 WHERE id = 5")
    holder.rollback()
    waiter.execute(f"UPDATE {table} SET payload = 2 WHERE id = 5")


def test_lock_timeout_of_ddl(cluster, table, connect):
    """It counts for all attempts to get the table's locks on all nodes together."""
    holder = connect(cluster.coordinator, autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 5")
    waiter = connect(cluster.workers[0])
    waiter.execute("SET lock_timeout = '2s'; SET statement_timeout = '30s'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiter.execute(f"ALTER TABLE {table} ADD COLUMN more int")
    holder.commit()
    waiter.execute(f"ALTER TABLE {table} ADD COLUMN more int")


def key_on(connection, table, node):
    """A key of the table that is on a node."""
    return value(connection, """
        SELECT g FROM generate_series(1, 100) g, pg_dist_placement p, pg_dist_node n
        WHERE p.shardid = get_shard_id_for_distribution_column(%s::regclass, g::bigint)
          AND n.groupid = p.groupid AND n.nodeport = %s LIMIT 1""", [table, node.port])


@pytest.fixture
def locked(cluster, table, connect):
    """A session that can keep everybody from the table on one worker."""
    holder = connect(cluster.workers[0], autocommit=False)
    holder.execute("SET citus.enable_ddl_propagation = off")
    holder.commit()
    return holder


def wait_for_lock(cluster, seconds=0):
    with servers.connect(cluster.workers[0]) as observer:
        wait_until(lambda: rows(observer, f"""SELECT 1 FROM pg_locks WHERE NOT granted
            AND waitstart < clock_timestamp() - interval '{seconds} s'"""), "a wait for the lock")


def test_cancel_while_a_statement_is_prepared(cluster, table, connect, locked):
    """What the node had no time to prepare isn't taken for prepared afterwards."""
    connection = connect(cluster.coordinator, autocommit=False)
    key = key_on(connection, table, cluster.workers[0])
    statement = f"UPDATE {table} SET payload = payload + 1 WHERE id = {key}"
    connection.execute(statement)
    connection.commit()
    connection.execute(f"SELECT payload FROM {table} WHERE id = {key}")
    connection.commit()
    for _ in range(3):
        locked.execute(f"LOCK TABLE {table}")
        connection.execute("SAVEPOINT s")
        slow = Statement(connection, statement)
        wait_for_lock(cluster)
        connection.cancel()
        assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
        connection.execute("ROLLBACK TO s")
        locked.rollback()
        connection.execute(statement)
        connection.execute(statement)
        connection.commit()


def test_cancelled_read_keeps_settings(cluster, table, connect, locked):
    """A setting that went with a cancelled read is sent again."""
    connection = connect(cluster.coordinator)
    key = key_on(connection, table, cluster.workers[0])
    read = f"SELECT payload FROM {table} WHERE id = {key}"
    connection.execute("SET lock_timeout = '30ms'")
    connection.execute(read)
    connection.execute("RESET lock_timeout")
    locked.execute(f"LOCK TABLE {table}")
    slow = Statement(connection, f"{read} AND payload >= 0 -- another text")
    wait_for_lock(cluster)
    connection.cancel()
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    again = Statement(connection, read)
    wait_for_lock(cluster, 0.3)
    locked.rollback()
    assert again.finish() is None


def test_cancelled_write_that_reads_a_cursor_first(cluster, connect, coordinator, table):
    """What the cursor has not returned is lost then, and it says so; the session goes on."""
    session = connect(cluster.coordinator, autocommit=False)
    session.execute(f"DECLARE c CURSOR FOR SELECT id FROM {table}")
    session.execute("SAVEPOINT s")
    with servers.connect(cluster.workers[1], autocommit=False) as holder:
        for shard, in rows(coordinator, "SELECT shard_name FROM citus_shards WHERE table_name = %s::regclass "
                                        "AND nodeport = %s", [table, cluster.workers[1].port]):
            holder.execute(f"LOCK TABLE {shard} IN ACCESS EXCLUSIVE MODE")
        session.execute("SET LOCAL statement_timeout = '200ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            session.execute(f"UPDATE {table} SET payload = 1 WHERE id = 1")
        session.execute("ROLLBACK TO s")
    with pytest.raises(psycopg.errors.InvalidCursorState):
        session.execute("FETCH ALL FROM c")
    session.execute("ROLLBACK TO s")
    assert value(session, f"SELECT count(*) FROM {table}") == 100
    session.execute("CLOSE c")
    session.execute(f"UPDATE {table} SET payload = 2 WHERE id = 1")
    session.commit()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = 1") == 2


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
def test_failed_write_that_reads_a_cursor_first(cluster, coordinator, table, connect, node):
    """The error may come from a task in the session itself, whose cursor can be closed after it."""
    session = connect(cluster.node(node), autocommit=False)
    session.execute(f"DECLARE c CURSOR FOR SELECT id FROM {table} WHERE 1 / (id % 10) >= 0")
    session.execute("SAVEPOINT s")
    with pytest.raises(psycopg.errors.DivisionByZero):
        session.execute(f"UPDATE {table} SET payload = payload + 1 WHERE random() >= 0")
    session.execute("ROLLBACK TO s")
    session.execute("CLOSE c")
    session.execute(f"UPDATE {table} SET payload = -1 WHERE id = 1")
    session.commit()
    assert value(coordinator, f"SELECT count(*) FROM {table} WHERE payload = -1") == 1


def check_interruptible(connection):
    """The session obeys statement_timeout, a cancel request and, last, pg_terminate_backend."""
    connection.execute("SET statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT pg_sleep(10)")
    connection.execute("SET statement_timeout = 0")
    for function, error in [("pg_cancel_backend", psycopg.errors.QueryCanceled),
                            ("pg_terminate_backend", psycopg.errors.AdminShutdown)]:
        sleeping = Statement(connection, "SELECT pg_sleep(10)")
        with psycopg.connect(connection.info.dsn, autocommit=True) as other:
            pid = pid_of(connection)
            wait_until(lambda: value(other, "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s",
                                     [pid]), "the session to sleep")
            other.execute(f"SELECT {function}(%s)", [pid])
        assert isinstance(sleeping.finish(), error)


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("condition", ["id = {key}", "true"])
def test_notice_that_cannot_be_shown(cluster, coordinator, schema, table, connect, functions, condition, block):
    """A NOTICE of a node with a character that the client's encoding lacks is left out, and nothing else changes."""
    functions(f"CREATE FUNCTION {schema}.say(n bigint) RETURNS bool LANGUAGE plpgsql AS $$"
              f"BEGIN RAISE NOTICE 'price in %', chr(8364); RETURN true; END $$")
    coordinator.execute(f"ALTER TABLE {table} ADD CHECK ({schema}.say(id))")
    connection = connect(cluster.coordinator)
    key = value(connection, f"""
        SELECT id FROM {table} JOIN pg_dist_placement
            ON shardid = get_shard_id_for_distribution_column('{table}', id) WHERE groupid = 1 LIMIT 1""")
    connection.execute("SET client_encoding = 'LATIN1'")
    with connection.transaction() if block else nullcontext():
        connection.execute(f"UPDATE {table} SET payload = 7 WHERE {condition.format(key=key)}")
    check_interruptible(connection)
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = {key}") == 7


@pytest.mark.parametrize("end", ["ROLLBACK", "ROLLBACK TO one"])
def test_failure_while_rolling_back(cluster, table, connect, end):
    """What goes wrong in an abort is a warning, after which the session is as before."""
    connection = connect(cluster.coordinator)
    warnings = []
    connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
    connection.execute("SET citus.debug_points = 'abort-before-rollback=error'")
    connection.execute(f"BEGIN; UPDATE {table} SET payload = 1; SAVEPOINT one; UPDATE {table} SET payload = 2")
    connection.execute(end)
    connection.execute("ROLLBACK; SET citus.debug_points = ''")
    assert any("could not end a transaction" in warning for warning in warnings)
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 0
    check_interruptible(connection)


@pytest.mark.parametrize("rest", ["SAVEPOINT a", "SELECT 1 FROM {table} WHERE id = {key}"])
def test_cancel_while_a_cursor_is_read_ahead(cluster, coordinator, table, connect, rest):
    """Rows that keep arriving, and that nobody fetches now, don't keep a session from ending a statement."""
    connection = connect(cluster.coordinator)
    key = value(connection, f"""
        SELECT id FROM {table} JOIN pg_dist_placement
            ON shardid = get_shard_id_for_distribution_column('{table}', id) WHERE groupid = 1 LIMIT 1""")
    connection.execute(f"BEGIN; DECLARE c CURSOR FOR SELECT a, b FROM {table}, generate_series(1, 4000) a, "
                       f"generate_series(1, 5000) b WHERE id = {key}; FETCH c")
    rest = rest.format(table=table, key=key)
    reading = Statement(connection, rest)
    wait_until(lambda: rows(coordinator, "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state = 'active' "
                            "AND query = %s", [pid_of(connection), rest]), "the statement to begin")
    began = time.monotonic()
    connection.cancel()
    assert isinstance(reading.finish(), psycopg.errors.QueryCanceled)
    assert time.monotonic() - began < 3
    connection.execute("ROLLBACK")
    check_interruptible(connection)


def has_pending(pid, number):
    """Whether a process is yet to take a signal."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> number - 1 & 1 for mask in masks)


def finish_stopped(statement, pid):
    """Lets a process that stops again and again go on until the statement has its end."""
    def ended():
        kill_process(pid, signal.SIGCONT)
        return not statement.running

    wait_until(ended, "the statement's end")
    return statement.finish()


def is_over(pid):
    """Lets a stopped process go on; whether it has ended."""
    with suppress(ProcessLookupError):
        kill_process(pid, signal.SIGCONT)
        return False
    return True


def test_cancel_spares_savepoints(cluster, coordinator, schema, table, connect):
    """A request to cancel never hits the savepoint that goes before a statement: else nobody knew where the node is."""
    worker, role = cluster.workers[0], f"{schema}_stops"
    update = f"UPDATE {table} SET payload = payload + {{}} WHERE id = {key_on(coordinator, table, worker)}"
    coordinator.execute(f"CREATE ROLE {role} SUPERUSER LOGIN")
    worker.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {role} SET citus.debug_points = 'subxact-before-commit=stop'")
    mark = worker.log_mark()
    client = connect(cluster.coordinator, user=role)
    client.execute(f"BEGIN; SAVEPOINT a; {update.format(1)}; RELEASE a; SAVEPOINT b")
    late = Statement(client, update.format(10))
    found = wait_until(lambda: re.search(r"process (\d+) stopped at subxact-before-commit", worker.log_since(mark)),
                       "the node to stop where it releases the savepoint")
    pid = int(found.group(1))
    client.cancel()
    with pytest.raises(AssertionError):
        wait_until(lambda: has_pending(pid, signal.SIGINT), "a request that must not come", timeout=1)
    assert isinstance(finish_stopped(late, pid), psycopg.errors.QueryCanceled)
    for statement in ["ROLLBACK TO b", update.format(100), "COMMIT"]:
        assert finish_stopped(Statement(client, statement), pid) is None
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 101
    client.close()
    coordinator.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize("end", ["ROLLBACK TO b", "ROLLBACK"])
def test_cancel_behind_a_savepoint_that_hangs(cluster, coordinator, schema, table, connect, end):
    """Nobody waits for ever for a node that doesn't say that the savepoint is set; the connection is given up."""
    worker, role = cluster.workers[0], f"{schema}_stops"
    update = f"UPDATE {table} SET payload = payload + 1 WHERE id = {key_on(coordinator, table, worker)}"
    coordinator.execute(f"CREATE ROLE {role} SUPERUSER LOGIN")
    worker.sql(f"SET citus.enable_ddl_propagation = off; ALTER ROLE {role} SET citus.debug_points = 'subxact-before-commit=stop'")
    mark = worker.log_mark()
    client = connect(cluster.coordinator, user=role)
    client.execute(f"SET citus.node_connection_timeout = '2s'; BEGIN; SAVEPOINT a; {update}; RELEASE a; SAVEPOINT b")
    late = Statement(client, update)
    found = wait_until(lambda: re.search(r"process (\d+) stopped at subxact-before-commit", worker.log_since(mark)),
                       "the node to stop where it releases the savepoint")
    pid = int(found.group(1))
    try:
        client.cancel()
        assert isinstance(late.finish(), psycopg.errors.QueryCanceled)
        client.execute(end)
        if end != "ROLLBACK":
            with pytest.raises(psycopg.errors.ConnectionFailure):
                client.execute(update)
    finally:
        client.close()
        wait_until(lambda: is_over(pid), "the node's session to end")
    assert value(coordinator, f"SELECT sum(payload) FROM {table}") == 0
    coordinator.execute(f"DROP ROLE {role}")
