"""WHERE CURRENT OF: which row is written, whatever other sessions do, and with whose rights."""

import psycopg
import pytest

from harness.servers import fill, on_every_node, rows, value, wait_until
from harness.statement import Statement

INITIATORS = pytest.mark.parametrize("initiator", ["coordinator", "worker1"])


@pytest.fixture
def table(schema, coordinator):
    name = f"{schema}.t"
    fill(coordinator, name, 40)
    return name


@pytest.fixture
def reader(cluster, connect, table):
    """Opens a cursor that locks its rows, and reads three; a function of the initiator."""
    def opened(initiator, strength="KEY SHARE", level="READ COMMITTED"):
        connection = connect(cluster.node(initiator), autocommit=False)
        connection.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        connection.execute(f"DECLARE c CURSOR FOR SELECT id FROM {table} ORDER BY id FOR {strength}")
        assert rows(connection, "FETCH 3 FROM c") == [(1,), (2,), (3,)]
        return connection
    return opened


@pytest.fixture
def user(cluster, schema):
    """A role on all nodes."""
    cluster.coordinator.sql("CREATE ROLE current_of")
    yield "current_of"
    cluster.coordinator.sql("DROP OWNED BY current_of; DROP ROLE current_of")


def add_one(table):
    return f"UPDATE {table} SET payload = payload + 1 WHERE CURRENT OF c RETURNING id, payload"


@INITIATORS
def test_latest_version(coordinator, table, reader, initiator):
    connection = reader(initiator)
    for payload in (100, 200):
        coordinator.execute(f"UPDATE {table} SET payload = {payload} WHERE id = 3")
    assert rows(connection, add_one(table)) == [(3, 201)]
    connection.commit()
    assert rows(coordinator, f"SELECT id, payload FROM {table} WHERE payload <> 0") == [(3, 201)]


@INITIATORS
@pytest.mark.parametrize("end, expected", [("COMMIT", 101), ("ROLLBACK", 1)])
def test_waits_for_another_update(cluster, coordinator, table, reader, initiator, end, expected):
    connection = reader(initiator)
    coordinator.execute("BEGIN")
    coordinator.execute(f"UPDATE {table} SET payload = 100 WHERE id = 3")
    waiting = Statement(connection, add_one(table))
    wait_until(lambda: any(found[0][0] for found in on_every_node(
        cluster, "SELECT count(*) FROM pg_locks WHERE NOT granted").values()), "the update to wait")
    coordinator.execute(end)
    assert waiting.finish() is None
    connection.commit()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = 3") == expected
    assert value(coordinator, f"SELECT count(*) FROM {table} WHERE payload <> 0") == 1


@INITIATORS
def test_repeatable_read(coordinator, table, reader, initiator):
    connection = reader(initiator, level="REPEATABLE READ")
    coordinator.execute(f"UPDATE {table} SET payload = 100 WHERE id = 3")
    with pytest.raises(psycopg.errors.SerializationFailure):
        connection.execute(add_one(table))
    connection.rollback()
    assert value(coordinator, f"SELECT payload FROM {table} WHERE id = 3") == 100


def test_another_row_in_its_place(cluster, coordinator, table, connect):
    """A node finds a row by its place only if the version there is the one that was read."""
    node = cluster.workers[0]
    found = rows(coordinator, f"SELECT shardid, shard_name FROM citus_shards WHERE table_name = '{table}'::regclass"
                              " AND nodeport = %s", [node.port])
    connection = connect(node)
    for shard, name in found:
        for ctid, xmin in rows(connection, "SELECT citus_internal.logical_ctid(ctid, tableoid)::text, xmin::text"
                                           f" FROM {name} LIMIT 1"):
            lock = f"SELECT citus_internal.lock_row('{table}', {shard}, '{ctid}', '%s'::xid, false)::text"
            assert value(connection, lock % xmin) == ctid
            with pytest.raises(psycopg.errors.SerializationFailure):
                connection.execute(lock % (int(xmin) - 1))
            return
    assert False, "no shard of the worker has a row"


@INITIATORS
def test_rights(cluster, coordinator, schema, table, connect, initiator, user):
    coordinator.execute(f"GRANT USAGE ON SCHEMA {schema} TO {user}")
    coordinator.execute(f"GRANT SELECT (id), UPDATE (payload) ON {table} TO {user}")
    fill(coordinator, f"{schema}.other", 1)
    connection = connect(cluster.node(initiator), autocommit=False)
    connection.execute(f"SET ROLE {user}")
    connection.execute(f"DECLARE c CURSOR FOR SELECT id FROM {table} ORDER BY id FOR UPDATE")
    assert rows(connection, "FETCH 1 FROM c") == [(1,)]
    with pytest.raises(psycopg.errors.InvalidCursorState):
        connection.execute(f"UPDATE {table} SET payload = 7 WHERE CURRENT OF c")
    connection.rollback()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SET ROLE {user}")
        connection.execute(f"SELECT citus_internal.lock_row('{schema}.other', 0, '(0,1)', '1', false)")
    connection.rollback()
    coordinator.execute(f"GRANT SELECT ON {table} TO {user}")
    connection.execute(f"SET ROLE {user}")
    connection.execute(f"DECLARE c CURSOR FOR SELECT id FROM {table} ORDER BY id FOR UPDATE")
    connection.execute("MOVE 2 FROM c")
    assert rows(connection, f"UPDATE {table} SET payload = 7 WHERE CURRENT OF c RETURNING *") == [(2, 7)]
    connection.rollback()
