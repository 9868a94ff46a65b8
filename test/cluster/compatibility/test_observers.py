"""Libraries that observe statements (auto_explain and the like) change nothing, before or after this one in shared_preload_libraries."""

import os

import pytest

from harness.servers import rows, value

SETUP = """
    CREATE TABLE observed (k int PRIMARY KEY, v int);
    SELECT create_distributed_table('observed', 'k');
    CREATE TABLE observed_names (k int PRIMARY KEY, name text);
    SELECT create_reference_table('observed_names');
    INSERT INTO observed SELECT k, k FROM generate_series(1, 50) k;
    INSERT INTO observed_names SELECT k, 'name ' || k FROM generate_series(1, 5) k;
    CREATE FUNCTION observed_count() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM observed); END';
    CREATE FUNCTION observed_one(int) RETURNS int LANGUAGE sql AS 'SELECT v FROM observed WHERE k = $1';
"""
READS = [
    ("SELECT count(*) FROM observed", [(50,)]),
    ("SELECT sum(v), max(name) FROM observed JOIN observed_names USING (k)", [(15, "name 5")]),
    ("SELECT count(*) FROM observed a JOIN observed b ON a.k = b.v", [(50,)]),
    ("SELECT (SELECT v FROM observed WHERE k = n.k) FROM observed_names n ORDER BY 1 LIMIT 2", [(1,), (2,)]),
    ("SELECT observed_count(), observed_one(3), observed_one(4)", [(50, 3, 4)]),
    ("SELECT observed_one(k) FROM observed ORDER BY k LIMIT 2", [(1,), (2,)]),
    ("WITH w AS (UPDATE observed SET v = v WHERE k = 7 RETURNING v) SELECT v FROM w", [(7,)]),
    ("UPDATE observed SET v = v RETURNING 1", [(1,)] * 50),
    ("UPDATE observed_names SET name = name WHERE k = 1 RETURNING k", [(1,)]),
    ("INSERT INTO observed VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET v = 1 RETURNING v", [(1,)]),
]
CONTRIB = {
    "auto_explain": {"auto_explain.log_min_duration": "0", "auto_explain.log_nested_statements": "on", "auto_explain.log_verbose": "on"},
    "pg_stat_statements": {"pg_stat_statements.track": "all"},
}
OTHERS = {
    "pgaudit": {"pgaudit.log": "all", "pgaudit.log_relation": "on", "pgaudit.log_parameter": "on"},
    "pg_qualstats": {"pg_qualstats.sample_rate": "1"},
    "pg_wait_sampling": {},
    "plpgsql_check": {},
}


def use(connection):
    """Runs statements of each kind, which must do what they do without observers."""
    for query, answer in READS:
        assert rows(connection, query) == answer, query
    for key in list(range(1, 20)) * 2:      # the second time, a shard here is read by its own plan
        assert rows(connection, f"SELECT v FROM observed WHERE k = {key}") == [(key,)]
        assert connection.execute("UPDATE observed SET v = v WHERE k = %s", [key]).rowcount == 1
    with connection.transaction(), connection.cursor("c") as cursor:
        cursor.execute("SELECT k FROM observed ORDER BY k")
        assert cursor.fetchmany(2) == [(1,), (2,)]
        assert value(connection, "SELECT count(*) FROM observed") == 50
    with connection.cursor().copy("COPY observed FROM STDIN") as copy:
        copy.write(b"101\t1\n102\t1\n103\t1\n")
    assert connection.execute("DELETE FROM observed WHERE k > 100").rowcount == 3
    plan = "\n".join(line for line, in rows(connection, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*) FROM observed"))
    assert "Seq Scan on observed_" in plan and "actual time" not in plan


@pytest.mark.parametrize("order", ["first", "last"])
def test_preloaded(cluster, make_cluster, connect, order):
    folder = value(connect(cluster.coordinator), "SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'")
    settings = CONTRIB | {name: settings for name, settings in OTHERS.items() if os.path.exists(f"{folder}/{name}.so")}
    libraries = ["citus", *settings] if order == "first" else [*settings, "citus"]
    observed = make_cluster(settings={"shared_preload_libraries": ", ".join(libraries)} |
                            {name: setting for chosen in settings.values() for name, setting in chosen.items()})
    observed.coordinator.sql(SETUP)
    for analyze in ["off", "on"]:
        for node in observed.nodes:
            node.sql(f"ALTER SYSTEM SET auto_explain.log_analyze = {analyze}")
            node.reload()
            mark = node.log_mark()
            use(connect(node))
            assert "Custom Scan (DistributedScan)" in node.log_since(mark)


def test_loaded_later(cluster, schema, connect):
    """By a session that has already executed statements."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute(SETUP)
    connection = connect(cluster.workers[0])
    connection.execute(f"SET search_path = {schema}")
    use(connection)
    connection.execute("LOAD 'auto_explain'")
    for name, setting in CONTRIB["auto_explain"].items():
        connection.execute(f"SET {name} = {setting}")
    use(connection)
    connection.execute("SET auto_explain.log_analyze = on")
    use(connection)


def test_no_plans_of_nodes(cluster, table, connect):
    """That a plan is logged makes no other node work."""
    connection = connect(cluster.coordinator)
    connection.execute("LOAD 'auto_explain'")
    connection.execute("SET auto_explain.log_min_duration = 0")
    connection.execute("SET client_min_messages = log")
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    assert value(connection, f"SELECT count(*) FROM {table}") == 100
    assert any("DistributedScan" in notice for notice in notices)
    assert not any("Seq Scan" in notice for notice in notices)
