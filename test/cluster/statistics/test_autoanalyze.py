"""Statistics of logical tables follow those that autovacuum computes for their shards."""

import pytest

from harness import servers
from harness.servers import on_every_node, rows, value, wait_until

# Each table by itself decides when its shards are analyzed.
SETTINGS = {"autovacuum": "on", "autovacuum_naptime": "1s", "autovacuum_analyze_threshold": "5",
            "citus.autoanalyze_naptime": "500ms"}


@pytest.fixture(scope="module")
def busy_cluster():
    with servers.cluster(purpose="check-autoanalyze", settings=SETTINGS) as made:
        yield made


@pytest.fixture
def connection(busy_cluster):
    with servers.connect(busy_cluster.coordinator) as made:
        # idle sessions of other nodes would report the changes after ten seconds, ending ones do at once
        made.execute("SET citus.max_cached_conns_per_worker = 0")
        yield made


def known(cluster, table):
    """What every node knows of the table: rows, and columns with statistics."""
    return list(on_every_node(cluster, f"""
        SELECT c.reltuples, (SELECT count(*) FROM pg_stats s WHERE s.tablename = c.relname)
          FROM pg_class c WHERE c.oid = '{table}'::regclass""").values())


def wait_for_rows(cluster, table, count):
    wait_until(lambda: all(found == [(count, 2)] for found in known(cluster, table)),
               f"{count} rows of {table} on every node, not {known(cluster, table)}")


@pytest.mark.parametrize("column", ["id", None])
def test_follows_the_shards(busy_cluster, connection, column):
    """A table that nobody has analyzed gets statistics on all nodes, and new ones when it grows or shrinks."""
    table = "followed_by_key" if column else "followed_whole"
    connection.execute(f'CREATE TABLE "{table}" (id int, v int)')
    connection.execute("SELECT create_distributed_table(%s, %s, shard_count := %s)", [table, column, 4 if column else None])
    connection.execute(f"INSERT INTO {table} SELECT g, g % 7 FROM generate_series(1, 2000) g")
    wait_for_rows(busy_cluster, table, 2000)
    assert value(connection, "SELECT last_analyze IS NOT NULL AND n_live_tup = 2000 FROM pg_stat_user_tables WHERE relname = %s",
                 [table])
    connection.execute(f"INSERT INTO {table} SELECT g, g % 7 FROM generate_series(2001, 6000) g")
    wait_for_rows(busy_cluster, table, 6000)
    connection.execute(f"DELETE FROM {table} WHERE id > 1000")
    wait_for_rows(busy_cluster, table, 1000)

    # what a vacuum against wraparound leaves of the logical table, which is empty
    connection.execute(f"UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE oid = '{table}'::regclass")
    wait_for_rows(busy_cluster, table, 1000)
    connection.execute(f"DROP TABLE {table}")


def test_waits_for_nobody(busy_cluster, connection):
    """A table that somebody else has locked has its turn later; others have theirs meanwhile."""
    for table in ("locked", "other"):
        connection.execute(f"CREATE TABLE {table} (id int, v int)")
        connection.execute("SELECT create_distributed_table(%s, 'id', shard_count := 4)", [table])
    with servers.connect(busy_cluster.coordinator, autocommit=False) as holder:
        holder.execute("LOCK TABLE locked IN SHARE UPDATE EXCLUSIVE MODE")
        for table in ("locked", "other"):
            connection.execute(f"INSERT INTO {table} SELECT g, g FROM generate_series(1, 500) g")
        wait_for_rows(busy_cluster, "other", 500)
        assert all(found[0][1] == 0 for found in known(busy_cluster, "locked"))
        assert rows(connection, "SELECT 1 FROM pg_locks WHERE NOT granted") == []
    wait_for_rows(busy_cluster, "locked", 500)
    connection.execute("DROP TABLE locked, other")


def test_a_node_that_is_down(busy_cluster, connection):
    """Nothing is taken for a change while a node can't be asked; what has changed is found when it is back."""
    connection.execute("CREATE TABLE apart (id int, v int)")
    connection.execute("SELECT create_distributed_table('apart', 'id', shard_count := 4)")
    connection.execute("INSERT INTO apart SELECT g, g FROM generate_series(1, 2000) g")
    wait_for_rows(busy_cluster, "apart", 2000)
    coordinator, node = busy_cluster.coordinator, busy_cluster.workers[1]
    node.stop()
    try:
        for _ in range(2):
            mark = coordinator.log_mark()
            wait_until(lambda: f"127.0.0.1:{node.port}" in coordinator.log_since(mark), "a message of the node that is down")
        assert value(connection, "SELECT reltuples FROM pg_class WHERE oid = 'apart'::regclass") == 2000
    finally:
        node.start()
    connection.execute("DELETE FROM apart WHERE id > 500")
    wait_for_rows(busy_cluster, "apart", 500)
    connection.execute("DROP TABLE apart")


def test_a_process_that_is_ended(busy_cluster, connection):
    """It leaves the statistics as they were, also while it waits on another node; the next one computes them."""
    worker = busy_cluster.workers[0]
    connection.execute("CREATE TABLE late (id int, v int)")
    connection.execute("SELECT create_distributed_table('late', 'id', shard_count := 4)")
    with servers.node_session(worker, autocommit=False) as holder, servers.connect(worker) as watcher:
        holder.execute("/*citus:ddl*/ LOCK TABLE late IN SHARE UPDATE EXCLUSIVE MODE")
        connection.execute("INSERT INTO late SELECT g, g FROM generate_series(1, 500) g")
        wait_until(lambda: value(watcher, "SELECT count(*) FROM pg_locks WHERE relation = 'late'::regclass AND NOT granted"),
                   "the process's part on the worker")
        assert rows(connection, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                "WHERE backend_type = 'citus autoanalyze'") == [(True,)]
        wait_until(lambda: "terminating background worker \"citus autoanalyze\"" in busy_cluster.coordinator.log_since(0),
                   "the end of the process")
        assert known(busy_cluster, "late") == [[(-1, 0)]] * 3
    wait_for_rows(busy_cluster, "late", 500)
    connection.execute("DROP TABLE late")


def test_ends(busy_cluster, connection):
    """The coordinator alone looks for tables, by a process that ends when it has seen to those it found."""
    for node in busy_cluster.workers:
        assert on_every_node(busy_cluster, "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'citus autoanalyze'"
                             )[node.name] == []
    wait_until(lambda: not rows(connection, "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'citus autoanalyze'"),
               "the end of the process")
