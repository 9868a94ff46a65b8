"""What belongs to a session works through every node: settings, cursors, prepared statements."""

import datetime

import psycopg
import pytest

from harness.servers import fill, rows, value, wait_until

NODES = ["coordinator", "worker1"]


@pytest.fixture
def table(schema, coordinator):
    """A distributed table with 100 rows, in the test's own schema."""
    fill(coordinator, f"{schema}.t", 100)
    return f"{schema}.t"


@pytest.fixture(params=NODES)
def session(request, cluster, connect, schema):
    """A connection to a node, with the test's schema in front."""
    connection = connect(cluster.node(request.param), autocommit=False)
    connection.execute(f"SET search_path = {schema}")
    connection.commit()
    return connection


def test_any_node_answers(table, session):
    assert value(session, "SELECT count(*) FROM t") == 100
    session.execute("INSERT INTO t VALUES (1000, 1)")
    session.execute("UPDATE t SET payload = payload + 1 WHERE id < 51")
    session.execute("DELETE FROM t WHERE id = 1000")
    session.commit()
    assert value(session, "SELECT sum(payload) FROM t") == 50


def test_search_path(cluster, coordinator, schema, table, connect):
    """Names mean what the session's search_path says, on every node."""
    coordinator.execute(f"CREATE SCHEMA {schema}_b")
    try:
        fill(coordinator, f"{schema}_b.t", 7)
        for node in cluster.nodes:
            connection = connect(node)
            for path, count in ((schema, 100), (f"{schema}_b", 7), (f"{schema}_b, {schema}", 7)):
                connection.execute(f"SET search_path = {path}")
                assert value(connection, "SELECT count(*) FROM t") == count
                assert value(connection, "SELECT count(*) FROM t WHERE id = 50") == (count > 50)
            # A function's own search_path counts inside of it.
        coordinator.execute(f"CREATE FUNCTION {schema}.how_many() RETURNS bigint LANGUAGE plpgsql "
                            f"SET search_path = {schema} AS 'BEGIN RETURN (SELECT count(*) FROM t); END'")
        coordinator.execute(f"SET search_path = {schema}_b")
        assert value(coordinator, f"SELECT {schema}.how_many()") == 100
        assert value(coordinator, "SELECT count(*) FROM t") == 7
    finally:
        coordinator.execute("RESET search_path")
        coordinator.execute(f"DROP SCHEMA {schema}_b CASCADE")


def test_settings_that_change_answers(table, session, coordinator, schema):
    coordinator.execute(f"CREATE TABLE {schema}.s (id int, at timestamptz, d date, f float8, "
                        "i interval, b bytea)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.s', 'id')")
    coordinator.execute(f"INSERT INTO {schema}.s VALUES (1, '2024-07-01 12:00+00', '2024-02-03', "
                        "0.1::float8 + 0.2, '1 day 02:03', '\\xdeadbeef')")
    query = "SELECT at::text, d::text, f::text, i::text, b::text FROM s WHERE id = {} AND f > 0"
    for settings, expected in (
            ({}, ("2024-07-01 12:00:00+00", "2024-02-03", "0.30000000000000004",
                  "1 day 02:03:00", "\\xdeadbeef")),
            ({"TimeZone": "Asia/Kolkata", "DateStyle": "SQL, DMY", "extra_float_digits": "0",
              "IntervalStyle": "iso_8601", "bytea_output": "escape"},
             ("01/07/2024 17:30:00 IST", "03/02/2024", "0.3", "P1DT2H3M", "\\336\\255\\276\\357"))):
        for name, setting in settings.items():
            session.execute("SELECT set_config(%s, %s, true)", [name, setting])
        for key in ("1", "(SELECT 1)"):
            assert rows(session, query.format(key)) == [expected], (settings, key)
    session.rollback()
    assert rows(session, query.format("1"))[0][1] == "2024-02-03"


def scans_in_order(session):
    """Whether the nodes scan whole shards for a range of keys, whose rows are few: as the session's settings tell them."""
    plan = "\n".join(line for line, in rows(session, "EXPLAIN (COSTS OFF) SELECT payload FROM t WHERE id BETWEEN 5 AND 6"))
    assert "t_1" in plan
    return "Seq Scan" in plan


def test_settings_that_tune(table, session, cluster, connect, schema, coordinator):
    """Settings of the planner and the like that a session changes hold on all nodes, until it changes them back; others have those of the node."""
    coordinator.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off); ANALYZE {table}")
    session.execute("SET enable_seqscan = off")
    assert not scans_in_order(session)
    session.commit()
    session.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = on")
    assert scans_in_order(session)
    session.execute("SAVEPOINT s; SET enable_seqscan = off; SET enable_indexscan = on")
    assert not scans_in_order(session)
    session.execute("ROLLBACK TO s")
    assert scans_in_order(session)
    session.rollback()
    assert not scans_in_order(session)
    session.execute("SET enable_indexscan = off; SET enable_bitmapscan = off; RESET enable_seqscan")
    assert scans_in_order(session)
    session.rollback()
    assert not scans_in_order(session)
    session.execute("RESET ALL")
    session.execute(f"SET search_path = {schema}")
    session.commit()
    with connect(cluster.coordinator, options="-c enable_indexscan=off -c enable_bitmapscan=off -c enable_indexonlyscan=off") as other:
        other.execute(f"SET search_path = {schema}")
        assert scans_in_order(other)
        other.execute("SET enable_indexscan = on; SET enable_seqscan = off")
        assert not scans_in_order(other)


def test_settings_of_nodes_that_tune(session, cluster, connect, schema, coordinator):
    """A node's own value holds where the session has set none, and again when it has reset its own."""
    coordinator.execute(f"CREATE TABLE {schema}.tuned (id int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.tuned', 'id', shard_count => 4)")
    coordinator.execute(f"INSERT INTO {schema}.tuned SELECT generate_series(1, 1000)")
    shards = [f"tuned_{shard}" for shard, in rows(coordinator, f"SELECT shardid FROM pg_dist_shard WHERE logicalrelid = '{schema}.tuned'::regclass")]
    server = connect(cluster.workers[1])
    server.execute("SET citus.override_table_visibility = off")
    server.execute("ALTER SYSTEM SET default_statistics_target = 7")
    server.execute("SELECT pg_reload_conf()")
    try:
        wait_until(lambda: value(server, "SHOW default_statistics_target") == "7", "the setting to be read")

        def samples():
            """How many of a column's values ANALYZE has kept on a node for each shard: one more than the target."""
            session.execute("ANALYZE tuned")
            session.commit()
            return {count for count, in rows(server, "SELECT array_length(histogram_bounds, 1) FROM pg_stats WHERE tablename = ANY(%s)", [shards])}

        assert samples() == {8}
        session.execute("SET default_statistics_target = 5")
        assert samples() == {6}
        session.execute("RESET default_statistics_target")
        assert samples() == {8}
    finally:
        server.execute("ALTER SYSTEM RESET default_statistics_target")
        server.execute("SELECT pg_reload_conf()")


def test_settings_of_extensions_for_superusers(table, connect, cluster, coordinator, schema):
    """What only superusers may set of an extension's settings reaches the nodes from their sessions."""
    function = (f"CREATE OR REPLACE FUNCTION {schema}.picked(id bigint) RETURNS int LANGUAGE plpgsql IMMUTABLE "
                "AS 'BEGIN RETURN (SELECT id FROM (VALUES (-1)) v (id)); END'")
    coordinator.execute(function)
    query = f"SELECT sum({schema}.picked(id)) FROM {table}"
    with connect(cluster.coordinator) as session:
        session.execute("LOAD 'plpgsql'")
        session.execute("SET plpgsql.variable_conflict = 'use_column'")
        assert value(session, query) == -100
        session.execute("RESET plpgsql.variable_conflict")
        session.execute(function)
        with pytest.raises(psycopg.errors.AmbiguousColumn):
            session.execute(query)


def test_settings_that_functions_change(coordinator, schema, session):
    """What a function sets in a task ends with the task; what it sets in a delegated call stays in the client's session."""
    coordinator.execute(f"""CREATE FUNCTION {schema}.changes(int, zone text) RETURNS int LANGUAGE plpgsql IMMUTABLE
        AS $$ BEGIN PERFORM set_config('TimeZone', zone, false), set_config('my.own', zone, false); RETURN $1; END $$;
        CREATE TABLE {schema}.s (id int, at timestamptz, CHECK ({schema}.changes(id, 'Asia/Tokyo') > 0));
        SELECT create_distributed_table('{schema}.s', 'id');
        CREATE FUNCTION {schema}.call(int, zone text) RETURNS int LANGUAGE plpgsql
        AS $$ BEGIN PERFORM set_config('TimeZone', zone, false); RETURN $1; END $$;
        SELECT create_distributed_function('{schema}.call(int, text)', '$1', '{schema}.s')""")
    session.execute("SET TimeZone = 'UTC'")
    for number in range(1, 9):
        session.execute(f"INSERT INTO s VALUES ({number}, '2024-07-01 12:00+00')")
    with session.cursor() as cursor, cursor.copy("COPY s FROM STDIN") as copy:
        copy.write("".join(f"{number}\t2024-07-01 12:00+00\n" for number in range(9, 99)))
    session.commit()
    session.execute("SET TimeZone = 'UTC'")
    for number in range(1, 9):
        value(session, f"SELECT changes(id, 'Asia/Kolkata') FROM s WHERE id = {number}")
    session.execute("SET TimeZone = 'UTC'")
    value(session, "SELECT sum(changes(id, 'Asia/Tokyo')) FROM s")
    session.execute("SET TimeZone = 'UTC'")
    assert rows(session, "SELECT DISTINCT at::text FROM s WHERE length(at::text) > 0") == [("2024-07-01 12:00:00+00",)]
    for number in range(1, 9):
        assert value(session, f"SELECT at::text FROM s WHERE id = {number}") == "2024-07-01 12:00:00+00"
    for number in range(1, 9):
        session.execute("SET TimeZone = 'UTC'")
        session.commit()
        value(session, f"SELECT call({number}, 'Asia/Kolkata')")
        assert value(session, "SHOW TimeZone") == "Asia/Kolkata"
        assert value(session, f"SELECT at::text FROM s WHERE id = {number}") == "2024-07-01 17:30:00+05:30"
        session.commit()


def test_now_is_the_same_everywhere(table, session):
    """now() is the transaction's start on the initiator, in every row of every shard."""
    found = rows(session, "SELECT DISTINCT now(), now() = (SELECT now()) FROM t")
    assert len(found) == 1 and found[0][1]
    assert isinstance(found[0][0], datetime.datetime)


def test_prepared_statements(coordinator, table, session):
    """The same answers from custom and generic plans, after DDL too."""
    session.execute("PREPARE one (bigint) AS SELECT payload FROM t WHERE id = $1")
    session.execute("PREPARE many (bigint) AS SELECT count(*) FROM t WHERE id > $1")
    session.execute("PREPARE change (bigint, int) AS UPDATE t SET payload = $2 WHERE id = $1")
    for mode in ("auto", "force_generic_plan", "force_custom_plan"):
        session.execute(f"SET LOCAL plan_cache_mode = {mode}")
        for number in range(1, 9):
            session.execute(f"EXECUTE change ({number}, {number})")
            assert value(session, f"EXECUTE one ({number})") == number
            assert value(session, f"EXECUTE many ({number})") == 100 - number
        assert rows(session, "EXECUTE one (NULL)") == []
    session.commit()
    coordinator.execute(f"ALTER TABLE {table} ADD COLUMN more text DEFAULT 'x'")
    assert value(session, "EXECUTE one (3)") == 3
    session.commit()
    session.execute("DEALLOCATE ALL")
    session.commit()


def test_driver_prepared_statements(table, session):
    """What drivers do by themselves: named statements, binary parameters and results."""
    for number in range(1, 20):
        cursor = session.execute("SELECT id, payload FROM t WHERE id = %b", [number], prepare=True,
                                 binary=True)
        assert cursor.fetchall() == [(number, 0)]


def test_cursors(table, session):
    """Forward, holdable and scrollable cursors; other statements in between."""
    session.execute("DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id")
    assert rows(session, "FETCH 3 FROM c") == [(1,), (2,), (3,)]
    assert value(session, "SELECT count(*) FROM t") == 100
    session.execute("UPDATE t SET payload = 5 WHERE id = 4")
    assert rows(session, "FETCH 2 FROM c") == [(4,), (5,)]
    session.execute("MOVE 90 IN c")
    assert rows(session, "FETCH ALL FROM c") == [(n,) for n in range(96, 101)]
    session.execute("CLOSE c")

    session.execute("DECLARE s SCROLL CURSOR FOR SELECT id FROM t ORDER BY id")
    assert rows(session, "FETCH ABSOLUTE 50 FROM s") == [(50,)]
    assert rows(session, "FETCH PRIOR FROM s") == [(49,)]
    assert rows(session, "FETCH LAST FROM s") == [(100,)]

    session.execute("DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id DESC")
    session.commit()
    assert rows(session, "FETCH 2 FROM h") == [(100,), (99,)]
    session.execute("CLOSE h")
    session.commit()


def test_cursor_is_abandoned(table, session):
    """A cursor that nobody reads to its end doesn't keep later statements from working."""
    for _ in range(3):
        session.execute("DECLARE c CURSOR FOR SELECT t.*, repeat('x', 1000) FROM t, "
                        "generate_series(1, 200)")
        session.execute("FETCH 1 FROM c")
        assert value(session, "SELECT count(*) FROM t") == 100
        session.rollback()


def test_savepoints(table, session):
    """Savepoints nest, are released and rolled back, and errors end with them."""
    session.execute("UPDATE t SET payload = 1")
    session.execute("SAVEPOINT a")
    session.execute("UPDATE t SET payload = 2 WHERE id <= 50")
    session.execute("SAVEPOINT b")
    with pytest.raises(psycopg.errors.UniqueViolation):
        session.execute("INSERT INTO t VALUES (1, 1)")
    session.execute("ROLLBACK TO b")
    session.execute("DELETE FROM t WHERE id = 100")
    session.execute("RELEASE b")
    assert value(session, "SELECT sum(payload) FROM t") == 149
    session.execute("ROLLBACK TO a")
    assert value(session, "SELECT sum(payload) FROM t") == 100
    session.execute("UPDATE t SET payload = 3 WHERE id = 7")
    session.commit()
    assert value(session, "SELECT sum(payload) FROM t") == 102


def test_plpgsql_exceptions(table, session):
    """An exception block is a savepoint on every node."""
    session.execute("""
        DO $$
        BEGIN
            UPDATE t SET payload = 1;
            FOR i IN 1..5 LOOP
                BEGIN
                    UPDATE t SET payload = 9 WHERE id = i;
                    INSERT INTO t VALUES (i, 9);
                EXCEPTION WHEN unique_violation THEN
                    UPDATE t SET payload = 2 WHERE id = i;
                END;
            END LOOP;
        END $$""")
    session.commit()
    assert value(session, "SELECT sum(payload) FROM t") == 105


def test_read_only_transactions(table, session):
    session.execute("SET TRANSACTION READ ONLY")
    assert value(session, "SELECT count(*) FROM t") == 100
    for statement in ("UPDATE t SET payload = 1", "INSERT INTO t VALUES (1000, 1)",
                      "DELETE FROM t WHERE id = 1", "TRUNCATE t"):
        session.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            session.execute(statement)
        session.execute("ROLLBACK TO s")


def test_errors_speak_of_the_table(table, session):
    """No shard's name, id or schema shows in what a user reads."""
    cases = {
        "INSERT INTO t VALUES (1, 1)": psycopg.errors.UniqueViolation,
        "INSERT INTO t VALUES (NULL, 1)": psycopg.errors.NotNullViolation,
        "SELECT nothing FROM t": psycopg.errors.UndefinedColumn,
        "SELECT 1 / (id - id) FROM t": psycopg.errors.DivisionByZero,
        "SELECT 1 / (id - 5) FROM t WHERE id = 5": psycopg.errors.DivisionByZero,
    }
    for statement, kind in cases.items():
        with pytest.raises(kind) as caught:
            session.execute(statement)
        diag = caught.value.diag
        text = f"{diag.message_primary} {diag.message_detail} {diag.table_name} {diag.schema_name}"
        assert "citus_data" not in text and "t_1" not in text, text
        session.rollback()


def test_notices_arrive(table, session):
    """RAISE NOTICE of a function that runs where the rows are, or here, arrives."""
    heard = []
    session.add_notice_handler(lambda diagnostic: heard.append(diagnostic.message_primary))
    session.execute("DO $$ BEGIN RAISE NOTICE 'rows: %', (SELECT count(*) FROM t); END $$")
    assert "rows: 100" in heard


def test_plain_tables_are_untouched(table, session):
    """Tables that nobody distributed are PostgreSQL's own business."""
    session.execute("CREATE TABLE p (a int PRIMARY KEY, b text)")
    session.execute("INSERT INTO p SELECT g, g FROM generate_series(1, 10) g")
    plan = "\n".join(row[0] for row in rows(session, "EXPLAIN SELECT * FROM p WHERE a = 1"))
    assert "Citus" not in plan and "Distributed" not in plan
    session.rollback()


def test_settings_of_a_statement_that_wanted_no_more_rows(coordinator, schema):
    """What a setting was before is back on the node when the transaction it travelled with is rolled back there."""
    coordinator.execute(f"""
        CREATE TABLE {schema}.t (k int PRIMARY KEY, at timestamptz, filler text);
        SELECT create_distributed_table('{schema}.t', 'k', shard_count => 4);
        INSERT INTO {schema}.t SELECT i, '2026-01-01 00:00Z', repeat('x', 2000) FROM generate_series(1, 20000) i""")
    keys = range(1, 9)

    def shown():
        return {value(coordinator, f"SELECT at::text FROM {schema}.t WHERE k = %s", [key]) for key in keys}

    coordinator.execute("SET timezone = 'Asia/Tokyo'")
    assert shown() == {"2026-01-01 09:00:00+09"}
    coordinator.execute("SET timezone = 'UTC'")
    assert coordinator.execute(f"SELECT length(filler) FROM {schema}.t LIMIT 1").fetchall() == [(2000,)]
    assert coordinator.execute(f"SELECT * FROM {schema}.t LIMIT 1").fetchone() is not None
    assert shown() == {"2026-01-01 00:00:00+00"}
