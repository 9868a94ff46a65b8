"""Roles: what a user may do is the same on every node and through every path."""

import psycopg
import pytest

from harness.servers import connect as open_connection, footprint, node_session, rows, value

ROLES = ("alice", "bob")


@pytest.fixture(scope="module")
def roles(cluster):
    """Two ordinary roles on every node, dropped at the end."""
    names = [f"priv_{name}" for name in ROLES]
    for node in cluster.nodes:
        with open_connection(node) as connection:
            for name in names:
                exists = value(connection, "SELECT count(*) FROM pg_roles WHERE rolname = %s", [name])
                if not exists:
                    connection.execute(f"CREATE ROLE {name} LOGIN")
    yield names
    for node in cluster.nodes:
        with open_connection(node) as connection:
            for name in names:
                if value(connection, "SELECT count(*) FROM pg_roles WHERE rolname = %s", [name]):
                    connection.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}")


@pytest.fixture
def table(coordinator, schema, roles):
    """A distributed table of alice's with rows for alice and bob."""
    coordinator.execute(f"""
        GRANT USAGE, CREATE ON SCHEMA {schema} TO {roles[0]}, {roles[1]};
        CREATE TABLE {schema}.t (id int PRIMARY KEY, owner text, v text);
        ALTER TABLE {schema}.t OWNER TO {roles[0]};
    """)
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'id')")
    coordinator.execute(f"INSERT INTO {schema}.t SELECT g, CASE g % 2 WHEN 0 THEN '{roles[0]}' "
                        f"ELSE '{roles[1]}' END, 'x' FROM generate_series(1, 100) g")
    return f"{schema}.t"


STATEMENTS = [
    "SELECT count(*) FROM {t}",
    "SELECT * FROM {t} WHERE id = 1",
    "INSERT INTO {t} VALUES (1000, 'me', 'x')",
    "INSERT INTO {t} SELECT 1000, 'me', 'x'",
    "UPDATE {t} SET v = 'y'",
    "UPDATE {t} SET v = 'y' WHERE id = 1",
    "DELETE FROM {t} WHERE id = 1",
    "TRUNCATE {t}",
    "COPY {t} TO STDOUT",
    "COPY {t} FROM STDIN",
]

DDL = ["ALTER TABLE {t} ADD COLUMN c int", "DROP TABLE {t}", "CREATE INDEX ON {t} (v)"]


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_without_privileges(cluster, table, roles, connect, node, statement):
    connection = connect(cluster.node(node), user=roles[1])
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        connection.execute(statement.format(t=table))
    assert table.split(".")[1] in str(caught.value)
    assert "citus_data" not in str(caught.value)


@pytest.mark.parametrize("statement", DDL)
def test_ddl_is_for_the_owner(cluster, table, roles, connect, statement):
    connection = connect(cluster.coordinator, user=roles[1])
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        connection.execute(statement.format(t=table))
    assert "must be owner" in str(caught.value)


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
def test_granted_privileges(cluster, coordinator, table, roles, connect, node):
    coordinator.execute(f"GRANT SELECT, UPDATE (v) ON {table} TO {roles[1]}")
    connection = connect(cluster.node(node), user=roles[1])
    assert value(connection, f"SELECT count(*) FROM {table}") == 100
    connection.execute(f"UPDATE {table} SET v = 'z' WHERE id = 5")
    connection.execute(f"UPDATE {table} SET v = 'z'")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"UPDATE {table} SET owner = 'z' WHERE id = 5")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"DELETE FROM {table}")
    coordinator.execute(f"REVOKE ALL ON {table} FROM {roles[1]}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT count(*) FROM {table}")


def test_grant_on_tables_and_views_together(cluster, coordinator, table, roles, connect):
    """One GRANT or REVOKE of a table, a local one and objects that all nodes have reaches all nodes for each."""
    view, matview = f"{table}_view", f"{table}_matview"
    coordinator.execute(f"CREATE VIEW {view} AS SELECT * FROM {table}; CREATE MATERIALIZED VIEW {matview} AS SELECT * FROM {table};"
                        f"CREATE TABLE {table}_local (a int); ALTER VIEW {view} OWNER TO {roles[0]}")
    named = f"{matview}, {table}, {table}_local, {view}"
    coordinator.execute(f"GRANT SELECT ON {named} TO {roles[1]}")
    for node in cluster.nodes:
        reader = connect(node, user=roles[1])
        assert [value(reader, f"SELECT count(*) FROM {relation}") for relation in (table, view, matview)] == [100, 100, 100]
    coordinator.execute(f"REVOKE SELECT ON {named} FROM {roles[1]}")
    for node in cluster.nodes:
        reader = connect(node, user=roles[1])
        for relation in (table, view, matview):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(f"SELECT count(*) FROM {relation}")


VIEW_WRITES = [
    "INSERT INTO {v} VALUES (1001, '{bob}', 'new')",
    "INSERT INTO {v} VALUES (1, '{bob}', 'new') ON CONFLICT (id) DO UPDATE SET v = excluded.v",
    "UPDATE {v} SET v = random()::text WHERE id = 5",
    "UPDATE {v} SET v = n.v FROM (VALUES ('x', 'a')) n (old, v) WHERE {v}.v = n.old AND random() >= 0",
    "DELETE FROM {v} WHERE id = 7 AND random() >= 0",
]


@pytest.mark.parametrize("statement", VIEW_WRITES)
def test_writes_through_a_view_have_its_owners_rights(cluster, coordinator, table, roles, connect, statement):
    """Of the table's rights, those of the view's owner count, also if the initiator computes the rows; so for EXPLAIN."""
    view = f"{table}_view"
    coordinator.execute(f"""
        CREATE VIEW {view} AS SELECT * FROM {table} WHERE owner = '{roles[1]}' WITH CHECK OPTION;
        ALTER VIEW {view} OWNER TO {roles[0]};
        GRANT ALL ON {view} TO {roles[1]};
    """)
    connection = connect(cluster.coordinator, user=roles[1])
    statement = statement.format(v=view, bob=roles[1])
    connection.execute("EXPLAIN " + statement)
    assert connection.execute(statement + " RETURNING id").rowcount > 0
    assert connection.execute("SELECT current_user").fetchone()[0] == roles[1]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.replace(view, table))


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
def test_rights_of_columns_suffice(cluster, coordinator, table, roles, connect, node):
    """A write whose rows the initiator computes needs no right to read columns that it doesn't read."""
    coordinator.execute(f"GRANT SELECT (id), UPDATE (v) ON {table} TO {roles[1]}")
    connection = connect(cluster.node(node), user=roles[1])
    assert connection.execute(f"UPDATE {table} SET v = random()::text WHERE id < 10").rowcount == 9
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"UPDATE {table} SET v = random()::text WHERE owner = 'x'")
    merge = (f"MERGE INTO {table} t USING generate_series(1, 3) n ON t.id = n "
             "WHEN MATCHED AND {condition} THEN UPDATE SET v = 'merged'")
    assert connection.execute(merge.format(condition="t.id > 1")).rowcount == 2
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(merge.format(condition="t.owner <> ''"))


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
@pytest.mark.parametrize("statement,shown", [
    ("INSERT INTO {t} (id, v) VALUES (500, NULL)", "(id, v) = (500, null)"),
    ("INSERT INTO {t} (id, v) SELECT 500, NULL FROM generate_series(1, 2)", "(id, v) = (500, null)"),
    ("UPDATE {t} SET v = NULL WHERE id = 1", "(id, v) = (1, null)"),
    ("UPDATE {t} SET v = CASE WHEN random() < 2 THEN NULL END WHERE id = 1", "(id, v) = (1, null)"),
])
def test_errors_show_no_hidden_columns(cluster, coordinator, table, roles, connect, node, statement, shown):
    """A row that can't be stored is told without the columns that the user may not read, such as those with defaults."""
    coordinator.execute(f"ALTER TABLE {table} ALTER v SET NOT NULL, ALTER owner SET DEFAULT 'secret'")
    coordinator.execute(f"GRANT SELECT (id, v), INSERT, UPDATE (v) ON {table} TO {roles[1]}")
    with pytest.raises(psycopg.errors.NotNullViolation) as caught:
        connect(cluster.node(node), user=roles[1]).execute(statement.format(t=table))
    assert caught.value.diag.message_detail == f"Failing row contains {shown}."


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
def test_right_to_delete_suffices(cluster, coordinator, table, roles, connect, node):
    """An initiator that computes which rows to delete locks them first: no more rights than a DELETE are needed."""
    coordinator.execute(f"GRANT SELECT, DELETE ON {table} TO {roles[1]}")
    connection = connect(cluster.node(node), user=roles[1])
    assert connection.execute(f"DELETE FROM {table} WHERE id < 10 + random()").rowcount == 10
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM {table} WHERE id = 50 FOR UPDATE")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM {table} WHERE id < 50 + random() FOR UPDATE")


def test_grant_without_the_right_to_is_told_once(cluster, coordinator, table, roles, connect):
    coordinator.execute(f"GRANT SELECT ON {table} TO {roles[1]}")
    connection = connect(cluster.coordinator, user=roles[1])
    messages = []
    connection.add_notice_handler(lambda notice: messages.append(notice.message_primary))
    connection.execute(f"GRANT SELECT ON {table} TO {roles[0]}")
    assert messages == [f'no privileges were granted for "{table.split(".")[1]}"']


def test_grant_on_distributed_and_local_tables(cluster, coordinator, schema, table, roles, connect):
    """Other nodes get what concerns them of a list of tables, however the statement is written."""
    coordinator.execute(f"CREATE TABLE {schema}.\"Local\" (id int, v text)")
    coordinator.execute(f"INSERT INTO {schema}.\"Local\" VALUES (1, 'x')")
    both = f"{schema}.\"Local\", {table}"
    reader = {node: connect(cluster.node(node), user=roles[1]) for node in ("coordinator", "worker1")}

    def allowed(node, statement):
        try:
            reader[node].execute(statement)
            return True
        except psycopg.errors.InsufficientPrivilege:
            return False

    coordinator.execute(f"GRANT SELECT (id), UPDATE (id, v), DELETE ON {both} TO {roles[1]} WITH GRANT OPTION GRANTED BY CURRENT_USER")
    assert allowed("coordinator", f"SELECT id FROM {schema}.\"Local\"")
    for node in reader:
        assert allowed(node, f"SELECT id FROM {table}")
        assert not allowed(node, f"SELECT v FROM {table}")
        assert allowed(node, f"UPDATE {table} SET v = 'z' WHERE id = 5")
    coordinator.execute(f"REVOKE GRANT OPTION FOR ALL ON TABLE {both} FROM {roles[1]} CASCADE")
    coordinator.execute(f"REVOKE DELETE ON {both} FROM {roles[1]}, PUBLIC RESTRICT")
    for node in reader:
        assert allowed(node, f"SELECT id FROM {table}")
        assert not allowed(node, f"DELETE FROM {table} WHERE id = 5")
    coordinator.execute(f"REVOKE ALL ON {both} FROM {roles[1]} CASCADE")
    assert not allowed("coordinator", f"SELECT id FROM {schema}.\"Local\"")
    for node in reader:
        assert not allowed(node, f"SELECT id FROM {table}")


def test_set_role(cluster, coordinator, table, roles, connect):
    """The role in force counts, also after SET ROLE and back."""
    connection = connect(cluster.coordinator)
    connection.execute(f"SET ROLE {roles[1]}")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT count(*) FROM {table}")
    connection.execute(f"SET ROLE {roles[0]}")
    assert value(connection, f"SELECT count(*) FROM {table}") == 100
    connection.execute("RESET ROLE")
    assert value(connection, f"SELECT count(*) FROM {table}") == 100


@pytest.mark.parametrize("query,count", [("SELECT id FROM {t}", 100), ("SELECT id FROM {t} WHERE id = 1", 1),
                                         ("SELECT id FROM {t} WHERE id = 2", 1), ("SELECT id FROM {t} WHERE id = 3", 1)])
def test_cursor_of_another_role(coordinator, table, roles, query, count):
    """A cursor reads with the rights of whoever opened it, also when its rows are read ahead."""
    for first in (0, 1, "write"):
        with coordinator.transaction(force_rollback=True):
            coordinator.execute(f"SET LOCAL ROLE {roles[0]}")
            coordinator.execute("DECLARE c CURSOR FOR " + query.format(t=table))
            moved = 0
            if first == 1:
                moved = coordinator.execute("MOVE 1 FROM c").rowcount
            coordinator.execute("SET LOCAL ROLE postgres" if first == "write" else f"SET LOCAL ROLE {roles[1]}")
            if first == "write":
                coordinator.execute(f"DELETE FROM {table}")
                coordinator.execute(f"SET LOCAL ROLE {roles[1]}")
            assert moved + coordinator.execute("MOVE ALL FROM c").rowcount == count
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                coordinator.execute(query.format(t=table))


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
def test_row_security(cluster, coordinator, table, roles, connect, node):
    """Policies hold on the shards, for reads and writes, routed or not."""
    coordinator.execute(f"""
        GRANT ALL ON {table} TO {roles[1]};
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
        CREATE POLICY mine ON {table} USING (owner = current_user);
    """)
    bob = connect(cluster.node(node), user=roles[1])
    assert value(bob, f"SELECT count(*) FROM {table}") == 50
    assert rows(bob, f"SELECT owner FROM {table} WHERE id = 2") == []
    assert rows(bob, f"SELECT owner FROM {table} WHERE id = 1") == [(roles[1],)]
    assert bob.execute(f"UPDATE {table} SET v = 'bob''s'").rowcount == 50
    assert bob.execute(f"DELETE FROM {table} WHERE id = 2").rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
        bob.execute(f"INSERT INTO {table} VALUES (1001, '{roles[0]}', 'x')")
    assert "row-level security" in str(caught.value)
    bob.execute(f"INSERT INTO {table} VALUES (1001, '{roles[1]}', 'x')")
    upsert = f"INSERT INTO {table} AS t SELECT {{}} ON CONFLICT (id) DO UPDATE SET v = excluded.v || t.owner"
    assert bob.execute(upsert.format(f"id, owner, 'z' FROM {table} WHERE id < 20")).rowcount == 10
    assert value(bob, f"SELECT count(*) FROM {table} WHERE v = 'z' || current_user") == 10
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bob.execute(upsert.format(f"2, owner, 'z' FROM {table} WHERE id = 1"))
    # The owner isn't bound by policies, unless they are forced.
    alice = connect(cluster.node(node), user=roles[0])
    assert value(alice, f"SELECT count(*) FROM {table}") == 101
    coordinator.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    assert value(alice, f"SELECT count(*) FROM {table}") == 50
    coordinator.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    assert value(bob, f"SELECT count(*) FROM {table}") == 101


@pytest.mark.parametrize("distribute", ["create_reference_table('{t}')", "create_distributed_table('{t}', 'id')",
                                        "create_distributed_table('{t}', NULL)"])
def test_merge_that_row_security_forbids(cluster, schema, coordinator, roles, connect, distribute):
    """Neither passed over, nor taken for a conflict with somebody else's write, after which clients try again."""
    coordinator.execute(f"""
        GRANT USAGE ON SCHEMA {schema} TO {roles[1]};
        CREATE TABLE {schema}.r (id int PRIMARY KEY, owner text, v text);
        SELECT {distribute.format(t=f"{schema}.r")};
        INSERT INTO {schema}.r VALUES (1, '{roles[1]}', ''), (2, 'x', '');
        GRANT ALL ON {schema}.r TO {roles[1]};
        ALTER TABLE {schema}.r ENABLE ROW LEVEL SECURITY;
        CREATE POLICY seen ON {schema}.r FOR SELECT USING (true);
        CREATE POLICY mine ON {schema}.r FOR UPDATE USING (owner = current_user);
    """)
    bob = connect(cluster.coordinator, user=roles[1])
    merge = f"MERGE INTO {schema}.r USING generate_series(1, {{}}) n ON id = n WHEN MATCHED THEN UPDATE SET v = v || 'm'"
    assert bob.execute(merge.format(1)).rowcount == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bob.execute(merge.format(2))
    assert rows(coordinator, f"SELECT id, v FROM {schema}.r ORDER BY 1") == [(1, "m"), (2, "")]

    # a row that may be seen, but not written, is there: it isn't inserted
    coordinator.execute(f"CREATE POLICY new ON {schema}.r FOR INSERT WITH CHECK (true)")
    assert bob.execute(f"MERGE INTO {schema}.r USING generate_series(1, 3) n ON id = n WHEN MATCHED AND id = 1 "
                       "THEN UPDATE SET v = 'u' WHEN NOT MATCHED THEN INSERT VALUES (n, 'x', 'i')").rowcount == 2
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bob.execute(f"MERGE INTO {schema}.r USING generate_series(2, 3) n ON id = n WHEN MATCHED THEN DELETE")
    assert rows(coordinator, f"SELECT id, v FROM {schema}.r ORDER BY 1") == [(1, "u"), (2, ""), (3, "i")]


@pytest.mark.parametrize("statement", ["DELETE FROM {t} WHERE id < 10", "DELETE FROM {t} WHERE id < 10 + random()",
                                       "DELETE FROM {t} USING generate_series(1, 9) n WHERE id = n"])
def test_policies_for_delete_alone(coordinator, table, roles, connect, cluster, statement):
    """What may be deleted need not be what may be updated: here nothing may."""
    coordinator.execute(f"""
        GRANT SELECT, DELETE, UPDATE ON {table} TO {roles[1]};
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
        CREATE POLICY seen ON {table} FOR SELECT USING (true);
        CREATE POLICY mine ON {table} FOR DELETE USING (owner = current_user);
    """)
    bob = connect(cluster.coordinator, user=roles[1])
    assert bob.execute(statement.format(t=table)).rowcount == 5
    assert bob.execute(f"UPDATE {table} SET v = 'q' WHERE id < 10 + random()").rowcount == 0
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 95


def test_policies_when_rows_move(coordinator, table, roles, connect, cluster):
    """A row that moves is updated, as policies see it: neither deleted nor inserted; else by ON CONFLICT and MERGE (README)."""
    coordinator.execute(f"""
        GRANT ALL ON {table} TO {roles[1]};
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
        CREATE POLICY seen ON {table} FOR SELECT USING (true);
        CREATE POLICY mine ON {table} FOR UPDATE USING (owner = current_user);
        CREATE POLICY new ON {table} FOR INSERT WITH CHECK (true);
    """)
    bob = connect(cluster.coordinator, user=roles[1])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        bob.execute(f"UPDATE {table} SET id = id + 1000, owner = 'x'")
    assert value(coordinator, f"SELECT count(*) FROM {table} WHERE id <= 100") == 100
    assert bob.execute(f"UPDATE {table} SET id = id + 1000").rowcount == 50
    assert value(coordinator, f"SELECT count(*) FROM {table}") == 100
    for statement in (f"INSERT INTO {table} VALUES (1001, '{roles[1]}') ON CONFLICT (id) DO UPDATE SET id = 5001",
                      f"MERGE INTO {table} t USING (SELECT 1001 AS k) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET id = 5001"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as failure:
            bob.execute(statement)
        assert "moves to another shard" in failure.value.diag.message_detail


def test_a_tag_to_lock(cluster, coordinator, table, roles, connect):
    """It is for a query of one table; its rights are the initiator's matter, and only nodes tag."""
    shard = value(coordinator, "SELECT shardminvalue || ':' || shardmaxvalue FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) "
                  "WHERE logicalrelid = %s::regclass AND groupid = 1 ORDER BY shardid LIMIT 1", [table])
    group = value(coordinator, "SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = %s::regclass", [table])
    tag = f"/*citus:shard {group}.{shard} lock*/ "
    bob = node_session(cluster.workers[0], user=roles[1])
    coordinator.execute(f"GRANT SELECT ON {table} TO {roles[1]}")
    assert rows(bob, f"{tag[:-8]}*/ SELECT id FROM {table}") != []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect(cluster.workers[0], user=roles[1]).execute(f"{tag}SELECT id FROM {table}")
    coordinator.execute(f"GRANT DELETE ON {table} TO {roles[1]}")
    assert rows(bob, f"{tag}SELECT id FROM {table}") != []
    for other in ("SELECT 1", "SELECT id FROM {t} FOR SHARE", "SELECT count(*) FROM {t}", "DELETE FROM {t}"):
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            bob.execute(tag + other.format(t=table))
    bob.close()


@pytest.mark.parametrize("tag", ["/*citus:shard 1.-2147483648:-2013265921*/ ", "/*citus:shard 1.2013265920:2147483647*/ "])
def test_a_tag_is_no_privilege(cluster, table, roles, connect, tag):
    """A node's task has no more rights to a shard than its user has to the table."""
    connection = node_session(cluster.workers[0], user=roles[1])
    for statement in ("SELECT * FROM {t}", "UPDATE {t} SET v = 'q'", "DELETE FROM {t}",
                      "TRUNCATE {t}"):
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(tag + statement.format(t=table))
        assert caught.value.diag.sqlstate in ("42501", "CT001")
    connection.close()
    assert value(connect(cluster.coordinator), f"SELECT count(*) FROM {table} WHERE v = 'x'") == 100


def test_shards_belong_to_the_owner(cluster, table, roles, connect):
    """Shards have their table's owner, so ordinary users distribute their own tables."""
    for node in cluster.workers:
        owners = rows(connect(node), "SELECT DISTINCT r.rolname FROM pg_class c "
                      "JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_roles r "
                      "ON r.oid = relowner WHERE nspname = 'citus_data' AND relkind = 'r' "
                      "AND relname ~ '^t_\\d+$'")
        assert (roles[0],) in owners


def test_ordinary_user_needs_the_schema_on_all_nodes(cluster, schema, coordinator, roles, connect):
    """Who may not create schemas can't bring one to the other nodes; nothing is left of the attempt."""
    coordinator.execute(f"SET citus.enable_metadata_sync = off; DROP SCHEMA {schema}; CREATE SCHEMA {schema}")
    cluster.workers[0].sql(f"SET citus.enable_metadata_sync = off; DROP SCHEMA {schema}")
    coordinator.execute("RESET citus.enable_metadata_sync")
    coordinator.execute(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {roles[0]}")
    connection = connect(cluster.coordinator, user=roles[0])
    connection.execute(f"CREATE TABLE {schema}.mine (id int PRIMARY KEY, v text)")
    before = footprint(cluster)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT create_distributed_table('{schema}.mine', 'id')")
    assert footprint(cluster) == before


def test_ordinary_user_distributes_a_table(cluster, schema, table, roles, connect):
    connection = connect(cluster.coordinator, user=roles[0])
    connection.execute(f"CREATE TABLE {schema}.mine (id int PRIMARY KEY, v text)")
    connection.execute(f"INSERT INTO {schema}.mine VALUES (1, 'one')")
    connection.execute(f"SELECT create_distributed_table('{schema}.mine', 'id')")
    connection.execute(f"INSERT INTO {schema}.mine SELECT g, 'x' FROM generate_series(2, 50) g")
    assert value(connection, f"SELECT count(*) FROM {schema}.mine") == 50
    other = connect(cluster.workers[0], user=roles[0])
    assert value(other, f"SELECT v FROM {schema}.mine WHERE id = 1") == "one"
    connection.execute(f"DROP TABLE {schema}.mine")


def test_not_the_owner_may_not_distribute(cluster, schema, coordinator, roles, connect):
    coordinator.execute(f"GRANT USAGE ON SCHEMA {schema} TO {roles[1]};"
                        f"CREATE TABLE {schema}.theirs (id int)")
    connection = connect(cluster.coordinator, user=roles[1])
    for call in (f"create_distributed_table('{schema}.theirs', 'id')",
                 f"create_reference_table('{schema}.theirs')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT {call}")


@pytest.mark.parametrize("catalog", ["pg_dist_partition", "pg_dist_shard", "pg_dist_placement",
                                     "pg_dist_node", "pg_dist_colocation", "pg_dist_transaction"])
def test_metadata_is_read_only_to_users(cluster, roles, connect, catalog):
    connection = connect(cluster.coordinator, user=roles[0])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"DELETE FROM {catalog}")


def left_behind(cluster, role):
    """On each node, what depends on the role."""
    found = {}
    for node in cluster.nodes:
        with open_connection(node) as connection:
            found[node.name] = rows(connection, """SELECT pg_describe_object(classid, objid, objsubid) FROM pg_shdepend
                WHERE refobjid = %s::regrole AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())""", [role])
    return {name: objects for name, objects in found.items() if objects}


def test_reassign_and_drop_owned(cluster, coordinator, schema, table, roles, connect):
    """They take ownership and rights from a role on all nodes, of tables and shards."""
    coordinator.execute(f"ALTER TABLE {table} ADD COLUMN s serial")
    coordinator.execute(f"REASSIGN OWNED BY {roles[0]} TO {roles[1]}")
    owner = connect(cluster.coordinator, user=roles[1])
    owner.execute(f"ALTER TABLE {table} ADD COLUMN more int")
    owner.execute(f"GRANT ALL ON {table} TO {roles[0]}")
    coordinator.execute(f"DROP OWNED BY {roles[0]}")
    assert left_behind(cluster, roles[0]) == {}
    for node in ("coordinator", "worker1"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connect(cluster.node(node), user=roles[0]).execute(f"SELECT count(*) FROM {table}")
    coordinator.execute(f"DROP OWNED BY {roles[1]} CASCADE")
    assert left_behind(cluster, roles[1]) == {}
    for node in cluster.nodes:
        with open_connection(node) as connection:
            assert value(connection, "SELECT to_regclass(%s) IS NULL", [table])


def test_policies_are_dropped_everywhere(cluster, coordinator, schema, table):
    """By DROP POLICY, and with what they depend on."""
    for node in cluster.nodes:
        with open_connection(node) as connection:
            connection.execute("SET citus.enable_ddl_propagation = off")
            connection.execute(f"CREATE FUNCTION {schema}.mine(text) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT true'")
    coordinator.execute(f"CREATE POLICY one ON {table} USING ({schema}.mine(owner))")
    coordinator.execute(f"CREATE POLICY \"Two\" ON {table} USING ({schema}.mine(v))")
    coordinator.execute(f"CREATE POLICY three ON {table} USING (true)")

    def policies():
        found = set()
        for node in cluster.nodes:
            with open_connection(node) as connection:
                found.add(value(connection, "SELECT string_agg(polname, ' ' ORDER BY polname) FROM pg_policy WHERE polrelid = %s::regclass",
                                [table]))
        return found

    assert policies() == {"Two one three"}
    coordinator.execute(f"DROP POLICY one ON {table}")
    coordinator.execute(f"DROP POLICY IF EXISTS one ON {table}")
    assert policies() == {"Two three"}
    coordinator.execute(f"DROP FUNCTION {schema}.mine(text) CASCADE")
    assert policies() == {"three"}
    coordinator.execute(f"CREATE POLICY one ON {table} USING (true)")
    with coordinator.transaction(force_rollback=True):
        coordinator.execute(f"DROP POLICY three ON {table}")
    assert policies() == {"one three"}
    coordinator.execute(f"DROP TABLE {table}")


@pytest.mark.parametrize("node", ["coordinator", "worker1"])
def test_owner_truncates_with_triggers(cluster, coordinator, schema, table, roles, functions, connect, node):
    """They fire once, at the initiator, also those for replicas; the next statement finds them again, also after an error."""
    functions(f"""CREATE FUNCTION {schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
            INSERT INTO {schema}.noted VALUES (TG_TABLE_NAME || ' ' || TG_NAME || ' ' || (SELECT count(*) FROM {schema}.t));
            RETURN NULL;
        END$$""")
    coordinator.execute(f"""
        CREATE TABLE {schema}.noted (what text);
        SELECT create_reference_table('{schema}.noted');
        CREATE TABLE {schema}.r (id int PRIMARY KEY);
        SELECT create_reference_table('{schema}.r');
        GRANT ALL ON {schema}.noted TO {roles[0]};
        ALTER TABLE {schema}.r OWNER TO {roles[0]}""")
    for name in ("t", "r"):
        coordinator.execute(f"""
            CREATE TRIGGER before BEFORE TRUNCATE ON {schema}.{name} EXECUTE FUNCTION {schema}.note();
            CREATE TRIGGER later AFTER TRUNCATE ON {schema}.{name} EXECUTE FUNCTION {schema}.note();
            ALTER TABLE {schema}.{name} ENABLE ALWAYS TRIGGER later""")
    connection = connect(cluster.node(node), user=roles[0])
    connection.execute("BEGIN")
    connection.execute(f"TRUNCATE {schema}.t")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        coordinator.execute(f"SET lock_timeout = 100; TRUNCATE {schema}.r, {schema}.t")
    connection.execute("ROLLBACK")
    connection.execute(f"TRUNCATE {schema}.t")
    connection.execute(f"TRUNCATE {schema}.r, {schema}.t")
    assert connection.execute(f"SELECT what, count(*) FROM {schema}.noted GROUP BY 1 ORDER BY 1").fetchall() == [
        ("r before 0", 1), ("r later 0", 1), ("t before 0", 1), ("t before 100", 1), ("t later 0", 2)]
    assert value(coordinator, f"SELECT count(*) FROM {schema}.t") == 0
    assert connection.execute("SHOW session_replication_role").fetchone()[0] == "origin"


def test_policies_that_read_local_tables(coordinator, schema):
    """Other nodes couldn't check them: they are refused, with what helps, when they are made, changed, or their table is distributed."""
    coordinator.execute(f"""
        SET search_path = {schema};
        CREATE TABLE allowed (id int PRIMARY KEY); INSERT INTO allowed VALUES (1);
        CREATE TABLE t (id int); SELECT create_distributed_table('t', 'id');
        CREATE TABLE later (id int); CREATE VIEW seen AS SELECT id FROM allowed;
        CREATE POLICY p ON later USING (id IN (SELECT id FROM allowed)); CREATE POLICY every ON t USING (true)""")
    for statement in ("CREATE POLICY p ON t USING (id IN (SELECT id FROM allowed))", "CREATE POLICY p ON t WITH CHECK (id IN (SELECT id FROM seen))",
                      "ALTER POLICY every ON t USING (id IN (SELECT id FROM allowed))", "SELECT create_distributed_table('later', 'id')",
                      "SELECT create_reference_table('later')"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="uses a table that only this node has") as error:
            coordinator.execute(statement)
        assert "reference table" in error.value.diag.message_hint
    coordinator.execute("SELECT create_reference_table('allowed'); SELECT create_distributed_table('later', 'id'); "
                        "CREATE POLICY p ON t USING (id IN (SELECT id FROM allowed)); RESET search_path")
