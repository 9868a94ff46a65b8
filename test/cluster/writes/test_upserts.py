"""ON CONFLICT on tables whose triggers are given rows: what several sessions do to the same keys at once."""

import itertools
import threading

import psycopg
import pytest

from harness import servers
from harness.servers import on_every_node, pid_of, prepared_transactions, rows, value, wait_until, wait_until_quiet
from harness.statement import Statement

FUNCTIONS = """
    CREATE FUNCTION {s}.stamp() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        NEW.updates := OLD.updates + 1;
        RETURN NEW;
    END$$;
    CREATE FUNCTION {s}.log_it() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
        INSERT INTO {s}.log VALUES (NEW.id, TG_OP);
        RETURN NULL;
    END$$"""

UPSERT = "INSERT INTO {s}.{t} (id, n) VALUES ({id}, 1) ON CONFLICT (id) DO UPDATE SET n = {t}.n + excluded.n"
KEYS = 6
ROUNDS = 25


@pytest.fixture
def counted(functions, schema, coordinator):
    """A distributed table t and a reference table r that count how often their rows were updated, and b, without
    BEFORE triggers, so that its rows go in batches; the schema's name."""
    functions(FUNCTIONS.format(s=schema))
    coordinator.execute(f"CREATE TABLE {schema}.log (id int, what text)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.log', 'id')")
    for name, convert in (("t", "create_distributed_table('{s}.t', 'id', shard_count => 4)"),
                          ("b", "create_distributed_table('{s}.b', 'id', colocate_with => '{s}.t')"),
                          ("r", "create_reference_table('{s}.r')")):
        coordinator.execute(f"CREATE TABLE {schema}.{name} (id int PRIMARY KEY, n int, updates int DEFAULT 0)")
        coordinator.execute("SELECT " + convert.format(s=schema))
        if name != "b":
            coordinator.execute(f"CREATE TRIGGER stamp BEFORE UPDATE ON {schema}.{name}"
                                f" FOR EACH ROW EXECUTE FUNCTION {schema}.stamp()")
        coordinator.execute(f"CREATE TRIGGER log_it AFTER INSERT OR UPDATE ON {schema}.{name}"
                            f" FOR EACH ROW EXECUTE FUNCTION {schema}.log_it()")
    return schema


def waits(cluster):
    return sum(found[0][0] for found in on_every_node(cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values())


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("second", [0, 1, 2])
def test_two_at_once(cluster, counted, connect, coordinator, first, second):
    """The second session waits for the first, and then inserts or updates, whichever is right."""
    one, two = connect(cluster.nodes[first]), connect(cluster.nodes[second])
    keys = itertools.count(1)
    for table, end, exists in itertools.product("tr", ["COMMIT", "ROLLBACK"], [False, True]):
        key = next(keys)
        text = UPSERT.format(s=counted, t=table, id=key)
        if exists:
            coordinator.execute(text)
        one.execute("BEGIN")
        one.execute(text)
        statement = Statement(two, text)
        wait_until(lambda: waits(cluster) > 0, "the second session waits")
        one.execute(end)
        assert statement.finish() is None
        expected = exists + (end == "COMMIT") + 1
        assert rows(coordinator, f"SELECT n, updates FROM {counted}.{table} WHERE id = {key}") == [
            (expected, expected - 1)]
        assert value(coordinator, f"SELECT count(*) FROM {counted}.log WHERE id = {key}") == expected


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("second", [0, 1, 2])
def test_two_updates(cluster, counted, connect, coordinator, first, second):
    """The second of two UPDATEs finds the row as the first has left it, on whichever node it is."""
    one, two = connect(cluster.nodes[first]), connect(cluster.nodes[second])
    for key in range(1, 7):
        coordinator.execute(UPSERT.format(s=counted, t="t", id=key))
        text = f"UPDATE {counted}.t SET n = n * 2 WHERE id = {key}"
        one.execute("BEGIN")
        one.execute(text)
        statement = Statement(two, text)
        wait_until(lambda: waits(cluster) > 0, "the second session waits")
        one.execute("COMMIT")
        assert statement.finish() is None
        assert rows(coordinator, f"SELECT n, updates FROM {counted}.t WHERE id = {key}") == [(4, 2)]


class Client(threading.Thread):
    """Upserts all keys again and again, one at a time or together."""

    def __init__(self, node, schema, table, number):
        super().__init__()
        self.node, self.schema, self.table, self.number = node, schema, table, number
        self.error = None

    def run(self):
        try:
            with servers.connect(self.node) as connection:
                for turn in range(ROUNDS):
                    self.upsert(connection, (self.number + turn) % 3)
        except psycopg.Error as error:
            self.error = error

    def upsert(self, connection, way):
        if way == 0:
            connection.execute(UPSERT.format(s=self.schema, t=self.table, id="g").replace("VALUES (g, 1)",
                               f"SELECT g, 1 FROM generate_series(1, {KEYS}) g"))
            return
        for key in range(1, KEYS + 1):
            connection.execute(UPSERT.format(s=self.schema, t=self.table, id=key))


@pytest.mark.parametrize("table", ["t", "b"])
def test_no_lost_update(cluster, counted, coordinator, table):
    """Sessions on all nodes upsert the same keys, which are deleted now and then: no error, and each upsert counts."""
    clients = [Client(cluster.nodes[number % 3], counted, table, number) for number in range(6)]
    for client in clients:
        client.start()
    taken = 0
    while any(client.is_alive() for client in clients):
        taken += value(coordinator, f"WITH d AS (DELETE FROM {counted}.{table} WHERE id = 1 RETURNING n)"
                                    " SELECT coalesce(sum(n), 0) FROM d")
    for client in clients:
        client.join()
    assert [client.error for client in clients if client.error] == []
    assert taken + value(coordinator, f"SELECT coalesce(sum(n), 0) FROM {counted}.{table} WHERE id = 1") == 6 * ROUNDS
    expected = (6 * ROUNDS, 6 * ROUNDS - 1 if table == "t" else 0)
    assert rows(coordinator, f"SELECT n, updates FROM {counted}.{table} WHERE id > 1") == [expected] * (KEYS - 1)
    assert value(coordinator, f"SELECT count(*) FROM {counted}.log") == 6 * ROUNDS * KEYS


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_serialization_failure(cluster, counted, connect, coordinator, level):
    """A row that the transaction can't see can't be updated; nor skipped."""
    for initiator in cluster.nodes:
        for action in ("DO UPDATE SET n = 5", "DO NOTHING"):
            connection = connect(initiator)
            coordinator.execute(f"DELETE FROM {counted}.t")
            connection.execute(f"BEGIN ISOLATION LEVEL {level}")
            assert value(connection, f"SELECT count(*) FROM {counted}.t") == 0
            coordinator.execute(UPSERT.format(s=counted, t="t", id=1))
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(f"INSERT INTO {counted}.t VALUES (1, 1) ON CONFLICT (id) {action}")
            assert caught.value.sqlstate == "40001"
            connection.execute("ROLLBACK")


def test_session_killed(cluster, counted, connect, coordinator):
    """A session that dies between an upsert and its commit leaves nothing, and the next one doesn't wait."""
    connection = connect(cluster.nodes[1])
    coordinator.execute(UPSERT.format(s=counted, t="t", id=1))
    connection.execute("BEGIN")
    for key in range(1, 5):
        connection.execute(UPSERT.format(s=counted, t="t", id=key))
    connect(cluster.nodes[1]).execute("SELECT pg_terminate_backend(%s)", [pid_of(connection)])
    wait_until_quiet(cluster)
    assert rows(coordinator, f"SELECT id, n FROM {counted}.t") == [(1, 1)]
    assert value(coordinator, f"SELECT count(*) FROM {counted}.log") == 1
    for key in range(1, 5):
        coordinator.execute(UPSERT.format(s=counted, t="t", id=key))
    assert rows(coordinator, f"SELECT id, n FROM {counted}.t ORDER BY id") == [(1, 2), (2, 1), (3, 1), (4, 1)]
    assert not any(prepared_transactions(node) for node in cluster.nodes)
