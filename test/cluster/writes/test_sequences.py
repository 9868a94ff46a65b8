"""Values of sequences, drawn on all nodes: they never collide, fit their columns, and go where setval() and RESTART say."""

import threading

import psycopg
import pytest

from harness.servers import rows, value


@pytest.fixture
def table(schema, coordinator):
    """A distributed table with a sequence of each type."""
    coordinator.execute(f"CREATE TABLE {schema}.t (k int, small smallserial, id serial, big bigserial, "
                        "always int GENERATED ALWAYS AS IDENTITY)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.t', 'k', shard_count => 4)")
    return f"{schema}.t"


@pytest.fixture
def role(coordinator, schema):
    coordinator.execute(f"CREATE ROLE sequence_user LOGIN; GRANT USAGE ON SCHEMA {schema} TO sequence_user")
    yield "sequence_user"
    coordinator.execute("DROP OWNED BY sequence_user; DROP ROLE sequence_user")


def test_all_nodes_draw_at_once(cluster, connect, table):
    """Values are unique, and as small as they would be on one server, but for what nodes have in store."""
    def draw(connection):
        for _ in range(20):
            connection.execute(f"INSERT INTO {table} (k) SELECT generate_series(1, 10)")

    threads = [threading.Thread(target=draw, args=(connect(node),)) for node in cluster.nodes for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = 200 * len(threads)
    for column in ("small", "id", "big", "always"):
        assert rows(connect(cluster.workers[0]), f"SELECT count(DISTINCT {column}), max({column}) < 20000 FROM {table}") == [(count, True)]


def test_session_values(cluster, connect, table):
    for node in cluster.nodes:
        connection = connect(node)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            connection.execute(f"SELECT currval('{table}_id_seq')")
        drawn = value(connection, f"INSERT INTO {table} (k) VALUES (1) RETURNING id")
        assert value(connection, f"SELECT currval('{table}_id_seq')") == drawn
        drawn = value(connection, f"SELECT nextval('{table}_big_seq')")
        assert value(connection, "SELECT lastval()") == drawn
        connection.execute(f"DO $$ BEGIN PERFORM nextval('{table}_id_seq'); END $$")
        assert value(connection, "SELECT lastval()") == value(connection, f"SELECT currval('{table}_id_seq')")


def test_no_such_sequence(cluster, connect):
    for node in cluster.nodes:
        for call in ("nextval(2147483647)", "currval(2147483647)", "setval(2147483647, 1)"):
            with pytest.raises(psycopg.errors.UndefinedTable, match="relation with OID 2147483647 does not exist"):
                connect(node).execute(f"SELECT citus_internal.{call}")


@pytest.mark.parametrize("setter", [0, 1, 2])
@pytest.mark.parametrize("change, first", [
    ("SELECT setval('{0}_id_seq', 5000)", 5001), ("SELECT setval('{0}_id_seq', 5000, false)", 5000),
    ("ALTER SEQUENCE {0}_id_seq RESTART 5000", 5000), ("ALTER TABLE {0} ALTER always SET GENERATED ALWAYS RESTART 5000", 5000),
    ("TRUNCATE {0} RESTART IDENTITY", 1)])
def test_values_follow_a_change(cluster, connect, table, setter, change, first):
    """What nodes have in store of the values before is given up."""
    column = "always" if "always" in change else "id"
    sessions = [connect(node) for node in cluster.nodes]
    for session in sessions:
        session.execute(f"INSERT INTO {table} (k) SELECT generate_series(1, 3)")
    sessions[setter].execute(change.format(table))
    drawn = sorted(value(session, f"INSERT INTO {table} (k) VALUES (1) RETURNING {column}") for session in sessions)
    assert first <= drawn[0] and drawn[-1] < first + 100 and len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("node", [0, 1])
def test_changes_that_roll_back(cluster, connect, table, node):
    """RESTART is undone with its transaction, setval() is not."""
    session, other = connect(cluster.nodes[node]), connect(cluster.workers[1])
    before = value(other, f"SELECT nextval('{table}_id_seq')")
    with session.transaction(force_rollback=True):
        session.execute(f"ALTER SEQUENCE {table}_id_seq RESTART 9000")
        assert value(session, f"INSERT INTO {table} (k) VALUES (1) RETURNING id") == 9000
    for connection in (session, other):
        assert before < value(connection, f"SELECT nextval('{table}_id_seq')") < 1000
    with session.transaction(force_rollback=True):
        session.execute(f"SELECT setval('{table}_id_seq', 7000)")
    assert 7000 < value(other, f"SELECT nextval('{table}_id_seq')") < 8000


def test_every_value_of_a_short_range(cluster, connect, schema, coordinator):
    coordinator.execute(f"CREATE SEQUENCE {schema}.short MINVALUE 10 MAXVALUE 18 INCREMENT -2 START 18")
    drawn = [value(connect(node), f"SELECT nextval('{schema}.short')") for node in [*cluster.nodes, *cluster.workers]]
    assert sorted(drawn) == [10, 12, 14, 16, 18]
    for node in cluster.nodes:
        with pytest.raises(psycopg.errors.SequenceGeneratorLimitExceeded):
            connect(node).execute(f"SELECT nextval('{schema}.short')")
    connect(cluster.workers[0]).execute(f"ALTER SEQUENCE {schema}.short CYCLE")
    assert value(connect(cluster.workers[1]), f"SELECT nextval('{schema}.short')") == 18


def test_copy_and_added_columns(cluster, connect, table):
    """Values that are not computed by a query; triggers don't hear of those that existing rows get."""
    worker = connect(cluster.workers[0])
    with worker.cursor().copy(f"COPY {table} (k) FROM STDIN") as copy:
        copy.write("".join(f"{number}\n" for number in range(50)))
    worker.execute(f"""CREATE FUNCTION {table}_fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''fired''; END'""")
    worker.execute(f"CREATE TRIGGER fail BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_fail()")
    worker.execute(f"ALTER TABLE {table} ADD COLUMN more serial, ADD COLUMN own int GENERATED BY DEFAULT AS IDENTITY (START 100)")
    connect(cluster.workers[1]).execute(f"INSERT INTO {table} (k) SELECT generate_series(1, 50)")
    assert rows(worker, f"SELECT count(DISTINCT id), count(DISTINCT more), count(DISTINCT own), min(own), max(own) < 1000 FROM {table}") == \
        [(100, 100, 100, 100, True)]
    with pytest.raises(psycopg.errors.NotNullViolation):
        worker.execute(f"INSERT INTO {table} (k, more) VALUES (1, NULL)")


def test_rights(cluster, connect, table, role, coordinator):
    """As on one server: nextval() and serial columns need a right to the sequence, identity columns don't."""
    coordinator.execute(f"GRANT INSERT ON {table} TO {role}")
    sequence = f"{table}_id_seq"
    insert = f"INSERT INTO {table} (k, small, big, id) VALUES (1, 1, 1, "
    for node in cluster.nodes:
        user = connect(node, user=role)
        user.execute(f"{insert}1)")
        for statement in (f"{insert}DEFAULT)", f"SELECT nextval('{sequence}')", f"SELECT setval('{sequence}', 1)",
                          f"SELECT nextval('{table}_always_seq')", f"SELECT citus_internal.nextval('{table}_always_seq')",
                          f"SELECT citus_internal.take_sequence_values('{sequence}', 5)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                user.execute(statement)
    coordinator.execute(f"GRANT USAGE ON SEQUENCE {sequence} TO {role}")
    for node in cluster.nodes:
        user = connect(node, user=role)
        user.execute(f"{insert}DEFAULT)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            user.execute(f"SELECT setval('{sequence}', 1)")


@pytest.mark.parametrize("node", [0, 1])
def test_local_tables_sequences(cluster, connect, schema, node):
    """A sequence comes to all nodes, leaves them with its local owner, and comes with that again; its values go on."""
    session, other = connect(cluster.nodes[node]), connect(cluster.workers[1])
    session.execute(f"CREATE TABLE {schema}.t (id int, k int); CREATE SEQUENCE {schema}.s")
    drawn = [value(other, f"SELECT nextval('{schema}.s')")]
    session.execute(f"ALTER SEQUENCE {schema}.s OWNED BY {schema}.t.id; ALTER TABLE {schema}.t ALTER id SET DEFAULT nextval('{schema}.s')")
    assert value(other, f"SELECT to_regclass('{schema}.s')") is None
    drawn.append(value(session, f"INSERT INTO {schema}.t (k) VALUES (1) RETURNING id"))
    session.execute(f"SELECT create_distributed_table('{schema}.t', 'k', shard_count => 4)")
    for connection in (session, other):
        drawn.append(value(connection, f"INSERT INTO {schema}.t (k) VALUES (1) RETURNING id"))
    session.execute(f"SELECT undistribute_table('{schema}.t')")
    drawn.append(value(session, f"INSERT INTO {schema}.t (k) VALUES (1) RETURNING id"))
    assert drawn[0] == 1 and drawn[1] > 1 and len(set(drawn)) == 5 and max(drawn) < 200
    session.execute(f"DROP TABLE {schema}.t")


def test_what_the_planner_does_not_see(cluster, connect, table):
    """A call that gets past the planner fails on a worker: it never gives a value that is another's."""
    worker = connect(cluster.workers[0])
    worker.execute("PREPARE given (bigint) AS SELECT $1")
    with pytest.raises(psycopg.errors.SequenceGeneratorLimitExceeded):
        worker.execute(f"EXECUTE given (nextval('{table}_id_seq'))")


def test_inlined_functions(cluster, connect, schema, coordinator):
    """A SQL function's body is put into a query after the query's own calls were replaced."""
    coordinator.execute(f"""
        CREATE SEQUENCE {schema}.s;
        CREATE FUNCTION {schema}.next() RETURNS bigint LANGUAGE sql AS $$ SELECT NextVal('{schema}.s') $$;
        CREATE FUNCTION {schema}.next_standard() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT nextval('{schema}.s'); END;
        CREATE FUNCTION {schema}.outer_one() RETURNS bigint LANGUAGE sql AS $$ SELECT {schema}.next() + 0 $$;
        CREATE FUNCTION {schema}.both() RETURNS SETOF bigint LANGUAGE sql AS $$ SELECT nextval('{schema}.s') UNION ALL SELECT 0 $$""")
    for node in cluster.nodes:
        connection = connect(node)
        drawn = [value(connection, f"SELECT {schema}.{call}") for call in ("next()", "next_standard()", "outer_one()")]
        drawn += [value(connection, f"SELECT max(v) FROM {schema}.both() v"), value(connection, f"SELECT nextval('{schema}.s')")]
        assert drawn == list(range(drawn[0], drawn[0] + 5))


def test_restarted_node(own_cluster, connect):
    """A node's store goes with it: values are left out, and none is given twice."""
    connect(own_cluster.coordinator).execute("CREATE SEQUENCE s")
    worker = own_cluster.workers[0]
    before = value(connect(worker), "SELECT nextval('s')")
    worker.kill()
    worker.start()
    after = [value(connect(node), "SELECT nextval('s')") for node in own_cluster.nodes]
    assert len({before, *after}) == 4 and max(after) < 200
