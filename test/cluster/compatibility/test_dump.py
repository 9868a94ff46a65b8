"""pg_dump of a node: the logical tables with all their rows, and nothing of shards."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import psycopg
import pytest

from pomelo_cluster import host

from harness import servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, total
from harness.servers import rows, value

TABLES = """
    CREATE TABLE dumped (id int PRIMARY KEY, kind text CHECK (kind <> ''), amount numeric DEFAULT 0);
    CREATE TABLE colour (id int PRIMARY KEY, name text);
    CREATE INDEX dumped_kind ON dumped (kind);
    CREATE STATISTICS dumped_stats ON id, kind FROM dumped;
    ALTER TABLE dumped ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON dumped USING (kind = current_user);
    GRANT SELECT, UPDATE ON dumped TO PUBLIC;
    SELECT create_reference_table('colour');
    INSERT INTO colour SELECT g, 'c' || g FROM generate_series(1, 10) g;
"""


@pytest.fixture(scope="module")
def made():
    with servers.cluster(purpose="check-dump") as cluster:
        with servers.connect(cluster.coordinator) as connection:
            connection.execute(TABLES)
            connection.execute("SELECT create_distributed_table('dumped', 'id', shard_count => 8)")
            connection.execute("INSERT INTO dumped SELECT g, 'k' || g % 7, g FROM generate_series(1, 1000) g")
        yield cluster


def run(node, program, *arguments):
    """The output of one of the server's programs, for the node's database."""
    done = host.run_server_program([node.program(program), *arguments, "-d", node.dsn], capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def database(made):
    """A fresh database of the coordinator's server, without the extension, as a connection string."""
    with servers.connect(made.coordinator) as connection:
        connection.execute("DROP DATABASE IF EXISTS restored")
        connection.execute("CREATE DATABASE restored")
        yield made.coordinator.dsn_for(dbname="restored")
        connection.execute("DROP DATABASE restored WITH (FORCE)")


def restore(made, database, text):
    """Runs a dump but for its extension, so that its tables are ordinary ones."""
    script = "".join(line for line in text.splitlines(keepends=True) if "EXTENSION" not in line)
    done = subprocess.run([made.coordinator.program("psql"), "-q", "-X", "-v", "ON_ERROR_STOP=1", "-d", database],
                          input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["coordinator", "worker1", "worker2"])
def test_a_dump_can_be_restored(made, database, name):
    """All rows once, with what belongs to the tables, and no word of shards."""
    text = run(made.node(name), "pg_dump")
    assert "dumped" in text
    assert "citus_data" not in text
    restore(made, database, text)
    with psycopg.connect(database, autocommit=True) as restored:
        assert value(restored, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '_\\d+$'") == 0
        assert rows(restored, "SELECT count(*), sum(amount), count(DISTINCT id) FROM dumped") == [(1000, 500500, 1000)]
        assert rows(restored, "SELECT count(*) FROM colour") == [(10,)]
        assert value(restored, "SELECT relrowsecurity FROM pg_class WHERE oid = 'dumped'::regclass")


@pytest.mark.parametrize("name", ["coordinator", "worker1"])
def test_jobs(made, database, name):
    """The sessions of pg_dump --jobs read all nodes as of one point in time, while money is moved between them."""
    account_tables(made)
    node = made.node(name)
    folder = os.path.join(node.folder, "dump")
    load = Load()
    load.add_transfers(made)
    load.meanwhile(lambda: run(node, "pg_dump", "--jobs=3", "--format=directory", f"--file={folder}"))
    done = host.run_server_program([node.program("pg_restore"), "--file=-", folder], capture_output=True)
    shutil.rmtree(folder)
    restore(made, database, done.stdout)
    with psycopg.connect(database, autocommit=True) as restored:
        assert total(restored) == (ACCOUNTS * BALANCE, ACCOUNTS)
        assert rows(restored, "SELECT count(*), sum(amount) FROM dumped") == [(1000, 500500)]


def test_schema_only(made):
    for node in made.nodes:
        assert "citus_data" not in run(node, "pg_dump", "--schema-only")


def test_others_see_shards(made):
    """Of the catalogs' readers it is pg_dump alone that doesn't see them, and it does if it is asked to."""
    query = "SELECT count(*) FROM pg_class WHERE relnamespace = 'citus_data'::regnamespace AND relkind = 'r'"
    with servers.connect(made.workers[0]) as other, \
            servers.connect(made.workers[0], application_name="pg_dump") as dumper:
        shards = value(other, query)
        assert shards > 0
        assert value(dumper, query) == 0
        assert value(dumper, f"SELECT (SELECT x FROM ({query}) AS s(x)) FROM pg_type LIMIT 1") == 0
        dumper.execute("SET citus.override_table_visibility = off")
        assert value(dumper, query) == shards


CLUSTER = """
    CREATE TABLE tenant (id int PRIMARY KEY, name text);
    CREATE TABLE item (tenant int, id int GENERATED ALWAYS AS IDENTITY, colour int REFERENCES colour,
        made date, PRIMARY KEY (tenant, id, made)) PARTITION BY RANGE (made);
    CREATE TABLE item_old PARTITION OF item FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
    CREATE TABLE item_new PARTITION OF item FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
    SELECT create_distributed_table('tenant', 'id', shard_count => 4, colocate_with => 'none');
    SELECT create_distributed_table('item', 'tenant', colocate_with => 'tenant');
    ALTER TABLE item ADD FOREIGN KEY (tenant) REFERENCES tenant;
    CREATE TABLE alone (id int);
    SELECT create_distributed_table('alone', NULL, colocate_with => 'none');
    INSERT INTO tenant SELECT g, 't' || g FROM generate_series(1, 20) g;
    INSERT INTO item (tenant, colour, made) SELECT 1 + g % 20, 1 + g % 10, '2019-12-01'::date + g FROM generate_series(1, 60) g;
    CREATE VIEW busy AS SELECT tenant, count(*) FROM item GROUP BY tenant;
    CREATE SCHEMA ours; CREATE TABLE ours.t (id int PRIMARY KEY); INSERT INTO ours.t VALUES (1);
    SELECT citus_schema_distribute('ours')
"""
DISTRIBUTION = """
    SELECT p.logicalrelid::text, p.partmethod::text, column_to_column_name(p.logicalrelid, p.partkey),
        (SELECT count(*) FROM pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid),
        dense_rank() OVER (ORDER BY (SELECT min(o.logicalrelid::text) FROM pg_dist_partition o WHERE o.colocationid = p.colocationid))
    FROM pg_dist_partition p ORDER BY 1
"""
CONTENT = """
    SELECT (SELECT count(*) FROM dumped), (SELECT count(*) FROM colour), (SELECT count(*) FROM tenant), (SELECT count(*) FROM ours.t),
        (SELECT array_agg((tenant, id, colour, made) ORDER BY tenant, id)::text FROM item), (SELECT sum(count) FROM busy)
"""


@contextmanager
def another_database(made):
    """Another database of these servers, a cluster of its own: a connection to its coordinator."""
    for node in made.nodes:
        with servers.connect(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute("CREATE DATABASE again")
        with servers.connect(node, dbname="again") as connection:
            connection.execute("CREATE EXTENSION citus")
    with servers.connect(made.coordinator, dbname="again") as connection:
        connection.execute(f"SELECT citus_set_coordinator_host('127.0.0.1', {made.coordinator.port})")
        for node in made.workers:
            connection.execute(f"SELECT citus_add_node('127.0.0.1', {node.port})")
        yield connection
    for node in made.nodes:
        with servers.connect(node) as connection:
            connection.execute("DROP DATABASE again WITH (FORCE)")


def test_a_dump_becomes_a_cluster(made):
    """With the commands that distribute the tables behind its first section, or behind all of it."""
    with servers.connect(made.coordinator) as connection:
        connection.execute(CLUSTER)
        commands = "\n".join(command for command, in rows(connection, "SELECT citus_distribution_commands()"))
        before = [rows(connection, DISTRIBUTION), rows(connection, CONTENT)]
    sections = [run(made.coordinator, "pg_dump", f"--section={section}") for section in ["pre-data", "data", "post-data"]]
    for script in ([sections[0], commands, *sections[1:]], [*sections, commands]):
        with another_database(made) as connection:
            done = subprocess.run([made.coordinator.program("psql"), "-q", "-X", "-v", "ON_ERROR_STOP=1",
                                   "-d", made.coordinator.dsn_for(dbname="again")],
                                  input="\n".join(script), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert [rows(connection, DISTRIBUTION), rows(connection, CONTENT)] == before
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                connection.execute("INSERT INTO item (tenant, made) VALUES (-1, '2020-01-01')")
            connection.execute("INSERT INTO item (tenant, made) VALUES (1, '2020-01-01')")
