"""PREPARE TRANSACTION by the client after writing on other nodes, and transactions that nest so."""

import psycopg
import pytest

from harness import bank, servers
from harness.servers import on_every_node, prepared_transactions, rows, value, wait_until


@pytest.fixture(scope="module")
def prepared_cluster():
    with servers.cluster(purpose="check-prepared") as made:
        bank.create(made)
        yield made


@pytest.fixture
def clients(prepared_cluster):
    """A bank in its first state, and after the test nothing prepared in it."""
    made = prepared_cluster
    made.start()
    bank.recover(made)
    with servers.connect(made.coordinator) as connection:
        connection.execute("UPDATE account SET balance = %s, last = 0", [bank.START])
        connection.execute("UPDATE rate SET last = 0")
    yield made
    made.start()
    for node in made.nodes:
        with servers.connect(node) as connection:
            for gid in prepared_transactions(node):
                if not gid.startswith("citus_"):
                    connection.execute(f"ROLLBACK PREPARED '{gid}'")
    bank.check(made)


def prepare(node, gid="mine"):
    """Marks all accounts and rates in a transaction that is prepared then, in a session that ends."""
    with servers.connect(node) as connection:
        connection.execute("BEGIN")
        connection.execute("SAVEPOINT a; UPDATE account SET last = 7; ROLLBACK TO a")
        connection.execute("UPDATE account SET last = 1")
        connection.execute("UPDATE rate SET last = 1")
        assert value(connection, "SELECT count(*) FROM account WHERE last = 1") == bank.ACCOUNTS
        connection.execute(f"PREPARE TRANSACTION '{gid}'")


def marks(made):
    """What all nodes see of the marks: must be the same."""
    found = on_every_node(made, "SELECT sum(last), (SELECT min(last) FROM rate), (SELECT max(last) FROM rate)"
                          " FROM account")
    seen = {tuple(answer[0]) for answer in found.values()}
    assert len(seen) == 1, seen
    return seen.pop()


ALL, NONE = (bank.ACCOUNTS, 1, 1), (0, 0, 0)


def finish(node, verb, gid="mine"):
    with servers.connect(node) as connection:
        connection.execute(f"{verb} PREPARED '{gid}'")


@pytest.mark.some(2)
@pytest.mark.parametrize("verb,expected", [("COMMIT", ALL), ("ROLLBACK", NONE)])
@pytest.mark.parametrize("initiator", ["coordinator", "worker1"])
def test_finish(clients, initiator, verb, expected):
    """It can be seen nowhere before its end, and everywhere, or nowhere, at once after it."""
    node = clients.node(initiator)
    prepare(node)
    assert all(prepared_transactions(each) for each in clients.nodes)
    assert marks(clients) == NONE
    bank.recover(clients)
    assert all(prepared_transactions(each) for each in clients.nodes), "recovery must leave it alone"
    finish(node, verb)
    assert not any(prepared_transactions(each) for each in clients.nodes)
    assert marks(clients) == expected


@pytest.mark.parametrize("verb,expected", [("COMMIT", ALL), ("ROLLBACK", NONE)])
def test_after_a_crash_of_all_servers(clients, verb, expected):
    prepare(clients.coordinator)
    for node in clients.nodes:
        node.kill()
    clients.start()
    bank.recover(clients)
    assert all(prepared_transactions(each) for each in clients.nodes)
    finish(clients.coordinator, verb)
    assert not any(prepared_transactions(each) for each in clients.nodes)
    assert marks(clients) == expected


@pytest.mark.parametrize("verb,expected", [("COMMIT", ALL), ("ROLLBACK", NONE)])
def test_node_down(clients, verb, expected):
    """What a node that is down can't be told, it learns from recovery."""
    prepare(clients.coordinator)
    clients.workers[0].kill()
    finish(clients.coordinator, verb)
    assert not prepared_transactions(clients.workers[1])
    clients.workers[0].start()
    assert prepared_transactions(clients.workers[0])
    bank.recover(clients)
    assert not prepared_transactions(clients.workers[0])
    assert marks(clients) == expected


@pytest.mark.parametrize("point", ["commit-before-prepare", "commit-between-prepares", "commit-after-prepare"])
def test_failure_while_it_prepares(clients, point):
    """Nothing stays prepared, and the session goes on."""
    with servers.connect(clients.coordinator) as connection:
        connection.execute("BEGIN")
        connection.execute("UPDATE account SET last = 1")
        connection.execute(f"SET LOCAL citus.debug_points = '{point}=error'")
        with pytest.raises(psycopg.errors.InternalError_):
            connection.execute("PREPARE TRANSACTION 'mine'")
        assert not any(prepared_transactions(each) for each in clients.nodes)
        assert value(connection, "SELECT sum(last) FROM account") == 0


def test_gid_in_use(clients):
    """The server refuses a name that is taken, after the participants have prepared: all is undone."""
    prepare(clients.coordinator)
    with servers.connect(clients.coordinator) as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO account VALUES (5000, 0, 0)")
        with pytest.raises(psycopg.errors.DuplicateObject):
            connection.execute("PREPARE TRANSACTION 'mine'")
        assert value(connection, "SELECT count(*) FROM account") == bank.ACCOUNTS
    assert len(prepared_transactions(clients.workers[0])) == 1
    finish(clients.coordinator, "COMMIT")
    assert marks(clients) == ALL


def test_finish_in_a_transaction_block(clients):
    """An error, as in PostgreSQL, that changes nothing."""
    prepare(clients.coordinator)
    with servers.connect(clients.coordinator) as connection:
        connection.execute("BEGIN")
        with pytest.raises(psycopg.errors.ActiveSqlTransaction):
            connection.execute("COMMIT PREPARED 'mine'")
        connection.execute("ROLLBACK")
    assert all(prepared_transactions(each) for each in clients.nodes)
    finish(clients.coordinator, "ROLLBACK")
    assert marks(clients) == NONE


def test_only_read(clients):
    """A transaction that only read on other nodes leaves nothing there."""
    with servers.connect(clients.coordinator) as connection:
        connection.execute("BEGIN")
        assert value(connection, "SELECT count(*) FROM account") == bank.ACCOUNTS
        connection.execute("PREPARE TRANSACTION 'mine'")
        assert not prepared_transactions(clients.workers[0])
        connection.execute("COMMIT PREPARED 'mine'")


def test_locks_are_held_until_the_end(clients):
    """A prepared write keeps others waiting, on other nodes too."""
    prepare(clients.coordinator)
    with servers.connect(clients.workers[0]) as other:
        other.execute("SET lock_timeout = '200ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.execute("UPDATE account SET last = 2 WHERE id = 1")
        finish(clients.coordinator, "COMMIT")
        other.execute("UPDATE account SET last = 2 WHERE id = 1")


def test_own_role(clients):
    """Who prepared it may end it, without being a superuser."""
    clients.coordinator.sql("DROP ROLE IF EXISTS teller; CREATE ROLE teller LOGIN")
    with servers.connect(clients.coordinator) as connection:
        connection.execute("GRANT SELECT, UPDATE ON account, rate TO teller")
    with servers.connect(clients.coordinator, user="teller") as connection:
        connection.execute("BEGIN; UPDATE account SET last = 1; UPDATE rate SET last = 1; PREPARE TRANSACTION 'mine'")
        connection.execute("COMMIT PREPARED 'mine'")
    assert not any(prepared_transactions(each) for each in clients.nodes)
    assert marks(clients) == ALL
    with servers.connect(clients.coordinator) as connection:
        connection.execute("REVOKE ALL ON account, rate FROM teller")
    clients.coordinator.sql("DROP ROLE teller")


@pytest.mark.parametrize("step,committed", [("xact-before-finish-prepared", False),
                                            ("xact-after-finish-prepared", True)])
def test_killed_while_it_finishes(clients, step, committed):
    """The backend dies before, or just after, the decision."""
    prepare(clients.coordinator)
    mark = clients.coordinator.log_mark()
    with servers.connect(clients.coordinator) as connection:
        connection.execute(f"SET citus.debug_points = '{step}=kill'")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("COMMIT PREPARED 'mine'")
    wait_until(lambda: "ready to accept" in clients.coordinator.log_since(mark), "the server to be back")
    bank.recover(clients)
    assert bool(prepared_transactions(clients.workers[0])) != committed
    if not committed:
        finish(clients.coordinator, "COMMIT")
    assert marks(clients) == ALL


def test_records_are_cleaned_up(clients):
    """Recovery drops the records of what is finished."""
    prepare(clients.coordinator)
    finish(clients.coordinator, "COMMIT")
    bank.recover(clients)
    with servers.connect(clients.coordinator) as connection:
        assert rows(connection, "SELECT * FROM pg_dist_transaction WHERE outer_xid IS NOT NULL") == []


@pytest.mark.parametrize("dbname", ["postgres", "template1"])
@pytest.mark.parametrize("gid", ["citus_9_9_9_9", "citus_0_1_1_0_5", "citus_"])
def test_name_of_a_node(clients, dbname, gid):
    """Names that nodes use are not for clients, superusers included, in whatever database."""
    with servers.connect(clients.workers[0], dbname=dbname) as connection:
        connection.execute("BEGIN; SELECT txid_current()")
        with pytest.raises(psycopg.errors.ReservedName):
            connection.execute(f"PREPARE TRANSACTION '{gid}'")
        connection.execute("ROLLBACK")
        connection.execute("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'citus'")
        connection.execute("ROLLBACK PREPARED 'citus'")
    assert not prepared_transactions(clients.workers[0])


def test_clients_leave_slots_to_nodes(clients):
    """A client that prepares as many transactions as it can, here or with participants, doesn't keep others from committing."""
    node = clients.workers[0]
    with servers.connect(node) as connection, servers.connect(clients.coordinator) as other:
        limit = int(value(connection, "SHOW max_prepared_transactions"))
        made = []
        try:
            with pytest.raises(psycopg.errors.OutOfMemory, match="maximum number of prepared transactions reached"):
                for number in range(limit):
                    if number == limit // 4:
                        connection.execute("BEGIN; UPDATE account SET last = 7; PREPARE TRANSACTION 'wide'")
                        made.append("wide")
                        connection.execute("ROLLBACK PREPARED 'wide'")
                        made.remove("wide")
                    connection.execute(f"BEGIN; PREPARE TRANSACTION 'mine_{number}'")
                    made.append(f"mine_{number}")
            connection.execute("ROLLBACK")
            assert len(made) == limit // 2
            other.execute("UPDATE account SET last = last")
        finally:
            for gid in made:
                connection.execute(f"ROLLBACK PREPARED '{gid}'")


def test_stranger_with_the_name_of_a_node(clients):
    """One that a client prepared while the library was not loaded: nobody waits for it, and recovery leaves it alone."""
    node = clients.workers[0]
    node.sql("CREATE TABLE mine (n int)")
    with servers.node_session(node) as peer:
        peer.execute("BEGIN; INSERT INTO mine VALUES (1)")
        peer.execute("/*citus:prepare*/ PREPARE TRANSACTION 'citus_0_1_1_0'")
    node.sql("ALTER SYSTEM SET shared_preload_libraries = 'plpgsql'")
    node.sql("ALTER SYSTEM SET citus.snapshot_timeout = '300ms'")
    node.restart()
    node.sql("BEGIN; INSERT INTO mine VALUES (2); PREPARE TRANSACTION 'citus_0_1_2_0'")
    node.sql("ALTER SYSTEM RESET shared_preload_libraries")
    node.restart()
    try:
        with servers.connect(clients.workers[1]) as reader:
            with pytest.raises(psycopg.errors.LockNotAvailable, match="citus_0_1_1_0"):
                reader.execute("SELECT sum(last) FROM account")
            bank.recover(clients)
            assert prepared_transactions(node) == ["citus_0_1_2_0"]
            assert value(reader, "SELECT sum(last) FROM account") == 0
    finally:
        node.sql("ALTER SYSTEM RESET citus.snapshot_timeout")
        for gid in prepared_transactions(node):
            node.sql(f"ROLLBACK PREPARED '{gid}'")
        node.sql("DROP TABLE mine; SELECT pg_reload_conf()")
