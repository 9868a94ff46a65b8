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
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="undistribute_table"):
        connection.execute("DROP EXTENSION citus CASCADE")
    assert value(connection, "SELECT id FROM t") == 1
    connection.execute("SELECT undistribute_table('t')")
    connection.execute("DROP EXTENSION citus")
    assert value(connection, "SELECT count(*) FROM pg_class WHERE relname LIKE 'pg_dist%'") == 0
    assert value(connection, "SELECT id FROM t") == 1
    connection.execute("CREATE EXTENSION citus")
    assert value(connection, "SELECT count(*) FROM pg_dist_partition") == 0


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
