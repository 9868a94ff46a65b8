"""Calls of distributed functions run on the node of their rows, if that needs no other one; answers: oracle, delegated_calls."""

import psycopg
import pytest

from harness.servers import rows, value

SETUP = """
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
    SELECT create_distributed_table('account', 'id', shard_count => 4, colocate_with => 'none');
    CREATE TABLE entry (account int, n serial, amount int);
    SELECT create_distributed_table('entry', 'account', colocate_with => 'account');
    INSERT INTO account SELECT g, 100 FROM generate_series(1, 40) g;
    CREATE FUNCTION pay(payer int, paid int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - paid WHERE id = payer;
        INSERT INTO entry (account, amount) VALUES (payer, paid);
        RETURN current_setting('port');
    END $$;
    CREATE FUNCTION transfer(payer int, payee int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - 1 WHERE id = payer;
        UPDATE account SET balance = balance + 1 WHERE id = payee;
        RETURN current_setting('port');
    END $$;
    CREATE PROCEDURE in_parts(payer int, OUT port int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - 1 WHERE id = payer;
        COMMIT;
        UPDATE account SET balance = balance - 1 WHERE id = payer;
        port := current_setting('port');
    END $$;
    CREATE PROCEDURE late_far(payer int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - 1 WHERE id = payer;
        COMMIT;
        UPDATE account SET balance = balance - 1;
    END $$;
    CREATE FUNCTION forgiving(payer int, payee int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - 1 WHERE id = payer;
        UPDATE account SET balance = balance + 1 WHERE id = payee;
        RETURN 1;
    EXCEPTION WHEN OTHERS THEN
        RETURN 0;
    END $$;
    CREATE PROCEDURE forgives(payer int, payee int, OUT done int) LANGUAGE plpgsql AS $$
    BEGIN
        BEGIN
            UPDATE account SET balance = balance - 1 WHERE id = payer;
            UPDATE account SET balance = balance + 1 WHERE id = payee;
            done := 1;
        EXCEPTION WHEN OTHERS THEN
            done := 0;
        END;
        COMMIT;
    END $$;
    CREATE FUNCTION noted(payer int) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO notes VALUES (payer);
        UPDATE account SET balance = balance - 1 WHERE id = payer;
        RETURN 'noted';
    END $$;
    CREATE PROCEDURE notes_it(payer int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO notes VALUES (payer);
        UPDATE account SET balance = balance - 1 WHERE id = payer;
    END $$;
    CREATE FUNCTION opened(payer int) RETURNS refcursor LANGUAGE plpgsql AS $$
    DECLARE
        c refcursor := 'c';
    BEGIN
        OPEN c FOR SELECT balance FROM account WHERE id = payer;
        RETURN c;
    END $$;
    SELECT create_distributed_function(f, 'payer', 'account') FROM unnest(ARRAY[
        'pay(int, int)', 'transfer(int, int)', 'in_parts(int)', 'late_far(int)',
        'forgiving(int, int)', 'forgives(int, int)', 'noted(int)', 'notes_it(int)', 'opened(int)']::regprocedure[]) f
"""


@pytest.fixture
def session(schema, coordinator):
    coordinator.execute(f"SET search_path = {schema}")
    coordinator.execute(SETUP)
    return coordinator


@pytest.fixture
def home(session):
    """The port of the node that has an account."""
    return lambda key: value(session, "SELECT nodeport FROM citus_shards WHERE shardid = "
                             "get_shard_id_for_distribution_column('account', %s)", [key])


def key_at(home, port):
    return next(key for key in range(1, 41) if home(key) == port)


def balance(session, key):
    return value(session, "SELECT balance FROM account WHERE id = %s", [key])


def test_place(session, home, cluster):
    """Each call runs where its account is, also a serial column's first values."""
    for node in cluster.workers:
        key = key_at(home, node.port)
        for prepare in [False, True] * 4:
            assert session.execute("SELECT pay(%s, 1)", [key], prepare=prepare).fetchone()[0] == node.port
        assert value(session, "CALL in_parts(%s, NULL)", [key]) == node.port
        assert balance(session, key) == 90
    numbers = [number for number, in rows(session, "SELECT n FROM entry")]
    assert len(set(numbers)) == len(numbers) == 8 * len(cluster.workers)


def test_switched_off(session, home, cluster):
    session.execute("SET citus.enable_function_delegation = off")
    assert value(session, "SELECT pay(%s, 1)", [key_at(home, cluster.workers[0].port)]) == cluster.coordinator.port


def test_other_nodes(session, home, cluster):
    """A call that needs other nodes leaves nothing where it was refused, and runs here; later ones aren't tried each time."""
    one, two = (key_at(home, node.port) for node in cluster.workers)
    neighbour = next(key for key in range(one + 1, 41) if home(key) == home(one))
    assert value(session, "SELECT transfer(%s, %s)", [one, two]) == cluster.coordinator.port
    assert (balance(session, one), balance(session, two)) == (99, 101)
    places = {value(session, "SELECT transfer(%s, %s)", [one, neighbour]) for _ in range(3)}
    assert places == {cluster.coordinator.port, cluster.workers[0].port}
    assert (balance(session, one), balance(session, neighbour)) == (96, 103)
    with session.transaction():
        assert value(session, "SELECT transfer(%s, %s)", [two, one]) == cluster.coordinator.port
    assert (balance(session, one), balance(session, two)) == (97, 100)


@pytest.mark.parametrize("call", ["SELECT forgiving(%s, %s)", "CALL forgives(%s, %s, NULL)"])
def test_refusal_that_is_caught(session, home, cluster, call):
    """Code that catches all errors doesn't take a refusal for one of its own."""
    one, two = (key_at(home, node.port) for node in cluster.workers)
    assert value(session, call, [one, two]) == 1
    assert (balance(session, one), balance(session, two)) == (99, 101)


def test_interrupts_after_refusal(session, home, cluster):
    one, two = (key_at(home, node.port) for node in cluster.workers)
    session.execute("SELECT transfer(%s, %s)", [one, two])
    session.execute("SET statement_timeout = '200ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        session.execute("SELECT pg_sleep(60)")


def test_things_of_the_session(session, home, cluster):
    """A call that uses what only its client's session has, runs there: temporary tables, cursors."""
    key = key_at(home, cluster.workers[0].port)
    session.execute("CREATE TEMPORARY TABLE notes (id int)")
    assert value(session, "SELECT noted(%s)", [key]) == "noted"
    session.execute("CALL notes_it(%s)", [key])
    assert rows(session, "SELECT * FROM notes") == [(key,), (key,)]
    assert balance(session, key) == 98
    with session.transaction():
        assert value(session, "SELECT opened(%s)", [key]) == "c"
        assert value(session, "FETCH c") == 98
    session.execute("DROP TABLE notes")


def test_settings_before_procedure(session, home, cluster):
    """A procedure may commit there although settings had to be sent first."""
    key = key_at(home, cluster.workers[0].port)
    for timeout in "61s", "62s":
        session.execute(f"SET lock_timeout = '{timeout}'")
        assert value(session, "CALL in_parts(%s, NULL)", [key]) == cluster.workers[0].port
    assert balance(session, key) == 96


def test_read_only(session, home, cluster):
    key = key_at(home, cluster.workers[0].port)
    session.execute("SET default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session.execute("SELECT pay(%s, 1)", [key])
    session.execute("RESET default_transaction_read_only")
    assert balance(session, key) == 100


def test_arguments(session, home, cluster):
    """Arguments that write are part of the transaction, and those that return sets make several calls."""
    one, two = (key_at(home, node.port) for node in cluster.workers)
    with pytest.raises(psycopg.errors.DivisionByZero):
        session.execute("SELECT pay(%s, pay(%s, 1) / 0)", [one, two])
    assert (balance(session, one), balance(session, two)) == (100, 100)
    assert len(rows(session, "SELECT pay(generate_series(1, 3), 1)")) == 3


def test_column_gets_another_type(session, home, cluster, schema):
    """A kept plan of a call notices that its tables are distributed in another way."""
    session.execute("CREATE TABLE thing (id int, name text); SELECT create_distributed_table('thing', 'id', colocate_with => 'none');"
                    "INSERT INTO thing VALUES (1, 'one');"
                    "CREATE FUNCTION name_of(int) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT name FROM thing WHERE id = $1';"
                    "SELECT create_distributed_function('name_of(int)', '$1', 'thing')")
    for _ in range(8):
        assert session.execute("SELECT name_of(%s)", [1], prepare=True).fetchone() == ("one",)
    session.execute("SELECT alter_distributed_table('thing', distribution_column => 'name')")
    assert session.execute("SELECT name_of(%s)", [1], prepare=True).fetchone() == ("one",)


def test_other_nodes_after_commit(session, home, cluster):
    """What a procedure has committed can't be done again somewhere else."""
    key = key_at(home, cluster.workers[0].port)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="after a delegated procedure has ended"):
        session.execute("CALL late_far(%s)", [key])
    assert balance(session, key) == 99


def test_transaction(session, home, cluster):
    """A call is part of its client's transaction."""
    key = key_at(home, cluster.workers[0].port)
    with session.transaction(force_rollback=True):
        session.execute("UPDATE account SET balance = 7 WHERE id = %s", [key])
        assert value(session, "SELECT pay(%s, 1)", [key]) == home(key)
        assert balance(session, key) == 6
        with pytest.raises(psycopg.errors.InvalidTransactionTermination), session.transaction():
            session.execute("CALL in_parts(%s, NULL)", [key])
        assert balance(session, key) == 6
    assert balance(session, key) == 100
    assert rows(session, "SELECT * FROM entry") == []


def test_moved(session, home, cluster):
    """A session whose plan was made before a shard was moved finds it."""
    source, target = cluster.workers
    key = key_at(home, source.port)
    for _ in range(7):
        assert session.execute("SELECT pay(%s, 1)", [key], prepare=True).fetchone()[0] == source.port
    session.execute("SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('account', %s), "
                    "'127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')", [key, source.port, target.port])
    assert session.execute("SELECT pay(%s, 1)", [key], prepare=True).fetchone()[0] == target.port
    assert balance(session, key) == 92


def test_schema_renamed(session, schema, home, cluster):
    """A prepared call goes on when its function's schema gets another name."""
    key = key_at(home, cluster.workers[0].port)

    def call():
        return session.execute("SELECT pay(%s, 1)", [key], prepare=True).fetchone()[0]

    assert {call() for _ in range(7)} == {home(key)}
    session.execute(f"ALTER SCHEMA {schema} RENAME TO {schema}_other; SET search_path = {schema}_other")
    try:
        assert call() == home(key)
    finally:
        session.execute(f"ALTER SCHEMA {schema}_other RENAME TO {schema}")


def test_rights(session, schema, home, cluster, connect):
    """A call has its caller's rights there, and a SECURITY DEFINER function its owner's."""
    key = key_at(home, cluster.workers[0].port)
    session.execute("CREATE ROLE delegated_caller LOGIN")
    try:
        session.execute(f"GRANT USAGE ON SCHEMA {schema} TO delegated_caller; "
                        "GRANT USAGE ON SEQUENCE entry_n_seq TO delegated_caller")
        caller = connect(cluster.coordinator, user="delegated_caller")
        caller.execute(f"SET search_path = {schema}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="table account"):
            caller.execute("SELECT pay(%s, 1)", [key])
        session.execute(f"ALTER FUNCTION pay(int, int) SECURITY DEFINER SET search_path = {schema}")
        assert value(caller, "SELECT pay(%s, 1)", [key]) == home(key)
        session.execute("REVOKE EXECUTE ON FUNCTION pay FROM PUBLIC")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="function pay"):
            caller.execute("SELECT pay(%s, 1)", [key])
        assert balance(session, key) == 99
    finally:
        session.execute("DROP OWNED BY delegated_caller; DROP ROLE delegated_caller")
