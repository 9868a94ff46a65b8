"""Sizes and statistics of logical tables, from all nodes."""

import psycopg
import pytest

from harness.servers import cluster, fill, rows, value, wait_until

TABLES = [f"t{number}" for number in range(12)]


@pytest.fixture(scope="module")
def many():
    """A cluster with a dozen tables of four shards each, as many as a statement asks for at once."""
    from harness.servers import connect as open_connection

    with cluster(purpose="check-statistics") as made:
        with open_connection(made.coordinator) as connection:
            connection.execute("SET citus.shard_count = 4")
            for table in TABLES:
                fill(connection, table, 200)
            connection.execute("CREATE TABLE plain AS SELECT generate_series(1, 100)")
        yield made


def sizes(connection, tables):
    return rows(connection, "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relname = ANY (%s) AND relkind = 'r' ORDER BY oid",
                [tables])


COUNTS = "n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, idx_scan, analyze_count, vacuum_count, last_analyze IS NOT NULL, last_vacuum IS NOT NULL"


def wait_for_counts(connection, expected):
    """Sessions report them when they have been idle for some seconds, or for the next statement after one."""
    seen = []

    def arrived():
        seen[:] = rows(connection, f"SELECT {COUNTS} FROM pg_stat_user_tables WHERE relname = 'counted'")
        return seen == expected

    wait_until(arrived, seen)


def test_statistics(many, connect):
    """What is done on one node is counted on all, once; nobody needs a right to the table."""
    connection = connect(many.workers[0])
    connection.execute("CREATE TABLE counted (id int PRIMARY KEY, v text) WITH (autovacuum_enabled = off)")
    connection.execute("ALTER TABLE counted ALTER v SET STORAGE EXTERNAL; SELECT create_distributed_table('counted', 'id', shard_count := 4)")
    connection.execute("VACUUM counted")
    connection.execute("INSERT INTO counted SELECT g, repeat('x', CASE WHEN g < 20 THEN 3000 ELSE 20 END) FROM generate_series(1, 8000) g")
    connection.execute("UPDATE counted SET v = 'y' WHERE id = 7")
    connection.execute("DELETE FROM counted WHERE id = 8")
    assert value(connection, "SELECT v FROM counted WHERE id = 7") == "y"
    wait_for_counts(connection, [(8000, 1, 1, 7999, 3, 0, 1, False, True)])
    connection.execute("ANALYZE counted; CREATE ROLE stranger")
    for node in many.nodes:
        stranger = connect(node)
        stranger.execute("SET ROLE stranger")
        wait_for_counts(stranger, [(8000, 1, 1, 7999, 3, 1, 1, True, True)])
        assert value(stranger, "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'counted_pkey'") == 3
        assert rows(stranger, """
            SELECT heap_blks_hit + heap_blks_read > 0, idx_blks_hit + idx_blks_read > 0, toast_blks_hit + toast_blks_read > 0,
                   tidx_blks_hit + tidx_blks_read > 0 FROM pg_statio_user_tables WHERE relname = 'counted'""") == [(True,) * 4]
        assert value(stranger, "SELECT idx_blks_hit + idx_blks_read > 0 FROM pg_statio_user_indexes WHERE relname = 'counted'")
        stranger.execute("RESET ROLE; SET citus.sum_over_shards = off")
        assert rows(stranger, "SELECT n_tup_ins, idx_scan, analyze_count FROM pg_stat_user_tables WHERE relname = 'counted'") == [(0, 0, 1)]
    if connection.info.server_version >= 180000:
        of_shard = "SELECT pg_stat_get_total_vacuum_time(o) + pg_stat_get_total_analyze_time(o) FROM CAST('%s'::regclass AS oid) o"

        def measured():
            connection.execute("VACUUM (FREEZE, ANALYZE) counted")
            of_shards = value(connection, "SELECT sum(result::float8) FROM run_command_on_shards('counted', %s)", [of_shard])
            return of_shards > 0 and value(connection, "SELECT total_vacuum_time + total_analyze_time FROM pg_stat_user_tables "
                                                       "WHERE relname = 'counted'") == of_shards

        wait_until(measured, "times of the shards")
    connection.execute("DROP TABLE counted; DROP ROLE stranger")


def test_every_node_tells_the_same(many, connect):
    expected = [(table, value(connect(many.coordinator), "SELECT citus_total_relation_size(%s)", [table])) for table in TABLES]
    assert all(size > 0 for _, size in expected)
    for node in many.nodes:
        assert sizes(connect(node), TABLES) == expected


def test_waits_for_no_table_that_it_does_not_name(many, connect):
    """A statement about many tables asks for all of them at once; one that is locked answers later."""
    connection = connect(many.workers[0])
    expected = sizes(connection, TABLES)
    holder = connect(many.coordinator)
    holder.execute(f"BEGIN; LOCK TABLE {TABLES[-1]} IN ACCESS EXCLUSIVE MODE; ALTER TABLE {TABLES[-1]} ADD COLUMN more int")
    connection.execute("SET lock_timeout = '2s'")
    assert sizes(connection, TABLES[:-1]) == expected[:-1]
    with pytest.raises(psycopg.errors.LockNotAvailable):
        sizes(connection, TABLES)
    holder.execute("ROLLBACK")
    assert sizes(connection, TABLES) == expected


def test_during_changes_of_its_own(many, connect):
    """In a transaction that has written, or has failed in a savepoint, the sizes are those that it sees."""
    connection = connect(many.coordinator, autocommit=False)
    before = value(connection, "SELECT pg_relation_size('t0')")
    fill_more = "INSERT INTO t0 SELECT g, g FROM generate_series(1001, 4000) g"
    connection.execute(fill_more)
    connection.execute("ALTER TABLE t0 ADD COLUMN more text DEFAULT 'x'; CREATE INDEX again ON t0 (more)")
    assert value(connection, "SELECT pg_relation_size('t0')") > before
    assert value(connection, "SELECT pg_relation_size('again')") > 0
    connection.execute("SAVEPOINT s")
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT pg_relation_size('t0') / (pg_relation_size('t0') * 0)")
    connection.execute("ROLLBACK TO s")
    assert value(connection, "SELECT pg_total_relation_size('t0')") > before
    connection.rollback()


@pytest.mark.parametrize("down", ["killed", "disabled"])
def test_a_node_that_is_down(make_cluster, connect, down):
    """NULL for tables with shards there, and one warning; other tables have their sizes."""
    made = make_cluster()
    connection = connect(made.coordinator)
    connection.execute("SET citus.shard_count = 4")
    for table in TABLES:
        fill(connection, table, 20)
    port = value(connection, "SELECT nodeport FROM citus_shards WHERE table_name = 't0'::regclass AND nodeport <> %s LIMIT 1",
                 [made.coordinator.port])
    lost = next(node for node in made.nodes if node.port == port)
    connection.execute("CREATE TABLE plain AS SELECT generate_series(1, 100)")
    connection.execute("CREATE TABLE single (id int); SELECT create_distributed_table('single', NULL)")
    connection.execute("INSERT INTO single SELECT generate_series(1, 100)")
    kept = next(node.port for node in made.nodes if node.port not in (lost.port, made.coordinator.port))
    connection.execute("""
        SELECT citus_move_shard_placement(shardid, nodename, nodeport, '127.0.0.1', %s, 'block_writes')
        FROM citus_shards WHERE table_name = 'single'::regclass AND nodeport <> %s""", [kept, kept])
    lost.kill()
    if down == "disabled":
        connection.execute("SELECT citus_disable_node('127.0.0.1', %s, force => true)", [port])
    warnings = []
    connection.add_notice_handler(lambda notice: warnings.append(notice.severity))
    found = dict(sizes(connection, [*TABLES, "plain", "single"]))
    assert {table: found[table] for table in TABLES} == dict.fromkeys(TABLES)
    assert found["plain"] > 0 and found["single"] > 0
    assert warnings == (["WARNING"] if down == "killed" else [])
    assert rows(connection, "SELECT count(*), count(n_tup_ins) FROM pg_stat_user_tables WHERE relname = ANY (%s)", [TABLES]) == [(12, 0)]
    assert value(connection, "SELECT count(n_tup_ins) FROM pg_stat_user_tables WHERE relname IN ('plain', 'single')") == 2
    lost.start()
    if down == "disabled":
        connection.execute("SELECT citus_activate_node('127.0.0.1', %s)", [port])
    assert all(size > 0 for _, size in sizes(connection, TABLES))


BUILD = ["CREATE INDEX kept_v ON kept (v)", "CREATE INDEX CONCURRENTLY kept_w ON kept (w)", "ALTER TABLE kept ADD PRIMARY KEY (id)",
         "REINDEX TABLE kept", "REINDEX INDEX kept_v", "REINDEX INDEX CONCURRENTLY kept_v", "REINDEX SCHEMA kept_sizes", "CLUSTER kept USING kept_v",
         "CLUSTER", "VACUUM FULL kept", "ALTER TABLE kept ALTER v TYPE bigint",
         "BEGIN; CREATE INDEX ON kept (v, w); ALTER TABLE kept ADD x int; ALTER TABLE kept ADD UNIQUE (id, v); COMMIT",
         "BEGIN; CREATE INDEX ON kept (w, v); ROLLBACK", "CREATE INDEX ON ranges (v)", "REINDEX TABLE ranges"]


def test_sizes_stay(cluster, coordinator, connect):
    """What builds indexes of a logical table, which is empty, doesn't take its sizes from it, by which statements are planned."""
    coordinator.execute("CREATE SCHEMA kept_sizes; SET search_path = kept_sizes")
    coordinator.execute("CREATE TABLE kept (id int, v int, w text); CREATE TABLE ranges (id int, v int) PARTITION BY RANGE (v)")
    coordinator.execute("CREATE TABLE low PARTITION OF ranges FOR VALUES FROM (0) TO (50); CREATE TABLE high PARTITION OF ranges DEFAULT")
    for table in ("kept", "ranges"):
        coordinator.execute("SELECT create_distributed_table(%s, 'id')", [table])
    coordinator.execute("INSERT INTO kept SELECT g, g, g FROM generate_series(1, 500) g; INSERT INTO ranges SELECT g, g FROM generate_series(1, 100) g")
    coordinator.execute("ANALYZE kept, ranges")
    nodes = [connect(node) for node in cluster.nodes]
    for statement in BUILD:
        coordinator.execute(statement)
        for node in nodes:
            assert rows(node, "SELECT relname, reltuples, relpages > 0 FROM pg_class WHERE relnamespace = 'kept_sizes'::regnamespace "
                              "AND relname IN ('kept', 'low', 'high') ORDER BY 1") == [("high", 51, True), ("kept", 500, True), ("low", 49, True)], statement
    coordinator.execute("DROP SCHEMA kept_sizes CASCADE; RESET search_path")
