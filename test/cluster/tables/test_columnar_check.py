"""columnar.check_table() finds what is damaged in a table, its partitions and its shards."""

import struct

import psycopg
import pytest

from harness import servers
from harness.servers import rows, value

CHECK = "SELECT nodename IS NOT NULL, relation, stripe_num, attr_num, chunk_group_num, problem FROM columnar.check_table('{t}')"
FILL = "SET columnar.row_wise_limit = 0; INSERT INTO {t} SELECT i, 'k' || i % 7, i / 8.0 FROM generate_series(1, 3000) i"


def damage(node, query):
    """Changes the last byte but eight of the first row of the relation that a query names; the node is down meanwhile."""
    with servers.connect(node) as connection:
        path = value(connection, "SELECT current_setting('data_directory') || '/' || pg_relation_filepath((" + query + "))")
    node.stop()
    with open(path, "r+b") as file:
        item, = struct.unpack_from("<I", file.read(28), 24)
        end = (item & 0x7FFF) + (item >> 17) - 9
        file.seek(end)
        byte = file.read(1)[0]
        file.seek(end)
        file.write(bytes([byte ^ 1]))
    node.start()


@pytest.fixture
def table(schema, coordinator):
    coordinator.execute(f"CREATE TABLE {schema}.t (a int PRIMARY KEY, b text, c numeric) USING columnar WITH (columnar.chunk_group_row_limit = 1000);"
                        + FILL.format(t=f"{schema}.t") + f"; CREATE INDEX i ON {schema}.t (b)")
    return f"{schema}.t"


def test_sound_tables(table, schema, coordinator):
    coordinator.execute(f"""
        DELETE FROM {table} WHERE a % 10 = 0; UPDATE {table} SET b = repeat(a::text, 2000) WHERE a % 11 = 0;
        ALTER TABLE {table} DROP COLUMN c, ADD COLUMN d int DEFAULT 5;
        CREATE INDEX ON {table} USING gist (point(a, d)); CREATE INDEX ON {table} USING gin ((ARRAY[a]));
        CREATE INDEX ON {table} USING hash (b); CREATE INDEX ON {table} USING brin (a); CREATE INDEX ON {table} (d) WHERE a > 5;
        CREATE TABLE {schema}.p (a int, b text, c numeric) PARTITION BY RANGE (a);
        CREATE TABLE {schema}.p1 PARTITION OF {schema}.p FOR VALUES FROM (0) TO (1000) USING columnar;
        CREATE TABLE {schema}.p2 PARTITION OF {schema}.p FOR VALUES FROM (1000) TO (5000);
        SELECT create_distributed_table('{schema}.p', 'a');
        CREATE TABLE {schema}.r (a int PRIMARY KEY, b text, c numeric) USING columnar; SELECT create_reference_table('{schema}.r');
        CREATE TEMP TABLE temporary USING columnar AS SELECT 1 AS a""")
    for name in ("p", "r"):
        coordinator.execute(FILL.format(t=f"{schema}.{name}"))
    for name in (table, f"{schema}.p", f"{schema}.r", "temporary"):
        assert rows(coordinator, CHECK.format(t=name)) == []
    with coordinator.transaction():
        coordinator.execute(f"DELETE FROM {table} WHERE a > 2000; INSERT INTO {table} SELECT i, 'x' FROM generate_series(5000, 8000) i")
        assert rows(coordinator, CHECK.format(t=table)) == []


def test_missing_entries_of_an_index(table, coordinator):
    """Entries are missing where rows came while the index was not maintained."""
    ready = "UPDATE pg_index SET indisready = {r} WHERE indexrelid = (SELECT c.oid FROM pg_class c WHERE relname = 'i')"
    coordinator.execute("SET allow_system_table_mods = on; " + ready.format(r="false"))
    coordinator.execute(f"INSERT INTO {table} SELECT i, 'k' FROM generate_series(5000, 5999) i")
    coordinator.execute(ready.format(r="true"))
    problems = rows(coordinator, CHECK.format(t=table))
    assert [problem[-1] for problem in problems] == ['Index "i" has no entries for 1000 of its rows.']
    assert problems[0][:2] == (False, table) and problems[0][3:5] == (None, None)
    coordinator.execute("REINDEX INDEX " + table.split(".")[0] + ".i")
    assert rows(coordinator, CHECK.format(t=table)) == []


def test_damaged_shard(make_cluster):
    """The rest of the table is checked, and told to be sound."""
    made = make_cluster(workers=1, settings={"ignore_checksum_failure": "on"})      # that of pages, which 18 has unless it is told otherwise
    worker = made.workers[0]
    with servers.connect(made.coordinator) as connection:
        connection.execute("CREATE TABLE t (a int, b text, c numeric) USING columnar WITH (columnar.compression = none); "
                           "SELECT create_distributed_table('t', 'a', shard_count => 4);" + FILL.format(t="t"))
        shard = value(connection, "SELECT min(shardid) FROM citus_shards WHERE table_name = 't'::regclass AND nodeport = %s", [worker.port])
    # the counter of ctids
    damage(worker, f"SELECT reltoastrelid FROM pg_class WHERE relname = 't_{shard}'")
    with servers.connect(made.coordinator) as connection:
        (remote, relation, *_, problem), = rows(connection, CHECK.format(t="t"))
        assert remote and str(shard) in relation and "damaged" in problem, problem


def test_rights(table, schema, coordinator, connect, cluster):
    coordinator.execute(f"CREATE TABLE {schema}.heap (a int)")
    for name, error in ((f"{schema}.heap", psycopg.errors.WrongObjectType), ("pg_class", psycopg.errors.WrongObjectType)):
        with pytest.raises(error, match="is not a columnar table"):
            coordinator.execute(CHECK.format(t=name))
    coordinator.execute(f"CREATE ROLE checker LOGIN; GRANT ALL ON SCHEMA {schema} TO checker; GRANT SELECT ON {table} TO checker")
    try:
        session = connect(cluster.coordinator, user="checker")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be owner of table t"):
            session.execute(CHECK.format(t=table))
        coordinator.execute(f"ALTER TABLE {table} OWNER TO checker")
        assert rows(session, CHECK.format(t=table)) == []
    finally:
        coordinator.execute(f"ALTER TABLE {table} OWNER TO postgres; DROP OWNED BY checker; DROP ROLE checker")
