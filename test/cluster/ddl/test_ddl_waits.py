"""DDL that finds, after it has waited for a table, that the table is not what it was."""

import psycopg
import pytest

from harness.servers import on_every_node, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped

# A table and its shards: columns with their types, indexes, statistics, rights.
SHAPE = """
    SELECT DISTINCT (SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) FROM pg_attribute
                     WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
           (SELECT count(*) FROM pg_index WHERE indrelid = c.oid),
           (SELECT string_agg(stxstattarget::text, ',') FROM pg_statistic_ext WHERE stxrelid = c.oid), relacl::text
    FROM pg_class c LEFT JOIN pg_dist_shard s ON relname LIKE '%\\_' || shardid
    WHERE relkind = 'r' AND (c.oid = '{0}'::regclass OR s.logicalrelid = '{0}'::regclass)"""

STATEMENTS = [
    "ALTER TABLE {} ALTER v TYPE real",
    "ALTER TABLE {} ADD w int",
    "ALTER TABLE {} DROP v",
    "ALTER TABLE {} RENAME v TO w",
    "CREATE INDEX ON {} (v)",
    "DROP INDEX {}_i",
    "CREATE STATISTICS {}_more ON id, v FROM {}",
    "ALTER STATISTICS {}_s SET STATISTICS 7",
    "DROP STATISTICS {}_s",
    "REINDEX TABLE {}",
    "CLUSTER {} USING t_i",
    "TRUNCATE {}",
    "GRANT SELECT ON {} TO public",
    "BEGIN; LOCK TABLE {}; TRUNCATE {}; COMMIT",
    "DROP TABLE {}",
    "ALTER TABLE {} RENAME TO r",
]


@pytest.fixture
def local(coordinator, schema):
    """A local table with an index, statistics and a row."""
    return make_local(coordinator, schema)


def make_local(connection, schema):
    name = f"{schema}.t"
    connection.execute(f"CREATE TABLE {name} (id int, v int)")
    connection.execute(f"CREATE INDEX t_i ON {name} (v)")
    connection.execute(f"CREATE STATISTICS {name}_s ON id, v FROM {name}")
    connection.execute(f"INSERT INTO {name} VALUES (1, 2)")
    return name


def state_of(connection, schema):
    """What there is in the schema: the tables with their shapes and rows, how they are clustered; shards."""
    tables = [name for (name,) in rows(connection, """
        SELECT oid::regclass::text FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'""", [schema])]
    return [(name, rows(connection, SHAPE.format(name)), rows(connection, f"SELECT * FROM {name}"),
             rows(connection, "SELECT indexrelid::regclass::text, indisclustered FROM pg_index "
                              "WHERE indrelid = %s::regclass ORDER BY 1", [name]),
             value(connection, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = %s::regclass", [name]))
            for name in tables]


def run_behind(cluster, connect, holder, statement, rows=None):
    """Runs a statement that has to wait for the holder, and commits that; its error or None."""
    waits = Statement(connect(cluster.coordinator), statement, rows)
    watch = connect(cluster.coordinator)
    wait_until(lambda: value(watch, f"SELECT {holder.info.backend_pid} = ANY(pg_blocking_pids(pid)) "
                                    "FROM pg_locks WHERE NOT granted"), "the statement to wait")
    holder.commit()
    return waits.finish()


def check_same_everywhere(cluster, table):
    shapes = on_every_node(cluster, SHAPE.format(table))
    assert all(len(rows) == 1 for rows in shapes.values()) and len(set(map(str, shapes.values()))) == 1, shapes


@pytest.mark.parametrize("statement", STATEMENTS)
def test_distributed_meanwhile(cluster, coordinator, connect, schema, session, local, statement):
    """DDL that waits for a local table while that is distributed reaches all nodes and shards."""
    distributing = session(0)
    distributing.execute(f"SELECT create_distributed_table('{local}', 'id')")
    assert run_behind(cluster, connect, distributing, statement.format(local, local)) is None
    if "DROP TABLE" in statement:
        assert set(map(str, on_every_node(cluster, f"SELECT to_regclass('{local}')").values())) == {"[(None,)]"}
        return
    table = f"{schema}.r" if "RENAME TO" in statement else local
    check_same_everywhere(cluster, table)
    rows = 0 if "TRUNCATE" in statement else 1
    assert on_every_node(cluster, f"SELECT count(*) FROM {table}") == {node.name: [(rows,)] for node in cluster.nodes}


@pytest.mark.parametrize("what", ["TABLE {}", "COLUMN {}.v", "INDEX {}_i", "STATISTICS {}_s", "CONSTRAINT c ON {}"])
def test_comment_on_a_table_distributed_meanwhile(cluster, coordinator, connect, session, local, what):
    coordinator.execute(f"ALTER TABLE {local} ADD CONSTRAINT c CHECK (v > 0)")
    distributing = session(0)
    distributing.execute(f"SELECT create_distributed_table('{local}', 'id')")
    assert run_behind(cluster, connect, distributing, f"COMMENT ON {what.format(local)} IS 'note of {local}'") is None
    comments = on_every_node(cluster, f"SELECT count(*) FROM pg_description WHERE description = 'note of {local}'")
    assert comments == {node.name: [(1,)] for node in cluster.nodes}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_undistributed_meanwhile(cluster, coordinator, connect, schema, session, local, statement):
    """DDL that waits for a distributed table while that is made local again does what it does to local ones."""
    coordinator.execute(statement.format(local, local))
    expected = state_of(coordinator, schema)
    for (name, *_) in expected:
        coordinator.execute(f"DROP TABLE {name}")
    make_local(coordinator, schema)
    coordinator.execute(f"SELECT create_distributed_table('{local}', 'id')")
    undistributing = session(0)
    undistributing.execute(f"SELECT undistribute_table('{local}')")
    assert run_behind(cluster, connect, undistributing, statement.format(local, local)) is None
    assert state_of(coordinator, schema) == expected


def test_values_after_another_type_of_the_same_length(cluster, coordinator, connect, session, local):
    """What a node sends is never read as if it had another type."""
    distributing = session(0)
    distributing.execute(f"SELECT create_distributed_table('{local}', 'id')")
    assert run_behind(cluster, connect, distributing, f"ALTER TABLE {local} ALTER v TYPE real") is None
    assert on_every_node(cluster, f"SELECT * FROM {local}") == {node.name: [(1, 2.0)] for node in cluster.nodes}


def test_renamed_before_it_is_undistributed(cluster, coordinator, connect, schema, session, local):
    """undistribute_table means the table that it was given, whatever its name is after the wait."""
    coordinator.execute(f"SELECT create_distributed_table('{local}', 'id')")
    renaming = session(0)
    renaming.execute(f"ALTER TABLE {local} RENAME TO r")
    assert run_behind(cluster, connect, renaming, f"SELECT undistribute_table('{local}')") is None
    assert value(coordinator, f"SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = '{schema}.r'::regclass") == 0
    assert value(coordinator, f"SELECT count(*) FROM {schema}.r") == 1


CONVERSIONS = ["create_distributed_table('{}', 'id')", "create_reference_table('{}')", "undistribute_table('{}')"]


@pytest.mark.parametrize("before", CONVERSIONS)
@pytest.mark.parametrize("after", CONVERSIONS)
@pytest.mark.parametrize("rows", [None, [(2, 3), (3, 4), (4, 5)]])
def test_copy_of_a_table_converted_meanwhile(cluster, coordinator, connect, session, local, before, after, rows):
    """COPY, with rows FROM, works on the table as it is after the wait."""
    if "undistribute" not in before:
        coordinator.execute(f"SELECT {before.format(local)}")
    converting = session(0)
    if "undistribute" not in before:
        converting.execute(f"SELECT undistribute_table('{local}')")
    if "undistribute" not in after:
        converting.execute(f"SELECT {after.format(local)}")
    if before == after == CONVERSIONS[-1]:
        converting.execute(f"LOCK TABLE {local}")
    error = run_behind(cluster, connect, converting, f"COPY {local} {'FROM STDIN' if rows else 'TO STDOUT'}", rows)
    assert error is None
    assert value(coordinator, f"SELECT array_agg(id ORDER BY id) FROM {local}") == ([1, 2, 3, 4] if rows else [1])


def test_copy_while_the_table_is_committed(cluster, coordinator, connect, schema, local):
    """A table that this node has already, and another node is just getting."""
    making = Stopped(cluster.coordinator, "commit-between-commits", f"SELECT create_distributed_table('{local}', 'id')")
    has_it = [value(connect(node), f"SELECT to_regclass('{local}')") is not None for node in cluster.workers]
    assert sorted(has_it) == [False, True]
    copying = Statement(connect(cluster.workers[has_it.index(True)]), f"COPY {local} FROM STDIN",
                        [(key, key) for key in range(2, 102)])
    other = connect(cluster.workers[has_it.index(False)])
    wait_until(lambda: not copying.running or
               value(other, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '/*citus:frames%'"),
               "the rows to be sent")
    assert making.go_on() is None
    assert copying.finish() is None
    assert value(coordinator, f"SELECT count(*) FROM {local}") == 101


@pytest.mark.parametrize("distributed", [False, True])
@pytest.mark.parametrize("statement", [
    "SELECT undistribute_table('{}')",
    "SELECT create_distributed_table('{}', 'id')",
    "SELECT create_reference_table('{}')",
    "CREATE STATISTICS {}_more ON id, v FROM {}",
    "ALTER TABLE {} ADD w int",
    "CREATE INDEX ON {} (v)",
    "TRUNCATE {}",
])
def test_dropped_meanwhile(cluster, coordinator, connect, session, local, statement, distributed):
    """A table that is dropped during the wait does not exist, as on one server."""
    if distributed:
        coordinator.execute(f"SELECT create_distributed_table('{local}', 'id')")
    dropping = session(0)
    dropping.execute(f"DROP TABLE {local}")
    error = run_behind(cluster, connect, dropping, statement.format(local, local))
    assert isinstance(error, psycopg.errors.UndefinedTable), error


@pytest.mark.parametrize("statement", ["DROP SCHEMA dropped_later CASCADE", "DROP OWNED BY dropper CASCADE", "REASSIGN OWNED BY dropper TO postgres"])
def test_many_tables_dropped_without_blocking(cluster, coordinator, connect, statement):
    """What drops or alters many tables holds none of one node while it waits for another's: as DROP TABLE, it locks all nodes' first."""
    coordinator.execute("DROP ROLE IF EXISTS dropper; CREATE ROLE dropper; CREATE SCHEMA dropped_later")
    coordinator.execute("CREATE TABLE dropped_later.t (id int, v int)")
    coordinator.execute("SELECT create_distributed_table('dropped_later.t', 'id')")
    coordinator.execute("ALTER TABLE dropped_later.t OWNER TO dropper")
    holder, reader = connect(cluster.workers[0]), connect(cluster.coordinator)
    holder.execute("BEGIN")
    assert value(holder, "SELECT count(*) FROM dropped_later.t") == 0
    drop = Statement(connect(cluster.coordinator), statement)
    watch = connect(cluster.workers[0])
    wait_until(lambda: value(watch, f"SELECT count(*) FROM pg_locks WHERE NOT granted AND {holder.info.backend_pid} = ANY(pg_blocking_pids(pid))"),
               "the drop to wait")
    reader.execute("SET lock_timeout = '20s'")
    assert value(reader, "SELECT count(*) FROM dropped_later.t") == 0
    assert drop.running
    holder.execute("COMMIT")
    assert drop.finish() is None
    coordinator.execute("DROP SCHEMA IF EXISTS dropped_later CASCADE; DROP ROLE dropper")


def test_no_lock_without_rights(cluster, coordinator, connect):
    """Who hasn't a role's rights is refused DROP OWNED at once, not after having waited for, and so blocked, the role's tables."""
    coordinator.execute("DROP ROLE IF EXISTS dropper, stranger; CREATE ROLE dropper; CREATE ROLE stranger; CREATE SCHEMA owned")
    coordinator.execute("CREATE TABLE owned.t (id int)")
    coordinator.execute("SELECT create_distributed_table('owned.t', 'id')")
    coordinator.execute("ALTER TABLE owned.t OWNER TO dropper")
    holder, stranger = connect(cluster.workers[0]), connect(cluster.coordinator)
    holder.execute("BEGIN; LOCK TABLE owned.t IN ACCESS SHARE MODE")
    stranger.execute("SET ROLE stranger; SET lock_timeout = '20s'")
    for statement in ("DROP OWNED BY dropper", "REASSIGN OWNED BY dropper TO stranger"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            stranger.execute(statement)
    holder.execute("ROLLBACK")
    coordinator.execute("DROP SCHEMA owned CASCADE; DROP ROLE dropper, stranger")
