"""Global process ids: every node names, shows, cancels and ends the sessions of all."""

import psycopg
import pytest
from psycopg import pq

from harness import servers
from harness.servers import (SLOW, fill, on_every_node, pid_of, rows, value, wait_until, wait_until_quiet,
                             wait_until_slow)
from harness.statement import Statement

FACTOR = 10 ** 10


@pytest.fixture
def table(schema, coordinator):
    name = f"{schema}.t"
    fill(coordinator, name, 100)
    return name


def gpid_of(connection):
    return value(connection, "SELECT citus_backend_gpid()")


def test_parts(cluster, connect):
    """An id is made of node and process, and unique over the nodes."""
    found = set()
    for node in cluster.nodes:
        connection = connect(node)
        gpid = gpid_of(connection)
        nodeid = value(connection, "SELECT nodeid FROM pg_dist_node WHERE nodeport = %s", [node.port])
        assert gpid == nodeid * FACTOR + pid_of(connection)
        assert value(connection, "SELECT citus_nodeid_for_gpid(%s)", [gpid]) == nodeid
        assert value(connection, "SELECT citus_pid_for_gpid(%s)", [gpid]) == pid_of(connection)
        assert value(connection, "SELECT citus_calculate_gpid(%s::int, %s::int)", [nodeid, pid_of(connection)]) == gpid
        found.add(gpid)
    assert len(found) == len(cluster.nodes)


def test_name_of_the_application_does_not_matter(cluster, connect, coordinator):
    """A session keeps its id whatever it calls itself later; so does one that serves another node."""
    gpid = gpid_of(coordinator)
    coordinator.execute("SET application_name = 'citus_internal gpid=7'")
    assert gpid_of(coordinator) == gpid
    session = connect(cluster.workers[0], application_name="citus_internal gpid=30000000007")
    assert gpid_of(session) == 30000000007
    session.execute("SET application_name = 'mine'")
    assert gpid_of(session) == 30000000007
    assert rows(coordinator, "SELECT is_worker_query FROM citus_stat_activity WHERE global_pid = 30000000007")


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_sessions_of_a_statement(cluster, connect, table, initiator):
    """The sessions that a statement uses on other nodes have its id, and a client's own do not."""
    connection = connect(cluster.node(initiator))
    gpid = gpid_of(connection)
    slow = Statement(connection, f"SELECT count(*) FROM {table} WHERE {SLOW}")
    wait_until_slow(cluster)
    for node in cluster.nodes:
        observer = connect(node)
        shown = wait_until(lambda: {row[0]: row[1] for row in rows(observer, """
            SELECT nodeid, bool_and(is_worker_query) FROM citus_stat_activity
            WHERE global_pid = %s AND state = 'active' GROUP BY nodeid""", [gpid])}, "its sessions to be seen")
        assert len(shown) >= 2
        assert shown[gpid // FACTOR] is False
        assert all(served for nodeid, served in shown.items() if nodeid != gpid // FACTOR)
        assert rows(observer, "SELECT nodeid, query LIKE '%%factorial%%' FROM citus_dist_stat_activity "
                    "WHERE global_pid = %s", [gpid]) == [(gpid // FACTOR, True)]
    assert value(observer, "SELECT pg_cancel_backend(%s::bigint)", [gpid])
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)


@pytest.mark.parametrize("canceller", [0, 1, 2])
@pytest.mark.parametrize("initiator", [0, 1, 2])
def test_cancel_from_any_node(cluster, connect, table, initiator, canceller):
    connection = connect(cluster.nodes[initiator])
    gpid = gpid_of(connection)
    slow = Statement(connection, f"UPDATE {table} SET payload = 1 WHERE {SLOW}")
    wait_until_slow(cluster)
    with servers.connect(cluster.nodes[canceller]) as other:
        assert value(other, "SELECT pg_cancel_backend(%s::bigint)", [gpid])
    error = slow.finish()
    assert isinstance(error, psycopg.errors.QueryCanceled), error
    assert "user request" in str(error)
    wait_until_quiet(cluster)
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 0


@pytest.mark.parametrize("canceller", [0, 2])
def test_terminate_from_any_node(cluster, connect, table, canceller):
    connection = connect(cluster.nodes[1])
    gpid = gpid_of(connection)
    slow = Statement(connection, f"UPDATE {table} SET payload = 1 WHERE {SLOW}")
    wait_until_slow(cluster)
    with servers.connect(cluster.nodes[canceller]) as other:
        assert value(other, "SELECT pg_terminate_backend(%s::bigint, 10000)", [gpid])
        assert value(other, "SELECT count(*) FROM citus_dist_stat_activity WHERE global_pid = %s", [gpid]) == 0
    assert isinstance(slow.finish(), psycopg.errors.AdminShutdown)
    wait_until_quiet(cluster)


def test_no_such_session(coordinator):
    """As PostgreSQL does it: a warning for a process that isn't there; a node that isn't there is an error."""
    gpid = gpid_of(coordinator)
    assert value(coordinator, "SELECT pg_cancel_backend(%s::bigint)", [gpid // FACTOR * FACTOR + 2 ** 22 + 1]) is False
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        coordinator.execute("SELECT pg_cancel_backend(%s::bigint)", [999 * FACTOR + 1])


def test_calls_are_unambiguous(cluster, connect, coordinator, table):
    """A process id, or a global one, of any type of number, or of none: its type is inferred as on one server."""
    victim = connect(cluster.nodes[0])
    pid, gpid = pid_of(victim), gpid_of(victim)
    for function in "pg_cancel_backend", "pg_terminate_backend":
        inferred = coordinator.pgconn.prepare(function.encode(), f"SELECT {function}($1)".encode())
        assert inferred.status == pq.ExecStatus.COMMAND_OK, inferred.error_message
        described = coordinator.pgconn.describe_prepared(function.encode())
        assert (described.nparams, described.param_type(0)) == (1, coordinator.adapters.types["int4"].oid)
        coordinator.execute(f"PREPARE {function}_sql AS SELECT {function}($1)")
        assert value(coordinator, f"""SELECT parameter_types::text FROM pg_prepared_statements
                                      WHERE name = '{function}_sql'""") == "{integer}"
        for unknown in f"'{2 ** 22 + 1}'", f"{2 ** 22 + 1}::bigint", "7::smallint", f"{2 ** 22 + 1}.0":
            assert value(coordinator, f"SELECT {function}({unknown})") is False
        assert value(coordinator, f"SELECT {function}(NULL)") is None
    assert value(coordinator, "SELECT pg_terminate_backend(%s, %s)", [str(2 ** 22 + 1), "0"]) is False
    for id_of_victim in f"'{pid}'", f"'{gpid}'", pid, gpid, f"{pid}::bigint":
        slow = Statement(victim, f"SELECT count(*) FROM {table} WHERE {SLOW}")
        wait_until_slow(cluster)
        assert value(coordinator, f"SELECT pg_cancel_backend({id_of_victim})")
        assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)
    answer = coordinator.pgconn.exec_prepared(b"pg_terminate_backend", [str(pid).encode()])
    assert answer.get_value(0, 0) == b"t"
    wait_until(lambda: value(coordinator, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [pid]) == 0,
               "the session to end")


def test_from_a_column(cluster, connect, coordinator, table):
    slow = Statement(connect(cluster.nodes[2]), f"SELECT count(*) FROM {table} WHERE {SLOW}")
    wait_until_slow(cluster)
    assert rows(coordinator, "SELECT pg_cancel_backend(global_pid) FROM citus_dist_stat_activity "
                "WHERE query = %s", [slow.query]) == [(True,)]
    assert isinstance(slow.finish(), psycopg.errors.QueryCanceled)


@pytest.mark.parametrize("wrong", ["1.5", "'NaN'", "'-Infinity'", "'1e300'", str(2 ** 53) + "::bigint"])
def test_not_a_process_id(coordinator, wrong):
    for function in "pg_cancel_backend", "pg_terminate_backend":
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            coordinator.execute(f"SELECT {function}({wrong})")


@pytest.fixture
def ordinary_user(cluster):
    """The name of a role without privileges on every node."""
    on_every_node_do(cluster, "CREATE ROLE gpid_user LOGIN")
    yield "gpid_user"
    on_every_node_do(cluster, "DROP ROLE gpid_user")


def on_every_node_do(cluster, command):
    for node in cluster.nodes:
        with servers.connect(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute(command)


def test_privileges(cluster, coordinator, ordinary_user):
    """Nobody may cancel, or read, more than on one server."""
    gpid = gpid_of(coordinator)
    for node in cluster.nodes:
        with servers.connect(node, user=ordinary_user) as other:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                other.execute("SELECT pg_cancel_backend(%s::bigint)", [gpid])
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                other.execute("SELECT pg_terminate_backend(%s::bigint)", [gpid])
            assert rows(other, "SELECT query FROM citus_dist_stat_activity WHERE global_pid = %s",
                        [gpid]) == [("<insufficient privilege>",)]


def test_lock_waits(cluster, connect, coordinator, table):
    """Who waits for whom, by global process ids, seen from every node."""
    holder = connect(cluster.nodes[1], autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 5")
    waiter = connect(cluster.nodes[2])
    holder_gpid, waiter_gpid = gpid_of(holder), gpid_of(waiter)
    blocked = Statement(waiter, f"UPDATE {table} SET payload = 2 WHERE id = 5")
    wait_until(lambda: any(row for found in on_every_node(cluster, "SELECT 1 FROM pg_locks WHERE NOT granted").values()
                           for row in found), "the second writer to wait")
    for node in cluster.nodes:
        found = rows(connect(node), """
            SELECT waiting_gpid, blocking_gpid, blocked_statement, waiting_nodeid, blocking_nodeid
            FROM citus_lock_waits""")
        assert found == [(waiter_gpid, holder_gpid, blocked.query, waiter_gpid // FACTOR, holder_gpid // FACTOR)]
    shard = value(coordinator, "SELECT shard_name(%s::regclass, get_shard_id_for_distribution_column(%s::regclass, 5))",
                  [table, table])
    locked = rows(coordinator, "SELECT DISTINCT global_pid FROM citus_locks WHERE relation_name = %s "
                  "AND mode = 'RowExclusiveLock'", [shard])
    assert {row[0] for row in locked} == {holder_gpid, waiter_gpid}
    holder.commit()
    assert blocked.finish() is None
