"""What can be asked about waits and transactions of all nodes, and what the search for deadlocks logs."""

import psycopg
import pytest

from harness import servers
from harness.servers import on_every_node, pid_of, rows, value, wait_until
from harness.statement import Statement

FACTOR = 10 ** 10

EDGE_COLUMNS = ["waiting_gpid", "waiting_pid", "waiting_node_id", "waiting_transaction_num",
                "waiting_transaction_stamp", "blocking_gpid", "blocking_pid", "blocking_node_id",
                "blocking_transaction_num", "blocking_transaction_stamp", "blocking_transaction_waiting"]
EDGE_TYPES = ["bigint", "integer", "integer", "bigint", "timestamp with time zone", "bigint", "integer", "integer",
              "bigint", "timestamp with time zone", "boolean"]
OWN = ("SELECT database_id, process_id, initiator_node_identifier, transaction_number, transaction_stamp "
       "FROM get_current_transaction_id()")


@pytest.fixture
def users(cluster):
    """Logins on every node: an ordinary one, and one that may see what all do."""
    names = {"edges_user": "", "edges_monitor": "IN ROLE pg_monitor"}

    def everywhere(command):
        for node in cluster.nodes:
            with servers.connect(node) as connection:
                connection.execute("SET citus.enable_ddl_propagation = off")
                connection.execute(command)

    for name, options in names.items():
        everywhere(f"CREATE ROLE {name} LOGIN {options}")
    yield list(names)
    for name in names:
        everywhere(f"DROP ROLE {name}")


def gpid_of(connection):
    return value(connection, "SELECT citus_backend_gpid()")


def update(table, key):
    return f"UPDATE {table} SET payload = payload + 1 WHERE id = {key}"


def key_on(connection, table, node):
    """A key whose row is on a node."""
    return value(connection, """
        SELECT g FROM generate_series(1, 100) g, pg_dist_placement p, pg_dist_node n
        WHERE p.shardid = get_shard_id_for_distribution_column(%s::regclass, g::bigint)
          AND n.groupid = p.groupid AND n.nodeport = %s ORDER BY g LIMIT 1""", [table, node.port])


def wait_for_waits(cluster, count):
    wait_until(lambda: sum(row[0] for found in on_every_node(
        cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values() for row in found) >= count,
        f"{count} waits for locks")


@pytest.mark.parametrize("function", ["dump_local_wait_edges", "dump_global_wait_edges"])
def test_columns(coordinator, function):
    found = rows(coordinator, """
        SELECT name, type::regtype::text FROM pg_proc, unnest(proargnames, proallargtypes) AS o(name, type)
        WHERE oid = %s::regproc""", [function])
    assert found == list(zip(EDGE_COLUMNS, EDGE_TYPES))
    assert rows(coordinator, f"SELECT * FROM {function}()") == []


def test_edges_between_nodes(cluster, connect, table, session):
    """A chain of three sessions on three nodes: everybody sees it whole; a node by itself, its own rows."""
    keys = [key_on(connect(cluster.coordinator), table, node) for node in cluster.workers]
    holder, middle, last = session(0), session(1), session(2)
    holder.execute(update(table, keys[0]))
    middle.execute(update(table, keys[1]))
    transactions = [rows(one, OWN)[0] for one in (holder, middle, last)]
    gpids = [gpid_of(one) for one in (holder, middle, last)]
    waits = [Statement(middle, update(table, keys[0])), Statement(last, update(table, keys[1]))]
    wait_for_waits(cluster, 2)

    def ends(number):
        return (gpids[number], gpids[number] // FACTOR, *transactions[number][3:])

    for node in cluster.nodes:
        found = rows(connect(node), """
            SELECT waiting_gpid, waiting_node_id, waiting_transaction_num, waiting_transaction_stamp,
                blocking_gpid, blocking_node_id, blocking_transaction_num, blocking_transaction_stamp,
                blocking_transaction_waiting
            FROM dump_global_wait_edges() ORDER BY waiting_gpid""")
        assert found == [(*ends(1), *ends(0), False), (*ends(2), *ends(1), True)]

    local = on_every_node(cluster, "SELECT waiting_gpid, blocking_gpid, blocking_transaction_waiting, waiting_pid, "
                          "waiting_transaction_num, blocking_transaction_num FROM dump_local_wait_edges()")
    first, second = (local[node.name] for node in cluster.workers)
    assert local[cluster.coordinator.name] == []
    # the holder is a session of another node, whose number is not known here
    waiting = rows(connect(cluster.workers[0]), "SELECT pid FROM pg_locks WHERE NOT granted")[0][0]
    assert first == [(gpids[1], gpids[0], False, waiting, transactions[1][3], None)]
    assert [row[:3] for row in second] == [(gpids[2], gpids[1], False)]
    holder.commit()
    assert waits[0].finish() is None
    middle.commit()
    assert waits[1].finish() is None
    last.commit()


def test_edge_to_a_prepared_transaction(cluster, connect, coordinator, table):
    """Of a client's own, there is nobody to name; ours are those of the session that prepared them."""
    key = key_on(coordinator, table, cluster.workers[0])
    worker = connect(cluster.workers[0], options="-c citus.node_proof=superuser")
    for gid, blocking in (("mine", None), ("citus_0_4711_1_0", 4711)):
        worker.execute("BEGIN")
        worker.execute(update(table, key))
        worker.execute(f"/*citus:prepare*/ PREPARE TRANSACTION '{gid}'")
        waiter = Statement(connect(cluster.coordinator), update(table, key))
        wait_for_waits(cluster, 1)
        found = rows(coordinator, "SELECT blocking_gpid, blocking_pid, blocking_transaction_waiting "
                     "FROM dump_global_wait_edges()")
        nodeid = value(coordinator, "SELECT nodeid FROM pg_dist_node WHERE groupid = 0")
        assert found == [(blocking and nodeid * FACTOR + blocking, None, False)]
        worker.execute(f"COMMIT PREPARED '{gid}'")
        assert waiter.finish() is None


def test_edge_to_an_idle_session(cluster, connect, coordinator):
    """It holds a lock outside of transactions."""
    holder, waiter = connect(cluster.workers[0]), connect(cluster.workers[0])
    holder.execute("SELECT pg_advisory_lock(4711)")
    waiter_gpid = gpid_of(waiter)
    wait = Statement(waiter, "SELECT pg_advisory_lock(4711)")
    wait_for_waits(cluster, 1)
    assert rows(coordinator, "SELECT waiting_gpid, blocking_gpid, blocking_pid, blocking_transaction_num, "
                "blocking_transaction_stamp, blocking_transaction_waiting FROM dump_global_wait_edges()") == [
                    (waiter_gpid, gpid_of(holder), pid_of(holder), None, None, False)]
    holder.execute("SELECT pg_advisory_unlock_all()")
    assert wait.finish() is None


def test_transaction_of_this_session(cluster, connect, coordinator):
    one = connect(cluster.workers[0], autocommit=False)
    database, process, node, number, stamp = rows(one, OWN)[0]
    assert database == value(one, "SELECT oid FROM pg_database WHERE datname = current_database()")
    assert (process, node) == (pid_of(one), gpid_of(one) // FACTOR)
    assert stamp == value(one, "SELECT now()")
    assert rows(one, OWN) == [(database, process, node, number, stamp)]
    one.commit()
    assert value(one, "SELECT transaction_number FROM get_current_transaction_id()") > number
    one.commit()
    # a session that serves another one doesn't know the number there
    served = connect(cluster.workers[0], application_name=f"citus_internal gpid={gpid_of(coordinator)}")
    assert rows(served, "SELECT process_id, initiator_node_identifier, transaction_number, transaction_stamp "
                "FROM get_current_transaction_id()") == [
                    (pid_of(served), gpid_of(coordinator) // FACTOR, None, None)]


def test_active_transactions(cluster, connect, table, session):
    """Each node shows its own processes; the global function, one transaction under one number on all nodes."""
    writer = session(0)
    writer.execute(f"UPDATE {table} SET payload = payload + 1")
    gpid = gpid_of(writer)
    database, process, node, number, stamp = rows(writer, OWN)[0]
    own = (database, process, node, False, number, stamp, gpid)
    query = ("SELECT datid, process_id, initiator_node_identifier, worker_query, transaction_number, "
             f"transaction_stamp, global_pid FROM {{}}() WHERE global_pid = {gpid} ORDER BY worker_query, process_id")
    local = on_every_node(cluster, query.format("get_all_active_transactions"))
    assert local[cluster.coordinator.name] == [own]
    for worker in cluster.workers:
        assert [row[2:] for row in local[worker.name]] == [(node, True, None, None, gpid)]
    for each in cluster.nodes:
        found = rows(connect(each), query.format("get_global_active_transactions"))
        assert found[0] == own
        assert [row[2:] for row in found[1:]] == [(node, True, number, stamp, gpid)] * len(cluster.workers)
    writer.commit()
    assert not any(on_every_node(cluster, query.format("get_all_active_transactions")).values())


def test_privileges(cluster, users, table, session, connect):
    """Whoever may see all sessions may see waits; others see their own transactions."""
    ordinary, monitor = users
    holder = session(0)
    holder.execute(update(table, 5))
    waiter = Statement(connect(cluster.coordinator), update(table, 5))
    wait_for_waits(cluster, 1)
    for node in cluster.nodes:
        with servers.connect(node, user=ordinary) as other:
            for scope in ("local", "global"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    other.execute(f"SELECT * FROM dump_{scope}_wait_edges()")
            own = {gpid_of(other)}
            assert {row[0] for row in rows(other, "SELECT global_pid FROM get_all_active_transactions()")} == own
            assert {row[0] for row in rows(other, "SELECT global_pid FROM get_global_active_transactions()")} == own
            assert value(other, "SELECT process_id FROM get_current_transaction_id()") == pid_of(other)
        with servers.connect(node, user=monitor) as other:
            assert len(rows(other, "SELECT * FROM dump_global_wait_edges()")) == 1
            shown = {row[0] for row in rows(other, "SELECT global_pid FROM get_global_active_transactions()")}
            assert gpid_of(holder) in shown
    holder.commit()
    assert waiter.finish() is None


def test_node_that_is_down(make_cluster):
    """It is left out, with a warning."""
    made = make_cluster()
    with servers.connect(made.coordinator) as coordinator, \
            servers.connect(made.coordinator, autocommit=False) as holder:
        coordinator.execute("CREATE TABLE t (id int)")
        holder.execute("LOCK t")
        waiter = Statement(servers.connect(made.coordinator), "SELECT FROM t")
        wait_until(lambda: rows(coordinator, "SELECT FROM pg_locks WHERE NOT granted"), "the reader to wait")
        made.workers[1].kill()
        warnings = []
        coordinator.add_notice_handler(lambda notice: warnings.append((notice.severity, notice.message_primary)))
        assert value(coordinator, "SELECT blocking_gpid FROM dump_global_wait_edges()") == gpid_of(holder)
        assert warnings and all(severity == "WARNING" for severity, _ in warnings), warnings
        holder.commit()
        assert waiter.finish() is None
        waiter.connection.close()


def test_log_of_the_search(cluster, connect, coordinator, table, session):
    """Each search, what it found, and who gives way: if asked for."""
    keys = [key_on(coordinator, table, node) for node in cluster.workers]
    assert value(coordinator, "SHOW citus.log_distributed_deadlock_detection") == "off"

    def deadlock():
        marks = {node.name: node.log_mark() for node in cluster.nodes}
        sessions = [session(0), session(0)]
        for one, key in zip(sessions, keys):
            one.execute(update(table, key))
        gpids = [gpid_of(one) for one in sessions]
        statements = [Statement(sessions[0], update(table, keys[1]))]
        wait_for_waits(cluster, 1)
        statements.append(Statement(sessions[1], update(table, keys[0])))
        assert isinstance(statements[1].finish(), psycopg.errors.DeadlockDetected)
        sessions[1].rollback()
        assert statements[0].finish() is None
        sessions[0].rollback()
        return gpids, "".join(node.log_since(marks[node.name]) for node in cluster.nodes)

    def set_everywhere(value_):
        for node in cluster.nodes:
            node.sql("ALTER SYSTEM " + ("SET citus.log_distributed_deadlock_detection = on" if value_ == "on" else
                                        "RESET citus.log_distributed_deadlock_detection"))
            node.sql("SELECT pg_reload_conf()")
            with servers.connect(node) as connection:
                wait_until(lambda: value(connection, "SHOW citus.log_distributed_deadlock_detection") == value_,
                           "the setting")

    _, log = deadlock()
    assert "searched for deadlocks" not in log and "to break a deadlock" in log
    set_everywhere("on")
    try:
        gpids, log = deadlock()
    finally:
        set_everywhere("off")
    assert "LOG:  searched for deadlocks over all nodes" in log
    assert f"Process {gpids[0]} waits for ShareLock on transaction" in log
    assert f"blocked by process {gpids[1]}" in log
    assert f"LOG:  found a deadlock, which process {gpids[1]} is to break" in log
    assert f"canceled process {gpids[1]} to break a deadlock" in log
