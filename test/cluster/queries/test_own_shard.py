"""A statement on the node that has its row runs that shard's own plan, and looks like any other."""

import psycopg
import pytest

from harness.servers import value

SETUP = """
    CREATE TABLE parent (k int PRIMARY KEY, name text);
    SELECT create_distributed_table('parent', 'k');
    CREATE TABLE child (k int, n int, v int CHECK (v < 1000), PRIMARY KEY (k, n));
    SELECT create_distributed_table('child', 'k', colocate_with => 'parent');
    ALTER TABLE child ADD CONSTRAINT child_parent FOREIGN KEY (k) REFERENCES parent (k);
    INSERT INTO parent SELECT i, 'name ' || i FROM generate_series(1, 200) i;
    INSERT INTO child SELECT i, 1, i FROM generate_series(1, 200) i;
"""
TIMES = 8       # a text is kept from its second use on, and planned for good some executions later


@pytest.fixture
def session(schema, coordinator, cluster, connect):
    """A session on the first worker, in the test's schema."""
    coordinator.execute(f"SET search_path = {schema}")
    coordinator.execute(SETUP)
    connection = connect(cluster.workers[0])
    connection.execute(f"SET search_path = {schema}")
    return connection


@pytest.fixture
def keys(session):
    """Keys whose rows are on that worker."""
    return [key for key, in session.execute("""
        SELECT k FROM generate_series(1, 200) k JOIN pg_dist_placement
            ON shardid = get_shard_id_for_distribution_column('parent', k)
        WHERE groupid = (SELECT groupid FROM pg_dist_local_group) ORDER BY k""")]


@pytest.mark.parametrize("prepare", [False, True])
def test_results(session, keys, prepare):
    for key in keys[:3] * TIMES:
        assert session.execute("SELECT name FROM parent WHERE k = %s", [key], prepare=prepare
                               ).fetchall() == [(f"name {key}",)]
        cursor = session.execute("UPDATE child SET v = v + 1 WHERE k = %s AND n = 1 RETURNING n", [key], prepare=prepare)
        assert cursor.fetchall() == [(1,)] and cursor.statusmessage == "UPDATE 1"
    assert value(session, "SELECT sum(v) FROM child WHERE k = ANY (%s)", [keys[:3]]) == \
        sum(keys[:3]) + 3 * TIMES


def test_literals(session, keys):
    for number in range(TIMES):
        cursor = session.execute(f"INSERT INTO child VALUES ({keys[0]}, {number + 10}, {number})")
        assert cursor.statusmessage == "INSERT 0 1"
    assert value(session, f"SELECT count(*) FROM child WHERE k = {keys[0]}") == TIMES + 1
    assert session.execute(f"DELETE FROM child WHERE k = {keys[0]} AND n >= 10").rowcount == TIMES


def test_column_gets_another_type(session, keys, coordinator):
    """Statements that their client has not prepared don't care."""
    for column_type in ["int", "real", "bigint", "int"]:
        coordinator.execute(f"ALTER TABLE child ALTER v TYPE {column_type}")
        for _ in range(3):
            for statement in ["SELECT v FROM child WHERE k = {}", "UPDATE child SET v = v WHERE k = {} RETURNING v"]:
                cursor = session.execute(statement.format(keys[0]), prepare=False)
                assert cursor.fetchall() == [(keys[0],)]
                assert session.adapters.types[cursor.description[0].type_code].regtype == \
                    {"int": "integer"}.get(column_type, column_type)


@pytest.mark.parametrize("statement, constraint, state", [
    ("INSERT INTO parent VALUES ({key}, 'x')", "parent_pkey", "23505"),
    ("INSERT INTO child VALUES ({key}, 2, 1000)", "child_v_check", "23514"),
    ("DELETE FROM parent WHERE k = {key}", "child_parent", "23503"),
])
def test_errors_have_logical_names(session, keys, statement, constraint, state):
    for key in keys[:2] * TIMES:
        with pytest.raises(psycopg.Error) as caught:
            session.execute(statement.format(key=key))
        assert caught.value.sqlstate == state
        assert caught.value.diag.constraint_name == constraint
        assert f'"{constraint}"' in caught.value.diag.message_primary


def test_rights_are_those_of_the_logical_table(session, keys, schema, coordinator):
    coordinator.execute("SELECT run_command_on_all_nodes('CREATE ROLE own_shard_reader')")
    try:
        coordinator.execute(f"SELECT run_command_on_all_nodes('GRANT USAGE ON SCHEMA {schema} TO own_shard_reader')")
        coordinator.execute("GRANT SELECT (k) ON parent TO own_shard_reader")
        for _ in range(TIMES):
            assert value(session, f"SELECT name FROM parent WHERE k = {keys[0]}") == f"name {keys[0]}"
        session.execute("SET ROLE own_shard_reader")
        for _ in range(TIMES):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="table parent"):
                session.execute(f"SELECT name FROM parent WHERE k = {keys[0]}")
            assert value(session, f"SELECT k FROM parent WHERE k = {keys[0]}") == keys[0]
        session.execute("RESET ROLE")
    finally:
        coordinator.execute("REVOKE ALL (k) ON parent FROM own_shard_reader")
        coordinator.execute("SELECT run_command_on_all_nodes('DROP OWNED BY own_shard_reader')")
        coordinator.execute("SELECT run_command_on_all_nodes('DROP ROLE own_shard_reader')")


def test_row_security(session, keys, schema, coordinator):
    coordinator.execute("ALTER TABLE parent ENABLE ROW LEVEL SECURITY; ALTER TABLE parent FORCE ROW LEVEL SECURITY")
    coordinator.execute("CREATE POLICY few ON parent USING (name <> current_setting('app.hidden', true))")
    for _ in range(TIMES):
        assert value(session, f"SELECT name FROM parent WHERE k = {keys[0]}") is not None


def test_definition_changes_between_executions(session, keys, coordinator):
    for number in range(3):
        for _ in range(TIMES):
            row = session.execute("SELECT * FROM parent WHERE k = %s", [keys[0]], prepare=False).fetchone()
            assert len(row) == 2 + number
        coordinator.execute(f"ALTER TABLE parent ADD COLUMN more{number} int DEFAULT {number}")


def test_rename_between_executions(session, keys, coordinator):
    for name in ("parent", "renamed", "parent"):
        for _ in range(TIMES):
            assert value(session, f"SELECT name FROM {name} WHERE k = {keys[0]}") == f"name {keys[0]}"
        coordinator.execute(f"ALTER TABLE {name} RENAME TO {'renamed' if name == 'parent' else 'parent'}")


def test_few_plans_are_kept(session, keys):
    session.execute("SET citus.max_prepared_tasks_per_connection = 2")
    for key in keys[:6] * 3:
        assert value(session, "SELECT name FROM parent WHERE k = %s", [key]) == f"name {key}"
    session.execute("SET citus.max_prepared_tasks_per_connection = 0")
    assert value(session, "SELECT name FROM parent WHERE k = %s", [keys[0]]) == f"name {keys[0]}"


def test_inside_functions_and_blocks(session, keys):
    session.execute(f"""
        DO $$
        DECLARE found text; total int := 0;
        BEGIN
            FOR i IN 1 .. {TIMES} LOOP
                SELECT name INTO found FROM parent WHERE k = {keys[0]};
                ASSERT found = 'name {keys[0]}';
                BEGIN
                    INSERT INTO child VALUES ({keys[0]}, 100 + i, i);
                    INSERT INTO child VALUES ({keys[0]}, 1, 1);
                EXCEPTION WHEN unique_violation THEN
                    ASSERT SQLERRM LIKE '%"child_pkey"%', SQLERRM;
                END;
            END LOOP;
        END $$""")
    assert value(session, f"SELECT count(*) FROM child WHERE k = {keys[0]}") == 1
    with session.transaction(force_rollback=True):
        for number in range(TIMES):
            session.execute(f"UPDATE child SET v = {number} WHERE k = {keys[0]}")
            assert value(session, f"SELECT v FROM child WHERE k = {keys[0]}") == number
    assert value(session, f"SELECT v FROM child WHERE k = {keys[0]}") == keys[0]


def test_cursor_and_portal(session, keys):
    with session.transaction():
        for number in range(TIMES):
            session.execute(f"DECLARE c{number} SCROLL CURSOR FOR SELECT name FROM parent WHERE k = {keys[0]}")
            assert value(session, f"FETCH c{number}") == f"name {keys[0]}"
            assert session.execute(f"FETCH c{number}").fetchall() == []
            assert value(session, f"FETCH BACKWARD FROM c{number}") == f"name {keys[0]}"


def test_read_only_transaction(session, keys):
    for _ in range(3):
        session.execute(f"UPDATE child SET v = 1 WHERE k = {keys[0]}")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), session.transaction():
        session.execute("SET TRANSACTION READ ONLY")
        session.execute(f"UPDATE child SET v = 1 WHERE k = {keys[0]}")
