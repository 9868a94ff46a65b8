"""One snapshot over all nodes, where something is in its way: vacuum, skewed clocks, crashes, full rings."""

import random
import threading
from contextlib import suppress

import psycopg
import pytest

from harness import bank, servers
from harness.load import ACCOUNTS, BALANCE, Load, account_tables, check_repeatable, check_total, total, transfer
from harness.servers import rows, value, wait_until, wait_until_quiet
from harness.stopped import Stopped

UPDATE_ALL = "UPDATE account SET balance = balance + 1"


@pytest.fixture(scope="module")
def bank_cluster():
    """A cluster that the tests of this file damage, and leave in order."""
    with servers.cluster(purpose="check-hazards") as made:
        yield made


@pytest.fixture
def accounts(bank_cluster):
    account_tables(bank_cluster)
    yield bank_cluster
    bank_cluster.start()
    wait_until_quiet(bank_cluster)


def set_everywhere(cluster_, setting, values):
    """ALTER SYSTEM on all nodes; values[i], as SHOW has it, is for the i-th node, None resets."""
    for node, new in zip(cluster_.nodes, values):
        with servers.connect(node) as connection:
            connection.execute(f"ALTER SYSTEM RESET {setting}" if new is None else
                               f"ALTER SYSTEM SET {setting} = '{new}'")
            connection.execute("SELECT pg_reload_conf()")
        wait_until(lambda: new is None or shown(node, setting) == new, f"{setting} on {node.name}")


def shown(node, setting):
    with servers.connect(node) as connection:
        return value(connection, f"SHOW {setting}")


@pytest.fixture
def skewed(accounts):
    """The nodes' clocks are minutes apart."""
    set_everywhere(accounts, "citus.clock_offset", ["0", "2min", "-180000"])
    yield accounts
    set_everywhere(accounts, "citus.clock_offset", [None, None, None])


def transfer_in_savepoints(connection):
    """A transfer whose second half is done in a subtransaction, after one that is rolled back."""
    first, second = sorted(random.sample(range(1, ACCOUNTS + 1), 2))
    update = "UPDATE account SET balance = balance + %s WHERE id = %s"
    try:
        with connection.transaction():
            connection.execute(update, [-1, first])
            try:
                with connection.transaction():
                    connection.execute(update, [100, second])
                    raise psycopg.Rollback
            except psycopg.Rollback:
                pass
            with connection.transaction():
                with connection.transaction():
                    connection.execute(update, [1, second])
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
        pass


def slow_repeatable(connection):
    """A transaction that reads for so long that old versions have to wait for it."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        check_total(connection)
        connection.execute("SELECT pg_sleep(0.5)")
        one_by_one = sum(value(connection, "SELECT balance FROM account WHERE id = %s", [key])
                         for key in range(1, ACCOUNTS + 1))
        assert one_by_one == ACCOUNTS * BALANCE
        check_total(connection)


def vacuum(connection):
    connection.execute("VACUUM account")


def vacuum_full(connection):
    """Rewrites the shards, unless readers are in the way."""
    try:
        connection.execute("SET lock_timeout = '200ms'")
        connection.execute("VACUUM FULL account")
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        pass


@pytest.mark.some(1)
@pytest.mark.parametrize("cleaner", [vacuum, vacuum_full])
def test_old_versions_stay(accounts, cleaner):
    """Long readers while rows are updated again and again and dead ones removed."""
    load = Load()
    load.add_transfers(accounts)
    for node in accounts.nodes:
        load.add(node, slow_repeatable, f"reader {node.name}")
        load.add(node, check_total, f"sum {node.name}")
    load.add(accounts.coordinator, cleaner, "vacuum")
    load.finish()


def test_index_only_scans(accounts, connect):
    """An index-only scan trusts the visibility map, which must not be ahead of a reader."""
    connect(accounts.coordinator).execute("CREATE INDEX ON account (id, balance)")
    set_everywhere(accounts, "enable_seqscan", ["off"] * 3)
    try:
        load = Load()
        load.add_transfers(accounts)
        for node in accounts.nodes:
            load.add(node, check_total, f"sum {node.name}")
            load.add(node, check_repeatable, f"reader {node.name}")
        load.add(accounts.coordinator, vacuum, "vacuum")
        load.finish()
    finally:
        set_everywhere(accounts, "enable_seqscan", [None] * 3)


def test_subtransactions(accounts):
    load = Load()
    for number, node in enumerate(accounts.nodes):
        load.add(node, transfer_in_savepoints, f"transfer{number}")
        load.add(node, check_total, f"sum {node.name}")
        load.add(node, check_repeatable, f"reader {node.name}")
    load.finish()


def test_skewed_clocks(skewed):
    load = Load()
    load.add_transfers(skewed)
    for node in skewed.nodes:
        load.add(node, check_total, f"sum {node.name}")
        load.add(node, check_repeatable, f"reader {node.name}")
    load.finish()


def test_impossible_stamps_are_refused(accounts, connect):
    """Nobody can set a node's clock to a time that makes it useless."""
    connection = connect(accounts.workers[0])
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SELECT citus_internal.snapshot_set(9223372036854775807)")
    connection.execute("ROLLBACK")
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        connection.execute("SELECT citus_internal.snapshot_set(1)")


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_vacuum_that_ends_meanwhile(bank_cluster, connect, isolation):
    """VACUUM's transaction is older than snapshots that began while it ran, and none of them has to do with it."""
    worker = bank_cluster.workers[0]
    blocker, reader, other = connect(worker), connect(worker), connect(worker)
    blocker.execute("CREATE TABLE to_truncate AS SELECT generate_series(1, 10000) AS v")
    blocker.execute("DELETE FROM to_truncate")
    blocker.execute("BEGIN")
    blocker.execute("LOCK TABLE to_truncate IN ACCESS SHARE MODE")
    with servers.connect(worker) as vacuuming:
        pid = vacuuming.info.backend_pid
        vacuum = threading.Thread(target=vacuuming.execute, args=["VACUUM (ANALYZE false) to_truncate"])
        vacuum.start()
        wait_until(lambda: value(other, "SELECT backend_xid FROM pg_stat_activity WHERE pid = %s", [pid]),
                   "VACUUM to have a transaction number")
        other.execute("SELECT txid_current()")
        reader.execute(f"BEGIN ISOLATION LEVEL {isolation}")
        stamp = value(reader, "SELECT citus_internal.snapshot_begin()")
        blocker.execute("COMMIT")
        vacuum.join()
    if isolation == "READ COMMITTED":
        reader.execute(f"SET citus.snapshot = '{stamp} {stamp}'")
        assert value(reader, "SELECT citus_internal.snapshot_take()") == 1
    else:
        reader.execute(f"SELECT citus_internal.snapshot_set({stamp})")
    assert value(reader, "SELECT count(*) FROM to_truncate") == 0
    reader.execute("COMMIT")
    other.execute("DROP TABLE to_truncate")


@pytest.mark.parametrize("clocks", ["accounts", "skewed"])
def test_acknowledged_is_seen(clocks, request):
    """What a client was told is committed is seen by all who begin later, on whichever node."""
    cluster_ = request.getfixturevalue(clocks)
    load = Load()
    load.add_transfers(cluster_, clients=2)
    connections = [servers.connect(node) for node in cluster_.nodes]
    singles = [bank.keys_on(cluster_, node.port)[0] for node in cluster_.workers]
    failures = []

    def steps():
        for step in range(1, 120):
            writer, reader = random.choice(connections), random.choice(connections)
            if step % 2:
                writer.execute("UPDATE rate SET percent = %s", [step])
                writer.execute("UPDATE counter SET n = %s", [step])
            else:
                for key in singles:
                    random.choice(connections).execute("UPDATE counter SET n = %s WHERE id = %s", [step, key])
            if rows(reader, "SELECT min(n), max(n) FROM counter WHERE id = ANY (%s)", [singles]) != [(step, step)]:
                failures.append((step, "statement"))
            with reader.transaction():
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                seen = [value(reader, "SELECT n FROM counter WHERE id = %s", [key]) for key in singles]
                percent = value(reader, "SELECT percent FROM rate")
            if seen != [step] * len(singles) or (step % 2 and percent != step):
                failures.append((step, "transaction", seen, percent))

    with connections[0].transaction():
        connections[0].execute("DROP TABLE IF EXISTS counter")
        connections[0].execute("CREATE TABLE counter (id int PRIMARY KEY, n int)")
        connections[0].execute("SELECT create_distributed_table('counter', 'id', colocate_with => 'account')")
        connections[0].execute("INSERT INTO counter SELECT id, 0 FROM account")
    load.meanwhile(steps)
    connections[0].execute("DROP TABLE counter")
    for connection in connections:
        connection.close()
    assert not failures


def expect_wait(cluster_, left=False):
    """A read from the second worker has to wait for the prepared transaction, and says for which; one row is read at once, unless it is left."""
    with servers.connect(cluster_.workers[1], options="-c citus.snapshot_timeout=300ms") as reader:
        reader.execute("CREATE TEMP TABLE here AS SELECT 1 AS id")
        with pytest.raises(psycopg.errors.LockNotAvailable) as failure:
            reader.execute("SELECT sum(balance) FROM account")
        assert "prepared transaction" in failure.value.diag.context
        assert value(reader, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0
        for one_shard in () if left else ("SELECT balance FROM account WHERE id = 1",
                                          "SELECT balance FROM account JOIN here USING (id) WHERE id = 1"):
            assert value(reader, one_shard) in (BALANCE, BALANCE + 1)


@pytest.mark.parametrize("step", ["commit-after-prepare", "commit-after-decision", "commit-between-commits"])
def test_undecided(accounts, connect, step):
    """Between PREPARE and COMMIT PREPARED a read waits, within bounds, and then sees all or nothing."""
    stopped = Stopped(accounts.coordinator, step, UPDATE_ALL)
    expect_wait(accounts)
    reader = connect(accounts.workers[1])
    seen = []
    waiting = threading.Thread(target=lambda: seen.append(value(reader, "SELECT sum(balance) FROM account")))
    waiting.start()
    assert stopped.go_on() is None
    waiting.join(servers.PATIENCE)
    assert seen == [ACCOUNTS * (BALANCE + 1)]


def test_left_for_recovery(accounts, connect):
    """A read of what recovery commits has an answer, too: the initiator's timestamp says whether it came before."""
    stopped = Stopped(accounts.coordinator, "commit-after-decision", UPDATE_ALL)
    lost, kept = (connect(node) for node in accounts.workers)
    assert rows(lost, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                      " WHERE query LIKE '%PREPARE TRANSACTION%' AND pid <> pg_backend_pid()") == [(True,)]
    assert stopped.go_on() is None
    kept.execute("CREATE TEMP TABLE later ()")
    seen = []
    reading = threading.Thread(target=lambda: seen.append(value(kept, "SELECT sum(balance) FROM account")))
    reading.start()
    wait_until(lambda: not reading.is_alive() or rows(lost, "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"),
               "the read to wait for what is prepared")
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("SELECT recover_prepared_transactions()")
    reading.join(servers.PATIENCE)
    assert seen == [ACCOUNTS * (BALANCE + 1)]


@pytest.mark.parametrize("step", ["commit-after-prepare", "commit-after-decision"])
def test_wait_is_limited(accounts, step):
    """The initiator's other clients wait for its commit, or on the nodes, as long as they want and no longer."""
    stopped = Stopped(accounts.coordinator, step, UPDATE_ALL)
    with servers.connect(accounts.coordinator, options="-c statement_timeout=5s") as reader:
        reader.execute("SET citus.snapshot_timeout = '200ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            total(reader)
    assert stopped.go_on() is None


def test_prepared_survives_restart(accounts, connect):
    """A node that restarts between PREPARE and COMMIT PREPARED still makes readers wait."""
    stopped = Stopped(accounts.coordinator, "commit-after-decision", UPDATE_ALL)
    accounts.workers[0].restart()
    expect_wait(accounts, left=True)
    assert stopped.go_on() is None
    with servers.connect(accounts.coordinator) as connection:
        connection.execute("SELECT recover_prepared_transactions()")
    assert value(connect(accounts.workers[1]), "SELECT sum(balance) FROM account") == ACCOUNTS * (BALANCE + 1)


def test_client_prepared(accounts, connect):
    """A transaction that a client has prepared, maybe for days, keeps no reader waiting, and fails none when it commits."""
    writer, reader = connect(accounts.coordinator), connect(accounts.workers[1])
    writer.execute("BEGIN")
    writer.execute(UPDATE_ALL)
    writer.execute("PREPARE TRANSACTION 'mine'")
    reader.execute("SET citus.snapshot_timeout = '5s'")
    assert value(reader, "SELECT sum(balance) FROM account") == ACCOUNTS * BALANCE
    begun = Stopped(accounts.coordinator, "snapshot-chosen", "BEGIN; SELECT sum(balance) FROM account; COMMIT")
    writer.execute("COMMIT PREPARED 'mine'")
    assert begun.go_on() is None
    assert value(reader, "SELECT sum(balance) FROM account") == ACCOUNTS * (BALANCE + 1)


@pytest.mark.parametrize("before", [["BEGIN", "SELECT 1/0"], []], ids=["failed", "no_block"])
def test_not_prepared(accounts, connect, before):
    """A PREPARE TRANSACTION that prepares nothing leaves no mark: readers wait for the session's next commit."""
    writer = connect(accounts.coordinator)
    for statement in [*before, "PREPARE TRANSACTION 'mine'"]:
        with suppress(psycopg.errors.DivisionByZero):
            writer.execute(statement)
    stopped = Stopped(accounts.coordinator, "commit-after-decision", UPDATE_ALL, connection=writer)
    expect_wait(accounts)
    assert stopped.go_on() is None


def test_short_reads_ask_nobody(accounts, connect):
    """The last that a node hears of a short statement is its task: there is no transaction to end."""
    reader, workers = connect(accounts.coordinator), [connect(worker) for worker in accounts.workers]

    def ended_with_task():
        assert total(reader) == (ACCOUNTS * BALANCE, ACCOUNTS)
        return all(rows(worker, "SELECT query FROM pg_stat_activity WHERE query LIKE '/*citus:shards % at %FROM %account%' AND state = 'idle'")
                   for worker in workers)

    wait_until(ended_with_task, "a statement whose time no node refuses")


@pytest.mark.parametrize("reader", [0, 1])
def test_offered_too_late(accounts, reader):
    """Nodes whose clocks have passed the time that they are offered are asked for another."""
    check = f"SELECT 1 / (sum(balance) = {ACCOUNTS * BALANCE})::int FROM account"
    late = Stopped(accounts.nodes[reader], "snapshot-offered", check)
    for node in accounts.nodes:
        with servers.connect(node) as connection, connection.transaction():
            connection.execute("UPDATE account SET balance = balance - 1")
            connection.execute("UPDATE account SET balance = balance + 1")
    assert late.go_on() is None


def test_restarts_under_load(accounts):
    """Nodes restart; sums are right whenever there is one."""
    def patient(work):
        def run(connection):
            try:
                with servers.connect(run.node) as fresh:
                    for _ in range(20):
                        work(fresh)
            except psycopg.Error:
                pass

        return run

    load = Load()
    for number, node in enumerate(accounts.nodes):
        for work in (transfer, check_total, check_repeatable):
            repeated = patient(work)
            repeated.node = node
            load.add(None, repeated, f"{work.__name__}{number}")

    def restarts():
        for node in accounts.workers:
            node.restart()
        accounts.workers[0].kill()
        accounts.workers[0].start()

    load.meanwhile(restarts)
    for node in accounts.nodes:
        with servers.connect(node) as connection:
            connection.execute("SELECT recover_prepared_transactions()")
    wait_until_quiet(accounts)
    with servers.connect(accounts.coordinator) as connection:
        check_total(connection)


def test_full_ring(make_cluster):
    """A node that remembers few commits refuses reads rather than answer wrongly."""
    made = make_cluster(settings={"citus.commit_ring_size": "16"})
    account_tables(made)

    def maybe(connection):
        try:
            check_total(connection)
        except psycopg.errors.SerializationFailure:
            pass

    load = Load()
    load.add_transfers(made, clients=6)
    for node in made.nodes:
        load.add(node, maybe, f"sum {node.name}", options="-c citus.executor_slow_start_interval=0 -c citus.enable_node_tasks=off")
    load.finish()
