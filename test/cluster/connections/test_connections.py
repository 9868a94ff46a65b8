"""Connections between nodes: cached, replaced when they break, shared fairly, as the right user."""

import socket

import psycopg
import pytest

from harness import servers
from harness.servers import fill, pid_of, rows, value, wait_until


@pytest.fixture
def table(schema, coordinator):
    name = f"{schema}.t"
    fill(coordinator, name, 100)
    return name


def internal(node, session):
    """On a node, the processes that serve a session (or its process id) of the coordinator: {pid: state}."""
    pid = session if isinstance(session, int) else pid_of(session)
    with servers.connect(node) as watcher:
        return dict(rows(watcher, """
            SELECT pid, state FROM pg_stat_activity
            WHERE application_name LIKE 'citus_internal gpid=%%'
              AND right(application_name, 10)::bigint = %s""", [pid]))


def all_internal(cluster, session):
    """The same over all workers, as a list of dictionaries."""
    return [internal(node, session) for node in cluster.workers]


def test_connections_are_kept(cluster, connect, table):
    """One connection per node serves one statement after another."""
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.executor_slow_start_interval = '10s'")    # no second one, however slow the machine is
    connection.execute(f"SELECT count(*) FROM {table}")
    kept = all_internal(cluster, connection)
    assert [len(processes) for processes in kept] == [1, 1]
    for number in range(1, 20):
        connection.execute(f"UPDATE {table} SET payload = 1 WHERE id = {number}")
    assert [list(processes) for processes in all_internal(cluster, connection)] == \
        [list(processes) for processes in kept]


def test_connections_are_not_kept(cluster, connect, table):
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.max_cached_conns_per_worker = 0")
    assert value(connection, f"SELECT count(*) FROM {table}") == 100
    wait_until(lambda: not any(all_internal(cluster, connection)), "all connections to be closed")


def test_old_connections_are_closed(cluster, connect, table):
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.max_cached_connection_lifetime = 1")
    connection.execute("SET citus.executor_slow_start_interval = '10s'")    # no young ones
    connection.execute(f"SELECT count(*), pg_sleep(0.01) FROM {table}")
    wait_until(lambda: not any(all_internal(cluster, connection)), "all connections to be closed")


@pytest.mark.parametrize("between", ["SELECT 1", "SELECT 1 / 0", "SET citus.max_cached_connection_lifetime = '1s'"])
def test_idle_sessions_close_old_connections(cluster, connect, table, between):
    """Connections don't wait for the session's next statement, nor does an error or a new lifetime spare them."""
    connection = connect(cluster.coordinator)
    lifetime = "1s" if between.startswith("SELECT") else "10min"
    connection.execute(f"SET citus.max_cached_connection_lifetime = '{lifetime}'")
    for _ in range(2):
        connection.execute(f"SELECT count(*) FROM {table}")
        try:
            connection.execute(between)
        except psycopg.errors.DivisionByZero:
            pass
        wait_until(lambda: not any(all_internal(cluster, connection)), "all connections to be closed")


def test_a_transaction_keeps_old_connections(cluster, connect, table):
    """What happens to be due within a transaction waits for its end, and is done then."""
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.max_cached_connection_lifetime = '500ms'")
    with connection.transaction():
        connection.execute(f"UPDATE {table} SET payload = 5")
        kept = all_internal(cluster, connection)
        connection.execute("SELECT pg_sleep(1)")
        assert [list(processes) for processes in all_internal(cluster, connection)] == \
            [list(processes) for processes in kept]
    wait_until(lambda: not any(all_internal(cluster, connection)), "all connections to be closed")
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 500


def test_connections_end_with_the_session(cluster, table):
    with servers.connect(cluster.coordinator) as connection:
        connection.execute(f"SELECT count(*) FROM {table}")
        pid = pid_of(connection)
        assert all(all_internal(cluster, pid))
    wait_until(lambda: not any(all_internal(cluster, pid)), "all connections to be closed")


@pytest.mark.parametrize("statement", ["SELECT count(*) FROM {}", "UPDATE {} SET payload = 1",
                                       "SELECT payload FROM {} WHERE id = 1"])
def test_broken_connections_are_replaced(cluster, connect, table, statement):
    """A cached connection that has died meanwhile is no error."""
    connection = connect(cluster.coordinator)
    connection.execute(f"SELECT count(*) FROM {table}")
    for node, processes in zip(cluster.workers, all_internal(cluster, connection)):
        with servers.connect(node) as watcher:
            for pid in processes:
                watcher.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    connection.execute(statement.format(table))
    with connection.transaction():
        connection.execute(statement.format(table))


def test_node_restarts_between_statements(own_cluster, connect):
    connection = connect(own_cluster.coordinator)
    fill(connection, "t", 100)
    for node in own_cluster.workers:
        node.restart()
        assert value(connection, "SELECT count(*) FROM t") == 100
        connection.execute("UPDATE t SET payload = 1")


def lose_connections(cluster, connection, table):
    """Ends a session's sessions on the workers, so that its next statement fails."""
    for node, processes in zip(cluster.workers, all_internal(cluster, connection)):
        with servers.connect(node) as watcher:
            for pid in processes:
                watcher.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    with pytest.raises(psycopg.errors.ConnectionFailure):
        connection.execute(f"UPDATE {table} SET payload = 2")


def test_lost_after_work_outside_subtransactions(cluster, connect, table):
    """Work outside a savepoint isn't forgotten with it, if the connection was first used in another one."""
    connection = connect(cluster.coordinator, autocommit=False)
    connection.execute(f"""DO $$ BEGIN
        UPDATE {table} SET payload = 1;
        RAISE 'undone';
    EXCEPTION WHEN raise_exception THEN NULL;
    END $$""")
    connection.execute(f"UPDATE {table} SET payload = 1")
    connection.execute("SAVEPOINT a")
    lose_connections(cluster, connection, table)
    connection.execute("ROLLBACK TO a")
    with pytest.raises(psycopg.errors.ConnectionFailure):
        connection.commit()
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 0
    connection.rollback()


def test_lost_in_a_subtransaction(cluster, connect, table):
    """A connection that dies inside a savepoint, having done nothing outside, can be made again."""
    connection = connect(cluster.coordinator, autocommit=False)
    connection.execute("SELECT 1")
    connection.execute("SAVEPOINT a")
    connection.execute(f"UPDATE {table} SET payload = 1")
    lose_connections(cluster, connection, table)
    connection.execute("ROLLBACK TO a")
    connection.execute(f"UPDATE {table} SET payload = 3")
    connection.commit()
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 300
    connection.rollback()


def most_connections(cluster, connection, query):
    """How many connections to the first worker a slow query had at the same time, at most."""
    import threading

    done = threading.Event()

    def run():
        connection.execute(query)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    most = 0
    while not done.is_set():
        most = max(most, len(internal(cluster.workers[0], connection)))
    thread.join()
    return most


def test_parallel_reads(cluster, connect, table):
    """A read of many shards gets more connections, up to the limit."""
    slow = f"SELECT count(*) FROM {table} WHERE pg_sleep(0.01 + payload) IS NOT NULL"
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.enable_node_tasks = off")
    assert most_connections(cluster, connection, slow) > 2
    wait_until(lambda: len(internal(cluster.workers[0], connection)) <= 1, "the extra ones to be closed")
    connection.execute("SET citus.max_adaptive_executor_pool_size = 2")
    assert most_connections(cluster, connection, slow) <= 2
    wait_until(lambda: len(internal(cluster.workers[0], connection)) <= 1, "the extra one to be closed")


def test_application_settings_travel(cluster, connect, table, schema):
    """A setting of the application's own is the same inside policies and functions on the nodes."""
    connection = connect(cluster.coordinator)
    where = f"SELECT count(*) FROM {table} WHERE current_setting('my.tenant' || left(id::text, 0), true)"
    assert value(connection, f"{where} IS NULL") == 100
    connection.execute("SET my.tenant = 'a\"b\\c''d'")
    assert value(connection, f"{where} = 'a\"b\\c''d'") == 100
    with connection.transaction(force_rollback=True):
        connection.execute("SET LOCAL my.tenant = 'e'")
        assert value(connection, f"{where} = 'e'") == 100
        connection.execute(f"UPDATE {table} SET payload = 1 "
                           "WHERE current_setting('my.tenant' || left(id::text, 0)) = 'e'")
        assert value(connection, f"SELECT sum(payload) FROM {table}") == 100
    assert value(connection, f"{where} = 'a\"b\\c''d'") == 100
    connection.execute("RESET my.tenant")
    assert value(connection, f"{where} = ''") == 100


def test_settings_after_a_failed_statement(cluster, connect, table):
    """What was sent with a statement that failed is sent again."""
    connection = connect(cluster.coordinator)
    query = f"SELECT (timestamptz '2024-01-01 00:00+00' + payload * interval '1 s')::text FROM {table} " \
            "WHERE id = 1"
    for block in (False, True):
        connection.execute("SET TimeZone = 'UTC'")
        assert value(connection, query).endswith("+00")
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        if block:
            connection.execute("BEGIN")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute(f"SELECT 1 / payload FROM {table} WHERE id = 1")
        if block:
            connection.execute("ROLLBACK")
        assert value(connection, query).endswith("+09")


@pytest.fixture
def roles(cluster):
    """Two roles on every node; alice may become bob."""
    for node in cluster.nodes:
        with servers.connect(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute("DROP ROLE IF EXISTS conn_alice")
            connection.execute("DROP ROLE IF EXISTS conn_bob")
            connection.execute("CREATE ROLE conn_bob LOGIN")
            connection.execute("CREATE ROLE conn_alice LOGIN IN ROLE conn_bob")
    yield "conn_alice", "conn_bob"
    for node in cluster.nodes:
        with servers.connect(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            for role in ("conn_alice", "conn_bob"):
                connection.execute(f"DROP OWNED BY {role}")
                connection.execute(f"DROP ROLE {role}")


def test_role_changes_within_a_transaction(cluster, coordinator, connect, table, schema, roles):
    """Another effective user sees the transaction's changes, over the same connection."""
    coordinator.execute(f"GRANT ALL ON SCHEMA {schema} TO conn_alice, conn_bob")
    coordinator.execute(f"GRANT ALL ON {table} TO conn_alice, conn_bob")
    connection = connect(cluster.coordinator, user="conn_alice", autocommit=False)
    connection.execute(f"UPDATE {table} SET payload = 1")
    connection.execute("SET ROLE conn_bob")
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 100
    connection.execute(f"UPDATE {table} SET payload = 2")
    connection.execute("RESET ROLE")
    assert value(connection, f"SELECT sum(payload) FROM {table}") == 200
    assert [len(processes) for processes in all_internal(cluster, connection)] == [1, 1]
    connection.rollback()


def test_definer_within_a_transaction(cluster, coordinator, connect, table, schema, roles):
    """A function of a role that the session can't become sees the transaction's changes, over the same connection."""
    coordinator.execute(f"GRANT ALL ON SCHEMA {schema} TO conn_bob")
    coordinator.execute(f"GRANT ALL ON {table} TO conn_bob")
    coordinator.execute(f"CREATE FUNCTION {schema}.total() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER "
                        f"AS 'BEGIN RETURN (SELECT sum(payload) FROM {table}); END'")
    connection = connect(cluster.coordinator, user="conn_bob", autocommit=False)
    assert value(connection, f"SELECT {schema}.total()") == 0
    connection.commit()
    connection.execute(f"UPDATE {table} SET payload = 1")
    assert value(connection, f"SELECT {schema}.total()") == 100
    assert [len(processes) for processes in all_internal(cluster, connection)] == [1, 1]
    connection.rollback()


def test_errors_keep_their_fields(cluster, connect, table, schema):
    """An error of a node reads as PostgreSQL's own would, and says which node."""
    connection = connect(cluster.coordinator)
    with pytest.raises(psycopg.errors.UniqueViolation) as caught:
        connection.execute(f"INSERT INTO {table} VALUES (1, 1)")
    diag = caught.value.diag
    assert diag.message_primary == 'duplicate key value violates unique constraint "t_pkey"'
    assert (diag.schema_name, diag.table_name, diag.constraint_name) == (schema, "t", "t_pkey")
    assert diag.message_detail == "Key (id)=(1) already exists."
    assert "while executing on node 127.0.0.1:" in diag.context
    connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT small CHECK (payload < 1000)")
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        connection.execute(f"UPDATE {table} SET payload = 1000 WHERE id = 1")
    assert 'relation "t"' in caught.value.diag.message_primary
    assert caught.value.diag.constraint_name == "small"


def test_lock_timeout_travels(cluster, connect, table):
    holder = connect(cluster.coordinator, autocommit=False)
    holder.execute(f"UPDATE {table} SET payload = 1 WHERE id = 1")
    waiter = connect(cluster.workers[0])
    waiter.execute("SET lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiter.execute(f"UPDATE {table} SET payload = 2 WHERE id = 1")
    holder.rollback()
    waiter.execute(f"UPDATE {table} SET payload = 2 WHERE id = 1")


def test_node_conninfo_is_checked(coordinator):
    """Who connects to what is not for this setting to say."""
    for value_ in ("user=postgres", "nonsense", "host=example.com"):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            coordinator.execute(f"ALTER SYSTEM SET citus.node_conninfo = '{value_}'")


def test_secrets(own_cluster, connect):
    """Nodes that want a password get the one in pg_dist_authinfo, which users can't see."""
    connection = connect(own_cluster.coordinator)
    for node in own_cluster.nodes:
        with servers.connect(node) as other:
            other.execute("SET citus.enable_ddl_propagation = off")
            other.execute("CREATE ROLE alice LOGIN PASSWORD 'open sesame'")
    fill(connection, "t", 100)
    connection.execute("GRANT SELECT ON t TO alice")
    for node in own_cluster.workers:
        node.sql("ALTER SYSTEM SET password_encryption = 'scram-sha-256'")
        hba = value(connect(node), "SHOW hba_file")
        with open(hba, encoding="ascii") as file:
            rules = file.read()
        with open(hba, "w", encoding="ascii") as file:
            file.write(f"host all alice 127.0.0.1/32 scram-sha-256\n{rules}")
        node.reload()

    alice = connect(own_cluster.coordinator, user="alice")
    with pytest.raises(psycopg.errors.ConnectionFailure):
        alice.execute("SELECT count(*) FROM t")
    connection.execute("INSERT INTO pg_dist_authinfo VALUES (0, 'alice', 'password=''open sesame''')")
    assert value(alice, "SELECT count(*) FROM t") == 100
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        alice.execute("SELECT * FROM pg_dist_authinfo")


def test_users_do_not_choose_where_secrets_go(own_cluster, connect):
    """Only a superuser connects to a server that is not a node."""
    for node in own_cluster.nodes:
        with servers.connect(node) as other:
            other.execute("SET citus.enable_ddl_propagation = off")
            other.execute("CREATE ROLE carol LOGIN")
    connection = connect(own_cluster.coordinator)
    connection.execute("INSERT INTO pg_dist_authinfo VALUES (0, 'carol', 'password=secret')")
    check = "SELECT citus_check_connection_to_node('127.0.0.1', %s)"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for node in own_cluster.nodes:
            carol = connect(node, user="carol")
            for asked in (check, "DO $$BEGIN PERFORM citus_check_connection_to_node('127.0.0.1', %s); END$$"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not a node"):
                    carol.execute(asked % port)
            assert value(carol, check, [own_cluster.workers[0].port])
            assert all(row[-1] for row in rows(carol, "SELECT * FROM citus_check_cluster_node_health()"))
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()

        connection.execute("SET citus.node_connection_timeout = 100")
        assert value(connection, check, [port]) is False
        connection.execute("RESET citus.node_connection_timeout")
        listener.accept()[0].close()

    # A node that is not active is registered all the same.
    worker = own_cluster.workers[0]
    connection.execute("SELECT citus_disable_node('127.0.0.1', %s)", [worker.port])
    assert value(connect(own_cluster.coordinator, user="carol"), check, [worker.port])
    connection.execute("SELECT citus_activate_node('127.0.0.1', %s)", [worker.port])


@pytest.mark.parametrize("statement", ["SELECT payload FROM {table} WHERE id = 7",
                                       "SELECT count(*) FROM {table}"])
def test_read_survives_the_loss_of_connections_just_used(cluster, coordinator, schema, connect, statement):
    """A read that finds its connection closed by the node is sent again over a new one."""
    table = f"{schema}.t"
    fill(coordinator, table, 100)
    connection = connect(cluster.coordinator)
    query = statement.format(table=table)
    expected = rows(connection, query)
    for _ in range(5):
        for node in cluster.workers:
            with servers.connect(node) as worker:
                worker.execute("""
                    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                    WHERE application_name LIKE 'citus_internal%'""")
        assert rows(connection, query) == expected
        connection.execute(f"UPDATE {table} SET payload = payload WHERE id = 7")
