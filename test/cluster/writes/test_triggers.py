"""Triggers of distributed and reference tables that run SQL on several nodes: once, and in their statement's transaction."""

import psycopg
import pytest

from harness.servers import (fill, on_every_node, pid_of, prepared_transactions, rows, value, wait_until,
                             wait_until_quiet)
from harness.statement import Statement

# Each row of t brings about one of log, whose key is on another node as often as not, and one more in a total.
FUNCTIONS = """
    CREATE FUNCTION {s}.log_it() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        INSERT INTO {s}.log (id, what) VALUES (coalesce(NEW.id, OLD.id) + 1, TG_OP || ' ' || TG_TABLE_NAME);
        UPDATE {s}.total SET n = n + 1 WHERE id = 1;
        IF NEW.v < 0 THEN
            RAISE EXCEPTION 'negative' USING ERRCODE = 'P0042';
        END IF;
        RETURN NULL;
    END$$;
    CREATE FUNCTION {s}.note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        BEGIN
            INSERT INTO {s}.log (id, what) VALUES (NEW.id, 'note');
            IF NEW.id % 3 = 0 THEN
                RAISE EXCEPTION 'undone';
            END IF;
        EXCEPTION WHEN raise_exception THEN
            NULL;
        END;
        NEW.v := (SELECT count(*) FROM {s}.t);
        RETURN NEW;
    END$$;
    CREATE FUNCTION {s}.stamp() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        NEW.stamp := clock_timestamp();
        RETURN NEW;
    END$$"""


@pytest.fixture
def logged(functions, schema, coordinator):
    """A table t whose row trigger writes to others; the schema's name."""
    functions(FUNCTIONS.format(s=schema))
    for text in ("CREATE TABLE {s}.t (id int PRIMARY KEY, v int, stamp timestamptz)",
                 "CREATE TABLE {s}.log (id int, what text)", "CREATE TABLE {s}.total (id int PRIMARY KEY, n int)",
                 "SELECT create_distributed_table('{s}.t', 'id', shard_count => 8)",
                 "SELECT create_distributed_table('{s}.log', 'id', colocate_with => '{s}.t')",
                 "SELECT create_distributed_table('{s}.total', 'id')", "INSERT INTO {s}.total VALUES (1, 0)",
                 "CREATE TABLE {s}.r (id int PRIMARY KEY, v int, stamp timestamptz)",
                 "SELECT create_reference_table('{s}.r')",
                 "CREATE TRIGGER log_it AFTER INSERT OR UPDATE OR DELETE ON {s}.t FOR EACH ROW EXECUTE FUNCTION {s}.log_it()",
                 "CREATE TRIGGER log_it AFTER INSERT OR UPDATE OR DELETE ON {s}.r FOR EACH ROW EXECUTE FUNCTION {s}.log_it()",
                 "CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON {s}.t FOR EACH ROW EXECUTE FUNCTION {s}.stamp()",
                 "CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON {s}.r FOR EACH ROW EXECUTE FUNCTION {s}.stamp()"):
        coordinator.execute(text.format(s=schema))
    return schema


def counts(connection, schema):
    """Rows of t and of its log, and the total."""
    return rows(connection, f"SELECT (SELECT count(*) FROM {schema}.t), (SELECT count(*) FROM {schema}.log),"
                            f" (SELECT n FROM {schema}.total)")[0]


@pytest.mark.parametrize("initiator", ["coordinator", "worker1", "worker2"])
def test_once_a_row(cluster, logged, connect, initiator):
    """Whichever node the client has connected to, and whichever has the row."""
    connection = connect(cluster.node(initiator))
    for number in range(1, 6):
        connection.execute(f"INSERT INTO {logged}.t VALUES ({number}, 0)")
    connection.execute(f"INSERT INTO {logged}.t SELECT g, 0 FROM generate_series(11, 30) g")
    assert counts(connection, logged) == (25, 25, 25)
    connection.execute(f"UPDATE {logged}.t SET v = v + 1 WHERE id <= 20")
    connection.execute(f"DELETE FROM {logged}.t WHERE id = 1")
    assert counts(connection, logged) == (24, 41, 41)
    assert rows(connection, f"SELECT what, count(*) FROM {logged}.log GROUP BY 1 ORDER BY 1") == [
        ("DELETE t", 1), ("INSERT t", 25), ("UPDATE t", 15)]
    assert value(connection, f"SELECT count(*) FROM {logged}.t WHERE stamp IS NULL") == 0


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_reference_table(cluster, logged, connect, initiator):
    """Once a row, not once a replica, and replicas stay equal."""
    connection = connect(cluster.node(initiator))
    connection.execute(f"INSERT INTO {logged}.r SELECT g, g FROM generate_series(1, 10) g")
    connection.execute(f"UPDATE {logged}.r SET v = v + 1 WHERE id <= 5")
    connection.execute(f"DELETE FROM {logged}.r WHERE id = 10")
    assert counts(connection, logged) == (0, 16, 16)
    copies = on_every_node(cluster, f"SELECT id, v, stamp FROM {logged}.r ORDER BY id")
    assert len(copies["coordinator"]) == 9
    assert all(copy == copies["coordinator"] for copy in copies.values())


def test_error_in_a_trigger(cluster, logged, coordinator):
    """Nothing of the statement stays, on any node; what was before a savepoint does."""
    with pytest.raises(psycopg.Error) as caught:
        coordinator.execute(f"INSERT INTO {logged}.t SELECT g, 10 - g FROM generate_series(1, 20) g")
    assert caught.value.sqlstate == "P0042"
    assert counts(coordinator, logged) == (0, 0, 0)
    coordinator.execute("BEGIN")
    coordinator.execute(f"INSERT INTO {logged}.t VALUES (1, 0)")
    coordinator.execute("SAVEPOINT s")
    with pytest.raises(psycopg.Error):
        coordinator.execute(f"UPDATE {logged}.t SET v = -1")
    coordinator.execute("ROLLBACK TO s")
    coordinator.execute("COMMIT")
    assert counts(coordinator, logged) == (1, 1, 1)
    assert not any(prepared_transactions(node) for node in cluster.nodes)


def test_session_killed(cluster, logged, connect, coordinator):
    """A session that dies with its statement's writes, and the triggers', open on all nodes leaves none of them."""
    connection = connect(cluster.coordinator)
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {logged}.t SELECT g, 0 FROM generate_series(1, 20) g")
    assert counts(connection, logged) == (20, 20, 20)
    coordinator.execute("SELECT pg_terminate_backend(%s)", [pid_of(connection)])
    wait_until_quiet(cluster)
    assert counts(coordinator, logged) == (0, 0, 0)
    assert not any(prepared_transactions(node) for node in cluster.nodes)


@pytest.fixture
def deferred(logged, coordinator):
    """The same, but t's trigger that writes fires at the end of the transaction."""
    coordinator.execute(f"DROP TRIGGER log_it ON {logged}.t")
    coordinator.execute(f"CREATE CONSTRAINT TRIGGER log_it AFTER INSERT OR UPDATE OR DELETE ON {logged}.t"
                        f" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {logged}.log_it()")
    return logged


@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_deferred(cluster, deferred, connect, initiator):
    """What triggers write at the end is part of the transaction, on all nodes, and so is an error in them."""
    connection, other = connect(cluster.node(initiator)), connect(cluster.coordinator)
    connection.execute(f"INSERT INTO {deferred}.t SELECT g, 0 FROM generate_series(1, 20) g")
    assert counts(other, deferred) == (20, 20, 20)
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {deferred}.t SELECT g, 0 FROM generate_series(21, 30) g")
    connection.execute(f"UPDATE {deferred}.t SET v = 1 WHERE id = 1")
    assert counts(connection, deferred) == (30, 20, 20)
    connection.execute("COMMIT")
    assert counts(other, deferred) == (30, 31, 31)
    connection.execute("BEGIN")
    connection.execute(f"UPDATE {deferred}.t SET v = 1")
    connection.execute(f"UPDATE {deferred}.t SET v = -1 WHERE id = 20")
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("COMMIT")
    assert caught.value.sqlstate == "P0042"
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(f"DELETE FROM {deferred}.t; INSERT INTO {deferred}.t VALUES (1, -1)")
    assert caught.value.sqlstate == "P0042"
    assert counts(other, deferred) == (30, 31, 31)
    assert value(other, f"SELECT sum(v) FROM {deferred}.t") == 1
    assert not any(prepared_transactions(node) for node in cluster.nodes)


def test_deferred_prepared(cluster, deferred, coordinator):
    """Deferred triggers fire before a transaction is prepared, and not again."""
    coordinator.execute("BEGIN")
    coordinator.execute(f"INSERT INTO {deferred}.t SELECT g, 0 FROM generate_series(1, 20) g")
    coordinator.execute("PREPARE TRANSACTION 'deferred'")
    assert counts(coordinator, deferred) == (0, 0, 0)
    coordinator.execute("COMMIT PREPARED 'deferred'")
    assert counts(coordinator, deferred) == (20, 20, 20)
    wait_until_quiet(cluster)


def test_deferred_session_killed(cluster, deferred, connect, coordinator):
    """Triggers of a session that dies never fire; what it lent its rows to is a table like before."""
    connection = connect(cluster.coordinator)
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {deferred}.t SELECT g, 0 FROM generate_series(1, 20) g")
    coordinator.execute("SELECT pg_terminate_backend(%s)", [pid_of(connection)])
    wait_until_quiet(cluster)
    assert counts(coordinator, deferred) == (0, 0, 0)
    coordinator.execute(f"INSERT INTO {deferred}.t VALUES (1, 0)")
    coordinator.execute(f"VACUUM {deferred}.t")
    coordinator.execute(f"SELECT undistribute_table('{deferred}.t')")
    assert counts(coordinator, deferred) == (1, 1, 1)


def test_replication_role(logged, coordinator):
    """As on a plain server, ordinary triggers don't fire for a replica's session."""
    coordinator.execute("SET session_replication_role = replica")
    coordinator.execute(f"INSERT INTO {logged}.t VALUES (1, 0), (2, 0)")
    coordinator.execute("RESET session_replication_role")
    assert counts(coordinator, logged) == (2, 0, 0)
    coordinator.execute(f"INSERT INTO {logged}.t VALUES (3, 0)")
    assert counts(coordinator, logged) == (3, 1, 1)


@pytest.mark.parametrize("initiator", ["coordinator", "worker2"])
def test_ended_while_rows_wait(cluster, logged, connect, coordinator, initiator):
    """Rows that BEFORE ROW triggers have passed are written when one of these runs SQL: at any moment a statement ends in whole."""
    coordinator.execute(f"CREATE TRIGGER a BEFORE INSERT ON {logged}.t FOR EACH ROW EXECUTE FUNCTION {logged}.note()")
    connection = connect(cluster.node(initiator))
    insert = f"INSERT INTO {logged}.t SELECT g FROM generate_series(1, 1000) g"
    for timeout in (5, 40, 100, 170):
        connection.execute("BEGIN")
        connection.execute(f"INSERT INTO {logged}.t VALUES (0)")
        connection.execute("SAVEPOINT s")
        connection.execute(f"SET LOCAL statement_timeout = {timeout}")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(insert)
        connection.execute("ROLLBACK TO s")
        assert counts(connection, logged) == (1, 1, 1)
        connection.execute("ROLLBACK")
        with connection.transaction(force_rollback=True):
            connection.execute(f"SET LOCAL statement_timeout = {timeout}")
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(insert)
        assert counts(connection, logged) == (0, 0, 0)
    connection.execute(f"INSERT INTO {logged}.t SELECT g FROM generate_series(1, 20) g")
    assert counts(connection, logged) == (20, 34, 20)
    assert sorted(rows(connection, f"SELECT v FROM {logged}.t")) == [(n,) for n in range(20)]


@pytest.mark.parametrize("nodes", [(0, 1), (2, 1)])
def test_deadlock(cluster, logged, session, coordinator, nodes):
    """One of the waits is that of a statement in a trigger."""
    coordinator.execute(f"INSERT INTO {logged}.t VALUES (5, 0)")
    one, two = session(nodes[0]), session(nodes[1])
    one.execute(f"UPDATE {logged}.total SET n = n WHERE id = 1")
    two.execute("SELECT 1")
    waiting = [Statement(two, f"UPDATE {logged}.t SET v = 1 WHERE id = 5")]
    wait_until(lambda: any(row for found in on_every_node(cluster, "SELECT 1 FROM pg_locks WHERE NOT granted").values()
                           for row in found), "the trigger's statement to wait")
    waiting.append(Statement(one, f"UPDATE {logged}.t SET v = 2 WHERE id = 5"))
    wait_until(lambda: not all(statement.running for statement in waiting), "the deadlock's end")
    for connection, statement in zip((two, one), waiting):
        if not statement.running and statement.error is not None:
            connection.rollback()
    assert sorted(str(error and error.sqlstate) for error in (statement.finish() for statement in waiting)) == ["40P01", "None"]


@pytest.fixture
def counted(functions, schema, coordinator):
    """A distributed table t, and a function that writes it and counts its rows; the schema's name."""
    functions(f"""CREATE FUNCTION {schema}.write(number int) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN
            INSERT INTO {schema}.t VALUES (number, (SELECT count(*) FROM {schema}.t));
            UPDATE {schema}.t SET v = v + 100 WHERE id = number;
            RETURN (SELECT count(*) FROM {schema}.t JOIN {schema}.r USING (id));
        END$$""")
    for text in ("CREATE TABLE {s}.t (id int PRIMARY KEY, v int)", "CREATE TABLE {s}.r (id int PRIMARY KEY)",
                 "SELECT create_distributed_table('{s}.t', 'id', shard_count => 8)",
                 "SELECT create_reference_table('{s}.r')", "INSERT INTO {s}.r SELECT generate_series(1, 100)"):
        coordinator.execute(text.format(s=schema))
    return schema


def test_fired_by_a_foreign_keys_action(counted, coordinator):
    """The server's own statement is for this node alone; what its triggers run is not, then and later."""
    schema = counted
    for text in ("CREATE TABLE {s}.parent (id int PRIMARY KEY)",
                 "CREATE TABLE {s}.child (id int PRIMARY KEY, up int REFERENCES {s}.parent ON DELETE CASCADE ON UPDATE CASCADE)",
                 "CREATE TABLE {s}.seen (n bigint)",
                 "CREATE FUNCTION {s}.fire() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                 " INSERT INTO {s}.seen VALUES ({s}.write(OLD.id)); RETURN coalesce(NEW, OLD); END$$",
                 "CREATE TRIGGER fire BEFORE UPDATE OR DELETE ON {s}.child FOR EACH ROW EXECUTE FUNCTION {s}.fire()",
                 "INSERT INTO {s}.parent SELECT generate_series(1, 9)",
                 "INSERT INTO {s}.child SELECT g, g FROM generate_series(1, 9) g"):
        coordinator.execute(text.format(s=schema))
    coordinator.execute(f"DELETE FROM {schema}.parent WHERE id < 3")
    coordinator.execute(f"UPDATE {schema}.parent SET id = 30 WHERE id = 3")
    assert value(coordinator, f"SELECT {schema}.write(50)") == 4
    assert rows(coordinator, f"SELECT n FROM {schema}.seen ORDER BY n") == [(1,), (2,), (3,)]
    assert rows(coordinator, f"SELECT id, v FROM {schema}.t ORDER BY id") == [(1, 100), (2, 101), (3, 102), (50, 103)]


def test_event_trigger(counted, coordinator):
    """What an event trigger runs while DDL is under way on the logical table is about the shards."""
    schema = counted
    for text in ("CREATE TABLE {s}.seen (n bigint)", "CREATE TABLE {s}.other (id int PRIMARY KEY)",
                 "SELECT create_distributed_table('{s}.other', 'id')", "INSERT INTO {s}.other SELECT generate_series(1, 99)"):
        coordinator.execute(text.format(s=schema))
    coordinator.execute(f"""CREATE FUNCTION {schema}.fire() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN
            IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = '{schema}.other') THEN
                INSERT INTO {schema}.seen VALUES ({schema}.write((SELECT count(*)::int + 1 FROM {schema}.seen)));
            END IF;
        END$$""")
    coordinator.execute(f"CREATE EVENT TRIGGER fire_{schema} ON ddl_command_end WHEN tag IN ('ALTER TABLE')"
                        f" EXECUTE FUNCTION {schema}.fire()")
    try:
        coordinator.execute(f"ALTER TABLE {schema}.other ADD a int DEFAULT 5")
        coordinator.execute(f"ALTER TABLE {schema}.other ADD FOREIGN KEY (id) REFERENCES {schema}.r")
    finally:
        coordinator.execute(f"DROP EVENT TRIGGER fire_{schema}")
    assert value(coordinator, f"SELECT {schema}.write(3)") == 3
    assert rows(coordinator, f"SELECT n FROM {schema}.seen ORDER BY n") == [(1,), (2,)]
    assert rows(coordinator, f"SELECT id, v FROM {schema}.t ORDER BY id") == [(1, 100), (2, 101), (3, 102)]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        coordinator.execute(f"INSERT INTO {schema}.other VALUES (1000)")


def test_relation_rebuilt_under_a_trigger(cluster, schema, table, connect, functions):
    """A GRANT in a BEFORE trigger has the table's cache entry built anew; a trigger in C reads its indexes afterwards."""
    functions(f"""
        CREATE EXTENSION tcn SCHEMA {schema};
        CREATE FUNCTION {schema}.grant_it() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
            IF NEW.id % 2 = 0 THEN
                GRANT SELECT ON {table} TO PUBLIC;
            ELSE
                REVOKE SELECT ON {table} FROM PUBLIC;
            END IF;
            RETURN NEW;
        END$$""")
    connection = connect(cluster.coordinator)
    connection.execute("SET citus.enable_ddl_propagation = off")
    connection.execute(f"CREATE TRIGGER a BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {schema}.grant_it()")
    connection.execute(f"CREATE TRIGGER b AFTER UPDATE ON {table} FOR EACH ROW "
                       f"EXECUTE FUNCTION {schema}.triggered_change_notification('changes')")
    connection.execute("LISTEN changes")
    connection.execute(f"UPDATE {table} SET payload = 1")
    payloads = sorted(n.payload for n in connection.notifies(timeout=30, stop_after=100))
    assert payloads == sorted(f'"t",U,"id"=\'{n}\'' for n in range(1, 101))


def test_memory_of_changed_rows(cluster, schema, connect, functions):
    """What a statement remembers of the rows that it has changed is a bit each."""
    functions(f"""
        CREATE FUNCTION {schema}.measure() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
            RAISE NOTICE '%', (SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'citus rows changed');
            RETURN NULL;
        END$$""")
    connection = connect(cluster.coordinator)
    count = 100_000
    fill(connection, f"{schema}.many", count)
    connection.execute(f"CREATE TRIGGER measure AFTER UPDATE ON {schema}.many EXECUTE FUNCTION {schema}.measure()")
    said = []
    connection.add_notice_handler(lambda notice: said.append(int(notice.message_primary)))
    connection.execute(f"UPDATE {schema}.many SET payload = 1")
    assert len(said) == 1 and 0 < said[0] < 5 * count, said
