"""SQL on distributed tables in functions that run inside a task: part of the same transaction, however deep."""

import psycopg
import pytest

from harness.servers import on_every_node, prepared_transactions, rows, value

HOPS = 4

# Each row brings about another one, whose key is on another node as often as not.
CHAIN = """
    CREATE FUNCTION {schema}.hop(id int, hops int) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN
        IF hops > 0 THEN
            INSERT INTO {schema}.chain VALUES (id + 1, hops - 1);
        ELSIF hops < 0 THEN
            RAISE EXCEPTION 'too far' USING ERRCODE = 'P0042';
        END IF;
        RETURN true;
    END$$;
    CREATE FUNCTION {schema}.guarded(id int) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN
        BEGIN
            INSERT INTO {schema}.chain VALUES (id + 1000, 1), (id + 1001, -1);
        EXCEPTION WHEN SQLSTATE 'P0042' THEN
            INSERT INTO {schema}.chain VALUES (id + 2000, 1);
        END;
        RETURN true;
    END$$;
    CREATE FUNCTION {schema}.total() RETURNS bigint LANGUAGE plpgsql AS $$BEGIN
        RETURN (SELECT count(*) FROM {schema}.chain);
    END$$"""


@pytest.fixture
def chain(functions, schema, coordinator):
    """A table whose CHECK function inserts into it again."""
    functions(CHAIN.format(schema=schema))
    coordinator.execute(f"CREATE TABLE {schema}.chain (id int PRIMARY KEY, hops int CHECK ({schema}.hop(id, hops)))")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.chain', 'id', shard_count => 8)")
    coordinator.execute(f"CREATE TABLE {schema}.start (id int PRIMARY KEY, seen bigint,"
                        f" CHECK ({schema}.guarded(id)), CHECK ({schema}.total() >= 0))")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.start', 'id', colocate_with => '{schema}.chain')")
    return f"{schema}.chain"


def counts(cluster_, table):
    """How many rows each node sees: must be the same."""
    found = {answer[0][0] for answer in on_every_node(cluster_, f"SELECT count(*) FROM {table}").values()}
    assert len(found) == 1, found
    return found.pop()


@pytest.mark.parametrize("initiator", ["coordinator", "worker1", "worker2"])
def test_commits_with_its_statement(cluster, chain, connect, initiator):
    connection = connect(cluster.node(initiator))
    for number in range(5):
        connection.execute(f"INSERT INTO {chain} VALUES (%s, %s)", [number * 100, HOPS])
        assert value(connection, f"SELECT count(*) FROM {chain}") == (HOPS + 1) * (number + 1)
    assert counts(cluster, chain) == (HOPS + 1) * 5


def test_in_a_transaction_block(cluster, chain, connect):
    """Together with other writes; rolled back with them, by savepoint and altogether."""
    connection = connect(cluster.coordinator)
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {chain} VALUES (100, {HOPS})")
    connection.execute(f"INSERT INTO {chain} VALUES (1000, 0)")
    connection.execute("SAVEPOINT s")
    connection.execute(f"INSERT INTO {chain} VALUES (200, {HOPS})")
    connection.execute("ROLLBACK TO s")
    connection.execute(f"INSERT INTO {chain} VALUES (300, {HOPS})")
    connection.execute("COMMIT")
    assert counts(cluster, chain) == 2 * (HOPS + 1) + 1
    with pytest.raises(ZeroDivisionError):
        with connection.transaction():
            connection.execute(f"INSERT INTO {chain} VALUES (400, {HOPS})")
            raise ZeroDivisionError
    assert counts(cluster, chain) == 2 * (HOPS + 1) + 1


def test_error_in_the_depth(cluster, chain, connect):
    """An error at the last hop undoes all, and keeps its SQLSTATE."""
    connection = connect(cluster.coordinator)
    connection.execute(f"INSERT INTO {chain} VALUES ({HOPS}, 0)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(f"INSERT INTO {chain} VALUES (0, {HOPS})")
    assert counts(cluster, chain) == 1
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(f"INSERT INTO {chain} VALUES (500, 1), (600, -1)")
    assert caught.value.sqlstate == "P0042"
    assert counts(cluster, chain) == 1


def test_exception_block_inside(cluster, chain, schema, connect):
    """A function in a task catches what its distributed statement raised."""
    connection = connect(cluster.coordinator)
    with connection.transaction():
        connection.execute(f"INSERT INTO {schema}.start VALUES (1)")
        connection.execute(f"INSERT INTO {schema}.start VALUES (51)")
    assert sorted(rows(connection, f"SELECT id FROM {chain}")) == [(2001,), (2002,), (2051,), (2052,)]
    assert counts(cluster, chain) == 4


def test_meets_itself(cluster, chain, connect):
    """Parts of one transaction that write the same key at the same node: an error, and no wait for ever."""
    connection = connect(cluster.coordinator)
    with pytest.raises((psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation)):
        with connection.transaction():
            for key in range(0, 40, 2):
                connection.execute(f"INSERT INTO {chain} VALUES (%s, 2)", [key])
    assert counts(cluster, chain) == 0


@pytest.mark.parametrize("verb", ["COMMIT", "ROLLBACK"])
def test_prepared_by_the_client(cluster, chain, connect, verb):
    """A tree that the client prepares, and another session ends."""
    connection = connect(cluster.coordinator)
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {chain} VALUES (100, {HOPS}), (200, {HOPS}), (300, {HOPS})")
    connection.execute("PREPARE TRANSACTION 'tree'")
    assert counts(cluster, chain) == 0
    for node in cluster.nodes:
        connect(node).execute("SELECT recover_prepared_transactions()")
    other = connect(cluster.coordinator)
    other.execute(f"{verb} PREPARED 'tree'")
    assert not any(prepared_transactions(node) for node in cluster.nodes)
    assert counts(cluster, chain) == (3 * (HOPS + 1) if verb == "COMMIT" else 0)
