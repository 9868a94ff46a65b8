"""pg_upgrade of a cluster's nodes: the catalogs are saved before, and restored afterwards."""

import glob
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
    SET citus.global_indexes = on;
    CREATE TABLE u (tenant int, id int PRIMARY KEY, email text);
    SELECT create_distributed_table('u', 'tenant');
    CREATE UNIQUE INDEX u_email ON u (lower(email));
    CREATE TABLE o (tenant int, id int, u int REFERENCES u ON DELETE CASCADE);
    SELECT create_distributed_table('o', 'tenant');
    CREATE INDEX d_n ON d (n) WHERE citus_global_index();
    CREATE TABLE pu (tenant int, at int, id int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE TABLE pu1 PARTITION OF pu FOR VALUES FROM (0) TO (100);
    SELECT create_distributed_table('pu', 'tenant');
    CREATE TABLE ud (tenant int, id int UNIQUE DEFERRABLE INITIALLY DEFERRED);
    SELECT create_distributed_table('ud', 'tenant');
    INSERT INTO pu SELECT g, g % 100, g FROM generate_series(1, 200) g;
    INSERT INTO ud SELECT g, g FROM generate_series(1, 20) g;
    INSERT INTO u SELECT g % 50, g, 'u' || g FROM generate_series(1, 100) g;
    INSERT INTO o SELECT g % 30, g, g FROM generate_series(1, 100) g;
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


def last_lines(node):
    """The ends of what pg_upgrade has logged."""
    text = ""
    for name in sorted(glob.glob(os.path.join(node.data, "pg_upgrade_output.d/*/log/*.log"))):
        with open(name, encoding="utf-8", errors="replace") as file:
            text += f"\n{name}: {file.read()[-1000:]}"
    return text


def pg_upgrade(node, bindir, link=True):
    """Replaces the node by what pg_upgrade makes of it for the server with these programs."""
    upgraded = Node(node.name, find_free_ports(1, servers.FIRST_PORT), os.path.join(node.folder + "-upgraded"), bindir)
    checksums = node.sql("SHOW data_checksums") == "on"
    node.stop()
    with open(os.path.join(node.data, "pomelo.conf"), encoding="utf-8") as file:
        settings = dict(line.strip().split(" = ", 1) for line in file)
    settings = {name: setting[1:-1] for name, setting in settings.items()
                if name not in ("port", "cluster_name", "unix_socket_directories")}
    if "--no-data-checksums" in host.run_server_program([upgraded.program("initdb"), "--help"], capture_output=True).stdout:
        upgraded.create(settings, () if checksums else ["--no-data-checksums"])     # the default has changed
    else:
        upgraded.create(settings)
    done = host.run_server_program(
        ["sh", "-c", 'cd "$0" && exec "$@"', upgraded.folder, upgraded.program("pg_upgrade"), "-b", node.bindir, "-B", bindir, "-d", node.data,
         "-D", upgraded.data, "-U", "postgres", "-p", str(node.port), "-P", str(upgraded.port), "--no-sync",
         *(["--link"] if link else []), "-s", upgraded.folder],
        capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr + last_lines(upgraded)
    shutil.copy(os.path.join(node.data, "postgresql.auto.conf"), upgraded.data)
    shutil.rmtree(node.data)
    shutil.move(upgraded.data, node.data)
    shutil.rmtree(upgraded.folder)
    node.bindir = bindir
    node.configure(settings)
    node.start()


def check_global_keys(connection):
    """Indexes over all shards, and foreign keys between nodes, work as before."""
    with pytest.raises(psycopg.errors.UniqueViolation, match='"u_pkey"'):
        connection.execute("INSERT INTO u VALUES (1, 7, 'new')")
    with pytest.raises(psycopg.errors.UniqueViolation, match='"u_email"'):
        connection.execute("INSERT INTO u VALUES (1, 1007, 'U7')")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("INSERT INTO o VALUES (1, 1, 1007)")
    for rows_again in ("pu VALUES (1000, 7, 7)", "ud VALUES (1000, 7)"):
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(f"INSERT INTO {rows_again}")
    connection.execute("DELETE FROM u WHERE id = 7")
    assert value(connection, "SELECT count(*) FROM o") == 99
    connection.execute("INSERT INTO u VALUES (1, 7, 'u7'); INSERT INTO o VALUES (2, 7, 7)")
    for index in ("u_pkey", "u_email", "d_n"):
        assert value(connection, "SELECT citus_check_global_index(%s)", [index]) == 0
    connection.execute("DROP TABLE o, u, pu, ud; DROP INDEX d_n")
    assert value(connection, "SELECT count(*) FROM pg_class WHERE relname ~ '^global_index_'") == 0     # entries go with their index


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
    pg_upgrade(worker, worker.bindir)
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
        check_global_keys(connection)
        connection.execute("ALTER TABLE d ADD COLUMN added int DEFAULT 3; CREATE TABLE e (id int, PRIMARY KEY (id))")
        connection.execute("SELECT create_distributed_table('e', 'id', colocate_with => 'd')")
        assert value(connection, "SELECT sum(added) FROM d") == 3300
        connection.execute("DROP SCHEMA tenant CASCADE")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState) as caught:
            connection.execute("SELECT citus_finish_pg_upgrade()")
        assert "citus_prepare_pg_upgrade" in caught.value.diag.message_hint

# A cluster that is taken to another major version, and what makes work for pg_upgrade besides tables.
CLUSTER = (
    OBJECTS,
    """
    CREATE TABLE stored (id int, v text) USING columnar;
    SELECT create_distributed_table('stored', 'id', shard_count => 4);
    INSERT INTO stored SELECT g, repeat('x', g % 100) FROM generate_series(1, 20000) g;
    DELETE FROM stored WHERE id > 19990;
    CREATE TABLE stored_here (id int, v text) USING columnar;
    INSERT INTO stored_here SELECT g, 'y' FROM generate_series(1, 5000) g;
    CREATE PUBLICATION published FOR TABLE d;
    INSERT INTO pg_dist_background_job (job_type, description) VALUES ('test', 'waits for the upgrade');
    INSERT INTO pg_dist_background_task (job_id, command, status, not_before)
        SELECT max(job_id), 'INSERT INTO r VALUES (11)', 'runnable', now() + '1 day' FROM pg_dist_background_job;
    """)

ANSWERS = (
    "SELECT count(*), sum(n) FROM d",
    "SELECT count(*), sum(length(v)) FROM stored",
    "SELECT n FROM words WHERE word = 'w77'",
    "SELECT count(*) FROM p JOIN d USING (id)",
    "SELECT count(*) FROM tenant.t",
    "SELECT id FROM l",
    "SELECT citus_table_type, count(*) FROM citus_tables GROUP BY 1 ORDER BY 1",
    "SELECT nodename, nodeport, groupid FROM pg_dist_node ORDER BY nodeid",
)


def members(connection):
    """The extension's objects."""
    return rows(connection, "SELECT pg_describe_object(classid, objid, 0) FROM pg_depend JOIN pg_extension e ON e.oid = refobjid "
                            "WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND extname = 'citus' ORDER BY 1")


def changes(node):
    """How many messages of the slot name the published table, not a shard."""
    with servers.connect(node) as connection:
        messages = rows(connection, "SELECT data FROM pg_logical_slot_get_binary_changes('kept', NULL, NULL, "
                                    "'proto_version', '1', 'publication_names', 'published')")
    return sum(1 for message, in messages if message[:1] == b"I")


def knows_column_versions(bindir):
    """Whether the server is of a minor release that keeps a version of each column, which an earlier release of the next major version can't restore."""
    with open(os.path.join(bindir, "postgres"), "rb") as file:
        return b"pg_attver" in file.read()


def forget_column_versions(node):
    """Leaves columns as those are that an earlier minor release has made."""
    node.sql("UPDATE pg_attribute SET attoptions = (SELECT array_agg(o) FROM unnest(attoptions) o WHERE o !~ '^pg_attver=') "
             "WHERE attoptions::text ~ 'pg_attver='")


@pytest.mark.skipif("POMELO_OLD_SERVER" not in os.environ, reason="POMELO_OLD_SERVER, the programs of an earlier major version, is not set")
@pytest.mark.parametrize("link", [True, False], ids=["link", "copy"])
def test_major_version(make_cluster, monkeypatch, link):
    """All nodes, with columnar tables, global indexes, a publication and its slot, a job and a gateway, become ones of this server's version, as docs/upgrading.md says."""
    bindir = host.bin_dir(host.pg_config())
    is_of_earlier_minor = knows_column_versions(os.environ["POMELO_OLD_SERVER"]) and not knows_column_versions(bindir)
    with monkeypatch.context() as patch:
        patch.setenv("PG_CONFIG", os.path.join(os.environ["POMELO_OLD_SERVER"], "pg_config"))
        made = make_cluster(workers=2, settings={"citus.enable_change_data_capture": "on"})
    keeps_slots = int(made.coordinator.sql("SHOW server_version_num")) >= 170000
    made.coordinator.start_gateway()
    with servers.connect(made.coordinator) as connection:
        for statements in CLUSTER:
            connection.execute(statements)
        before = {query: rows(connection, query) for query in ANSWERS}
    for node in made.nodes:
        if keeps_slots:
            node.sql("SELECT pg_create_logical_replication_slot('kept', 'pgoutput')")
        node.sql("SELECT citus_prepare_pg_upgrade()")
    for node in made.nodes:
        if is_of_earlier_minor:
            forget_column_versions(node)
        if keeps_slots:
            changes(node)       # pg_upgrade takes a slot that has received everything
        pg_upgrade(node, bindir, link)
    for node in made.nodes:
        node.sql("SELECT citus_finish_pg_upgrade()")
    made.coordinator.sql("ANALYZE")
    assert made.coordinator.sql("SELECT count(*), max(v) FROM stored_here") == "5000|y"

    made.coordinator.sql("CREATE DATABASE fresh")
    with servers.connect(made.coordinator, dbname="fresh") as connection:
        connection.execute("CREATE EXTENSION citus")
        fresh = members(connection)
    for node in made.nodes:
        with servers.connect(node) as connection:
            assert {query: rows(connection, query) for query in ANSWERS} == before
            assert members(connection) == fresh
            if not keeps_slots:
                connection.execute("SELECT pg_create_logical_replication_slot('kept', 'pgoutput')")
    made.coordinator.sql("UPDATE pg_dist_background_task SET not_before = NULL")
    with servers.connect(made.workers[1]) as connection:
        connection.execute("INSERT INTO d SELECT g FROM generate_series(2001, 2100) g")
        connection.execute("INSERT INTO stored SELECT g, 'new' FROM generate_series(30001, 30100) g; UPDATE stored SET v = 'old' WHERE id = 5")
        assert value(connection, "SELECT count(*) FROM stored WHERE v IN ('new', 'old')") == 101
        servers.wait_until(lambda: value(connection, "SELECT count(*) FROM r WHERE id = 11") == 1, "the job that was left to be run")
        check_global_keys(connection)
    assert sum(changes(node) for node in made.nodes) == 100
    with psycopg.connect(made.coordinator.dsn, port=int(made.coordinator.sql("SHOW citus.gateway_port"))) as connection:
        assert value(connection, "SELECT count(*) FROM d") == 1100
