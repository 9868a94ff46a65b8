"""Distributed transactions: atomic whatever dies and whenever, and resolved by recovery."""

import signal

import psycopg
import pytest

from harness import servers
from harness.servers import (fill, kill_process, pid_of, prepared_transactions, rows, value,
                             wait_until, wait_until_quiet)
from harness.statement import Statement
from harness.stopped import Stopped, commit_at, is_stopped

# Where a two-phase commit can be interrupted, and whether it was decided by then.
STEPS = [("commit-before-prepare", False), ("commit-after-prepare", False),
         ("commit-after-decision", True), ("commit-after-second-phase", True)]
ROWS = 100
UPDATE_ALL = "UPDATE account SET payload = payload + 1"


@pytest.fixture(scope="module")
def bank_cluster():
    """A cluster that the tests of this file damage, and leave in order."""
    with servers.cluster(purpose="check-transactions") as made:
        yield made


@pytest.fixture
def bank(bank_cluster):
    """A cluster whose table `account` holds 100 rows of 0, with nothing left unfinished."""
    with servers.connect(bank_cluster.coordinator) as connection:
        connection.execute("DROP TABLE IF EXISTS account")
        fill(connection, "account", ROWS)
        connection.execute("SELECT recover_prepared_transactions()")
    yield bank_cluster
    bank_cluster.start()
    wait_until_quiet(bank_cluster)


def totals(cluster_):
    """What each node sees of the table: all must see the same."""
    found = set()
    for node in cluster_.nodes:
        with servers.connect(node) as connection:
            found.add(rows(connection, "SELECT min(payload), max(payload), count(*) FROM account")[0])
    assert len(found) == 1, found
    return found.pop()


def try_to_recover(node):
    """recover_prepared_transactions(), or None while the server is down."""
    try:
        with servers.connect(node) as connection:
            connection.execute("SELECT recover_prepared_transactions()")
            return True
    except psycopg.Error:
        return None


def recover(cluster_):
    """Recovers as soon as all nodes are up."""
    for node in cluster_.nodes:
        wait_until(lambda: try_to_recover(node), f"{node.name} to be up")
    wait_until_quiet(cluster_)


def check_outcome(cluster_, committed):
    recover(cluster_)
    expected = 1 if committed else 0
    assert totals(cluster_) == (expected, expected, ROWS)
    with servers.connect(cluster_.coordinator) as connection:
        connection.execute(UPDATE_ALL)
        assert value(connection, "SELECT recover_prepared_transactions()") == 0
        assert value(connection, "SELECT count(*) FROM pg_dist_transaction") == 0


@pytest.mark.parametrize("step,committed", STEPS)
def test_backend_killed(bank, step, committed):
    """kill -9 of the initiating backend; its server restarts by itself."""
    connection = commit_at(bank.coordinator, step, "kill")
    with pytest.raises(psycopg.OperationalError):
        connection.execute(UPDATE_ALL)
    check_outcome(bank, committed)


@pytest.mark.parametrize("step,committed", STEPS)
def test_initiator_killed(bank, step, committed):
    """The initiator's server is killed, started later, and its daemon finds what is left."""
    stopped = Stopped(bank.coordinator, step, UPDATE_ALL)
    bank.coordinator.kill()
    assert isinstance(stopped.finish(), psycopg.OperationalError)
    bank.coordinator.start()
    wait_until(lambda: not any(prepared_transactions(node) for node in bank.workers),
               "the daemon to recover")
    check_outcome(bank, committed)


@pytest.mark.parametrize("step,committed", STEPS)
def test_participant_killed(bank, step, committed):
    """A node's server dies and comes back while the initiator waits."""
    stopped = Stopped(bank.coordinator, step, UPDATE_ALL)
    bank.workers[0].kill()
    bank.workers[0].start()
    error = stopped.go_on()
    if committed:
        assert error is None
    elif step == "commit-before-prepare":
        assert error.sqlstate == "08006"
    else:
        committed = True    # all had prepared when the node died, which keeps that
        assert error is None
    check_outcome(bank, committed)


@pytest.mark.parametrize("step,committed", STEPS)
def test_error_at_a_step(bank, step, committed):
    """An error before the decision aborts; one after it is a warning, and recovery does the rest."""
    connection = commit_at(bank.coordinator, step, "error")
    if committed:
        connection.execute(UPDATE_ALL)
    else:
        with pytest.raises(psycopg.errors.InternalError_):
            connection.execute(UPDATE_ALL)
        assert not any(prepared_transactions(node) for node in bank.workers)
    connection.execute("RESET citus.debug_points")
    check_outcome(bank, committed)
    assert value(connection, "SELECT sum(payload) FROM account") == ROWS * (committed + 1)


def test_recovery_leaves_active_transactions_alone(bank, connect):
    """A transaction between PREPARE and decision is not rolled back under its initiator."""
    stopped = Stopped(bank.coordinator, "commit-after-prepare", UPDATE_ALL)
    other = connect(bank.coordinator)
    before = [prepared_transactions(node) for node in bank.workers]
    assert all(before)
    assert value(other, "SELECT recover_prepared_transactions()") == 0
    assert [prepared_transactions(node) for node in bank.workers] == before
    assert stopped.go_on() is None
    check_outcome(bank, True)


def test_recovery_leaves_others_alone(bank, connect):
    """Prepared transactions of users, of other nodes, and of other databases are not ours."""
    worker = connect(bank.workers[0], options="-c citus.node_proof=superuser")
    for gid in ("mine", "citus_7_1_1_0", "citus_0_what"):
        worker.execute("BEGIN")
        worker.execute("SELECT txid_current()")
        worker.execute(f"/*citus:prepare*/ PREPARE TRANSACTION '{gid}'")
    try:
        assert value(connect(bank.coordinator), "SELECT recover_prepared_transactions()") == 0
        assert sorted(prepared_transactions(bank.workers[0])) == ["citus_0_what", "citus_7_1_1_0", "mine"]
    finally:
        for gid in prepared_transactions(bank.workers[0]):
            worker.execute(f"ROLLBACK PREPARED '{gid}'")


def test_recovery_needs_a_superuser(bank, connect):
    connection = connect(bank.coordinator)
    connection.execute("SET ROLE pg_monitor")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT recover_prepared_transactions()")


def key_on(connection, node_port):
    """A key whose row is on the node with that port."""
    return value(connection, """
        SELECT id FROM account
        JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('account', id)
        JOIN pg_dist_node n USING (groupid) WHERE nodeport = %s LIMIT 1""", [node_port])


def new_key_on(connection, node_port):
    """A key without a row that would be on the node with that port."""
    return value(connection, """
        SELECT id FROM generate_series(1000, 2000) id
        WHERE get_shard_id_for_distribution_column('account', id) =
            get_shard_id_for_distribution_column('account', %s) LIMIT 1""", [key_on(connection, node_port)])


def test_one_writer_needs_one_phase(bank, connect):
    """A transaction that writes on one other node leaves no commit record."""
    connection = connect(bank.coordinator)
    first, second = (key_on(connection, node.port) for node in bank.workers)
    count = "SELECT count(*) FROM pg_dist_transaction"
    before = value(connection, count)
    with connection.transaction():
        connection.execute("UPDATE account SET payload = 1 WHERE id = %s", [first])
        assert value(connection, "SELECT sum(payload) FROM account") == 1
    assert value(connection, count) == before
    with connection.transaction():
        connection.execute("UPDATE account SET payload = 2 WHERE id = %s", [first])
        connection.execute("UPDATE account SET payload = 2 WHERE id = %s", [second])
    assert value(connection, count) == before + 2
    connection.execute("SELECT recover_prepared_transactions() FROM generate_series(1, 2)")
    assert value(connection, count) == 0


@pytest.fixture
def functions(bank):
    """Runs SQL that makes functions on the coordinator, which the test's statements call first."""
    def make(name, body):
        bank.coordinator.sql(f"CREATE OR REPLACE FUNCTION {name}() RETURNS int LANGUAGE plpgsql AS "
                             f"$$BEGIN {body}; RETURN 1; END$$")
        made.append(name)

    made = []
    yield make
    for name in made:
        bank.coordinator.sql(f"DROP FUNCTION {name}()")


def fails_and_writes_nothing(bank, connection, error, statements):
    """The last statement fails here, and so none of them has had an effect on another node."""
    before = totals(bank)
    for statement in statements[:-1]:
        connection.execute(statement)
    with pytest.raises(error):
        connection.execute(statements[-1])
    connection.execute("ROLLBACK")
    assert totals(bank) == before
    assert not [gid for node in bank.nodes for gid in prepared_transactions(node)]


NOTIFYING = [["BEGIN", "UPDATE account SET payload = 1 WHERE id = {key}", "NOTIFY here", "COMMIT"],
             ["INSERT INTO account VALUES ({new_key}, tell())"]]


@pytest.mark.parametrize("statements", NOTIFYING, ids=["block", "statement"])
def test_notification_that_cannot_be_queued(bank, connect, functions, statements):
    """NOTIFY takes a lock as the transaction commits: no other node has committed before."""
    functions("tell", "PERFORM pg_notify('here', '')")
    connection = connect(bank.coordinator)
    key = key_on(connection, bank.workers[0].port)
    statements = [statement.format(key=key, new_key=new_key_on(connection, bank.workers[0].port))
                  for statement in statements]
    holder = Stopped(bank.coordinator, "xact-after-commit", "NOTIFY there")
    try:
        connection.execute("SET lock_timeout = '200ms'")
        fails_and_writes_nothing(bank, connection, psycopg.errors.LockNotAvailable, statements)
    finally:
        assert holder.go_on() is None

    connection.execute("LISTEN here")
    for statement in statements:
        connection.execute(statement)
    assert [n.channel for n in connection.notifies(timeout=30, stop_after=1)] == ["here"]
    assert totals(bank)[1] == 1


def test_temporary_table_that_cannot_be_emptied(bank, connect):
    connection = connect(bank.coordinator)
    key = key_on(connection, bank.workers[0].port)
    connection.execute("CREATE TEMPORARY TABLE draft (n int) ON COMMIT DELETE ROWS")
    schema = value(connection, "SELECT pg_my_temp_schema()::regnamespace::text")
    other = connect(bank.coordinator, autocommit=False)
    other.execute(f"LOCK TABLE {schema}.draft IN ACCESS SHARE MODE")
    connection.execute("SET lock_timeout = '200ms'")
    fails_and_writes_nothing(bank, connection, psycopg.errors.LockNotAvailable, [
        "BEGIN", f"UPDATE account SET payload = 1 WHERE id = {key}", "TABLE draft", "COMMIT"])


def test_cursor_that_cannot_be_held(bank, connect, functions):
    """A cursor WITH HOLD that a function leaves is read to its end as the statement's transaction commits."""
    functions("leave", "EXECUTE 'DECLARE c CURSOR WITH HOLD FOR SELECT 1 / (n - 2) FROM generate_series(1, 2) n'")
    connection = connect(bank.coordinator)
    fails_and_writes_nothing(bank, connection, psycopg.errors.DivisionByZero, [
        f"INSERT INTO account VALUES ({new_key_on(connection, bank.workers[0].port)}, leave())"])


def test_reader_lost_while_the_writer_commits(bank, connect):
    """What was read is known, so the loss of its node doesn't make the COMMIT of another one fail."""
    setup = connect(bank.coordinator)
    written, read = (key_on(setup, node.port) for node in bank.workers)
    connection = connect(bank.coordinator)
    pid = pid_of(connection)
    connection.execute(f"BEGIN; SELECT * FROM account WHERE id = {read}; "
                       f"UPDATE account SET payload = 1 WHERE id = {written}")
    connection.execute("SET citus.debug_points = 'commit-before-one-phase=stop'")
    commit = Statement(connection, "COMMIT")
    wait_until(lambda: is_stopped(pid), "the COMMIT to stop")
    with servers.connect(bank.workers[1]) as worker:
        assert value(worker, "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity "
                             "WHERE state = 'idle in transaction' AND application_name LIKE 'citus_internal%'")
    kill_process(pid, signal.SIGCONT)
    assert commit.finish() is None
    assert totals(bank)[1] == 1


def test_writer_and_local_write(bank, connect):
    """One other node and a local table: two phases, so both or none."""
    connection = connect(bank.coordinator)
    key = key_on(connection, bank.workers[0].port)
    connection.execute("CREATE TABLE IF NOT EXISTS journal (what text)")
    connection.execute("TRUNCATE journal")
    connection.execute("SET citus.debug_points = 'commit-after-prepare=error'")
    with pytest.raises(psycopg.errors.InternalError_):
        with connection.transaction():
            connection.execute("INSERT INTO journal VALUES ('x')")
            connection.execute("UPDATE account SET payload = 1 WHERE id = %s", [key])
    connection.execute("RESET citus.debug_points")
    assert value(connection, "SELECT count(*) FROM journal") == 0
    assert value(connection, "SELECT sum(payload) FROM account") == 0


def test_savepoints(bank, connect):
    """Nested savepoints, rolled back and released, on nodes that join at different levels."""
    connection = connect(bank.coordinator, autocommit=False)
    first, second = (key_on(connection, node.port) for node in bank.workers)
    put = "UPDATE account SET payload = payload + %s WHERE id = %s"
    connection.execute("SAVEPOINT a")
    connection.execute(put, [1, first])
    connection.execute("SAVEPOINT b")
    connection.execute(put, [10, second])
    connection.execute("SAVEPOINT c")
    connection.execute(put, [100, first])
    connection.execute("RELEASE c")
    connection.execute("ROLLBACK TO b")
    connection.execute(put, [1000, second])
    connection.execute("RELEASE b")
    connection.execute("SAVEPOINT d")
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("UPDATE account SET payload = 1 / (id - id) WHERE id = %s", [first])
    connection.execute("ROLLBACK TO d")
    connection.execute("SAVEPOINT e")
    connection.execute("ROLLBACK TO a")
    connection.execute(put, [5, first])
    connection.execute("SAVEPOINT f")
    connection.execute(put, [7, second])
    connection.commit()
    assert dict(rows(connection, "SELECT id, payload FROM account WHERE payload <> 0")) == \
        {first: 5, second: 7}
    connection.rollback()


def test_exception_blocks(bank, connect):
    """PL/pgSQL's exception blocks are savepoints."""
    connection = connect(bank.coordinator)
    connection.execute("""
        DO $$ BEGIN
            FOR i IN 1..150 LOOP
                BEGIN
                    INSERT INTO account VALUES (i, 1);
                    IF i % 10 = 0 THEN RAISE EXCEPTION 'no'; END IF;
                EXCEPTION WHEN unique_violation THEN
                    UPDATE account SET payload = payload + 2 WHERE id = i;
                WHEN raise_exception THEN
                    NULL;
                END;
            END LOOP;
        END $$""")
    assert rows(connection, "SELECT payload, count(*) FROM account GROUP BY 1 ORDER BY 1") == \
        [(1, 45), (2, 100)]


def test_rollback_to_savepoint_frees_locks(bank, connect):
    """What a rolled back subtransaction locked on a node is free at once."""
    connection = connect(bank.coordinator, autocommit=False)
    other = connect(bank.coordinator)
    connection.execute("SELECT 1")
    connection.execute("SAVEPOINT a")
    connection.execute("UPDATE account SET payload = 1 WHERE id = 5")
    connection.execute("ROLLBACK TO a")
    other.execute("SET statement_timeout = '10s'")
    other.execute("UPDATE account SET payload = 2 WHERE id = 5")
    connection.rollback()


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_isolation_level_travels(bank, connect, level):
    connection = connect(bank.coordinator)
    other = connect(bank.coordinator)
    connection.execute(f"BEGIN ISOLATION LEVEL {level}")
    assert value(connection, "SELECT payload FROM account WHERE id = 1") == 0
    other.execute("UPDATE account SET payload = 1 WHERE id = 1")
    seen = value(connection, "SELECT payload FROM account WHERE id = 1")
    assert seen == (1 if level == "READ COMMITTED" else 0)
    if level == "READ COMMITTED":
        connection.execute("UPDATE account SET payload = payload + 1 WHERE id = 1")
        connection.execute("COMMIT")
        assert value(connection, "SELECT payload FROM account WHERE id = 1") == 2
    else:
        with pytest.raises(psycopg.errors.SerializationFailure):
            connection.execute("UPDATE account SET payload = payload + 1 WHERE id = 1")
        connection.execute("ROLLBACK")


def test_write_skew_within_a_node(bank, connect):
    """SERIALIZABLE on one node is PostgreSQL's own."""
    one, two = connect(bank.coordinator), connect(bank.workers[1])
    for connection in (one, two):
        connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        assert value(connection, "SELECT payload FROM account WHERE id = 1") == 0
    one.execute("UPDATE account SET payload = 1 WHERE id = 1")
    one.execute("COMMIT")
    with pytest.raises(psycopg.errors.SerializationFailure):
        two.execute("UPDATE account SET payload = 1 WHERE id = 1")
        two.execute("COMMIT")
    two.execute("ROLLBACK")


def test_read_only(bank, connect):
    connection = connect(bank.coordinator)
    connection.execute("BEGIN READ ONLY")
    assert value(connection, "SELECT count(*) FROM account") == ROWS
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("UPDATE account SET payload = 1")
    connection.execute("ROLLBACK")


def test_backend_terminated_while_it_commits(bank):
    """pg_terminate_backend between PREPARE and the decision rolls back at once, by itself."""
    stopped = Stopped(bank.coordinator, "commit-after-prepare", UPDATE_ALL)
    kill_process(stopped.pid, signal.SIGTERM)
    stopped.go_on()
    wait_until_quiet(bank)
    low, high, count = totals(bank)
    assert (low, count) == (high, ROWS)


def test_settings_undone_before_prepare(bank):
    """A node that was only told of something that a savepoint has undone is prepared like the others."""
    with servers.connect(bank.workers[0]) as connection:
        connection.execute("BEGIN; SAVEPOINT s")
        with pytest.raises(psycopg.errors.WrongObjectType):
            connection.execute("SELECT undistribute_table('pg_class')")
        connection.execute(f"ROLLBACK TO s; {UPDATE_ALL}; COMMIT")
    assert totals(bank) == (1, 1, ROWS)


def test_index_entries_of_rolled_back_subtransactions(coordinator, schema):
    """A node's index scan sees that a subtransaction of its own transaction was rolled back, and lets its index entries be reused."""
    coordinator.execute(f"CREATE TABLE {schema}.undone (k int, v int)")
    coordinator.execute(f"SELECT create_distributed_table('{schema}.undone', 'k', shard_count => 2, colocate_with => 'none')")
    coordinator.execute(f"CREATE INDEX undone_k ON {schema}.undone (k)")
    coordinator.execute(f"INSERT INTO {schema}.undone SELECT i, 0 FROM generate_series(1000, 9000) i")
    coordinator.execute(f"ANALYZE {schema}.undone")

    def pages():
        return value(coordinator, f"SELECT pg_relation_size('{schema}.undone_k') / 8192")
    before = pages()
    with coordinator.transaction():
        for _ in range(150):
            with coordinator.transaction(force_rollback=True):
                coordinator.execute(f"INSERT INTO {schema}.undone SELECT i, 0 FROM generate_series(1, 100) i")
            assert rows(coordinator, f"SELECT * FROM {schema}.undone WHERE k > 0 AND k < 101") == []
        assert pages() <= before + 4
