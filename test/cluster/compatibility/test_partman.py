"""pg_partman makes, fills, detaches and drops partitions of distributed tables as of local ones."""

import psycopg
import pytest

from harness.servers import rows, value

pytestmark = pytest.mark.some(2)

# How its versions write arguments.
SPELLING = {
    "4": {"day": "'native', 'daily'", "month": "'native', 'monthly'", "hundred": "'native', '100'", "declarative": "native"},
    "5": {"day": "'1 day'", "month": "'1 month'", "hundred": "'100'", "declarative": "declarative"},
}

# What there is of a table, its partitions, and tables that were its partitions; names are without the schema's.
SHAPE = """
SELECT c.oid::regclass::text, pg_get_expr(c.relpartbound, c.oid), c.relispartition, c.relacl::text,
  ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = c.oid ORDER BY 1),
  ARRAY(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = c.oid ORDER BY 1),
  query_to_xml('SELECT tenant, v, count(*) FROM ' || c.oid::regclass || ' GROUP BY 1, 2 ORDER BY 1, 2', true, false, '')::text
FROM pg_class c WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text = ANY (%s) AND relname LIKE 't%%' ORDER BY 1"""

BY_TIME = """
CREATE TABLE t (tenant int NOT NULL, at timestamptz NOT NULL, v text DEFAULT 'new', PRIMARY KEY (tenant, at)) PARTITION BY RANGE (at);
CREATE INDEX ON t (v);
GRANT SELECT ON t TO pg_monitor;
SELECT distribute();
SELECT partman.create_parent('t', 'at', {day}, p_premake => 2, p_start_partition => (current_date - 4)::text);
INSERT INTO t SELECT g, current_date - g % 5 + interval '1 hour' FROM generate_series(1, 50) g;
INSERT INTO t VALUES (1, current_date + 40);
CALL partman.partition_data_proc('t', p_wait => 0);
UPDATE partman.part_config SET infinite_time_partitions = true, premake = 4, retention = '2 days', inherit_privileges = true;
SELECT partman.run_maintenance('t');
SELECT partman.partition_gap_fill('t');
UPDATE partman.part_config SET retention = '1 day', retention_keep_table = false;
CALL partman.run_maintenance_proc()
"""

BY_NUMBER = """
CREATE TABLE referenced (r int PRIMARY KEY);
SELECT create_reference_table('referenced');
INSERT INTO referenced SELECT generate_series(0, 9);
CREATE TABLE t (tenant int NOT NULL, id bigint NOT NULL, r int REFERENCES referenced, v text) PARTITION BY RANGE (id);
CREATE TABLE template (LIKE t);
ALTER TABLE template ADD PRIMARY KEY (tenant, id);
SELECT distribute();
SELECT partman.create_parent('t', 'id', {hundred}, p_premake => 2, p_template_table => '{schema}.template');
INSERT INTO t SELECT g % 7, g, g % 10, 'x' FROM generate_series(1, 350) g;
CALL partman.partition_data_proc('t', p_wait => 0);
SELECT partman.run_maintenance('t');
UPDATE partman.part_config SET retention = '250', retention_keep_table = true, retention_keep_index = false;
SELECT partman.run_maintenance('t');
UPDATE partman.part_config SET retention = '150', retention_schema = '{schema}_old';
SELECT partman.run_maintenance('t');
CREATE TABLE t_back (tenant int NOT NULL, id bigint NOT NULL, r int, v text);
SELECT distribute('t_back');
CALL partman.undo_partition_proc('t', p_target_table => '{schema}.t_back', p_keep_table => false)
"""

OF_PARTITIONS = """
CREATE TABLE t (tenant int NOT NULL, at date NOT NULL, id int NOT NULL, v text) PARTITION BY RANGE (at);
SELECT distribute();
SELECT partman.create_parent('t', 'at', {month}, p_premake => 1, p_start_partition => (current_date - 40)::text);
SELECT partman.create_sub_parent('t', 'id', {hundred}, p_{declarative}_check => 'yes', p_premake => 1);
INSERT INTO t SELECT g % 5, current_date, g, 'x' FROM generate_series(1, 150) g;
SELECT partman.run_maintenance();
SELECT partman.run_maintenance()
"""


@pytest.fixture
def partman(cluster, coordinator):
    """A schema for the extension, on all nodes."""
    if value(coordinator, "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_partman'") == 0:
        pytest.skip("pg_partman is not installed in this server (Debian's postgresql-VERSION-partman)")
    coordinator.execute("SET client_min_messages = warning; CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman")
    yield coordinator
    coordinator.execute("RESET ROLE; DROP SCHEMA IF EXISTS partman CASCADE")


def spelling(connection):
    """How the version that is installed writes arguments."""
    version = value(connection, "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'")
    return SPELLING[version.partition(".")[0]]


def life(connection, schema, steps, distributed):
    """What there is after each step of a table's life, in a schema of its own."""
    shapes = []
    connection.execute(f"CREATE SCHEMA {schema}; CREATE SCHEMA {schema}_old; SET search_path = {schema}")
    for step in steps.format(schema=schema, **spelling(connection)).split(";\n"):
        if "distribute(" in step:
            table = "t_back" if "t_back" in step else "t"
            step = f"SELECT create_distributed_table('{table}', 'tenant', shard_count => 4)" if distributed else "SELECT 1"
        connection.execute(step.replace("'t'", f"'{schema}.t'"))
        shapes.append([step, rows(connection, SHAPE, [[schema, schema + "_old"]])])
    connection.execute(f"DROP SCHEMA {schema}, {schema}_old CASCADE; RESET search_path; DELETE FROM partman.part_config_sub")
    connection.execute("DELETE FROM partman.part_config")
    return shapes


@pytest.mark.parametrize("steps", [BY_TIME, BY_NUMBER, OF_PARTITIONS], ids=["time", "number", "partitions of partitions"])
def test_same_as_local(partman, steps):
    """Each step leaves what it leaves of a local table."""
    for expected, actual in zip(life(partman, "partman_local", steps, False), life(partman, "partman_dist", steps, True)):
        assert str(actual[1]).replace("partman_dist", "partman_local") == str(expected[1]), expected[0]


def test_from_any_node(partman, make_cluster, connect):
    """Where its configuration and the template are reference tables, maintenance runs on any node, also on one that is added."""
    own = make_cluster()
    coordinator, worker, added = connect(own.coordinator), connect(own.workers[0]), own.workers[1]
    coordinator.execute("SELECT citus_remove_node('127.0.0.1', %s)", [added.port])
    coordinator.execute("CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot distribute relation"):
        coordinator.execute("SELECT create_distributed_table('partman.part_config', 'parent_table')")
    for table in ("part_config", "part_config_sub"):
        coordinator.execute(f"SELECT create_reference_table('partman.{table}')")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="of an extension"):
        coordinator.execute("SELECT undistribute_table('partman.part_config', cascade_via_foreign_keys => true)")
    worker.execute("CREATE TABLE made (tenant int NOT NULL, at date NOT NULL) PARTITION BY RANGE (at)")
    worker.execute("SELECT create_distributed_table('made', 'tenant')")
    worker.execute("CREATE TABLE made_like (LIKE made)")
    worker.execute("SELECT create_reference_table('made_like')")
    worker.execute(f"SELECT partman.create_parent('public.made', 'at', {spelling(worker)['day']}, p_premake => 1, "
                   "p_template_table => 'public.made_like')")
    coordinator.execute("SELECT citus_add_node('127.0.0.1', %s)", [added.port])
    coordinator.execute("UPDATE partman.part_config SET premake = 3, infinite_time_partitions = true")
    count = "SELECT count(*) FROM time_partitions WHERE parent_table = 'made'::regclass"
    before = value(coordinator, count)
    connect(added).execute("SELECT partman.run_maintenance()")
    assert value(worker, count) > before
    coordinator.execute("SELECT citus_remove_node('127.0.0.1', %s)", [added.port])
    coordinator.execute("DROP EXTENSION pg_partman")
    left = "SELECT array_agg(logicalrelid::text) FROM pg_dist_partition WHERE repmodel = 't'"
    assert [value(node, left) for node in (coordinator, worker)] == [['made_like'], ['made_like']]
