"""pg_upgrade of a cluster's nodes: the catalogs are saved before, and restored afterwards."""

import os
import shutil

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value
from pomelo_cluster import find_free_ports, host
from pomelo_cluster.node import Node

OBJECTS = """
    SET citus.shard_count = 4;
    CREATE COLLATION german (provider = icu, locale = 'de');
    CREATE TABLE d (id int PRIMARY KEY, v text DEFAULT 'v', n serial);
    SELECT create_distributed_table('d', 'id');
    CREATE TABLE words (word text COLLATE german, n int);
    SELECT create_distributed_table('words', 'word');
    CREATE TABLE r (id int PRIMARY KEY);
    SELECT create_reference_table('r');
    CREATE TABLE p (id int, at date) PARTITION BY RANGE (at);
    CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
    SELECT create_distributed_table('p', 'id');
    CREATE SCHEMA tenant;
    SELECT citus_schema_distribute('tenant');
    CREATE TABLE tenant.t (id int);
    CREATE TABLE l (id int);
    SELECT citus_add_local_table_to_metadata('l');
    CREATE FUNCTION f(id int, x text) RETURNS int LANGUAGE sql AS 'SELECT 1';
    SELECT create_distributed_function('f(int, text)', 'id', colocate_with => 'd');
    CREATE FUNCTION cost(bigint) RETURNS real LANGUAGE sql AS 'SELECT 1.0::real';
    SELECT citus_add_rebalance_strategy('mine', 'cost', 'citus_node_capacity_1', 'citus_shard_allowed_on_node_true', 0.1);
    SELECT citus_set_tenant_limits('d', 5, 3);
    INSERT INTO d SELECT g FROM generate_series(1, 1000) g;
    INSERT INTO words SELECT 'w' || g, g FROM generate_series(1, 100) g;
    INSERT INTO r SELECT g FROM generate_series(1, 10) g;
    INSERT INTO p SELECT g, '2020-05-05' FROM generate_series(1, 100) g;
    INSERT INTO tenant.t VALUES (7);
    INSERT INTO l VALUES (8);
"""

MEMBERS = """
    SELECT count(*)::text FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
    UNION ALL SELECT last_value::text FROM pg_dist_shardid_seq
    UNION ALL SELECT format('%s %s', tgname, tgrelid::regclass) FROM pg_trigger WHERE tgname ~ 'invalidate'
    UNION ALL SELECT format('%s %s %s', oid::regprocedure, proacl, obj_description(oid, 'pg_proc'))
        FROM pg_proc WHERE pronamespace IN ('citus_internal'::regnamespace, 'pg_catalog'::regnamespace)
    ORDER BY 1
"""


def catalogs(node):
    """All rows of the extension's catalogs, but for oids that pg_upgrade changes, and what else there is of it."""
    found = {}
    with servers.connect(node) as connection:
        for relation, names, save in rows(connection, "SELECT relation::text, names, save FROM citus_internal.upgraded_columns()"):
            columns = [saved for name, saved in zip(names, save) if name not in ("classid", "objid")]
            found[relation] = rows(connection, f"SELECT {', '.join(columns)} FROM {relation} t ORDER BY t::text")
        found["members"] = rows(connection, MEMBERS)
    return found


def pg_upgrade(made, node):
    """Replaces the node by what pg_upgrade makes of it."""
    upgraded = Node(node.name, find_free_ports(1, servers.FIRST_PORT), os.path.join(made.folder, node.name + "-upgraded"),
                    node.bindir)
    node.stop()
    with open(os.path.join(node.data, "pomelo.conf"), encoding="utf-8") as file:
        settings = dict(line.strip().split(" = ", 1) for line in file)
    settings = {name: setting[1:-1] for name, setting in settings.items()
                if name not in ("port", "cluster_name", "unix_socket_directories")}
    upgraded.create(settings)
    done = host.run_server_program(
        ["sh", "-c", 'cd "$0" && exec "$@"', upgraded.folder, node.program("pg_upgrade"), "-b", node.bindir, "-B", node.bindir, "-d", node.data, "-D", upgraded.data, "-U", "postgres",
         "-p", str(node.port), "-P", str(upgraded.port), "--no-sync", "--link", "-s", upgraded.folder],
        capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(node.data)
    shutil.move(upgraded.data, node.data)
    shutil.rmtree(upgraded.folder)
    node.configure(settings)
    node.start()


def test_upgrade(make_cluster):
    """A worker is upgraded; the coordinator's catalogs go the same way in place."""
    made = make_cluster(workers=1)
    worker, = made.workers
    with servers.connect(made.coordinator) as connection:
        connection.execute(OBJECTS)
    before = [catalogs(node) for node in made.nodes]
    for name in ("german", "tenant", "cost(bigint)", "['public', 'f']"):
        assert name in str(before[0])

    for node in made.nodes:
        node.sql("SELECT citus_prepare_pg_upgrade()")
        node.sql("SELECT citus_prepare_pg_upgrade()")
    pg_upgrade(made, worker)
    with servers.connect(worker) as connection:
        assert value(connection, "SELECT count(*) FROM pg_dist_partition") == 0
    for node in made.nodes:
        node.sql("SELECT citus_finish_pg_upgrade()")
    assert [catalogs(node) for node in made.nodes] == before

    with servers.connect(worker) as connection:
        for table, count in {"d": 1000, "words": 100, "r": 10, "p": 100, "tenant.t": 1, "l": 1}.items():
            assert value(connection, f"SELECT count(*) FROM {table}") == count
        assert value(connection, "SELECT n FROM words WHERE word = 'w77'") == 77
        connection.execute("INSERT INTO d SELECT g FROM generate_series(1001, 1100) g")
        assert value(connection, "SELECT count(DISTINCT n) FROM d") == 1100
        connection.execute("ALTER TABLE d ADD COLUMN added int DEFAULT 3; CREATE TABLE e (id int, PRIMARY KEY (id))")
        connection.execute("SELECT create_distributed_table('e', 'id', colocate_with => 'd')")
        assert value(connection, "SELECT sum(added) FROM d") == 3300
        connection.execute("DROP SCHEMA tenant CASCADE")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as caught:
            connection.execute("SELECT citus_finish_pg_upgrade()")
        assert "citus_prepare_pg_upgrade" in caught.value.diag.message_hint
