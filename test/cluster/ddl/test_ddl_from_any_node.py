"""DDL, conversions and changes of nodes that start on workers, and on several nodes at once."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from harness.servers import on_every_node, rows, value, wait_until
from harness.statement import Statement
from harness.stopped import Stopped

# Columns, indexes and constraints of a schema's tables, as each node has them.
CATALOGS = """
    SELECT c.relname, c.relkind, obj_description(c.oid, 'pg_class'), c.relacl::text,
           (SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull, ', ' ORDER BY attnum)
            FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
           (SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' ORDER BY conname)
            FROM pg_constraint WHERE conrelid = c.oid)
    FROM pg_class c WHERE relnamespace = '{schema}'::regnamespace AND relkind <> 'S' ORDER BY 1"""


@pytest.fixture
def there(cluster, schema):
    """The test's schema on every node, for tables that are made there."""
    for node in cluster.nodes:
        node.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    return schema


def assert_alike(cluster, schema):
    """All nodes have the same tables, and the same metadata of them."""
    for query in (CATALOGS.format(schema=schema),
                  "SELECT logicalrelid::text, partmethod, colocationid FROM pg_dist_partition ORDER BY 1",
                  "SELECT shardid, logicalrelid::text, shardminvalue FROM pg_dist_shard ORDER BY 1",
                  "SELECT placementid, shardid, groupid FROM pg_dist_placement ORDER BY 1",
                  "SELECT * FROM pg_dist_colocation ORDER BY 1"):
        answers = on_every_node(cluster, query)
        assert len(set(map(str, answers.values()))) == 1, (query, answers)


def at_once(cluster, work, rounds=2):
    """Runs work(node, number) on every node at the same time, in that many sessions each; the errors of all."""
    with ThreadPoolExecutor(rounds * len(cluster.nodes)) as pool:
        started = [pool.submit(work, node, number) for number, node in enumerate(cluster.nodes * rounds)]
    return [done.exception() for done in started if done.exception()]


def test_one_table_altered_from_all_nodes(cluster, connect, schema, table):
    """Statements wait for each other in no circle, and all nodes and shards end up with all of them."""
    def alter(node, number):
        connection = connect(node)
        for turn in range(6):
            column = f"c{number}_{turn}"
            connection.execute(f"ALTER TABLE {table} ADD {column} int DEFAULT {turn}")
            connection.execute(f"CREATE INDEX {column}_i ON {table} ({column})")
            connection.execute(f"COMMENT ON TABLE {table} IS '{column}'")
            connection.execute(f"GRANT SELECT ON {table} TO public")
            connection.execute(f"ALTER INDEX {schema}.{column}_i RENAME TO {column}_k")
            connection.execute(f"DROP INDEX {schema}.{column}_k")
            if turn % 2:
                connection.execute(f"ALTER TABLE {table} DROP {column}")

    assert at_once(cluster, alter) == []
    assert_alike(cluster, schema)
    columns = on_every_node(cluster, """
        SELECT DISTINCT (SELECT string_agg(attname, ',' ORDER BY attname) FROM pg_attribute
                         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
        FROM pg_class c JOIN pg_dist_shard s ON relname = 't_' || shardid""")
    assert len({str(answer) for answer in columns.values() if answer}) == 1, columns


def test_tables_distributed_from_all_nodes(cluster, connect, there):
    """Ids don't collide, and tables of the default group are colocated, whoever makes it and drops it."""
    def make_and_drop(node, number):
        connection = connect(node)
        connection.execute("SET citus.shard_count = 5")
        for turn in range(8):
            name = f"{there}.t{number}_{turn}"
            connection.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, v text)")
            connection.execute(f"INSERT INTO {name} SELECT i, i FROM generate_series(1, 10) i")
            connection.execute(f"SELECT create_distributed_table('{name}', 'id')")
            assert value(connection, f"SELECT sum(id) FROM {name}") == 55
            if turn % 3 < 2:
                connection.execute(f"DROP TABLE {name}")

    assert at_once(cluster, make_and_drop) == []
    assert_alike(cluster, there)
    with connect(cluster.workers[0]) as connection:
        groups = rows(connection, "SELECT DISTINCT colocationid FROM pg_dist_partition WHERE logicalrelid::text LIKE %s",
                      [f"{there}.%"])
        assert len(groups) == 1


@pytest.mark.parametrize("statements", [
    ["CREATE TABLE {t} (id int REFERENCES {ref})", "SELECT create_distributed_table('{t}', 'id')", "DROP TABLE {t}"],
    ["CREATE TABLE {t} (id int, v int)", "SELECT create_distributed_table('{t}', 'id')",
     "ALTER TABLE {t} ADD CONSTRAINT key FOREIGN KEY (v) REFERENCES {ref}", "ALTER TABLE {t} DROP CONSTRAINT key",
     "ALTER TABLE {t} ADD CONSTRAINT key FOREIGN KEY (v) REFERENCES {ref}", "ALTER TABLE {t} DROP v", "DROP TABLE {t}"],
    ["CREATE TABLE {t} (id int)", "SELECT create_reference_table('{t}')", "SELECT undistribute_table('{t}')", "DROP TABLE {t}"],
])
def test_what_locks_a_common_table(cluster, connect, there, statements):
    """The table that foreign keys of several tables reference is locked in the same order by all."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"CREATE TABLE {there}.ref (id int PRIMARY KEY)")
        connection.execute(f"SELECT create_reference_table('{there}.ref')")

    def work(node, number):
        connection = connect(node)
        for turn in range(4):
            for statement in statements:
                connection.execute(statement.format(t=f"{there}.t{number}_{turn}", ref=f"{there}.ref"))

    assert at_once(cluster, work) == []
    assert_alike(cluster, there)


def test_partitions_from_all_nodes(cluster, connect, there):
    """They are made, filled, detached, attached and dropped at the same time, while others read and write the whole."""
    with connect(cluster.coordinator) as connection:
        connection.execute(f"CREATE TABLE {there}.e (id int, part int CHECK (part >= 0), v int) PARTITION BY LIST (part)")
        connection.execute(f"CREATE INDEX ON {there}.e (v)")
        connection.execute(f"SELECT create_distributed_table('{there}.e', 'id', shard_count => 4)")

    def work(node, number):
        connection = connect(node)
        for turn in range(4):
            part, value_of = f"{there}.e{number}_{turn}", number * 10 + turn
            connection.execute(f"CREATE TABLE {part} PARTITION OF {there}.e FOR VALUES IN ({value_of})")
            connection.execute(f"INSERT INTO {there}.e SELECT i, {value_of}, i FROM generate_series(1, 20) i")
            assert value(connection, f"SELECT count(*) FROM {there}.e WHERE part = {value_of}") == 20
            connection.execute(f"ALTER TABLE {there}.e DETACH PARTITION {part}")
            connection.execute(f"ALTER TABLE {there}.e ATTACH PARTITION {part} FOR VALUES IN ({value_of})")
            if turn % 2:
                connection.execute(f"DROP TABLE {part}")

    assert at_once(cluster, work) == []
    assert_alike(cluster, there)
    assert value(connect(cluster.workers[1]), f"SELECT count(*) FROM {there}.e") == 2 * 2 * len(cluster.nodes) * 20


def test_transaction_of_a_worker(cluster, connect, session, there):
    """It sees its own changes; others see all of them or none."""
    worker = session(1)
    for statement in ["CREATE TABLE {s}.t (id int, v int)", "SELECT create_distributed_table('{s}.t', 'id')",
                      "INSERT INTO {s}.t SELECT i, i FROM generate_series(1, 10) i", "ALTER TABLE {s}.t ADD w int DEFAULT 7",
                      "SAVEPOINT s", "ALTER TABLE {s}.t DROP w", "ROLLBACK TO s"]:
        worker.execute(statement.format(s=there))
    assert value(worker, f"SELECT sum(w) FROM {there}.t") == 70
    assert set(map(str, on_every_node(cluster, f"SELECT to_regclass('{there}.t')").values())) == {"[(None,)]"}
    worker.rollback()
    assert_alike(cluster, there)
    worker.execute(f"CREATE TABLE {there}.t (id int)")
    worker.execute(f"SELECT create_distributed_table('{there}.t', 'id')")
    worker.commit()
    assert value(connect(cluster.workers[1]), f"SELECT count(*) FROM {there}.t") == 0
    assert_alike(cluster, there)


@pytest.mark.parametrize("initiator", [0, 1, 2])
def test_gives_way_to_a_repeatable_reader(cluster, coordinator, connect, session, schema, table, initiator):
    """A reader that has the table on its own node, and then needs the other nodes', goes on."""
    reader = session(2)
    reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    reader.execute(f"EXPLAIN SELECT count(*) FROM {table}")
    ddl = Statement(connect(cluster.nodes[initiator]), f"ALTER TABLE {table} ADD w int DEFAULT 3")
    wait_until(lambda: any(count for [(count,)] in on_every_node(
        cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()), "the statement to wait")
    assert value(reader, f"SELECT count(*) FROM {table}") == 100
    reader.commit()
    assert ddl.finish() is None
    assert_alike(cluster, schema)


def test_commit_that_has_yet_to_come(cluster, connect, there):
    """A worker that finds the default group being made waits for it, and joins it."""
    making = Stopped(cluster.coordinator, "commit-between-commits",
                     f"SET citus.shard_count = 5; CREATE TABLE {there}.a (id int);"
                     f"SELECT create_distributed_table('{there}.a', 'id')")
    connection = connect(cluster.workers[1])
    connection.execute(f"SET citus.shard_count = 5; CREATE TABLE {there}.b (id int)")
    waits = Statement(connection, f"SELECT create_distributed_table('{there}.b', 'id')")
    wait_until(lambda: any(count for [(count,)] in on_every_node(
        cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()) or not waits.running, "it to wait")
    assert making.go_on() is None
    assert waits.finish() is None
    assert_alike(cluster, there)
    groups = rows(connection, "SELECT DISTINCT colocationid FROM pg_dist_partition WHERE logicalrelid::text LIKE %s",
                  [f"{there}.%"])
    assert len(groups) == 1


def test_same_name_on_two_nodes(cluster, connect, there):
    """A local table of that name on another node is in the way, and says so."""
    for node in cluster.nodes[:2]:
        connect(node).execute(f"CREATE TABLE {there}.t (id int)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        connect(cluster.workers[0]).execute(f"SELECT create_distributed_table('{there}.t', 'id')")
    for node in cluster.nodes[:2]:
        connect(node).execute(f"DROP TABLE {there}.t")


@pytest.mark.parametrize("types", [("smallserial", "int"), ("serial", "bigint"), ("bigserial", "smallint")])
def test_sequences_of_a_workers_table(cluster, connect, there, types):
    """Values of all nodes differ, before and after the table is distributed, and when it is local again."""
    worker = connect(cluster.workers[0])
    table = f"{there}.t"
    worker.execute(f"CREATE TABLE {table} (a {types[0]}, b {types[1]} GENERATED BY DEFAULT AS IDENTITY, v int)")
    insert = f"INSERT INTO {table} (v) SELECT generate_series(1, 10)"
    worker.execute(insert)
    worker.execute(f"SELECT create_distributed_table('{table}', 'v')")

    def from_all(times):
        for node in cluster.nodes:
            connect(node).execute(insert)
        assert rows(worker, f"SELECT count(DISTINCT a), count(DISTINCT b) FROM {table}") == [(times, times)]

    from_all(40)
    worker.execute(f"SELECT undistribute_table('{table}')")
    worker.execute(insert)
    assert rows(worker, f"SELECT count(DISTINCT a), count(DISTINCT b) FROM {table}") == [(50, 50)]
    worker.execute(f"SELECT create_distributed_table('{table}', 'v')")
    connect(cluster.coordinator).execute(insert)
    assert rows(worker, f"SELECT count(DISTINCT a), count(DISTINCT b) FROM {table}") == [(60, 60)]


@pytest.mark.parametrize("initiator", [0, 1])
def test_tablespace(make_cluster, connect, initiator):
    """Tables and indexes are in it on all nodes, with their shards, and in a new node, too."""
    made = make_cluster(workers=2, settings={"allow_in_place_tablespaces": "on"})
    for node in made.nodes:
        node.sql("CREATE TABLESPACE other LOCATION ''")
    connection = connect(made.nodes[initiator])
    call(connection, "citus_remove_node", made.workers[1])
    connection.execute("CREATE TABLE a (id int) TABLESPACE other; CREATE TABLE b (id int); CREATE INDEX b_i ON b (id)")
    connection.execute("SELECT create_distributed_table('a', 'id', shard_count => 2),"
                       "create_distributed_table('b', 'id', shard_count => 2)")
    connection.execute("ALTER TABLE b SET TABLESPACE other")
    connection.execute("ALTER INDEX b_i SET TABLESPACE other")
    call(connection, "citus_add_node", made.workers[1])
    there = on_every_node(made, "SELECT count(*) FILTER (WHERE relname IN ('a', 'b', 'b_i')), count(*) > 3 "
                                "FROM pg_class WHERE reltablespace = (SELECT oid FROM pg_tablespace WHERE spcname = 'other')")
    assert there == {"coordinator": [(3, there["coordinator"][0][1])], "worker1": [(3, True)], "worker2": [(3, False)]}


def call(connection, function, node, *more):
    marks = "".join(", %s" for _ in more)
    return value(connection, f"SELECT {function}('127.0.0.1', %s{marks})", [node.port, *more])


@pytest.fixture
def bare(make_cluster, connect):
    """A cluster of a coordinator and the first of three workers, with tables."""
    made = make_cluster(kind="bare", workers=3)
    with connect(made.coordinator) as connection:
        call(connection, "citus_set_coordinator_host", made.coordinator)
        call(connection, "citus_add_node", made.workers[0])
        connection.execute("CREATE TABLE ref (k int PRIMARY KEY, v text); CREATE TABLE t (id serial, k int REFERENCES ref)")
        connection.execute("SELECT create_reference_table('ref'), create_distributed_table('t', 'id', shard_count => 4)")
        connection.execute("INSERT INTO ref VALUES (1, 'one'), (2, NULL)")
        connection.execute("CREATE TABLE e (id int, at date, k int REFERENCES ref) PARTITION BY RANGE (at)")
        connection.execute("CREATE TABLE e1 PARTITION OF e FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')"
                           " PARTITION BY LIST (k)")
        connection.execute("CREATE TABLE e1a PARTITION OF e1 DEFAULT; CREATE INDEX ON e (k)")
        connection.execute("SELECT create_distributed_table('e', 'id', shard_count => 4)")
        connection.execute("INSERT INTO e SELECT i, '2020-01-04', 1 FROM generate_series(1, 10) i")
    return made


def test_nodes_changed_from_a_worker(bare, connect):
    """Added, given properties, disabled, activated and removed; a node can't take itself out."""
    worker = connect(bare.workers[0])
    added = bare.workers[1]
    call(worker, "citus_add_node", added)
    assert set(map(str, on_every_node(bare, "SELECT nodeport, groupid, isactive FROM pg_dist_node ORDER BY 1").values()
                   )) >= {str(rows(worker, "SELECT nodeport, groupid, isactive FROM pg_dist_node ORDER BY 1"))}
    assert rows(connect(added), "SELECT count(*), (SELECT count(*) FROM t) FROM ref") == [(2, 0)]
    connect(added).execute("INSERT INTO t (k) VALUES (1), (2)")
    assert value(connect(added), "SELECT count(*) FROM e") == 10
    connect(added).execute("CREATE TABLE e2 PARTITION OF e FOR VALUES FROM ('2020-02-01') TO ('2020-03-01')")
    connect(added).execute("INSERT INTO e VALUES (11, '2020-02-04', 2), (12, '2020-01-05', 2)")
    assert value(worker, "SELECT count(*) FROM e") == 12
    connect(added).execute("ALTER TABLE t ADD v int DEFAULT 1")
    call(worker, "citus_set_node_property", added, "shouldhaveshards", False)
    for function in ("citus_disable_node", "citus_remove_node"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="itself"):
            call(connect(added), function, added)
    call(worker, "citus_disable_node", added)
    with pytest.raises(psycopg.errors.UndefinedObject, match="is not active"):
        connect(added).execute("ALTER TABLE t ADD w int")
    worker.execute("ALTER TABLE t ADD w int")
    call(worker, "citus_activate_node", added)
    assert value(connect(added), "SELECT count(w) FROM t") == 0
    call(worker, "citus_remove_node", added)
    assert value(connect(added), "SELECT to_regclass('t')") is None
    assert value(connect(bare.coordinator), "SELECT count(*) FROM pg_dist_node") == 2


def test_shards_moved_off_a_node_from_a_worker(bare, connect):
    """Those who wait for it may be on any node; what makes jobs, and their settings, are the coordinator's."""
    worker = connect(bare.workers[0])
    call(worker, "citus_add_node", bare.workers[1])
    placed = "SELECT count(*) FROM citus_shards WHERE nodeport = %s AND citus_table_type <> 'reference'"
    call(worker, "citus_drain_node", bare.workers[0])
    assert value(worker, placed, [bare.workers[0].port]) == 0
    call(worker, "citus_set_node_property", bare.workers[0], "shouldhaveshards", True)
    worker.execute("SELECT rebalance_table_shards('t')")
    assert value(worker, placed, [bare.workers[0].port]) > 0
    for refused in ("citus_rebalance_start()", "citus_set_default_rebalance_strategy('by_shard_count')"):
        with pytest.raises(psycopg.Error, match="not allowed on this node"):
            worker.execute(f"SELECT {refused}")


def test_nodes_added_from_two_nodes_at_once(bare, connect):
    """One waits for the other, on the coordinator."""
    waits = [Statement(connect(bare.nodes[number]), f"SELECT citus_add_node('127.0.0.1', {bare.workers[number + 1].port})")
             for number in (0, 1)]
    assert [each.finish() for each in waits] == [None, None]
    known = on_every_node(bare, "SELECT nodeport, groupid, isactive FROM pg_dist_node ORDER BY 1")
    assert len(set(map(str, known.values()))) == 1 and len(known["worker3"]) == 4


@pytest.mark.some(1)
@pytest.mark.parametrize("adder, initiator", [(0, 1), (1, 0), (1, 1)])
def test_ddl_and_a_node_that_is_added(bare, connect, adder, initiator):
    """DDL waits for it, and reaches the new node; a node waits for DDL, and gets what that has done."""
    adding = connect(bare.nodes[adder], autocommit=False)
    call(adding, "citus_add_node", bare.workers[1])
    ddl = Statement(connect(bare.nodes[initiator]), "ALTER TABLE t ADD v int DEFAULT 4")
    wait_until(lambda: any(count for [(count,)] in on_every_node(
        bare, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()), "the statement to wait")
    adding.commit()
    assert ddl.finish() is None
    holding = connect(bare.nodes[initiator], autocommit=False)
    holding.execute("ALTER TABLE t ADD w int DEFAULT 5")
    add = Statement(connect(bare.nodes[adder]), f"SELECT citus_add_node('127.0.0.1', {bare.workers[2].port})")
    wait_until(lambda: any(count for [(count,)] in on_every_node(
        bare, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()), "the new node to wait")
    holding.commit()
    assert add.finish() is None
    shapes = on_every_node(bare, "SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute "
                                 "WHERE attrelid = 't'::regclass AND attnum > 0")
    assert set(map(str, shapes.values())) == {"[('id,k,v,w',)]"}
