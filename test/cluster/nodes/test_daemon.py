"""The maintenance worker: there when it is needed, and in nobody's way."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value, wait_until

DAEMON = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'citus maintenance' AND datname = {}"


def daemon(node, database="current_database()"):
    """The process id of a database's worker, or None."""
    with servers.connect(node) as connection:
        return value(connection, DAEMON.format(database))


def test_runs_after_start(own_cluster):
    """Each node has one soon after it started, without any session's help."""
    own_cluster.coordinator.restart()
    wait_until(lambda: daemon(own_cluster.coordinator), "the worker to start")


def test_comes_back(cluster, coordinator):
    """One that is terminated is started again."""
    first = wait_until(lambda: daemon(cluster.coordinator), "the worker to start")
    coordinator.execute("SELECT pg_terminate_backend(%s)", [first])
    wait_until(lambda: daemon(cluster.coordinator) not in (first, None), "another one to start")


def test_database_can_be_dropped_and_copied(cluster, coordinator, connect):
    """Neither DROP DATABASE nor CREATE DATABASE .. TEMPLATE nor RENAME fails because of it."""
    for name in ("daemon_a", "daemon_b", "daemon_c"):
        coordinator.execute(f"DROP DATABASE IF EXISTS {name}")
    coordinator.execute("CREATE DATABASE daemon_a")
    with servers.connect(cluster.coordinator, dbname="daemon_a") as connection:
        connection.execute("CREATE EXTENSION citus")
        connection.execute("SELECT recover_prepared_transactions()")
        wait_for_daemon = wait_until(lambda: ask_for_daemon(connection), "the worker to start")
        assert wait_for_daemon
    coordinator.execute("CREATE DATABASE daemon_b TEMPLATE daemon_a")
    coordinator.execute("ALTER DATABASE daemon_a RENAME TO daemon_c")
    coordinator.execute("DROP DATABASE daemon_b")
    coordinator.execute("DROP DATABASE daemon_c")
    assert rows(coordinator, "SELECT 1 FROM pg_stat_activity WHERE datname ~ '^daemon_'") == []


def ask_for_daemon(connection):
    """Uses a connection to this server, which asks for a worker; whether there is one."""
    connection.execute("SELECT citus_check_connection_to_node('127.0.0.1', inet_server_port())")
    return value(connection, DAEMON.format("current_database()"))


def waits_for(connection, what, who):
    """Whether a process waits for a lock on an object or relation of that catalog or name."""
    return value(connection, "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted "
                             f"AND %s::regclass IN (l.classid, l.relation) AND {who}", (what,)) == 1


def drop_during_a_job(cluster, connection):
    """DROP EXTENSION waits for the job before it locks anything that the job may need, and then drops."""
    with ThreadPoolExecutor() as threads, servers.connect(cluster.coordinator, dbname="daemon_d") as dropping:
        with connection.transaction():
            connection.execute("LOCK pg_dist_background_job")
            wait_until(lambda: waits_for(connection, "pg_dist_background_job", "backend_type = 'citus maintenance'"),
                       "the worker to need the table")
            drop = threads.submit(dropping.execute, "DROP EXTENSION citus")
            wait_until(lambda: waits_for(connection, "pg_extension", f"pid = {dropping.info.backend_pid}"),
                       "DROP EXTENSION to wait for the worker")
        drop.result()


def test_ends_with_the_extension(cluster, coordinator):
    coordinator.execute("DROP DATABASE IF EXISTS daemon_d")
    coordinator.execute("CREATE DATABASE daemon_d")
    with servers.connect(cluster.coordinator, dbname="daemon_d") as connection:
        connection.execute("CREATE EXTENSION citus")
        wait_until(lambda: ask_for_daemon(connection), "the worker to start")
        drop_during_a_job(cluster, connection)
        wait_until(lambda: not value(connection, DAEMON.format("current_database()")),
                   "the worker to end")
        connection.execute("CREATE EXTENSION citus")
        wait_until(lambda: ask_for_daemon(connection), "a worker to start again")
    coordinator.execute("DROP DATABASE daemon_d")


def runs_of_recovery(connection, number):
    """Waits until the worker has looked for prepared transactions that many times."""
    seen = set()

    def enough():
        seen.update(rows(connection, "SELECT query_start FROM pg_stat_activity "
                                     "WHERE backend_type = 'citus maintenance' AND query = 'recovery'"))
        return len(seen) >= number
    wait_until(enough, "the worker to run")


def made_connections(connection):
    """How many connections the node has opened."""
    return value(connection, "SELECT connection_establishment_succeeded FROM citus_stat_counters "
                             "WHERE name = current_database()")


def test_idle_nodes_ask_nothing(make_cluster):
    """Recovery asks no node that can't have a prepared transaction, and asks those that were used."""
    made = make_cluster(settings={"citus.recover_2pc_interval": "50ms", "citus.enable_stat_counters": "on"})
    with servers.connect(made.coordinator) as connection:
        servers.fill(connection, "t", 100)
        runs_of_recovery(connection, 5)
        before = made_connections(connection)
        assert before > 0
        runs_of_recovery(connection, 10)
        assert made_connections(connection) == before

        connection.execute("UPDATE t SET payload = 0")
        wait_until(lambda: value(connection, "SELECT count(*) FROM pg_dist_transaction") == 0, "records to go")
        assert made_connections(connection) > before


def test_worker_does_not_need_its_interval(own_cluster):
    """What a transaction leaves unfinished is finished in seconds, not after the interval."""
    connection = servers.connect(own_cluster.coordinator)
    servers.fill(connection, "t", 100)
    connection.execute("SET citus.debug_points = 'commit-after-decision=error'")
    connection.execute("UPDATE t SET payload = 1")
    connection.close()
    servers.wait_until_quiet(own_cluster)
    with servers.connect(own_cluster.coordinator) as other:
        assert value(other, "SELECT sum(payload) FROM t") == 100
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
