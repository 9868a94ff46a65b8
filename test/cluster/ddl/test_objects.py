"""Statements about objects other than tables: every node has the same schema after each of them, wherever it was started."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from harness.objects import MATRIX, SETUP, common_schema, schema_of, split
from harness.servers import connect, rows, value


@pytest.fixture(scope="module")
def made(cluster):
    def clean(connection):
        connection.execute("DROP SCHEMA IF EXISTS obj, obj2, obj_s, obj_s2 CASCADE")
        for role in ("obj_role", "obj_other", "obj_renamed"):
            if rows(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", [role]):
                connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    with connect(cluster.coordinator) as connection:
        clean(connection)
        for statement in split(SETUP):
            connection.execute(statement)
        yield cluster
        clean(connection)


CASES = [pytest.param(kind, initiator, id=f"{kind}-{('coordinator', '', 'worker')[initiator]}")
         for kind in MATRIX for initiator in (0, 2)]


@pytest.mark.some(16)
@pytest.mark.parametrize("kind, initiator", CASES)
def test_same_schema_everywhere(made, connect, kind, initiator):
    connection = connect(made.nodes[initiator])
    first = before = common_schema(made.nodes)
    looked_at = [made.nodes[initiator], made.nodes[initiator - 1]]
    for statement in split(MATRIX[kind]):
        connection.execute(statement)
        after = common_schema(looked_at)
        assert after != before, f"this has changed nothing: {statement}"
        before = after
    assert common_schema(made.nodes) == first


# Objects of many kinds at once, some on a distributed table, and some that are local.
PLENTY = """
    CREATE ROLE obj_role LOGIN PASSWORD 'x' CONNECTION LIMIT 2; GRANT obj_other TO obj_role; ALTER ROLE obj_role SET search_path = 'a b', obj;
    ALTER DATABASE postgres SET work_mem = '7MB'; COMMENT ON ROLE obj_role IS 'a comment';
    CREATE EXTENSION hstore SCHEMA obj; CREATE TYPE obj.colour AS ENUM ('red', 'green'); CREATE DOMAIN obj.positive AS int CHECK (VALUE > 0);
    CREATE SEQUENCE obj.counter; CREATE COLLATION obj.german (provider = icu, locale = 'de'); GRANT USAGE ON SEQUENCE obj.counter TO obj_role;
    CREATE AGGREGATE obj.total(int) (sfunc = obj.helper, stype = int, initcond = '0');
    CREATE OPERATOR obj.<<| (function = obj.less, leftarg = int, rightarg = int);
    CREATE OPERATOR CLASS obj.class FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
    CREATE CAST (int AS obj.pair) WITH FUNCTION obj.to_pair(int); CREATE TEXT SEARCH CONFIGURATION obj.words (COPY = english);
    CREATE FOREIGN DATA WRAPPER obj_fdw; CREATE SERVER obj_server FOREIGN DATA WRAPPER obj_fdw; CREATE USER MAPPING FOR obj_role SERVER obj_server;
    CREATE FOREIGN TABLE obj.far (a int) SERVER obj_server; ALTER DEFAULT PRIVILEGES IN SCHEMA obj2 GRANT SELECT ON TABLES TO obj_role;
    CREATE EVENT TRIGGER obj_e ON ddl_command_end EXECUTE FUNCTION obj.watches(); CREATE PUBLICATION obj_p FOR TABLE obj.dist;
    CREATE RULE nothing AS ON DELETE TO obj.base DO INSTEAD NOTHING; COMMENT ON VIEW obj.base IS 'a comment';
    CREATE TRIGGER instead INSTEAD OF INSERT ON obj.base FOR EACH ROW EXECUTE FUNCTION obj.fires(); GRANT SELECT (a) ON obj.base TO obj_role;
    CREATE VIEW obj.on_dist AS SELECT id, count(*) AS n FROM obj.dist GROUP BY id; COMMENT ON COLUMN obj.on_dist.n IS 'a comment';
    CREATE FUNCTION obj.of_dist(obj.dist) RETURNS int LANGUAGE sql AS 'SELECT $1.b'; ALTER VIEW obj.on_dist OWNER TO obj_role; GRANT SELECT ON obj.dist TO obj_role;
    CREATE FUNCTION obj.later() RETURNS int RETURN (SELECT count(*)::int FROM obj.on_dist);
    SELECT create_distributed_function('obj.helper(int, int)', '$1', 'obj.dist');
    ALTER TABLE obj.dist ADD COLUMN c obj.colour DEFAULT 'red', ADD COLUMN p obj.positive DEFAULT 3;
    CREATE TRIGGER t BEFORE INSERT ON obj.dist FOR EACH ROW EXECUTE FUNCTION obj.fires();
    CREATE TABLE obj.parts (id int, at int) PARTITION BY RANGE (at); CREATE TABLE obj.parts1 PARTITION OF obj.parts FOR VALUES FROM (1) TO (9);
    SELECT create_distributed_table('obj.parts', 'id'); CREATE TRIGGER of_parts AFTER UPDATE ON obj.parts FOR EACH ROW EXECUTE FUNCTION obj.fires();
    CREATE MATERIALIZED VIEW obj.mat_dist AS SELECT count(*) AS n, random() AS r FROM obj.dist; CREATE UNIQUE INDEX ON obj.mat_dist (n);
    CREATE MATERIALIZED VIEW obj.mat AS SELECT random() AS r; COMMENT ON INDEX obj.mat_dist_n_idx IS 'a comment'"""

LOCAL = """
    CREATE TABLE obj.here (id serial PRIMARY KEY, b int CHECK (b > 0)); CREATE VIEW obj.on_here AS SELECT * FROM obj.here;
    CREATE FUNCTION obj.of_here(obj.here) RETURNS int LANGUAGE sql AS 'SELECT $1.b'; CREATE TYPE obj.with_here AS (h obj.here);
    CREATE VIEW obj.of_both AS SELECT obj.of_here(h) FROM obj.on_here h0, obj.here h; COMMENT ON VIEW obj.on_here IS 'a comment';
    CREATE STATISTICS obj.here_stats ON id, b FROM obj.here; GRANT SELECT ON obj.here, obj.on_here TO obj_other;
    CREATE VIEW obj.barrier_here WITH (security_barrier) AS SELECT b FROM obj.here;
    CREATE MATERIALIZED VIEW obj.mat_here (x) WITH (fillfactor = 70) AS SELECT b FROM obj.on_here; CREATE INDEX ON obj.mat_here (x, (x + 1));
    ALTER MATERIALIZED VIEW obj.mat_here ALTER x SET STATISTICS 7; COMMENT ON MATERIALIZED VIEW obj.mat_here IS 'a comment'"""

MAT_ROWS = "SELECT n, r, (SELECT r FROM obj.mat) FROM obj.mat_dist"


def names_like(node, pattern):
    with connect(node) as connection:
        return [row[0] for row in rows(connection, """
            SELECT relname::text FROM pg_class WHERE relnamespace = 'obj'::regnamespace AND relname LIKE %(p)s AND relkind IN ('r', 'v', 'm', 'S')
            UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'obj'::regnamespace AND proname LIKE %(p)s
            UNION ALL SELECT typname::text FROM pg_type WHERE typnamespace = 'obj'::regnamespace AND typtype = 'c' AND typname LIKE %(p)s
                AND typrelid IN (SELECT oid FROM pg_class WHERE relkind = 'c') ORDER BY 1""", {"p": pattern})]


def test_new_node_gets_objects(make_cluster, connect):
    nodes = make_cluster(kind="bare", workers=2)
    connection = connect(nodes.coordinator)
    for statement in [*split(SETUP), *split(PLENTY), *split(LOCAL)]:
        connection.execute(statement)
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[0].port])
    assert names_like(nodes.workers[0], "%here%") == []
    for statement in ("DROP TYPE obj.with_here", "DROP TABLE obj.here CASCADE", "CREATE VIEW obj.late AS SELECT 1 AS a"):
        connection.execute(statement)
    # a node that has been a member, and missed nothing that it keeps
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[1].port])
    connection.execute("SELECT citus_remove_node('127.0.0.1', %s)", [nodes.workers[1].port])
    for statement in ("CREATE VIEW obj.later_still AS SELECT 1 AS a", "INSERT INTO obj.dist (id) VALUES (1)",
                      "REFRESH MATERIALIZED VIEW obj.mat", "REFRESH MATERIALIZED VIEW obj.mat_dist"):
        connection.execute(statement)
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[1].port])
    schema = common_schema(nodes.nodes)
    assert all(name in schema for name in ("later_still", "of_dist", "obj_p", "obj_e", "obj_server", "german", "instead"))
    with connect(nodes.workers[1]) as worker:
        assert value(worker, "SELECT obj.later()") == 1
        assert rows(worker, MAT_ROWS) == rows(connection, MAT_ROWS)
        assert rows(worker, RECORDS) == [("obj.helper(integer,integer)", 0, True, None)]


def test_new_node_has_another_object(make_cluster, connect):
    nodes = make_cluster(kind="bare", workers=1)
    connection = connect(nodes.coordinator)
    connection.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    with connect(nodes.workers[0]) as worker:
        worker.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2'")
        with pytest.raises(psycopg.errors.DuplicateFunction):
            connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[0].port])
        assert value(connection, "SELECT count(*) FROM pg_dist_node WHERE groupid <> 0") == 0
        worker.execute("DROP FUNCTION f()")
    connection.execute("SELECT citus_add_node('127.0.0.1', %s)", [nodes.workers[0].port])
    common_schema(nodes.nodes)


def test_dependents_follow_their_table(made, coordinator):
    first = common_schema(made.nodes)
    for statement in split(LOCAL):
        coordinator.execute(statement)
    alone = schema_of(made.coordinator)
    there = names_like(made.coordinator, "%here%") + names_like(made.coordinator, "of_both")
    assert [schema_of(worker) for worker in made.workers] == [first, first]
    assert len(there) == 8
    coordinator.execute("INSERT INTO obj.here (b) VALUES (5)")
    coordinator.execute("REFRESH MATERIALIZED VIEW obj.mat_here")

    coordinator.execute("TRUNCATE obj.here")
    coordinator.execute("SELECT create_distributed_table('obj.here', 'id', shard_count => 4)")
    assert common_schema(made.nodes) != first
    coordinator.execute("INSERT INTO obj.here (b) VALUES (1), (2)")
    with connect(made.workers[0]) as worker:
        assert value(worker, "SELECT sum(x) FROM obj.mat_here") == 5
        assert value(worker, "SELECT sum(of_here) FROM obj.of_both") == 6
        worker.execute("ALTER VIEW obj.on_here RENAME COLUMN b TO c")
        worker.execute("ALTER VIEW obj.on_here RENAME COLUMN c TO b")
    common_schema(made.nodes)

    coordinator.execute("SELECT undistribute_table('obj.here')")
    assert [schema_of(worker) for worker in made.workers] == [first, first]
    assert schema_of(made.coordinator) == alone
    coordinator.execute("DROP TYPE obj.with_here")
    coordinator.execute("DROP TABLE obj.here CASCADE")
    assert common_schema(made.nodes) == first


def test_function_that_needs_its_search_path(made, connect):
    """Its body is not checked again on other nodes, where a table's names are resolved without a search_path."""
    connection = connect(made.workers[1])
    connection.execute("SET search_path = obj; CREATE TABLE found (id int PRIMARY KEY)")
    connection.execute("CREATE FUNCTION all_found() RETURNS SETOF found LANGUAGE sql AS 'SELECT * FROM found'")
    connection.execute("CREATE VIEW of_found AS SELECT * FROM all_found()")
    connection.execute("SELECT create_distributed_table('found', 'id', shard_count => 4); INSERT INTO found VALUES (1), (2)")
    with connect(made.coordinator) as other:
        other.execute("SET search_path = obj")
        assert value(other, "SELECT count(*) FROM of_found") == 2
    connection.execute("DROP TABLE found CASCADE")
    common_schema(made.nodes)


@pytest.mark.parametrize("initiator", [0, 2], ids=["coordinator", "worker"])
def test_functions_that_use_local_tables(made, connect, initiator):
    connection = connect(made.nodes[initiator])
    connection.execute("CREATE TEMP TABLE only_here AS SELECT 3 AS a")
    connection.execute("CREATE FUNCTION obj.of_local() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM only_here'")
    connection.execute("""CREATE FUNCTION obj.of_row() RETURNS int LANGUAGE plpgsql
        AS 'DECLARE r only_here; BEGIN SELECT * INTO r FROM only_here; RETURN r.a; END'""")
    assert rows(connection, "SELECT obj.of_local(), obj.of_row()") == [(1, 3)]
    assert schema_of(made.nodes[0]) == schema_of(made.nodes[1])
    with pytest.raises(psycopg.errors.UndefinedTable):
        connect(made.nodes[1]).execute("SELECT obj.of_local()")
    connection.execute("DROP FUNCTION obj.of_local, obj.of_row")


@pytest.mark.parametrize("initiator", [0, 2], ids=["coordinator", "worker"])
def test_rows_of_materialized_views(made, connect, initiator):
    """The rows are computed once, by whichever node, and all nodes have them as of the same commit."""
    def same(expected=None):
        found = [rows(connect(node), "SELECT id, r FROM obj.mat ORDER BY id") for node in made.nodes]
        assert found[1:] == found[:-1]
        if expected is not None:
            assert [row[0] for row in found[0]] == expected
        return found[0]

    connection = connect(made.nodes[initiator], autocommit=False)
    connection.execute("SET ROLE obj_other")
    connection.execute("CREATE TABLE obj.d (id int, big text)")
    connection.execute("SELECT create_distributed_table('obj.d', 'id', shard_count => 4)")
    connection.execute("INSERT INTO obj.d SELECT i, repeat(i::text, 3000) FROM generate_series(1, 300) i")
    connection.execute("CREATE MATERIALIZED VIEW obj.mat AS SELECT id, random() AS r, big FROM obj.d")
    connection.commit()
    first = same(list(range(1, 301)))
    assert [value(connect(node), "SELECT md5(string_agg(big, '' ORDER BY id)) FROM obj.mat") for node in made.nodes] == \
        [value(connection, "SELECT md5(string_agg(big, '' ORDER BY id)) FROM obj.d")] * 3
    connection.commit()

    old = connect(made.nodes[1], autocommit=False)
    old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    old.execute("SELECT 1")
    connection.execute("DELETE FROM obj.d WHERE id > 5")
    connection.execute("REFRESH MATERIALIZED VIEW obj.mat")
    connection.rollback()
    assert same() == first
    connection.execute("DELETE FROM obj.d WHERE id > 5")
    connection.execute("REFRESH MATERIALIZED VIEW obj.mat")
    connection.commit()
    assert same(list(range(1, 6))) != first[:5]
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        connection.execute("CREATE INDEX CONCURRENTLY ON obj.mat (id)")
    connection.rollback()
    connection.execute("SET ROLE obj_other")
    # as on one server, whose REFRESH shows its rows to older snapshots, too
    assert value(old, "SELECT count(*) FROM obj.mat") == 5
    old.rollback()

    connection.execute("CREATE UNIQUE INDEX ON obj.mat (id)")
    connection.execute("INSERT INTO obj.d VALUES (6)")
    connection.execute("REFRESH MATERIALIZED VIEW CONCURRENTLY obj.mat")
    connection.commit()
    same(list(range(1, 7)))
    for node in made.nodes:
        reader = connect(node)
        reader.execute("SET enable_seqscan = off")
        assert value(reader, "SELECT count(*) FROM obj.mat WHERE id = 6") == 1

    with pytest.raises(psycopg.errors.FeatureNotSupported, match="EXPLAIN ANALYZE cannot create a materialized view"):
        connection.execute("EXPLAIN ANALYZE CREATE MATERIALIZED VIEW obj.mat2 AS SELECT 1 AS a")
    connection.rollback()
    connection.execute("REFRESH MATERIALIZED VIEW obj.mat WITH NO DATA")
    connection.commit()
    for node in made.nodes:
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            connect(node).execute("SELECT FROM obj.mat")

    connection.execute("CREATE TABLE obj.l (id int)")
    connection.execute("CREATE MATERIALIZED VIEW obj.of_both AS SELECT FROM obj.l, obj.d")
    connection.execute("REFRESH MATERIALIZED VIEW obj.of_both")
    connection.commit()
    assert [names_like(node, "of_both") for node in made.nodes] == \
        [["of_both"] if node is made.nodes[initiator] else [] for node in made.nodes]
    connection.execute("DROP TABLE obj.l, obj.d CASCADE")
    connection.commit()
    assert [names_like(node, "mat") for node in made.nodes] == [[], [], []]


# Of a materialized view and its index, on one node: where their rows are, whether VACUUM and ANALYZE have seen them.
REWRITTEN = """
    SELECT ARRAY[t.relfilenode, i.relfilenode]::int[], t.relallvisible, (SELECT count(*) FROM pg_stats WHERE schemaname = 'obj' AND tablename = 'mat')
    FROM pg_class t, pg_class i WHERE t.oid = 'obj.mat'::regclass AND i.oid = 'obj.mat_a'::regclass"""


@pytest.mark.parametrize("initiator", [0, 2], ids=["coordinator", "worker"])
def test_rewrites_of_materialized_views(made, connect, initiator):
    """Each node rewrites its copy, and computes statistics of it; catalogs and views of local tables are one node's matter."""
    connection = connect(made.nodes[initiator])
    connection.execute("CREATE MATERIALIZED VIEW obj.mat AS SELECT a FROM generate_series(1, 40) a; CREATE INDEX mat_a ON obj.mat (a)")
    before = [rows(connect(node), REWRITTEN)[0] for node in made.nodes]
    for statement, new_files, seen in (("REINDEX TABLE obj.mat", [False, True], (0, 0)), ("REINDEX (VERBOSE) INDEX obj.mat_a", [False, True], (0, 0)),
                                       ("REINDEX INDEX CONCURRENTLY obj.mat_a", [False, True], (0, 0)),
                                       ("CLUSTER VERBOSE obj.mat USING mat_a", [True, True], (0, 0)),
                                       ("VACUUM obj.mat", [False, False], (1, 0)), ("ANALYZE obj.mat (a)", [False, False], (1, 1)),
                                       ("VACUUM (FULL, ANALYZE) obj.mat, obj.dist", [True, True], (0, 1))):
        connection.execute(statement)
        after = [rows(connect(node), REWRITTEN)[0] for node in made.nodes]
        assert [[new != old for new, old in zip(ours[0], theirs[0])] for ours, theirs in zip(after, before)] == [new_files] * 3, statement
        assert [ours[1:] for ours in after] == [seen] * 3, statement
        before = after
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        connection.execute("BEGIN; REINDEX TABLE CONCURRENTLY obj.mat")
    connection.rollback()
    catalog = "SELECT relfilenode FROM pg_class WHERE oid = 'pg_enum'::regclass"
    before = [value(connect(node), catalog) for node in made.nodes]
    connection.execute("REINDEX TABLE pg_enum; CREATE TABLE obj.here (a int); CREATE MATERIALIZED VIEW obj.mat_here AS TABLE obj.here")
    connection.execute("REINDEX TABLE obj.mat_here; ANALYZE obj.mat_here; DROP TABLE obj.here CASCADE; DROP MATERIALIZED VIEW obj.mat")
    assert [value(connect(node), catalog) for node in made.nodes] == before


@pytest.mark.parametrize("initiator", [0, 2], ids=["coordinator", "worker"])
def test_all_nodes_or_none(made, connect, initiator):
    connection = connect(made.nodes[initiator], autocommit=False)
    before = common_schema(made.nodes)
    connection.execute("CREATE TYPE obj.thing AS ENUM ('a')")
    connection.execute("ALTER VIEW obj.base OWNER TO obj_other")
    connection.rollback()
    assert common_schema(made.nodes) == before

    connection.execute("CREATE TYPE obj.thing AS ENUM ('a')")
    connection.execute("SAVEPOINT s")
    connection.execute("ALTER TYPE obj.thing ADD VALUE 'b'")
    connection.execute("ROLLBACK TO s")
    connection.execute("ALTER TYPE obj.thing ADD VALUE 'c'")
    connection.commit()
    assert "'c'" in common_schema(made.nodes) and "'b'" not in common_schema(made.nodes)

    other = connect(made.workers[0])
    other.execute("SET citus.enable_metadata_sync = off")
    other.execute("CREATE VIEW obj.in_the_way AS SELECT 1 AS a")
    before = schema_of(made.coordinator)
    with pytest.raises(psycopg.errors.DuplicateTable) as error:
        connection.execute("CREATE VIEW obj.in_the_way AS SELECT 2 AS a")
        connection.commit()
    assert str(made.workers[0].port) in str(error.value) + str(error.value.diag.context)
    connection.rollback()
    assert schema_of(made.coordinator) == before == schema_of(made.workers[1])
    other.execute("DROP VIEW obj.in_the_way")
    connection.execute("DROP TYPE obj.thing")
    connection.commit()


def test_propagation_can_be_off(made, coordinator):
    before = schema_of(made.workers[0])
    for setting, statement in (("citus.enable_ddl_propagation", "CREATE VIEW obj.off_1 AS SELECT 1 AS a"),
                               ("citus.enable_metadata_sync", "CREATE VIEW obj.off_2 AS SELECT 1 AS a"),
                               ("citus.enable_create_role_propagation", "CREATE ROLE obj_role"),
                               ("citus.enable_alter_role_propagation", "ALTER ROLE obj_other CREATEDB"),
                               ("citus.enable_alter_role_set_propagation", "ALTER ROLE obj_other SET work_mem = '5MB'")):
        coordinator.execute(f"SET {setting} = off")
        coordinator.execute(statement)
        coordinator.execute(f"RESET {setting}")
    assert schema_of(made.workers[0]) == before
    assert schema_of(made.coordinator) != before
    # what other nodes lack can be dropped
    coordinator.execute("DROP VIEW obj.off_1, obj.off_2")
    coordinator.execute("DROP ROLE obj_role")
    coordinator.execute("ALTER ROLE obj_other NOCREATEDB")
    coordinator.execute("ALTER ROLE obj_other RESET work_mem")
    # a command for one node stays on it
    coordinator.execute("SELECT run_command_on_workers('CREATE VIEW obj.one AS SELECT 1 AS a')")
    assert names_like(made.coordinator, "one") == [] and names_like(made.workers[1], "one") == ["one"]
    coordinator.execute("SELECT run_command_on_workers('DROP VIEW obj.one')")
    assert common_schema(made.nodes) == before


@pytest.mark.parametrize("other", ["TYPE obj.swapped AS (id int)", "VIEW obj.swapped AS SELECT 1 AS a"])
def test_other_object_of_a_dropped_tables_name(made, coordinator, other):
    """What a node has by a dropped table's name, made while nothing was propagated, is no table, and stays."""
    coordinator.execute("CREATE ROLE obj_role; CREATE TABLE obj.swapped (id int)")
    coordinator.execute("SELECT create_distributed_table('obj.swapped', 'id')")
    coordinator.execute("ALTER TABLE obj.swapped OWNER TO obj_role")
    made.workers[0].sql(f"SET citus.enable_ddl_propagation = off; DROP TABLE obj.swapped; CREATE {other}")
    coordinator.execute("DROP OWNED BY obj_role; DROP ROLE obj_role")
    assert [len(names_like(node, "swapped")) for node in made.nodes] == [0, 1, 0]
    made.workers[0].sql(f"SET citus.enable_ddl_propagation = off; DROP {other.split()[0]} obj.swapped")


@pytest.mark.parametrize("other", ["TYPE obj.swapped AS (id int)", "DOMAIN obj.swapped AS int", "SEQUENCE obj.swapped", None])
@pytest.mark.parametrize("initiator", [0, 2])
def test_drop_of_a_table_that_a_node_lacks(made, coordinator, connect, initiator, other):
    """A node that has another object by the table's name, or none, has no table to drop."""
    coordinator.execute("CREATE TABLE obj.swapped (id int)")
    coordinator.execute("SELECT create_distributed_table('obj.swapped', 'id')")
    made.workers[0].sql("SET citus.enable_ddl_propagation = off; DROP TABLE obj.swapped" + (f"; CREATE {other}" if other else ""))
    connect(made.nodes[initiator]).execute("DROP TABLE obj.swapped")
    assert [names_like(node, "swapped") for node in made.nodes if node is not made.workers[0]] == [[], []]
    if other:
        made.workers[0].sql(f"SET citus.enable_ddl_propagation = off; DROP {other.split()[0]} obj.swapped")


def test_two_initiators(made, connect):
    """Statements about the same object from all nodes at once wait for each other, and none fails."""
    def replace(number):
        node = connect(made.nodes[number])
        for i in range(15):
            node.execute(f"CREATE OR REPLACE FUNCTION obj.thing() RETURNS int LANGUAGE sql AS 'SELECT {number * 100 + i}'")
            node.execute("COMMENT ON FUNCTION obj.thing() IS 'a comment'")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(replace, range(3)))
    common_schema(made.nodes)
    connect(made.workers[0]).execute("DROP FUNCTION obj.thing()")


RECORDS = """SELECT objid::regprocedure::text, distribution_argument_index, d.colocationid = p.colocationid, force_delegation
             FROM pg_dist_object d LEFT JOIN pg_dist_partition p ON p.logicalrelid = 'obj.dist'::regclass ORDER BY 1"""


def test_distributed_functions(made, connect):
    connection = connect(made.workers[1])
    connection.execute("CREATE FUNCTION obj.deposit(amount int, account int) RETURNS int LANGUAGE sql AS 'SELECT $1 + $2'")
    connection.execute("CREATE PROCEDURE obj.transfer(a text) LANGUAGE sql AS 'SELECT 1'")
    call = "SELECT create_distributed_function(%s, %s, colocate_with => %s)"
    connection.execute("SELECT create_distributed_function('obj.helper(int, int)')")
    connection.execute(call, ["obj.deposit(int, int)", "$1", "obj.dist"])
    connection.execute("SELECT create_distributed_function(oid, 'account', 'obj.dist', true) FROM pg_proc WHERE proname = 'deposit'")
    known = [("obj.deposit(integer,integer)", 1, True, True), ("obj.helper(integer,integer)", None, None, None)]
    assert [rows(connect(node), RECORDS) for node in made.nodes] == [known] * 3
    for arguments, error in ((["obj.deposit(int, int)", "amounts", "obj.dist"], psycopg.errors.InvalidParameterValue),
                             (["obj.deposit(int, int)", "$3", "obj.dist"], psycopg.errors.InvalidParameterValue),
                             (["obj.transfer(text)", "a", "obj.dist"], psycopg.errors.InvalidParameterValue),
                             (["obj.transfer(text)", "a", "default"], psycopg.errors.ObjectNotInPrerequisiteState),
                             (["obj.transfer(text)", "a", "obj.base"], psycopg.errors.WrongObjectType)):
        with pytest.raises(error):
            connection.execute(call, arguments)
    connection.execute("DROP FUNCTION obj.deposit(int, int)")
    connection.execute("DROP PROCEDURE obj.transfer(text)")
    assert [rows(connect(node), RECORDS) for node in made.nodes] == [known[1:]] * 3


def test_distributed_functions_of_roles(made, connect, coordinator):
    """The owner need not be a superuser; others may not."""
    coordinator.execute("CREATE ROLE obj_maker LOGIN; GRANT ALL ON SCHEMA obj TO obj_maker; CREATE ROLE obj_stranger LOGIN")
    maker = connect(made.workers[0], user="obj_maker")
    maker.execute("CREATE FUNCTION obj.own(int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
    maker.execute("SELECT create_distributed_function(oid) FROM pg_proc WHERE proname = 'own'")
    assert [value(connect(node), "SELECT count(*) FROM pg_dist_object JOIN pg_proc p ON p.oid = objid WHERE proname = 'own'")
            for node in made.nodes] == [1] * 3
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be owner"):
        connect(made.coordinator, user="obj_stranger").execute(
            "SELECT create_distributed_function(oid) FROM pg_proc WHERE proname = 'own'")
    coordinator.execute("DROP OWNED BY obj_maker; DROP ROLE obj_maker, obj_stranger")


def test_smaller_functions(made, connect, coordinator):
    block = connect(made.coordinator, autocommit=False)
    assert value(block, "SELECT lock_relation_if_exists('obj.dist', 'ACCESS EXCLUSIVE')") is True
    for node in made.nodes:
        with pytest.raises(psycopg.errors.LockNotAvailable):
            connect(node).execute("DO 'BEGIN LOCK TABLE obj.dist IN ACCESS SHARE MODE NOWAIT; END'")
    block.rollback()
    assert value(coordinator, "SELECT lock_relation_if_exists('obj.nothing', 'ROW SHARE')") is False
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        coordinator.execute("SELECT lock_relation_if_exists('obj.dist', 'SHARE MODE; DROP TABLE obj.dist; --')")
    port = made.workers[0].port
    coordinator.execute("SELECT start_metadata_sync_to_node('127.0.0.1', %s)", [port])
    coordinator.execute("SELECT stop_metadata_sync_to_node('127.0.0.1', %s)", [port])
    with pytest.raises(psycopg.errors.UndefinedObject):
        coordinator.execute("SELECT start_metadata_sync_to_node('127.0.0.1', 1)")
