"""Connections between nodes that outlive their session: the next one finds them as new ones."""

import os
import signal

import psycopg
import pytest

from harness import servers
from harness.servers import fill, pid_of, rows, value, wait_until

RESTS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'citus_internal at rest' AND usename = coalesce(%s, usename)"


@pytest.fixture(scope="module")
def own():
    """Two workers whose connections no other test uses."""
    with servers.cluster(purpose="check-kept", workers=2, settings={"max_connections": 30, "citus.kept_connection_lifetime": "60s"}) as made:
        with servers.connect(made.coordinator) as connection:
            fill(connection, "t", 100)
            connection.execute("""
                CREATE FUNCTION locks(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
                    'BEGIN PERFORM pg_advisory_lock(4711); RETURN true; END';
                CREATE FUNCTION sets(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
                    $$BEGIN PERFORM set_config('kept.value', 'x', false); RETURN true; END$$;
                CREATE FUNCTION reads(bigint, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
                    'BEGIN RETURN current_setting(name, true); END';
                CREATE FUNCTION prepared(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
                    'BEGIN RETURN (SELECT count(*) FROM pg_prepared_statements); END';
                CREATE ROLE other LOGIN;
                GRANT SELECT ON t TO other""")
        yield made


@pytest.fixture
def session(own, connect):
    """Makes a session of the coordinator, with one connection for each statement and node."""
    def make(**options):
        connection = connect(own.coordinator, **options)
        connection.execute("SET citus.executor_slow_start_interval = '10s'")
        return connection
    return make


def processes(connection, cluster):
    """The processes on the workers that read the table for a session."""
    assert value(connection, "SELECT count(*) FROM t") == 100
    gpid = value(connection, "SELECT citus_backend_gpid()")
    found = set()
    for node in cluster.workers:
        with servers.connect(node) as watcher:
            found |= {row[0] for row in rows(watcher, "SELECT pid FROM pg_stat_activity WHERE application_name = %s",
                                             [f"citus_internal gpid={gpid}"])}
    assert len(found) >= len(cluster.workers)
    return found


def resting(node, user="postgres"):
    with servers.connect(node) as watcher:
        return {row[0] for row in rows(watcher, RESTS, [user])}


@pytest.fixture(autouse=True)
def forget(own):
    """Ends what earlier tests have left."""
    for node in own.workers:
        with servers.connect(node) as watcher:
            for pid in resting(node, None):
                watcher.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def end(connection, cluster, user="postgres"):
    """Ends a session; returns the processes that read for it, which rest then."""
    used = processes(connection, cluster)
    connection.close()
    wait_until(lambda: used <= set().union(*(resting(node, user) for node in cluster.workers)), "the nodes' sessions to rest")
    return used


def test_next_session_takes_them(own, session):
    used = end(session(), own)
    second = session()
    assert processes(second, own) == used
    gpid = value(second, "SELECT citus_backend_gpid()")
    for node in own.workers:
        with servers.connect(node) as watcher:
            assert rows(watcher, "SELECT pid FROM pg_stat_activity WHERE application_name = %s", [f"citus_internal gpid={gpid}"])
            assert rows(watcher, "SELECT 1 FROM citus_stat_activity WHERE global_pid = %s AND is_worker_query", [gpid])
    third = session()
    assert not processes(third, own) & used
    assert processes(second, own) == used


def test_nothing_is_left_of_a_client(own, session):
    first = session()
    first.execute("SET search_path = pg_catalog, public; SET DateStyle = 'German'; SET extra_float_digits = 0")
    for _ in range(3):
        first.execute("SELECT count(*) FROM t WHERE locks(id)")
    used = end(first, own)
    for node in own.workers:
        with servers.connect(node) as watcher:
            wait_until(lambda: value(watcher, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0,
                       "the lock to be released")
    second = session()
    assert value(second, """SELECT count(*) FROM t WHERE prepared(id) = 0 AND reads(id, 'DateStyle') = 'ISO, MDY'
                              AND reads(id, 'search_path') = '"$user", public' AND reads(id, 'extra_float_digits') = '1'""") == 100
    assert processes(second, own) == used


def test_session_with_a_placeholder_ends(own, session):
    """A setting of nobody's that was set would be an empty string, not unknown."""
    first = session()
    first.execute("SELECT count(*) FROM t WHERE sets(id)")
    used = processes(first, own)
    first.close()
    second = session()
    assert not processes(second, own) & used
    assert value(second, "SELECT count(*) FROM t WHERE reads(id, 'kept.value') IS NULL") == 100


def test_roles_have_their_own(own, session):
    used = end(session(), own)
    other = session(user="other")
    assert not processes(other, own) & used
    assert value(other, "SELECT count(*) FROM t") == 100
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        other.execute("DELETE FROM t")


def test_role_within_a_session_ends_with_it(own, session):
    first = session()
    first.execute("SET ROLE other")
    assert value(first, "SELECT count(*) FROM t") == 100
    used = end(first, own)
    second = session()
    second.execute("UPDATE t SET payload = payload")
    assert processes(second, own) == used


def test_new_defaults_of_a_role_hold(own, session, connect):
    """A session that began before its role's defaults were changed serves no later client."""
    end(session(user="other"), own, "other")
    connect(own.coordinator).execute("ALTER ROLE other SET work_mem = '7MB'")
    assert value(session(user="other"), "SELECT count(*) FROM t WHERE reads(id, 'work_mem') = '7MB'") == 100


def test_role_that_limits_connections_keeps_none(own, session, connect):
    connect(own.coordinator).execute("CREATE ROLE limited LOGIN CONNECTION LIMIT 1; GRANT SELECT ON t TO limited")
    for _ in range(3):
        with session(user="limited") as connection:
            assert value(connection, "SELECT count(*) FROM t") == 100
        wait_until(lambda: not any(rows(connect(node), "SELECT 1 FROM pg_stat_activity WHERE usename = 'limited'") for node in own.nodes),
                   "the sessions to end")


def test_statement_is_cancelled(own, session):
    end(session(), own)
    second = session()
    second.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        second.execute("SELECT count(*) FROM t WHERE pg_sleep(1) IS NOT NULL")
    second.execute("SET statement_timeout = 0")
    assert value(second, "SELECT count(*) FROM t") == 100


@pytest.mark.parametrize("what", ["terminated", "stopped"])
def test_session_that_is_gone_is_replaced(own, session, connect, what):
    used = end(session(), own)
    if what == "terminated":
        for node in own.workers:
            for pid in used & resting(node):
                connect(node).execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    else:
        for pid in used:
            os.kill(pid, signal.SIGSTOP)
    try:
        second = session()
        second.execute("BEGIN; UPDATE t SET payload = 5; COMMIT")
        assert not processes(second, own) & used
    finally:
        if what == "stopped":
            for pid in used:
                os.kill(pid, signal.SIGCONT)


def test_a_third_stays_free(own, session):
    many = [session() for _ in range(20)]
    for connection in many:
        processes(connection, own)
    for connection in many:
        connection.close()
    for node in own.workers:
        with servers.connect(node) as watcher:
            wait_until(lambda: value(watcher, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'citus_internal gpid%%' "
                                              "AND usename = 'postgres' AND datname = 'postgres'") == 0, "sessions to rest or end")
        assert 1 <= len(resting(node, None)) <= 17


def test_a_node_whose_connections_are_used_ends_them(own, session, connect):
    end(session(), own)
    node = own.workers[0]
    held = []
    for _ in range(24):
        held.append(connect(node))
        held[-1].execute("SELECT count(*) FROM t")
    assert not resting(node)


def test_database_can_be_dropped(own, connect):
    for node in own.nodes:
        connect(node).execute("CREATE DATABASE brief")
        with servers.connect(node, dbname="brief") as first:
            first.execute("CREATE EXTENSION citus")
    with servers.connect(own.coordinator, dbname="brief") as first:
        first.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [own.coordinator.port])
        for node in own.workers:
            first.execute("SELECT citus_add_node('127.0.0.1', %s)", [node.port])
        fill(first, "b", 10)
        assert value(first, "SELECT count(*) FROM b") == 10
    for node in own.workers + [own.coordinator]:
        connect(node).execute("DROP DATABASE brief")


def test_they_end_after_their_time(own, session, connect):
    for node in own.nodes:
        connect(node).execute("ALTER SYSTEM SET citus.kept_connection_lifetime = '100ms'")
        connect(node).execute("SELECT pg_reload_conf()")
    try:
        wait_until(lambda: value(connect(own.coordinator), "SHOW citus.kept_connection_lifetime") == "100ms", "the new setting")
        end_now = session()
        used = processes(end_now, own)
        end_now.close()
        wait_until(lambda: not any(resting(node) for node in own.workers), "the sessions to end")
        assert not processes(session(), own) & used
    finally:
        for node in own.nodes:
            connect(node).execute("ALTER SYSTEM RESET citus.kept_connection_lifetime")
            connect(node).execute("SELECT pg_reload_conf()")


def test_crash_of_the_server_forgets_them(own, session, connect):
    used = end(session(), own)
    victim = connect(own.coordinator)
    os.kill(pid_of(victim), signal.SIGKILL)

    def works():
        try:
            with servers.connect(own.coordinator) as connection:
                return value(connection, "SELECT count(*) FROM t") == 100
        except psycopg.OperationalError:
            return False

    wait_until(works, "the server to work again")
    assert not processes(session(), own) & used
