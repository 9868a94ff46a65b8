"""citus_add_local_table_to_metadata: tables that stay on their node, and that all nodes use; undistribute_table's cascade."""

import psycopg
import pytest

from harness.servers import on_every_node, rows, value


@pytest.fixture(params=[0, 1])
def home(request, cluster, connect, schema):
    """A session of the node whose tables are added: a references ref, and b and a reference each other's neighbours."""
    session = connect(cluster.nodes[request.param])
    session.execute(f"""SET search_path = {schema};
        CREATE TABLE ref (id int PRIMARY KEY);
        CREATE TABLE a (id serial PRIMARY KEY, r int REFERENCES ref);
        CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a ON DELETE CASCADE, self int REFERENCES b) PARTITION BY RANGE (id);
        CREATE TABLE b1 PARTITION OF b FOR VALUES FROM (0) TO (100);
        INSERT INTO ref SELECT generate_series(1, 5);
        INSERT INTO a (r) SELECT generate_series(1, 5);
        INSERT INTO b SELECT g, g, 1 FROM generate_series(1, 5) g;
        CREATE VIEW counts AS SELECT count(*) FROM a JOIN b ON a.id = b.a""")
    session.group = request.param
    return session


def kinds(connection, schema):
    return dict(rows(connection, "SELECT relname, citus_table_type FROM citus_tables JOIN pg_class ON oid = table_name "
                                 "WHERE relnamespace = %s::regnamespace", [schema]))


def test_all_nodes_use_what_stays(cluster, connect, schema, home):
    home.execute("SELECT create_reference_table('ref')")
    home.execute("SELECT citus_add_local_table_to_metadata('a', cascade_via_foreign_keys => true)")
    placed = rows(home, "SELECT DISTINCT groupid FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) "
                        "WHERE logicalrelid IN ('a'::regclass, 'b', 'b1')")
    assert placed == [(home.group,)]
    plan = f"SELECT * FROM get_rebalance_table_shards_plan(threshold => 0) WHERE table_name IN ('{schema}.a'::regclass, '{schema}.b', '{schema}.b1')"
    assert not rows(connect(cluster.coordinator), plan)
    for node in cluster.nodes:
        session = connect(node)
        session.execute(f"SET search_path = {schema}")
        assert kinds(session, schema) == {"ref": "reference", "a": "local", "b": "local", "b1": "local"}
        added = value(session, "INSERT INTO a (r) VALUES (1) RETURNING id")
        session.execute("INSERT INTO b VALUES (%s, %s, 1)", [added, added])
        assert value(session, "SELECT count FROM counts") == 6
        for statement in ("INSERT INTO a (r) VALUES (99)", "INSERT INTO b VALUES (50, 99)", "INSERT INTO b VALUES (51, 1, 99)",
                          "DELETE FROM ref"):
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                session.execute(statement)
        session.execute("DELETE FROM a WHERE id = %s", [added])
        assert value(session, "SELECT count FROM counts") == 5


def test_back_to_local_tables(cluster, connect, schema, home):
    """Rows and keys stay, and other nodes have nothing left, but what was there before."""
    home.execute("SELECT create_reference_table('ref')")
    home.execute("SELECT citus_add_local_table_to_metadata('a', cascade_via_foreign_keys => true)")
    home.execute("CREATE TABLE alone (id int); SELECT citus_add_local_table_to_metadata('alone')")
    home.execute("SELECT citus_add_local_table_to_metadata('alone')")   # again: nothing
    home.execute("SELECT remove_local_tables_from_metadata()")
    assert kinds(home, schema) == {"ref": "reference", "a": "local", "b": "local", "b1": "local"}
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="has a foreign key"):
        home.execute("SELECT undistribute_table('a')")
    home.execute("SELECT undistribute_table('b', cascade_via_foreign_keys => true)")
    assert kinds(home, schema) == {}
    assert rows(home, "SELECT count(*), (SELECT count FROM counts), (SELECT count(*) FROM ref) FROM a") == [(5, 5, 5)]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        home.execute("DELETE FROM ref")
    left = on_every_node(cluster, f"SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'p', 'v')")
    assert sorted(row[0][0] for row in left.values()) == [0, 0, 6]
    home.execute("DROP TABLE ref, a, b, alone CASCADE")


@pytest.mark.parametrize("call, kind", [
    ("create_distributed_table('a', 'id')", "distributed"), ("create_distributed_table('a', NULL)", "distributed"),
    ("create_reference_table('a')", "reference")])
def test_added_table_is_distributed(cluster, connect, schema, home, call, kind):
    """Directly, with its rows and keys, from any node."""
    home.execute("DROP TABLE b CASCADE; SELECT create_reference_table('ref'); SELECT citus_add_local_table_to_metadata('a')")
    for node in cluster.nodes:
        session = connect(node)
        session.execute(f"SET search_path = {schema}")
        with session.transaction(force_rollback=True):
            session.execute(f"SELECT {call}")
            assert kinds(session, schema) == {"ref": "reference", "a": kind}
            assert rows(session, "SELECT count(*), sum(r) FROM a") == [(5, 15)]
            with pytest.raises(psycopg.errors.ForeignKeyViolation), session.transaction():
                session.execute("INSERT INTO a (r) VALUES (99)")
        assert kinds(session, schema) == {"ref": "reference", "a": "local"}
    home.execute("DROP TABLE a, ref")


def test_undistribute_what_keys_connect(cluster, connect, schema, home):
    """The same of tables whose rows are on several nodes."""
    home.execute("ALTER TABLE a DROP CONSTRAINT a_pkey CASCADE; ALTER TABLE a ADD PRIMARY KEY (id)")
    home.execute("CREATE TABLE c (id int, a int REFERENCES a, v int); INSERT INTO c SELECT g % 5 + 1, g % 5 + 1, g FROM generate_series(1, 50) g")
    home.execute("SELECT create_reference_table('ref'); SELECT create_distributed_table('a', 'id')")
    home.execute("SELECT create_distributed_table('c', 'a')")
    assert kinds(home, schema) == {"ref": "reference", "a": "distributed", "c": "distributed"}
    home.execute("SELECT undistribute_table('c', cascade_via_foreign_keys => true)")
    assert kinds(home, schema) == {}
    assert rows(home, "SELECT count(*), sum(v) FROM c") == [(50, 1275)]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        home.execute("INSERT INTO c VALUES (1, 99)")
    home.execute("DROP TABLE ref, a, b, c CASCADE")


def test_refused_without_cascade(schema, home):
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="ref"):
        home.execute("SELECT citus_add_local_table_to_metadata('a')")
    assert kinds(home, schema) == {}
    home.execute("DROP TABLE ref, a, b CASCADE")


CYCLE = """CREATE TABLE one (id int PRIMARY KEY, two int); CREATE TABLE two (id int PRIMARY KEY, one int REFERENCES one, three int);
    ALTER TABLE one ADD FOREIGN KEY (two) REFERENCES two; CREATE TABLE three (id int PRIMARY KEY, one int REFERENCES one, self int REFERENCES three);
    ALTER TABLE two ADD FOREIGN KEY (three) REFERENCES three NOT VALID;
    INSERT INTO one VALUES (1); INSERT INTO two VALUES (1, 1); UPDATE one SET two = 1; INSERT INTO three VALUES (1, 1, 1)"""


def check_cycle(cluster, connect, schema, kind):
    """All nodes use the tables of a cycle of foreign keys, whose rows and keys are there."""
    for node in cluster.nodes:
        session = connect(node)
        session.execute(f"SET search_path = {schema}")
        assert kinds(session, schema) == {"one": kind, "two": kind, "three": kind}
        assert rows(session, "SELECT one.*, two.*, three.* FROM one, two, three") == [(1, 1, 1, 1, None, 1, 1, 1)]
        for statement in ("UPDATE one SET two = 9", "UPDATE two SET one = 9", "UPDATE two SET three = 9", "INSERT INTO three VALUES (2, 9)",
                          "DELETE FROM one"):
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                session.execute(statement)


@pytest.mark.parametrize("node", [0, 1])
def test_cycles_of_foreign_keys(cluster, connect, node):
    """Tables that reference each other are added, distributed with their schema, and become local again."""
    session = connect(cluster.nodes[node])
    session.execute(f"DROP SCHEMA IF EXISTS cycle CASCADE; CREATE SCHEMA cycle; SET search_path = cycle; {CYCLE}")
    try:
        session.execute("SELECT citus_add_local_table_to_metadata('two', cascade_via_foreign_keys => true)")
        check_cycle(cluster, connect, "cycle", "local")
        session.execute("SELECT undistribute_table('one', cascade_via_foreign_keys => true)")
        session.execute("SELECT citus_schema_distribute('cycle')")
        check_cycle(cluster, connect, "cycle", "schema")
        session.execute("SELECT citus_schema_undistribute('cycle')")
        session.execute("SELECT citus_add_local_table_to_metadata('three', cascade_via_foreign_keys => true)")
        session.execute("SELECT citus_schema_distribute('cycle')")
        check_cycle(cluster, connect, "cycle", "schema")
        assert rows(session, "SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f' AND connamespace = 'cycle'::regnamespace "
                             "AND NOT convalidated") == [("two_three_fkey", False)]
    finally:
        session.execute("DROP SCHEMA cycle CASCADE")
