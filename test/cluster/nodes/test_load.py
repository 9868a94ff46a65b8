"""Loading the extension: what a wrong set-up gets to read."""

import psycopg
import pytest

from harness.servers import value
from pomelo_cluster import ClusterError


def test_without_preload(make_cluster, connect):
    """CREATE EXTENSION without shared_preload_libraries says what to do."""
    plain = make_cluster(kind="plain")
    connection = connect(plain.coordinator)
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("CREATE EXTENSION citus")
    assert "shared_preload_libraries" in str(caught.value)
    assert caught.value.diag.sqlstate == "55000"
    assert "shared_preload_libraries" in caught.value.diag.message_hint
    assert value(connection, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'") == 0

    # The server is fine, and so is everything else.
    assert value(connection, "SELECT 1") == 1


@pytest.mark.parametrize("setting, few", [("max_worker_processes", 0),
                                          ("max_prepared_transactions", 0)])
def test_too_few_resources(make_cluster, setting, few):
    """A server without room for the extension doesn't start, and its log says what to set."""
    with pytest.raises(ClusterError) as caught:
        make_cluster(kind="bare", workers=0, settings={setting: str(few)})
    text = str(caught.value)
    assert setting in text
    assert "HINT" in text


def test_drop_and_create_again(make_cluster, connect):
    """The extension can be dropped, and created again, only on a node without distributed tables."""
    node = make_cluster(kind="bare", workers=0).coordinator
    connection = connect(node)
    connection.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    connection.execute("SELECT create_distributed_table('t', 'id')")
    # in a deadlock with the maintenance worker, which the table has started, that one gives up
    connection.execute("SET deadlock_timeout = '10min'")
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="undistribute_table"):
        connection.execute("DROP EXTENSION citus")
    assert value(connection, "SELECT id FROM t") == 1
    connection.execute("SELECT undistribute_table('t')")
    connection.execute("DROP EXTENSION citus")
    assert value(connection, "SELECT count(*) FROM pg_class WHERE relname LIKE 'pg_dist%'") == 0
    assert value(connection, "SELECT id FROM t") == 1
    connection.execute("CREATE EXTENSION citus")
    assert value(connection, "SELECT count(*) FROM pg_dist_partition") == 0
    connection.execute("SELECT create_distributed_table('t', 'id')")
    connection.execute("DROP EXTENSION citus CASCADE")
    assert value(connection, "SELECT id FROM t") == 1


def test_drop_cascade(make_cluster, connect):
    """On the coordinator it undoes the cluster: all rows are in local tables then, with their keys and views."""
    nodes = make_cluster()
    connection, workers = connect(nodes.coordinator), [connect(node) for node in nodes.workers]
    connection.execute("SET citus.enable_schema_based_sharding = on; CREATE SCHEMA tenant; RESET citus.enable_schema_based_sharding")
    for statement in ("CREATE TABLE kinds (kind int PRIMARY KEY)", "SELECT create_reference_table('kinds')",
                      "CREATE TABLE users (id int PRIMARY KEY, kind int REFERENCES kinds)", "SELECT create_distributed_table('users', 'id')",
                      "CREATE TABLE events (id int REFERENCES users, at int) PARTITION BY RANGE (at)",
                      "CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (9)", "SELECT create_distributed_table('events', 'id')",
                      "CREATE TABLE tenant.t AS SELECT 1 AS a", "CREATE VIEW both_of AS SELECT * FROM users JOIN events USING (id)",
                      "INSERT INTO kinds VALUES (1)", "INSERT INTO users SELECT g, 1 FROM generate_series(1, 10) g",
                      "INSERT INTO events SELECT g, 5 FROM generate_series(1, 10) g"):
        connection.execute(statement)
    workers[0].execute("CREATE TABLE far (id int); SELECT citus_add_local_table_to_metadata('far'); INSERT INTO far VALUES (7)")
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="undistribute_table"):
        workers[0].execute("DROP EXTENSION citus CASCADE")
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        connection.execute("BEGIN; DROP EXTENSION citus CASCADE")
    connection.execute("ROLLBACK")
    assert value(workers[1], "SELECT count(*) FROM both_of") == 10
    connection.execute("DROP EXTENSION citus CASCADE")
    assert value(connection, "SELECT count(*) FROM pg_class WHERE relname LIKE 'pg_dist%' OR relnamespace::regnamespace::text = 'citus_data'") == 0
    assert [value(connection, f"SELECT count(*) FROM {name}") for name in ("kinds", "both_of", "tenant.t", "far")] == [1, 10, 1, 1]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("INSERT INTO events VALUES (11, 5)")
    for worker in workers:
        assert value(worker, "SELECT count(*) FROM pg_dist_node") == 0
        assert value(worker, "SELECT count(*) FROM pg_class WHERE relname IN ('kinds', 'users', 'events', 't', 'far', 'both_of')") == 0
        worker.execute("DROP EXTENSION citus")


def test_other_databases_are_untouched(make_cluster, connect):
    """A database without the extension works as in plain PostgreSQL."""
    node = make_cluster(kind="bare", workers=0).coordinator
    connect(node).execute("CREATE DATABASE other")
    other = connect(node, dbname="other")
    other.execute("CREATE TABLE t (a int PRIMARY KEY, b text)")
    other.execute("INSERT INTO t SELECT g, 'x' FROM generate_series(1, 100) g")
    other.execute("ALTER TABLE t ADD c int DEFAULT 3")
    other.execute("UPDATE t SET b = 'y' WHERE a = 5")
    assert value(other, "SELECT sum(c) FROM t") == 300
    other.execute("DROP TABLE t")
