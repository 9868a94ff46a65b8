"""Distributed schemas: citus.enable_schema_based_sharding, citus_schema_distribute, citus_schema_undistribute, citus_schema_move."""

import psycopg
import pytest

from harness.servers import on_every_node, rows, value


@pytest.fixture
def tenant(cluster, coordinator):
    """A distributed schema, which is dropped on all nodes afterwards."""
    coordinator.execute("SET citus.enable_schema_based_sharding = on; DROP SCHEMA IF EXISTS tenant CASCADE; CREATE SCHEMA tenant")
    coordinator.execute("RESET citus.enable_schema_based_sharding")
    yield "tenant"
    coordinator.execute("DROP SCHEMA IF EXISTS tenant CASCADE")
    for node, counts in on_every_node(cluster, """SELECT (SELECT count(*) FROM pg_dist_schema),
            (SELECT count(*) FROM pg_dist_colocation WHERE replicationfactor = 0),
            (SELECT count(*) FROM pg_class WHERE relnamespace = 'citus_data'::regnamespace)""").items():
        assert counts[0][:2] == (0, 0), node


def tables(connection, schema="tenant"):
    """The schema's tables in the metadata: names, and the number of nodes that they are on."""
    found = rows(connection, "SELECT relname, citus_table_type, nodeport FROM citus_tables JOIN pg_class ON oid = table_name "
                             "JOIN citus_shards s USING (table_name, citus_table_type) WHERE relnamespace = %s::regnamespace ORDER BY 1", [schema])
    assert {row[1] for row in found} <= {"schema"}
    return [row[0] for row in found], len({row[2] for row in found})


def test_tables_of_a_schema(cluster, connect, tenant):
    """Whatever way a table comes into the schema, from whatever node."""
    sessions = [connect(node) for node in cluster.nodes]
    sessions[0].execute("CREATE TABLE tenant.a (id serial PRIMARY KEY, v int)")
    sessions[1].execute("CREATE TABLE tenant.b (id int REFERENCES tenant.a, p int) PARTITION BY LIST (p)")
    sessions[2].execute("CREATE TABLE tenant.b1 PARTITION OF tenant.b FOR VALUES IN (1)")
    sessions[0].execute("INSERT INTO tenant.a (v) SELECT generate_series(1, 10)")
    sessions[1].execute("CREATE TABLE tenant.c AS SELECT * FROM tenant.a")
    sessions[2].execute("SELECT * INTO tenant.d FROM tenant.a")
    sessions[2].execute("CREATE TABLE public.moved AS SELECT 1 AS id; ALTER TABLE public.moved SET SCHEMA tenant")
    sessions[1].execute("CREATE TABLE IF NOT EXISTS tenant.a (id int)")
    sessions[1].execute("CREATE TEMP TABLE temporary (id int)")
    with sessions[0].transaction(force_rollback=True):
        sessions[0].execute("CREATE TABLE tenant.gone (id int)")
    for session in sessions:
        assert tables(session) == (["a", "b", "b1", "c", "d", "moved"], 1)
        added = value(session, "INSERT INTO tenant.a (v) VALUES (1) RETURNING id")
        session.execute("INSERT INTO tenant.b VALUES (%s, 1)", [added])
        assert value(session, "SELECT count(*) FROM tenant.a JOIN tenant.c USING (id) JOIN tenant.d USING (id)") == 10
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            session.execute("INSERT INTO tenant.b VALUES (-1, 1)")
    plan = "\n".join(row[0] for row in rows(sessions[0], "EXPLAIN SELECT count(*) FROM tenant.a JOIN tenant.c USING (v)"))
    assert "Task Count: 1" in plan
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="out of a distributed schema"):
        sessions[0].execute("ALTER TABLE tenant.b SET SCHEMA public")


def test_table_leaves_its_schema(connect, cluster, tenant, schema):
    """To one that isn't distributed, and back, or to another distributed one."""
    sessions = [connect(node) for node in cluster.nodes]
    sessions[0].execute("SET citus.enable_schema_based_sharding = on; CREATE SCHEMA tenant_2")
    try:
        sessions[1].execute("CREATE TABLE tenant.a (id serial PRIMARY KEY, v int); CREATE VIEW tenant.view AS SELECT * FROM tenant.a")
        sessions[1].execute("INSERT INTO tenant.a (v) SELECT generate_series(1, 10)")
        sessions[2].execute("ALTER TABLE tenant.a SET SCHEMA tenant_2")
        assert [tables(session)[0] for session in sessions] == [[]] * 3
        assert [tables(session, "tenant_2")[0] for session in sessions] == [["a"]] * 3
        assert [value(session, "SELECT count(*) FROM tenant.view") for session in sessions] == [10] * 3
        with sessions[1].transaction(force_rollback=True):
            sessions[1].execute(f"ALTER TABLE tenant_2.a SET SCHEMA {schema}")
            assert value(sessions[1], f"SELECT count(*) FROM {schema}.a") == 10
            assert tables(sessions[1], "tenant_2")[0] == []
            sessions[1].execute(f"ALTER TABLE {schema}.a SET SCHEMA tenant")
            assert tables(sessions[1])[0] == ["a"]
        with pytest.raises(psycopg.errors.InvalidSchemaName):
            sessions[1].execute("ALTER TABLE tenant_2.a SET SCHEMA missing")
        sessions[1].execute("CREATE TABLE tenant_2.b (id int REFERENCES tenant_2.a)")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="has a foreign key"):
            sessions[1].execute("ALTER TABLE tenant_2.a SET SCHEMA tenant")
        assert value(sessions[2], "SELECT count(*) FROM tenant_2.a") == 10
    finally:
        sessions[0].execute("DROP SCHEMA tenant_2 CASCADE")


def test_other_tables_stay_out(coordinator, tenant):
    """Single-shard tables elsewhere don't join a schema's group, nor do those of another schema."""
    coordinator.execute("CREATE TABLE tenant.a (id int); CREATE TABLE public.single (id int)")
    coordinator.execute("SELECT create_distributed_table('public.single', NULL)")
    try:
        coordinator.execute("CREATE SCHEMA tenant_2; SELECT citus_schema_distribute('tenant_2'); CREATE TABLE tenant_2.a (id int)")
        assert value(coordinator, "SELECT count(DISTINCT colocationid) FROM pg_dist_partition "
                                  "WHERE logicalrelid IN ('tenant.a'::regclass, 'single', 'tenant_2.a')") == 3
    finally:
        coordinator.execute("DROP TABLE public.single; DROP SCHEMA tenant_2 CASCADE")


@pytest.mark.parametrize("initiator", [0, 1])
def test_there_and_back(cluster, connect, schema, initiator):
    """A schema with tables, views, keys and rows is distributed, and made local again."""
    session = connect(cluster.nodes[initiator])
    session.execute(f"""SET search_path = {schema};
        CREATE TABLE a (id serial PRIMARY KEY); CREATE TABLE b (id int REFERENCES a, up int);
        INSERT INTO a SELECT FROM generate_series(1, 5); INSERT INTO b SELECT g, g FROM generate_series(1, 5) g;
        CREATE VIEW v AS SELECT count(*) FROM a JOIN b USING (id)""")
    session.execute(f"SELECT citus_schema_distribute('{schema}')")
    for node in cluster.nodes:
        assert value(connect(node), f"SELECT count FROM {schema}.v") == 5
    assert tables(session, schema) == (["a", "b"], 1)
    session.execute(f"SELECT citus_schema_undistribute('{schema}')")
    assert tables(session, schema) == ([], 0)
    assert value(session, "SELECT count FROM v") == 5 and value(session, "INSERT INTO a DEFAULT VALUES RETURNING id") > 5
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        session.execute("INSERT INTO b VALUES (-1)")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="is not distributed"):
        session.execute(f"SELECT citus_schema_undistribute('{schema}')")
    session.execute("DROP TABLE a, b CASCADE")


def test_move(cluster, connect, coordinator, tenant):
    coordinator.execute("CREATE TABLE tenant.a (id int PRIMARY KEY); CREATE TABLE tenant.b (id int REFERENCES tenant.a)")
    coordinator.execute("INSERT INTO tenant.a VALUES (1); INSERT INTO tenant.b VALUES (1)")
    target, port = rows(coordinator, "SELECT nodeid, nodeport FROM pg_dist_node WHERE groupid > 0 AND nodeport <> "
                                     "(SELECT min(nodeport) FROM citus_shards WHERE citus_table_type = 'schema')")[0]
    coordinator.execute("SELECT citus_schema_move('tenant', %s)", [target])
    assert rows(coordinator, "SELECT DISTINCT nodeport FROM citus_shards WHERE citus_table_type = 'schema'") == [(port,)]
    for node in cluster.nodes:
        assert value(connect(node), "SELECT count(*) FROM tenant.a JOIN tenant.b USING (id)") == 1
    coordinator.execute("CREATE TABLE tenant.c (id int)")
    assert tables(coordinator) == (["a", "b", "c"], 1)


def test_refused(cluster, connect, coordinator, tenant, schema):
    coordinator.execute(f"CREATE TABLE {schema}.t (id int); SELECT create_distributed_table('{schema}.t', 'id')")
    for name in ("public", "pg_catalog", "citus_data", schema):
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            coordinator.execute("SELECT citus_schema_distribute(%s)", [name])
    coordinator.execute("CREATE ROLE stranger LOGIN")
    try:
        stranger = connect(cluster.workers[0], user="stranger")
        for call in ("citus_schema_undistribute('tenant')", f"citus_schema_distribute('{schema}')", "citus_schema_move('tenant', 1)",
                     "citus_internal.record_distributed_schema('tenant', 0)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                stranger.execute("SELECT " + call)
    finally:
        coordinator.execute("DROP ROLE stranger")


def test_node_that_joins(own_cluster, connect):
    """A new node knows the schema, and makes tables in it."""
    coordinator = connect(own_cluster.coordinator)
    newcomer = own_cluster.workers[1]
    coordinator.execute("SELECT citus_remove_node('127.0.0.1', %s)", [newcomer.port])
    coordinator.execute("CREATE SCHEMA tenant; SELECT citus_schema_distribute('tenant'); CREATE TABLE tenant.a (id int)")
    coordinator.execute("SELECT citus_add_node('127.0.0.1', %s)", [newcomer.port])
    session = connect(newcomer)
    session.execute("CREATE TABLE tenant.b (id int); INSERT INTO tenant.a VALUES (1); INSERT INTO tenant.b VALUES (1)")
    assert tables(session) == (["a", "b"], 1)
    assert value(coordinator, "SELECT count(*) FROM tenant.a JOIN tenant.b USING (id)") == 1
